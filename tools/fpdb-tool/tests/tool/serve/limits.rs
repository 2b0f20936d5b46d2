//! Bad, slow and greedy clients harm only themselves.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::client::{Client, Reply, Server, bulk, request};
use crate::common::Folder;

fn database() -> Folder {
    let folder = Folder::new();
    folder.ok("create db --ids names");
    folder
}

#[test]
fn a_malformed_request_gets_an_error_and_ends_its_connection_only() {
    let folder = database();
    let server = Server::start(&folder, &["--max-bulk", "1KiB", "--max-request", "2KiB"]);
    let mut other = server.connect();
    let cases: [(&[u8], &str); 7] = [
        (b"*1\r\n$-1\r\n", "invalid length of an argument"),
        (b"*-1\r\n", "invalid count of arguments"),
        (b"*100000\r\n", "100000 arguments, more than 65536"),
        (b"*1\r\n$1025\r\n", "an argument of 1025 bytes, more than 1024"),
        (b"*3\r\n$4\r\nECHO\r\n$1024\r\n", "an argument does not end with CR LF"),
        (b"*1\r\n:1\r\n", "expected '$', got ':'"),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nFP.ADDNX a 0x1\r\n", "not an HTTP server"),
    ];
    for (bytes, error) in cases {
        let mut client = server.connect();
        client.send(&request(&["PING"]));
        client.send(bytes);
        if error.contains("CR LF") {
            client.send(&[b'x'; 1026]);
        }
        assert_eq!(client.read().text(), "PONG");
        let reply = client.read();
        assert!(reply.text().starts_with("ERR Protocol error: "), "{reply:?}");
        assert!(reply.text().contains(error), "{reply:?}");
        client.expect_end();
        assert_eq!(other.call(&["PING"]).text(), "PONG");
    }
    assert_eq!(other.call(&["FP.STATS"]).items().len() % 2, 0);
}

#[test]
fn an_incomplete_request_at_the_end_of_a_connection_is_not_executed() {
    let folder = database();
    let server = Server::start(&folder, &[]);
    let whole = request(&["FP.ADDNX", "a", "0x1"]);
    for end in [1, whole.len() / 2, whole.len() - 1] {
        let mut client = server.connect();
        client.send(&whole[..end]);
        client.half_close();
        client.expect_end();
    }
    assert_eq!(server.connect().call(&["FP.GET", "a"]), Reply::Null);
}

#[test]
fn a_half_closed_connection_gets_its_replies() {
    let folder = database();
    let server = Server::start(&folder, &[]);
    let mut client = server.connect();
    let count = 5000;
    for at in 0..count {
        client.send(&request(&["FP.ADDNX", &format!("page {at}"), "0x1"]));
    }
    client.half_close();
    assert_eq!(client.read().word(), "inserted");
    for _ in 1..count {
        assert_eq!(client.read().word(), "duplicate");
    }
    client.expect_end();
}

#[test]
fn a_request_that_is_never_completed_ends_with_an_error() {
    let folder = database();
    let server = Server::start(&folder, &["--request-timeout", "1"]);
    let mut idle = server.connect();
    let mut slow = server.connect();
    slow.send(b"*2\r\n$4\r\nECHO\r\n$100\r\nabc");
    let reply = slow.read();
    assert!(reply.text().contains("not complete after 1 seconds"), "{reply:?}");
    slow.expect_end();
    // A connection without a request has no such limit.
    assert_eq!(idle.call(&["PING"]).text(), "PONG");
    drop(server);
    let server = Server::start(&folder, &["--timeout", "1"]);
    server.connect().expect_end();
}

#[test]
fn requests_share_limited_memory() {
    let folder = database();
    let server = Server::start(&folder, &["--request-memory", "512KiB"]);
    let mut client = server.connect();
    let small = "x".repeat(200_000);
    assert_eq!(client.call(&["ECHO", &small]), bulk(&small));
    let mut greedy = server.connect();
    let sent = greedy.stream.write_all(&request(&["ECHO", &"x".repeat(2_000_000)]));
    drop(sent); // The server may have closed the connection already.
    let reply = greedy.read();
    assert!(reply.text().contains("--request-memory"), "{reply:?}");
    assert_eq!(client.call(&["ECHO", &small]), bulk(&small));
}

#[test]
#[cfg(target_os = "linux")]
fn a_client_that_does_not_read_takes_little_memory_and_delays_nobody() {
    let folder = Folder::new();
    folder.write("copies", "0x00000000000000ff\n".repeat(5000));
    folder.ok("import --from fp db copies");
    let server = Server::start(&folder, &["--write-timeout", "1"]);
    let mut slow = server.connect();
    // Replies of about 100 MB.
    let requests = 400;
    slow.send(&request(&["FP.QUERY", "0xff"]).repeat(requests));
    let mut other = server.connect();
    // The server gives up the connection at some time, without anything being read.
    while !other.call(&["INFO"]).text().contains("connected_clients:1\r\n") {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut received = 0;
    while let Some(reply) = slow.try_read() {
        assert_eq!(reply.items().len(), 5000);
        received += 1;
    }
    assert!(received < requests, "{received}");
    let status = format!("/proc/{}/status", server.process());
    let status = std::fs::read_to_string(status).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 64 << 10, "{peak} KiB");
}

/// Sends commands whose replies take about 24 MB, more than the buffers of the systems.
fn write_without_reading(client: &mut Client) -> usize {
    let name = "x".repeat(60_000);
    client.call(&["FP.ADDNX", &name, "0xff"]);
    let requests = 400;
    client.send(&request(&["FP.ADDNX", "copy", "0xff"]).repeat(requests));
    requests
}

#[test]
fn clients_that_do_not_read_the_replies_to_writes_delay_nobody_and_can_read_them_later() {
    let folder = database();
    // Only the write timeout would end a wait for these clients.
    let server = Server::start(&folder, &["--write-timeout", "600"]);
    let mut slow: Vec<Client> = (0..4).map(|_| server.connect()).collect();
    let requests: Vec<usize> = slow.iter_mut().map(write_without_reading).collect();
    let mut other = server.connect();
    for _ in 0..10 {
        assert_eq!(other.call(&["FP.ADDNX", "copy", "0xfe"]).word(), "duplicate");
    }
    for (client, requests) in slow.iter_mut().zip(requests) {
        for _ in 0..requests {
            let reply = client.read();
            assert_eq!((reply.word(), reply.items()[1].text().len()), ("duplicate", 60_000));
        }
        assert_eq!(client.call(&["PING"]).text(), "PONG");
    }
}

#[test]
fn a_client_that_waits_for_its_replies_is_not_idle() {
    let folder = database();
    let server = Server::start(&folder, &["--timeout", "3"]);
    let mut client = server.connect();
    let requests = write_without_reading(&mut client);
    std::thread::sleep(Duration::from_secs(4));
    for _ in 0..requests {
        assert_eq!(client.read().word(), "duplicate");
    }
    assert_eq!(client.call(&["PING"]).text(), "PONG");
    client.expect_end();
}

#[test]
fn a_client_that_never_reads_the_replies_to_writes_is_cut_off() {
    let folder = database();
    let server = Server::start(&folder, &["--write-timeout", "1"]);
    let mut slow = server.connect();
    let requests = write_without_reading(&mut slow);
    let (mut other, start) = (server.connect(), Instant::now());
    while !other.call(&["INFO"]).text().contains("connected_clients:1\r\n") {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    let received = std::iter::from_fn(|| slow.try_read()).count();
    assert!(received < requests, "{received}");
}

#[test]
fn a_thousand_connections_are_served_and_one_more_is_refused() {
    let folder = database();
    let server = Server::start(&folder, &["--max-connections", "1000"]);
    let mut clients: Vec<Client> = (0..1000).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send(&request(&["PING"]));
    }
    for client in &mut clients {
        assert_eq!(client.read().text(), "PONG");
    }
    let mut refused = TcpStream::connect(server.address).unwrap();
    let mut reply = String::new();
    refused.read_to_string(&mut reply).unwrap();
    assert_eq!(reply, "-ERR max number of clients reached\r\n");
    // Each that ends makes room for another one.
    clients.truncate(500);
    while TcpStream::connect(server.address)
        .and_then(|mut stream| {
            stream.write_all(b"PING\r\nQUIT\r\n")?;
            let mut reply = String::new();
            stream.read_to_string(&mut reply)?;
            Ok(reply)
        })
        .map_or(true, |reply| reply != "+PONG\r\n+OK\r\n")
    {}
    for (at, client) in clients.iter_mut().enumerate() {
        let fingerprint = format!("0x{:x}", (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        client.send(&request(&["FP.ADDNX", &at.to_string(), &fingerprint]));
    }
    for client in &mut clients {
        assert!(matches!(client.read().word(), "inserted" | "duplicate"));
    }
}
