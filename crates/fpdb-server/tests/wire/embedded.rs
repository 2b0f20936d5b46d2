//! A program that serves a database goes on using it, during and after.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use fastrand::Rng;
use fpdb::{Db, Outcome};
use fpdb_server::{Options, Server, Stop};

use crate::client::{Client, Reply, bulk, hex, request};
use crate::common::{Served, folder, names};

/// Returns random fingerprints, which are far from each other.
fn fingerprints(count: usize) -> Vec<u64> {
    let mut random = Rng::with_seed(1);
    (0..count).map(|_| random.u64(..)).collect()
}

#[test]
fn the_program_inserts_while_clients_query_and_uses_the_database_afterwards() {
    let folder = folder();
    let db = names(&folder);
    let server = Served::start(db.clone(), &Options::default());
    let all = fingerprints(500);
    let (inserted, seen) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let inserted = inserted;
            for (at, fingerprint) in all.iter().enumerate() {
                let novelty = db.insert_if_novel(*fingerprint, &format!("page {at}")).unwrap();
                assert!(matches!(novelty, Outcome::Inserted(_)));
                inserted.send((at, *fingerprint)).unwrap();
            }
        });
        let mut client = server.connect();
        for (at, fingerprint) in seen {
            let found = client.call(&["FP.QUERY", &hex(fingerprint ^ 1)]);
            let expected =
                [bulk(&format!("page {at}")), Reply::Integer(1), bulk(&hex(fingerprint))];
            assert_eq!(found.items(), [Reply::Array(expected.to_vec())]);
            // The program sees at once what clients write.
            let own = format!("client {at}");
            assert_eq!(client.call(&["FP.ADDNX", &own, &hex(!fingerprint)]).word(), "inserted");
            assert_eq!(db.get(own.as_str()).unwrap().unwrap().fingerprint, !fingerprint);
        }
    });
    assert_eq!(server.stop(), 1);
    assert_eq!(db.snapshot().len(), 1000);
    assert!(matches!(db.insert_if_novel(all[0] ^ 1, "late").unwrap(), Outcome::Duplicate(_)));
    db.compact().unwrap();
    // It can be served again, too.
    let server = Served::start(db.clone(), &Options::default());
    assert_eq!(server.connect().call(&["FP.QUERY", &hex(all[7])]).items().len(), 1);
    server.stop();
    db.close().unwrap();
}

#[test]
fn nothing_is_left_of_a_server_that_has_stopped() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default().metrics("127.0.0.1:0"));
    let (address, metrics) = (server.address, server.metrics.unwrap());
    let mut client = server.connect();
    assert_eq!(client.call(&["FP.ADDNX", "a", "0xff"]).word(), "inserted");
    let start = Instant::now();
    assert_eq!(server.stop(), 1);
    // Idle clients are not waited for.
    assert!(start.elapsed().as_secs() < 1, "{:?}", start.elapsed());
    client.expect_end();
    for address in [address, metrics] {
        assert!(TcpStream::connect(address).is_err(), "{address}");
        Server::bind(&address.to_string(), &Options::default()).unwrap();
    }
    // Its clones of the handle would keep the folder locked.
    assert_eq!(Db::<u64>::open(folder.path().join("db")).unwrap().stats().entries, 1);
}

#[test]
fn clients_write_nothing_after_the_server_has_stopped_and_all_that_was_acknowledged_before() {
    let folder = folder();
    let db = names(&folder);
    let server = Served::start(db.clone(), &Options::default());
    let (address, is_under_way) = (server.address, AtomicBool::new(false));
    let acknowledged: u64 = std::thread::scope(|scope| {
        let write = |thread: u64| {
            let mut client = Client::new(address);
            let mut random = Rng::with_seed(thread);
            let mut acknowledged = 0;
            loop {
                let words = ["FP.ADDNX", &format!("{thread} {acknowledged}"), &hex(random.u64(..))];
                if std::io::Write::write_all(&mut client.stream, &request(&words)).is_err() {
                    return acknowledged;
                }
                let Some(reply) = client.try_read() else { return acknowledged };
                assert_eq!(reply.word(), "inserted");
                acknowledged += 1;
                is_under_way.store(acknowledged > 20, Ordering::Relaxed);
            }
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || write(thread))).collect();
        while !is_under_way.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        assert_eq!(server.stop(), 4);
        let entries = db.stats().entries;
        let acknowledged = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(db.stats().entries, entries);
        acknowledged
    });
    assert_eq!(db.stats().entries, acknowledged);
}

#[test]
fn commands_of_several_connections_are_committed_together() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let (clients, commands) = (20, 50);
    let all = fingerprints(clients * commands);
    std::thread::scope(|scope| {
        for (client, own) in all.chunks(commands).enumerate() {
            let mut connection = server.connect();
            scope.spawn(move || {
                for (at, fingerprint) in own.iter().enumerate() {
                    let words = ["FP.ADDNX", &format!("{client} {at}"), &hex(*fingerprint)];
                    assert_eq!(connection.call(&words).word(), "inserted");
                }
            });
        }
    });
    server.stop();
    // The handle was dropped but not closed, so the log is replayed.
    let db = Db::<u64>::open(folder.path().join("db")).unwrap();
    assert_eq!(db.stats().entries, all.len() as u64);
    let commits = db.recovery().commits;
    // How many share a commit depends on how long a sync takes, but some do.
    assert!((1..all.len() as u64).contains(&commits), "{commits}");
}

#[test]
fn a_database_that_the_program_closes_is_only_read() {
    let folder = folder();
    let db = names(&folder);
    let server = Served::start(db.clone(), &Options::default());
    let mut client = server.connect();
    assert_eq!(client.call(&["FP.ADDNX", "a", "0xff"]).word(), "inserted");
    db.close().unwrap();
    assert!(client.call(&["FP.ADDNX", "b", "0xff00"]).text().starts_with("UNWRITABLE "));
    assert!(client.call(&["FP.DEL", "a"]).text().starts_with("UNWRITABLE "));
    assert_eq!(client.call(&["FP.QUERY", "0xff"]).items().len(), 1);
}

#[test]
fn a_stop_that_was_requested_before_lets_a_server_end_at_once() {
    let folder = folder();
    let (server, stop) = (Server::bind("127.0.0.1:0", &Options::default()).unwrap(), Stop::new());
    stop.request();
    assert_eq!(server.serve(names(&folder), &stop).unwrap(), 0);
}
