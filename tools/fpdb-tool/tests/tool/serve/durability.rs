//! What was acknowledged is in the database, however the server ends.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fpdb::Db;

use super::client::{Client, Reply, bulk, hex, request};
use super::server::Server;
use crate::common::Folder;

/// Documents that each client sends before it waits for the replies.
const PIPELINED: u64 = 20;

/// Returns fingerprints that are far from each other: multiples of an odd number have few in
/// common.
fn fingerprint(at: u64) -> u64 {
    let mut state = at;
    crate::common::random(&mut state)
}

/// Writes until the connection ends. Returns the documents that were acknowledged as inserted.
fn write(
    address: SocketAddr,
    thread: u64,
    acknowledged: &AtomicU64,
    has_ended: &AtomicBool,
) -> Vec<(String, u64)> {
    let mut client = Client::new(address);
    let mut inserted = Vec::new();
    for round in 0.. {
        let documents = (0..PIPELINED).map(|at| {
            let number = (thread << 40) + round * PIPELINED + at;
            (format!("page {number}"), fingerprint(number))
        });
        let documents: Vec<_> = documents.collect();
        let requests: Vec<u8> = documents
            .iter()
            .flat_map(|(key, fingerprint)| request(&["FP.ADDNX", key, &hex(*fingerprint)]))
            .collect();
        if std::io::Write::write_all(&mut client.stream, &requests).is_err() {
            break;
        }
        let mut replies = 0;
        for document in documents {
            let Some(reply) = client.try_read() else { break };
            replies += 1;
            match reply.word() {
                "inserted" => inserted.push(document),
                "duplicate" => {}
                other => panic!("{other}"),
            }
        }
        acknowledged.fetch_add(replies, Ordering::Relaxed);
        if replies < PIPELINED {
            break;
        }
    }
    assert!(has_ended.load(Ordering::Relaxed), "the connection ended too early");
    inserted
}

/// Writes from several connections until the server is ended in the middle, and checks that the
/// database has all that was acknowledged. Returns how many commits were not in its files.
fn end_under_load(end: impl FnOnce(&mut Server)) -> u64 {
    let folder = Folder::new();
    folder.ok("create db --ids names");
    let mut server = Server::start(&folder, &[]);
    let (acknowledged, has_ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let address = server.address;
    let inserted: Vec<(String, u64)> = std::thread::scope(|scope| {
        let write = |thread| write(address, thread, &acknowledged, &has_ended);
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || write(thread))).collect();
        while acknowledged.load(Ordering::Relaxed) < 2000 {
            std::thread::yield_now();
        }
        has_ended.store(true, Ordering::Relaxed);
        end(&mut server);
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let db = Db::<u64>::options().open(folder.file("db")).unwrap();
    for (key, fingerprint) in &inserted {
        let found = db.get(key.as_str()).unwrap();
        assert_eq!(found.map(|found| found.fingerprint), Some(*fingerprint), "{key}");
    }
    assert!(inserted.len() > 1000);
    let commits = db.recovery().commits;
    db.close().unwrap();
    folder.ok("verify db");
    commits
}

#[test]
fn sigterm_under_load_closes_the_database_and_exits_with_0() {
    let commits = end_under_load(|server| {
        let run = server.stop();
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.err.contains("stopped connections=4"), "{}", run.err);
    });
    assert_eq!(commits, 0);
}

#[test]
fn sigkill_under_load_loses_nothing_that_was_acknowledged() {
    let _ = end_under_load(|server| drop(server.kill()));
}

#[test]
fn a_document_whose_reply_was_lost_exists_when_it_is_sent_again() {
    let folder = Folder::new();
    folder.ok("create db --ids names");
    let mut server = Server::start(&folder, &[]);
    server.connect().send(&request(&["FP.ADDNX", "a", "0x1"]));
    let mut other = server.connect();
    while other.call(&["FP.GET", "a"]) == Reply::Null {
        std::thread::yield_now();
    }
    server.kill();
    let server = Server::start(&folder, &[]);
    let mut client = server.connect();
    let own = [bulk("exists"), bulk("a"), Reply::Integer(0), bulk(&hex(1))];
    assert_eq!(client.call(&["FP.ADDNX", "a", "0x1"]).items(), own);
}

#[test]
fn only_one_process_writes() {
    let folder = Folder::new();
    folder.ok("create db --ids names");
    let server = Server::start(&folder, &[]);
    let mut client = server.connect();
    assert_eq!(client.call(&["FP.ADDNX", "a", "0x1"]).word(), "inserted");
    let run = folder.exits(3, "serve db --listen 127.0.0.1:0");
    assert!(run.err.starts_with("fpdb-tool: "), "{}", run.err);
    folder.exits(3, "remove db --name a");
    folder.ok("verify db");
    let address = server.address.to_string();
    folder.ok("create other --ids names");
    let run = folder.exits(2, &format!("serve other --listen {address}"));
    assert!(run.err.contains(&format!("cannot listen on {address}")), "{}", run.err);
    folder.exits(2, "serve missing --listen nowhere");
    assert!(!folder.file("missing").exists());
}

#[test]
fn a_database_that_cannot_be_written_to_still_answers_reads() {
    let folder = Folder::new();
    folder.ok("create db --ids names");
    let mut server = Server::start(&folder, &[]);
    let mut client = server.connect();
    assert_eq!(client.call(&["FP.ADDNX", "a", "0xff"]).word(), "inserted");
    std::fs::rename(folder.file("db"), folder.file("moved")).unwrap();
    client.send(&request(&["FP.ADDNX", "b", "0xff00"]).repeat(3));
    client.send(&request(&["FP.ADDNX", "c", "0xfe"]));
    for _ in 0..3 {
        let reply = client.read();
        assert!(reply.text().starts_with("UNWRITABLE "), "{reply:?}");
    }
    client.read();
    assert_eq!(client.call(&["FP.QUERY", "0xff"]).items().len(), 1);
    assert_eq!(server.stop().code, 2);
    let db = Db::<u64>::options().open(folder.file("moved")).unwrap();
    assert!(db.get("a").unwrap().is_some());
}

#[test]
fn a_second_server_reads_beside_the_one_that_writes() {
    let folder = Folder::new();
    let mut writer = Server::start(&folder, &[]);
    assert_eq!(writer.connect().call(&["FP.ADDNX", "a", "0xff"]).word(), "inserted");
    let mut reader = Server::start(&folder, &["--read-only"]);
    let mut client = reader.connect();
    assert_eq!(client.call(&["FP.QUERY", "0xff"]).items().len(), 1);
    assert!(client.call(&["FP.ADDNX", "b", "0xff00"]).text().starts_with("READONLY "));
    assert_eq!(writer.stop().code, 0);
    // What was written can be read without a writer, too.
    assert_eq!(client.call(&["FP.QUERY", "0xff"]).items().len(), 1);
    assert_eq!(reader.stop().code, 0);
    folder.exits(2, "serve missing --read-only --listen 127.0.0.1:0");
    assert!(!folder.file("missing").exists());
}

#[test]
fn slow_commands_are_in_the_log() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &["--slow-command", "0"]);
    assert_eq!(server.connect().call(&["FP.ADDNX", "a", "0xff"]).word(), "inserted");
    let mut clients: Vec<Client> = (0..50).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| drop(client.call(&["FP.GET", "a"])));
    let run = server.stop();
    // The others are summed up, once a second.
    assert!(run.err.matches("slow command").count() < 20, "{}", run.err);
    assert!(run.err.contains("slow commands others="), "{}", run.err);
    assert!(run.err.contains("slow command peer=127.0.0.1:"), "{}", run.err);
    assert!(run.err.contains("command=\"fp.addnx\" calls=1 milliseconds="), "{}", run.err);
}
