//! Passwords and public addresses.

use std::time::Duration;

use fpdb_server::{Error, Options, Server};

use crate::client::{Reply, bulk, request};
use crate::common::{Served, folder, names};

#[test]
fn a_public_address_needs_a_password() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let refused = Server::bind(address, &Options::new());
        assert!(matches!(refused, Err(Error::NeedsPassword { .. })), "{address}: {refused:?}");
        for (password, length) in [(String::new(), 0), ("x".repeat(1025), 1025)] {
            let refused = Server::bind(address, &Options::new().password(password));
            let Err(Error::Password { length: found }) = refused else { panic!("{refused:?}") };
            assert_eq!(found, length);
        }
    }
    assert!(Server::bind("0.0.0.0:0", &Options::new().password("secret")).is_ok());
}

#[test]
fn nothing_but_the_password_is_accepted_before_the_password() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::new().password("secret"));
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
    let folder = folder();
    let options = Options::new().password("secret").request_timeout(Duration::from_secs(1));
    let server = Served::start(names(&folder), &options);
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
