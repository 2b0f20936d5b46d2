//! The limits that the command line sets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::client::{Client, request};
use super::server::Server;
use crate::common::Folder;

fn database() -> Folder {
    let folder = Folder::new();
    folder.ok("create db --ids names");
    folder
}

#[test]
fn every_limit_of_the_command_line_holds() {
    let folder = database();
    let echo: &[u8] = b"*2\r\n$4\r\nECHO\r\n";
    // Memory doubles from 16 KiB, so 256 KiB would need 240 KiB of the budget.
    let large = &request(&["ECHO", &"x".repeat(140_000)])[..131_073];
    for (limits, sent, error) in [
        ("--max-bulk 300KiB", &[echo, b"$307201\r\n"].concat()[..], "307201, more than 307200"),
        ("--max-request 1KiB", &[echo, b"$1020\r\n"].concat(), "more than 1024 bytes"),
        ("--request-memory 128KiB", large, "request-memory"),
        ("--request-timeout 1", &[echo, b"$10\r\nabc"].concat(), "after 1 seconds"),
    ] {
        let limits: Vec<&str> = limits.split(' ').collect();
        let server = Server::start(&folder, &limits);
        let mut client = server.connect();
        client.send(sent);
        let reply = client.read();
        assert!(reply.text().contains(error), "{limits:?}: {reply:?}");
        client.expect_end();
    }
    let server = Server::start(&folder, &["--timeout", "1"]);
    server.connect().expect_end();
}

#[test]
fn figures_are_served_where_the_command_line_says() {
    let folder = database();
    let server = Server::start(&folder, &["--metrics", "127.0.0.1:0"]);
    let mut stream = TcpStream::connect(server.metrics.unwrap()).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.contains("\nfpdb_connections 0\n"), "{response}");
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
