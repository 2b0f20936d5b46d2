//! A disk that is full: a small file system in memory, if this process may mount one.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;

use fpdb::Db;

use super::client::{Client, Reply, hex, request};
use super::server::Server;
use crate::common::{Folder, random};

/// A mounted file system.
struct Disk(PathBuf);

impl Disk {
    /// Mounts it. Returns `None`, and says so, if that is not possible here.
    fn mount(path: PathBuf, bytes: u64) -> Option<Self> {
        std::fs::create_dir(&path).unwrap();
        let size = format!("size={bytes}");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(&path).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(path));
        }
        // Not with a macro, whose output the test harness captures.
        let skipped = b"skipped: this process may not mount a file system\n";
        std::io::stderr().write_all(skipped).unwrap();
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

fn is_full(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(text) if text.starts_with("NOSPACE "))
}

/// Inserts random documents until one fails because the disk is full. Returns those before it.
fn fill(client: &mut Client) -> Vec<(String, u64)> {
    let (mut state, mut inserted) = (7, Vec::new());
    loop {
        let (key, fingerprint) = (format!("page {}", inserted.len()), random(&mut state));
        let reply = client.call(&["FP.ADDNX", &key, &hex(fingerprint)]);
        if is_full(&reply) {
            return inserted;
        }
        assert_eq!(reply.word(), "inserted");
        inserted.push((key, fingerprint));
    }
}

/// Requests a page from the server. Returns the head and the body.
fn get(server: &Server, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(server.metrics.unwrap()).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Returns what the figures and INFO say about refused writes.
fn refused_writes(server: &Server, client: &mut Client) -> u64 {
    let number = |text: &str, name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.parse().ok()).unwrap()
    };
    let figure = number(&get(server, "/metrics").1, "fpdb_refused_writes_total ");
    let info = client.call(&["INFO", "database"]);
    assert_eq!(number(info.text(), "refused_writes:"), figure);
    figure
}

#[test]
fn a_full_disk_fails_writes_until_there_is_space_and_loses_nothing() {
    let folder = Folder::new();
    let Some(_disk) = Disk::mount(folder.file("disk"), 24 << 20) else { return };
    folder.ok("create disk/db --ids names");
    std::os::unix::fs::symlink("disk/db", folder.file("db")).unwrap();
    let mut server = Server::start(&folder, &["--metrics", "127.0.0.1:0"]);
    let mut client = server.connect();
    assert_eq!(client.call(&["FP.ADDNX", "a", "0xff"]).word(), "inserted");
    assert_eq!(refused_writes(&server, &mut client), 0);
    let mut ballast = File::create(folder.file("disk/ballast")).unwrap();
    // Not to the last byte: only then does an insert fail before it writes.
    while fs2::available_space(folder.file("disk")).unwrap() > 4 << 20 {
        ballast.write_all(&[1; 4096]).unwrap();
    }
    let mut inserted = fill(&mut client);
    inserted.push(("a".to_owned(), 0xff));
    // Commands that write nothing succeed, even if they share a commit with others.
    let pipeline = [["b", "0xfe"], ["c", "0xff00ff0000"], ["d", "0xfd"], ["e", "0xff00ff000000"]];
    let mut requests = Vec::new();
    for [key, fingerprint] in pipeline {
        requests.extend(request(&["FP.ADDNX", key, fingerprint]));
    }
    client.send(&requests);
    for is_novel in [false, true, false, true] {
        let reply = client.read();
        assert!(is_full(&reply) == is_novel && (is_novel || reply.word() == "duplicate"));
    }
    assert_eq!(client.call(&["FP.QUERY", "0xff"]).items().len(), 1);
    // Documents can be removed, and nothing else is.
    for (key, _) in inserted.drain(..500) {
        assert_eq!(client.call(&["FP.DEL", &key]), Reply::Integer(1), "{key}");
    }
    assert_eq!(client.call(&["FP.DEL", "page 0"]), Reply::Integer(0));
    // The insert that found the disk full, and two of the pipeline.
    assert_eq!(refused_writes(&server, &mut client), 3);
    let (ready, _) = get(&server, "/ready");
    assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");
    std::fs::remove_file(folder.file("disk/ballast")).unwrap();
    drop(ballast);
    client.send(&requests);
    for expected in ["duplicate", "inserted", "duplicate", "inserted"] {
        assert_eq!(client.read().word(), expected);
    }
    let log = server.kill().err;
    assert!(log.contains(" WARN fpdb: writes are refused error=the disk is full: "), "{log}");
    let db = Db::<u64>::options().open(folder.file("db")).unwrap();
    assert_eq!(db.stats().entries, inserted.len() as u64 + 2);
    for (key, fingerprint) in inserted {
        let found = db.get(key.as_str()).unwrap();
        assert_eq!(found.map(|found| found.fingerprint), Some(fingerprint), "{key}");
    }
    db.close().unwrap();
    folder.ok("verify db");
}
