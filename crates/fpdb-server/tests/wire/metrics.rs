//! Figures for Prometheus.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use fpdb_server::Options;

use crate::client::request;
use crate::common::{Served, folder, names};

pub(crate) fn get(address: SocketAddr, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[test]
fn figures_are_served_as_prometheus_text() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::new().metrics("127.0.0.1:0"));
    let mut client = server.connect();
    let requests = [
        request(&["FP.ADDNX", "a", "0xff"]),
        request(&["FP.ADDNX", "b", "0xfe"]),
        request(&["FP.ADDNX", "c", "none"]),
        request(&["FP.GET"]),
        request(&["NOTHING"]),
    ];
    client.send(&requests.concat());
    requests.iter().for_each(|_| drop(client.read()));
    let metrics = server.metrics.unwrap();
    // A client that sends nothing useful does not keep the others from their figures.
    let (head, _) = get(metrics, "PING\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    let (head, _) = get(metrics, "GET / HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    let (head, body) = get(metrics, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"),
        "{head}"
    );
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    let samples: BTreeMap<&str, f64> = body
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name, value.parse().unwrap()))
        .collect();
    for (name, value) in [
        ("fpdb_commands_total{command=\"fp.addnx\"}", 3.0),
        ("fpdb_command_errors_total{command=\"fp.addnx\"}", 1.0),
        ("fpdb_command_errors_total{command=\"fp.get\"}", 1.0),
        ("fpdb_unknown_commands_total", 1.0),
        ("fpdb_connections", 1.0),
        ("fpdb_connections_total", 1.0),
        ("fpdb_received_bytes_total", requests.concat().len() as f64),
        ("fpdb_entries", 1.0),
        ("fpdb_segments", 0.0),
        ("fpdb_background_failure", 0.0),
        ("fpdb_command_seconds_bucket{command=\"fp.addnx\",le=\"+Inf\"}", 3.0),
        ("fpdb_command_seconds_count{command=\"fp.addnx\"}", 3.0),
    ] {
        assert_eq!(samples.get(name), Some(&value), "{name}\n{body}");
    }
    let of_get = samples.get("fpdb_command_seconds_count{command=\"fp.get\"}");
    assert_eq!(of_get, Some(&1.0), "every command has a histogram:\n{body}");
    let families = body.lines().filter(|line| line.starts_with("# TYPE ")).count();
    assert_eq!(families, body.lines().filter(|line| line.starts_with("# HELP ")).count());
}

#[test]
fn a_server_is_ready_as_long_as_the_database_takes_writes() {
    let folder = folder();
    let db = names(&folder);
    let options = Options::new().metrics("127.0.0.1:0").password("secret");
    let server = Served::start(db.clone(), &options);
    let metrics = server.metrics.unwrap();
    let page = |path: &str| get(metrics, &format!("GET {path} HTTP/1.1\r\n\r\n"));
    for (path, text) in [("/health", "ok\n"), ("/ready", "ready\n")] {
        let (head, body) = page(path);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert_eq!(body, text);
    }
    let mut client = server.connect();
    for _ in 0..2 {
        client.send(&request(&["AUTH", "guess"]));
        assert!(client.read().text().starts_with("WRONGPASS"));
    }
    assert!(page("/metrics").1.contains("\nfpdb_wrong_passwords_total 2\n"));
    db.close().unwrap();
    let (head, body) = page("/ready");
    assert!(head.starts_with("HTTP/1.1 503 ") && body.contains("closed"), "{head}: {body}");
    assert!(page("/health").0.starts_with("HTTP/1.1 200 "));
}
