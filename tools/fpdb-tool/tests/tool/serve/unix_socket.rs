//! A server on a Unix socket leaves nothing behind, and removes nothing of another one.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Folder, Run};

/// Starts a server and waits until it is ready.
fn start(folder: &Folder, db: &str, socket: &str) -> Child {
    let address = format!("unix:{socket}");
    let mut child = folder.command(&["serve", db, "--listen", &address, "--json"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains(&address), "{line}");
    child
}

fn stop(child: Child) {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!(run.code, 0, "{}", run.err);
}

fn ping(folder: &Folder, socket: &str) -> String {
    let mut client = UnixStream::connect(folder.file(socket)).unwrap();
    client.write_all(b"PING\r\nQUIT\r\n").unwrap();
    let mut replies = String::new();
    client.read_to_string(&mut replies).unwrap();
    replies
}

#[test]
fn a_server_that_cannot_start_leaves_no_socket() {
    let folder = Folder::new();
    let child = start(&folder, "db", "socket");
    folder.exits(3, "serve db --listen unix:second");
    assert!(!folder.file("second").exists());
    // Nor does it take that of another one.
    folder.exits(2, "serve other --listen unix:socket");
    assert_eq!(ping(&folder, "socket"), "+PONG\r\n+OK\r\n");
    folder.ok("ping unix:socket");
    stop(child);
    let run = folder.exits(1, "ping unix:socket");
    assert!(run.err.starts_with("unix:socket does not answer: "), "{}", run.err);
    assert!(!folder.file("socket").exists());
}
