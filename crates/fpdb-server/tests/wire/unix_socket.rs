//! A server that listens on a Unix socket.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use fpdb_server::{Options, Server, Stop};

use crate::common::{folder, names};

#[test]
fn a_unix_socket_is_served_without_a_password_and_removed_at_the_end() {
    let folder = folder();
    let path = folder.path().join("socket");
    let address = format!("unix:{}", path.display());
    for _ in 0..2 {
        let server = Server::bind(&address, &Options::default()).unwrap();
        assert_eq!(server.local_addr(), None);
        let stop = Stop::new();
        let db_folder = tempfile::tempdir().unwrap();
        let (db, requested) = (names(&db_folder), stop.clone());
        let serving = std::thread::spawn(move || server.serve(db, &requested));
        let mut client = UnixStream::connect(&path).unwrap();
        // Long enough that the replies do not fit into the buffers of the socket.
        let sent = "FP.ADDNX a 0xff\r\n".to_owned()
            + &"FP.QUERY 0xff\r\n".repeat(20_000)
            + "CLIENT LIST\r\nQUIT\r\n";
        let mut writing = client.try_clone().unwrap();
        let writing = std::thread::spawn(move || writing.write_all(sent.as_bytes()).unwrap());
        let mut replies = String::new();
        client.read_to_string(&mut replies).unwrap();
        writing.join().unwrap();
        assert!(replies.starts_with("*1\r\n$8\r\ninserted\r\n*1\r\n*3\r\n$1\r\na\r\n"));
        assert_eq!(replies.matches("0x00000000000000ff").count(), 20_000);
        assert!(replies.contains(" addr=unix "));
        assert!(replies.ends_with("+OK\r\n"));
        stop.request();
        assert_eq!(serving.join().unwrap().unwrap(), 1);
        assert!(!path.exists());
    }
}
