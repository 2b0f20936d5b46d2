//! A server that reads beside another process that writes.

use std::time::{Duration, Instant};

use fpdb::Db;
use fpdb_server::Options;

use crate::client::{Reply, bulk};
use crate::common::{Served, folder, names};
use crate::metrics;

#[test]
fn clients_see_what_another_handle_writes_and_cannot_write() {
    let (folder, backups) = (folder(), folder());
    let writer = names(&folder);
    writer.insert(0xff, "a").unwrap();
    let reader = Db::open_read_only(folder.path().join("db")).unwrap();
    let server = Served::start(reader, &Options::default().backup_folder(backups.path()));
    let mut client = server.connect();
    assert_eq!(client.call(&["FP.QUERY", "0xff"]).items().len(), 1);
    for words in [
        &["FP.ADDNX", "b", "0xff00"][..],
        &["FP.UPSERT", "b", "0xff00"],
        &["FP.DEL", "a"],
        &["FP.DEL", "a", "0xff"],
        &["FP.TOUCH", "a", "1"],
        &["FP.EXPIRE", "1"],
        &["FP.FLUSH"],
        &["FP.COMPACT"],
    ] {
        let reply = client.call(words);
        assert!(reply.text().starts_with("READONLY "), "{words:?}: {reply:?}");
    }
    writer.insert(0xff00, "b").unwrap();
    let start = Instant::now();
    while client.call(&["FP.QUERY", "0xff00"]).items().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "the write was never seen");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(client.call(&["FP.BACKUP", "copy"]), Reply::Simple("OK".into()));
    assert_eq!(Db::open_read_only(backups.path().join("copy")).unwrap().stats().documents, 2);
    let report = client.call(&["FP.VERIFY"]);
    assert_eq!(report.items()[4..], [bulk("errors"), Reply::Array(vec![])]);
    let hello = client.call(&["HELLO", "2"]);
    let at = hello.items().iter().position(|item| *item == bulk("role")).unwrap();
    assert_eq!(hello.items()[at + 1], bulk("replica"));
}

#[test]
fn a_database_that_was_replaced_makes_the_server_unready() {
    let folder = folder();
    let path = folder.path().join("db");
    drop(names(&folder));
    let reader = Db::open_read_only(&path).unwrap();
    let server = Served::start(reader, &Options::default().metrics("127.0.0.1:0"));
    let ready = || metrics::get(server.metrics.unwrap(), "GET /ready HTTP/1.1\r\n\r\n");
    assert!(ready().0.starts_with("HTTP/1.1 200 "));
    std::fs::rename(&path, folder.path().join("moved")).unwrap();
    let start = Instant::now();
    while ready().0.starts_with("HTTP/1.1 200 ") {
        assert!(start.elapsed() < Duration::from_secs(60), "nobody noticed");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(ready().1.contains("open the database again"), "{:?}", ready());
    // What was read before is still served.
    assert_eq!(server.connect().call(&["FP.QUERY", "0xff"]), Reply::Array(vec![]));
}
