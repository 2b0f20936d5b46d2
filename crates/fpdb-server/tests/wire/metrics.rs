//! Figures for Prometheus.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fpdb::storage::{Fault, Sim};
use fpdb::{Db, Ids};
use fpdb_server::Options;

use crate::client::{hex, request};
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
    let server = Served::start(names(&folder), &Options::default().metrics("127.0.0.1:0"));
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
    if cfg!(target_os = "linux") {
        assert!(samples["process_resident_memory_bytes"] > 1e6);
        let files = samples["process_open_fds"];
        let _more: Vec<_> = (0..5).map(|_| server.connect()).collect();
        let info = client.call(&["INFO", "memory"]).text().to_owned();
        assert!(
            info.starts_with("# Memory\r\nused_memory:") && info.contains("\r\nused_memory_rss:")
        );
        let (_, body) = get(metrics, "GET /metrics HTTP/1.1\r\n\r\n");
        let line = body.lines().find_map(|line| line.strip_prefix("process_open_fds "));
        assert!(line.unwrap().parse::<f64>().unwrap() >= files + 5.0, "{body}");
    }
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
        ("fpdb_write_failure", 0.0),
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
    let options = Options::default().metrics("127.0.0.1:0").password("secret");
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

#[test]
fn a_server_that_stops_is_not_ready_while_it_answers_what_has_arrived() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default().metrics("127.0.0.1:0"));
    let metrics = server.metrics.unwrap();
    let mut client = server.connect();
    // More than the buffers of the system take, so the server waits for this client.
    let requests = 4000;
    client.send(&request(&["COMMAND"]).repeat(requests));
    client.read();
    let stopping = std::thread::spawn(move || server.stop());
    let start = Instant::now();
    let (head, body) = loop {
        let (head, body) = get(metrics, "GET /ready HTTP/1.1\r\n\r\n");
        if !head.starts_with("HTTP/1.1 200 ") {
            break (head, body);
        }
        assert!(start.elapsed() < Duration::from_secs(60), "the server stays ready");
    };
    assert!(head.starts_with("HTTP/1.1 503 ") && body.contains("stopping"), "{head}: {body}");
    assert!(get(metrics, "GET /health HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 200 "));
    (1..requests).for_each(|_| drop(client.read()));
    client.expect_end();
    assert_eq!(stopping.join().unwrap(), 1);
}

/// Serves a database of a simulated disk.
fn on_simulated_disk() -> (Arc<Sim>, Db, Served) {
    let sim = Sim::new();
    let options = Db::options().ids(Ids::Names).storage(sim.clone()).background(false);
    let db = options.create("sim").unwrap();
    let server = Served::start(db.clone(), &Options::default().metrics("127.0.0.1:0"));
    (sim, db, server)
}

/// Returns whether the server is ready, its figures, and what INFO says about the database.
fn state(server: &Served) -> (bool, String, String) {
    let page = |path| get(server.metrics.unwrap(), &format!("GET {path} HTTP/1.1\r\n\r\n"));
    let is_ready = page("/ready").0.starts_with("HTTP/1.1 200 ");
    let info = server.connect().call(&["INFO", "database"]);
    (is_ready, page("/metrics").1, info.text().to_owned())
}

#[test]
fn a_database_that_takes_no_more_writes_shows_in_figures_and_info() {
    let (sim, _db, server) = on_simulated_disk();
    let mut client = server.connect();
    assert_eq!(client.call(&["FP.ADDNX", "a", "0xff"]).word(), "inserted");
    let (is_ready, figures, info) = state(&server);
    assert!(is_ready && info.contains("\r\nwrite_error:none\r\n"), "{info}");
    assert!(figures.contains("\nfpdb_write_failure 0\n"), "{figures}");
    sim.fail_at(sim.calls(), Fault::Error, true);
    assert!(client.call(&["FP.ADDNX", "b", "0xff00"]).text().starts_with("IOERR "));
    sim.fail_no_more();
    assert!(client.call(&["FP.ADDNX", "b", "0xff00"]).text().starts_with("UNWRITABLE "));
    let (is_ready, figures, info) = state(&server);
    assert!(!is_ready && !info.contains("\r\nwrite_error:none\r\n"), "{info}");
    assert!(figures.contains("\nfpdb_write_failure 1\n"), "{figures}");
    assert!(figures.contains("\nfpdb_background_failure 0\n"), "{figures}");
    assert_eq!(client.call(&["FP.QUERY", "0xff"]).items().len(), 1);
}

#[test]
fn a_server_says_how_much_space_a_compaction_needs() {
    let (_sim, db, server) = on_simulated_disk();
    let mut client = server.connect();
    for at in 0..101_u64 {
        let words = ["FP.ADDNX", &at.to_string(), &hex(at.wrapping_mul(0x9e37_79b9_7f4a_7c15))];
        assert_eq!(client.call(&words).word(), "inserted");
        // So much fewer are in the second segment that it stays apart.
        if at >= 99 {
            db.flush().unwrap();
        }
    }
    assert!(db.compact_space() > 0);
    for _ in 0..2 {
        let (_, figures, info) = state(&server);
        let needed = db.compact_space();
        assert!(info.contains(&format!("\r\ncompaction_bytes:{needed}\r\n")), "{info}");
        assert!(figures.contains(&format!("\nfpdb_compaction_bytes {needed}\n")), "{figures}");
        client.call(&["FP.COMPACT"]);
    }
    assert_eq!(db.compact_space(), 0);
}

#[test]
fn a_server_without_space_for_a_compaction_stays_ready() {
    let (sim, db, server) = on_simulated_disk();
    let mut client = server.connect();
    for at in 0..32_u64 {
        let words = ["FP.ADDNX", &at.to_string(), &hex(at.wrapping_mul(0x9e37_79b9_7f4a_7c15))];
        assert_eq!(client.call(&words).word(), "inserted");
        // As much as a flush needs, and a write, but not what merges leave free.
        sim.set_free_space(2 << 20);
        db.flush().unwrap();
        if db.stats().background_error.is_some() {
            break;
        }
    }
    let error = db.stats().background_error.unwrap();
    assert!(error.contains("free disk space"), "{error}");
    let (is_ready, figures, info) = state(&server);
    assert!(is_ready && info.contains("\r\nwrite_error:none\r\n"), "{info}");
    assert!(info.contains(&format!("\r\nbackground_error:{error}\r\n")), "{info}");
    assert!(figures.contains("\nfpdb_background_failure 1\n"), "{figures}");
    assert_eq!(client.call(&["FP.ADDNX", "more", "0xffff0000ffff0000"]).word(), "inserted");
}

#[test]
fn each_command_that_a_full_disk_refuses_counts_once() {
    let (sim, db, server) = on_simulated_disk();
    let mut client = server.connect();
    assert_eq!(client.call(&["FP.ADDNX", "a", "0xff"]).word(), "inserted");
    db.flush().unwrap();
    sim.set_free_space(1000);
    // These are one batch, and each half of it is tried again.
    let requests = ["b", "c", "d", "e"].map(|key| request(&["FP.UPSERT", key, "0xff00ff00"]));
    client.send(&[&requests.concat()[..], &request(&["FP.ADDNX", "f", "0xfe"])].concat());
    for _ in requests {
        assert!(client.read().text().starts_with("NOSPACE "));
    }
    // A command that writes nothing succeeds, even if it shares a commit with others.
    assert_eq!(client.read().word(), "duplicate");
    assert!(db.stats().refused_writes >= 4);
    let (is_ready, figures, info) = state(&server);
    assert!(is_ready && info.contains("\r\nrefused_writes:4\r\n"), "{info}");
    for figure in ["refused_writes_total 4", "command_errors_total{command=\"fp.upsert\"} 4"] {
        assert!(figures.contains(&format!("\nfpdb_{figure}\n")), "{figures}");
    }
    sim.set_free_space(64 << 20);
    assert_eq!(client.call(&["FP.ADDNX", "b", "0xff00ff00"]).word(), "inserted");
}
