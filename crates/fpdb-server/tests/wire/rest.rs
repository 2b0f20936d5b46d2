//! Connections that write nothing but documents, which the threads that commit serve.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fpdb_server::Options;

use crate::client::{Client, bulk, hex, request};
use crate::common::{Served, folder, names};

/// Writes documents one by one, until the connection rests.
fn rest(client: &mut Client, name: &str) {
    for at in 0..10 {
        let fingerprint = hex(fastrand::u64(..));
        let reply = client.call(&["FP.ADDNX", &format!("{name} {at}"), &fingerprint]);
        assert_eq!(reply.word(), "inserted");
    }
}

#[test]
fn a_client_that_has_written_documents_only_can_send_anything_next() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let mut client = server.connect();
    rest(&mut client, "a");
    assert_eq!(client.call(&["PING"]).text(), "PONG");
    rest(&mut client, "b");
    client.send(b"fp.addnx \"\\x62 0\" 0x1\r\nECHO 'it\\'s'\r\n");
    assert_eq!((client.read().word(), client.read()), ("exists", bulk("it's")));
    rest(&mut client, "c");
    let document = request(&["FP.UPSERT", "c 0", "TEXT", "a text"]);
    client.send(&[request(&["FP.ADDNX", "a 0", "0x1"]), document.clone()].concat());
    assert_eq!(client.read().word(), "exists");
    assert!(client.read().text().starts_with("ERR the database has no recipe"));
    // A request in pieces, after a complete one.
    for end in [1, 30, document.len() - 1] {
        rest(&mut client, &format!("piece {end}"));
        let first = request(&["FP.UPSERT", "first", "0x1"]);
        client.send(&[first, document[..end].to_vec()].concat());
        client.read().word();
        client.send(&document[end..]);
        assert!(client.read().text().starts_with("ERR the database has no recipe"));
    }
    rest(&mut client, "d");
    let many = (0..5000).map(|at| request(&["FP.ADDNX", &format!("many {at}"), "0x1"]));
    client.send(&many.collect::<Vec<_>>().concat());
    assert!((0..5000).all(|_| client.read().word() == "duplicate"));
    rest(&mut client, "e");
    client.send(&[request(&["FP.ADDNX", "e 0", "0x1"]), b"*-\r\n".to_vec()].concat());
    assert_eq!(client.read().word(), "exists");
    assert!(client.read().text().starts_with("ERR Protocol error: "));
    client.expect_end();
    let mut resting = server.connect();
    rest(&mut resting, "f");
    assert_eq!(server.stop(), 2);
    resting.expect_end();
}

#[test]
fn a_connection_without_requests_ends_after_the_timeout_and_one_with_documents_does_not() {
    let folder = folder();
    let second = Duration::from_secs(1);
    let server = Served::start(names(&folder), &Options::default().timeout(second));
    let (mut idle, mut busy) = (server.connect(), server.connect());
    rest(&mut idle, "idle");
    rest(&mut busy, "busy");
    for at in 0..8 {
        thread::sleep(second / 4);
        assert_eq!(busy.call(&["FP.ADDNX", &format!("busy {at}"), "0x1"]).word(), "exists");
    }
    idle.expect_end();
}

#[test]
fn reads_are_answered_while_commits_wait() {
    let folder = folder();
    let db = names(&folder);
    let server = Served::start(db.clone(), &Options::default());
    let (mut writer, mut reader) = (server.connect(), server.connect());
    rest(&mut writer, "writer");
    rest(&mut reader, "reader");
    let ((holds, held), (release, released)) = (mpsc::channel(), mpsc::channel());
    let holder = thread::spawn(move || {
        let hold = |_: &[_]| {
            holds.send(()).unwrap();
            released.recv().unwrap();
            Ok(())
        };
        db.write(&[(0x1, "held")]).before_commit(hold).run().unwrap();
    });
    held.recv().unwrap();
    writer.send(&request(&["FP.UPSERT", "late", "0x2"]));
    thread::sleep(Duration::from_millis(100));
    assert_eq!(reader.call(&["ECHO", "at once"]), bulk("at once"));
    release.send(()).unwrap();
    holder.join().unwrap();
    assert_eq!(writer.read().word(), "duplicate");
}
