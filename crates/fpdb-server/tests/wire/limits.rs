//! Bad, slow and greedy clients harm only themselves.

use std::io::Write;
use std::time::{Duration, Instant};

use fpdb_server::Options;

use crate::client::{Client, Reply, bulk, request};
use crate::common::{Served, folder, names};

#[test]
fn a_malformed_request_gets_an_error_and_ends_its_connection_only() {
    let folder = folder();
    let server =
        Served::start(names(&folder), &Options::default().max_bulk(1 << 10).max_request(2 << 10));
    let mut other = server.connect();
    let cases: [(&[u8], &str); 8] = [
        (b"*1\r\n$-1\r\n", "invalid bulk length"),
        (b"*100000\r\n", "invalid multibulk length: 100000, more than 65536"),
        (b"*1\r\n$1025\r\n", "invalid bulk length: 1025, more than 1024"),
        (b"*3\r\n$4\r\nECHO\r\n$1024\r\n", "an argument does not end with CR LF"),
        (b"*1\r\n:1\r\n", "expected '$', got ':'"),
        (b"HEAD / HTTP/1.1\r\nFP.ADDNX a 0x1\r\n", "not an HTTP server"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nFP.ADDNX a 0x1\r\n", "not an HTTP server"),
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
    assert_eq!(other.call(&["FP.GET", "a"]), Reply::Null, "what follows was executed");
}

#[test]
fn an_incomplete_request_at_the_end_of_a_connection_is_not_executed() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
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
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
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
    let folder = folder();
    let (db, second) = (names(&folder), Duration::from_secs(1));
    let server = Served::start(db.clone(), &Options::default().request_timeout(second));
    let mut idle = server.connect();
    let mut slow = server.connect();
    slow.send(b"*2\r\n$4\r\nECHO\r\n$100\r\nabc");
    let reply = slow.read();
    assert!(reply.text().contains("not complete after 1 seconds"), "{reply:?}");
    slow.expect_end();
    // A connection without a request has no such limit.
    assert_eq!(idle.call(&["PING"]).text(), "PONG");
    drop(server);
    let server = Served::start(db, &Options::default().timeout(second));
    server.connect().expect_end();
}

#[test]
fn requests_share_limited_memory() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default().request_memory(512 << 10));
    let mut client = server.connect();
    let small = "x".repeat(200_000);
    assert_eq!(client.call(&["ECHO", &small]), bulk(&small));
    let mut greedy = server.connect();
    let sent = greedy.stream.write_all(&request(&["ECHO", &"x".repeat(2_000_000)]));
    drop(sent); // The server may have closed the connection already.
    let reply = greedy.read();
    assert!(reply.text().contains("request-memory"), "{reply:?}");
    assert_eq!(client.call(&["ECHO", &small]), bulk(&small));
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
    let folder = folder();
    // Only the write timeout would end a wait for these clients.
    let options = Options::default().write_timeout(Duration::from_secs(600));
    let server = Served::start(names(&folder), &options);
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
    let folder = folder();
    let options = Options::default().timeout(Duration::from_secs(3));
    let server = Served::start(names(&folder), &options);
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
    let folder = folder();
    let options = Options::default().write_timeout(Duration::from_secs(1));
    let server = Served::start(names(&folder), &options);
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
