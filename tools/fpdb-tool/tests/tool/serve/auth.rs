//! Passwords and public addresses.

use super::client::{Reply, Server, bulk, request};
use crate::common::Folder;

#[test]
fn a_public_address_needs_a_password() {
    let folder = Folder::new();
    folder.ok("create db --ids names");
    for address in ["0.0.0.0:0", "[::]:0"] {
        let run = folder.exits(2, &format!("serve db --listen {address}"));
        assert!(run.err.contains("other machines can reach"), "{}", run.err);
        assert!(run.err.contains("--password-file"), "{}", run.err);
    }
    folder.write("password", "secret\n");
    let mut server = Server::start_at(&folder, "0.0.0.0:0", &["--password-file", "password"]);
    assert_eq!(server.connect().call(&["AUTH", "secret"]), Reply::Simple("OK".into()));
    assert_eq!(server.stop().code, 0);
    folder.write("password", "");
    let run = folder.exits(2, "serve db --password-file password");
    assert!(run.err.contains("has no password"), "{}", run.err);
}

#[test]
fn nothing_but_the_password_is_accepted_before_the_password() {
    let folder = Folder::new();
    folder.ok("create db --ids names");
    folder.write("password", "secret");
    let server = Server::start(&folder, &["--password-file", "password"]);
    let mut client = server.connect();
    for words in [
        &["PING"][..],
        &["FP.ADDNX", "a", "0x1"],
        &["FP.STATS"],
        &["CLIENT", "LIST"],
        &["INFO"],
        &["SET", "a", "b"],
        &["HELLO", "3"],
    ] {
        let reply = client.call(words);
        assert!(reply.text().starts_with("NOAUTH "), "{words:?}: {reply:?}");
    }
    for words in [
        &["AUTH", "wrong"][..],
        &["AUTH", "secre"],
        &["AUTH", "secretsecret"],
        &["AUTH", "root", "secret"],
        &["HELLO", "3", "AUTH", "default", "wrong"],
    ] {
        assert!(client.call(words).text().starts_with("WRONGPASS "), "{words:?}");
    }
    let hello = client.call(&["HELLO", "3", "AUTH", "default", "secret", "SETNAME", "me"]);
    assert!(matches!(hello, Reply::Map(_)), "{hello:?}");
    assert_eq!(client.call(&["CLIENT", "GETNAME"]), bulk("me"));
    assert_eq!(client.call(&["FP.ADDNX", "a", "0x1"]).word(), "inserted");
    assert_eq!(client.call(&["RESET"]).text(), "RESET");
    assert!(client.call(&["PING"]).text().starts_with("NOAUTH "));
    // A password and large commands may be sent together.
    let large = "x".repeat(100_000);
    client.send(&[request(&["AUTH", "secret"]), request(&["ECHO", &large])].concat());
    assert_eq!((client.read().text(), client.read()), ("OK", bulk(&large)));
}

#[test]
fn requests_before_the_password_are_small_and_soon() {
    let folder = Folder::new();
    folder.ok("create db --ids names");
    folder.write("password", "secret");
    let server = Server::start(&folder, &["--password-file", "password", "--request-timeout", "1"]);
    let mut client = server.connect();
    client.send(&request(&["AUTH", &"x".repeat(5000)]));
    let reply = client.read();
    assert_eq!(reply.text(), "ERR Protocol error: an argument of 5000 bytes, more than 4096");
    client.expect_end();
    // A connection without a password does not stay open.
    server.connect().expect_end();
    let mut client = server.connect();
    assert_eq!(client.call(&["AUTH", "secret"]).text(), "OK");
}
