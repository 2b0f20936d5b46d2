//! Passwords and public addresses.

use std::time::Duration;

use fpdb_server::{Error, Options, Right, Server};

use crate::client::{Client, Reply, bulk, request};
use crate::common::{Served, folder, names};
use crate::metrics;

#[test]
fn a_public_address_needs_a_password() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let refused = Server::bind(address, &Options::default());
        assert!(matches!(refused, Err(Error::NeedsPassword { .. })), "{address}: {refused:?}");
        let refused = Server::bind(address, &Options::default().password("x".repeat(1025)));
        assert!(matches!(refused, Err(Error::Password { length: 1025 })), "{refused:?}");
    }
    assert!(Server::bind("0.0.0.0:0", &Options::default().password("secret")).is_ok());
}

#[test]
fn nothing_but_the_password_is_accepted_before_the_password() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default().password("secret"));
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
    let options = Options::default().password("secret").request_timeout(Duration::from_secs(1));
    let server = Served::start(names(&folder), &options);
    let mut client = server.connect();
    client.send(&request(&["AUTH", &"x".repeat(5000)]));
    let reply = client.read();
    assert_eq!(
        reply.text(),
        "ERR Protocol error: unauthenticated bulk length: 5000, more than 4096"
    );
    client.expect_end();
    // A connection without a password does not stay open.
    server.connect().expect_end();
    let mut client = server.connect();
    assert_eq!(client.call(&["AUTH", "secret"]).text(), "OK");
}

#[test]
fn users_can_do_what_their_right_allows_and_no_more() {
    let folder = folder();
    let options = Options::default()
        .password("of the operator")
        .user("search", Right::Read, "first")
        .user("crawler", Right::Write, "second");
    let server = Served::start(names(&folder), &options);
    let read: &[&[&str]] = &[&["FP.QUERY", "0xff"], &["FP.GET", "a"], &["INFO"], &["PING"]];
    let write: &[&[&str]] = &[
        &["FP.ADDNX", "a", "0xff"],
        &["FP.UPSERT", "a", "0xff"],
        &["FP.DEL", "a"],
        &["FP.TOUCH", "a", "1"],
        &["FP.EXPIRE", "1"],
    ];
    let admin: &[&[&str]] = &[&["FP.FLUSH"], &["FP.COMPACT"], &["FP.VERIFY"]];
    let mut client = server.connect();
    for (user, password, allowed, refused) in [
        ("search", "first", vec![read], vec![write, admin]),
        ("crawler", "second", vec![read, write], vec![admin]),
        ("default", "of the operator", vec![read, write, admin], vec![]),
    ] {
        assert_eq!(client.call(&["AUTH", user, password]).text(), "OK");
        for words in allowed.concat() {
            let reply = client.call(words);
            assert!(!matches!(reply, Reply::Error(_)), "{user} {words:?}: {reply:?}");
        }
        for words in refused.concat() {
            let reply = client.call(words);
            assert!(reply.text().starts_with("NOPERM User "), "{user} {words:?}: {reply:?}");
        }
    }
    // Each user has a password of its own.
    assert!(client.call(&["AUTH", "search", "second"]).text().starts_with("WRONGPASS "));
    assert!(client.call(&["AUTH", "first"]).text().starts_with("WRONGPASS "));
    assert_eq!(client.call(&["RESET"]).text(), "RESET");
    assert!(client.call(&["FP.QUERY", "0xff"]).text().starts_with("NOAUTH "));
}

#[test]
fn a_transaction_with_a_command_that_the_user_may_not_use_does_nothing() {
    let folder = folder();
    let db = names(&folder);
    db.insert(0xff, "a").unwrap();
    let options = Options::default().user("crawler", Right::Write, "secret");
    let server = Served::start(db.clone(), &options);
    let mut client = server.connect();
    assert_eq!(client.call(&["AUTH", "crawler", "secret"]).text(), "OK");
    assert_eq!(client.call(&["MULTI"]).text(), "OK");
    assert_eq!(client.call(&["FP.DEL", "a"]).text(), "QUEUED");
    assert!(client.call(&["FP.COMPACT"]).text().starts_with("NOPERM "));
    assert!(client.call(&["EXEC"]).text().starts_with("EXECABORT "));
    assert!(db.get("a").unwrap().is_some());
}

#[test]
fn after_too_many_wrong_passwords_even_the_right_one_is_refused() {
    let folder = folder();
    let options =
        Options::default().password("secret").max_wrong_passwords(2).metrics("127.0.0.1:0");
    let server = Served::start(names(&folder), &options);
    let mut early = server.connect();
    assert_eq!(early.call(&["AUTH", "secret"]).text(), "OK");
    for _ in 0..2 {
        // Counted over connections.
        let reply = server.connect().call(&["AUTH", "guess"]);
        assert!(reply.text().starts_with("WRONGPASS invalid"), "{reply:?}");
    }
    let mut client = server.connect();
    for words in [&["AUTH", "secret"][..], &["HELLO", "3", "AUTH", "default", "secret"]] {
        let reply = client.call(words);
        assert!(reply.text().starts_with("WRONGPASS too many wrong passwords"), "{reply:?}");
    }
    // Nobody looked at these, so they are not called wrong.
    let (_, figures) = metrics::get(server.metrics.unwrap(), "GET /metrics HTTP/1.1\r\n\r\n");
    for figure in ["\nfpdb_wrong_passwords_total 2\n", "\nfpdb_refused_passwords_total 2\n"] {
        assert!(figures.contains(figure), "{figures}");
    }
    // Who is in stays in.
    assert_eq!(early.call(&["PING"]).text(), "PONG");
}

#[test]
fn users_need_names_and_passwords_that_clients_can_send() {
    let too_long = "x".repeat(65);
    for name in ["", "two words", "用户", &too_long] {
        let options = Options::default().user(name, Right::Read, "secret");
        let refused = Server::bind("127.0.0.1:0", &options);
        assert!(matches!(refused, Err(Error::User { .. })), "{name}: {refused:?}");
    }
    let options = Options::default().user("a", Right::Read, "");
    assert!(matches!(Server::bind("127.0.0.1:0", &options), Err(Error::Password { length: 0 })));
}

#[test]
fn clients_of_users_that_changed_are_disconnected_when_users_are_replaced() {
    let folder = folder();
    let options = Options::default()
        .password("secret")
        .user("gone", Right::Write, "a")
        .user("password", Right::Write, "b")
        .user("right", Right::Write, "c")
        .user("same", Right::Write, "d");
    let server = Served::start(names(&folder), &options);
    let mut new = server.connect();
    let mut clients = [("gone", "a"), ("password", "b"), ("right", "c"), ("same", "d")].map(
        |(user, password)| {
            let mut client = server.connect();
            assert_eq!(client.call(&["AUTH", user, password]).text(), "OK");
            // It rests then, on Linux.
            for at in 0..10 {
                client.call(&["FP.ADDNX", &format!("{user} {at}"), "0x1"]).word();
            }
            client
        },
    );
    let replacement = Options::default().password("secret").user("same", Right::Write, "d");
    let impossible = replacement.clone().user("password", Right::Write, "");
    let refused = server.accounts.replace(&impossible);
    assert!(matches!(refused, Err(Error::Password { length: 0 })), "{refused:?}");
    let refused = server.accounts.replace(&Options::default());
    assert!(matches!(refused, Err(Error::NoUsers)), "{refused:?}");
    assert_eq!(clients[0].call(&["PING"]).text(), "PONG");
    let replacement =
        replacement.user("password", Right::Write, "new").user("right", Right::Read, "c");
    server.accounts.replace(&replacement).unwrap();
    let [gone @ .., same] = &mut clients;
    gone.iter_mut().for_each(Client::expect_end);
    assert_eq!(same.call(&["FP.ADDNX", "same 0", "0x1"]).word(), "duplicate");
    for (user, password, is_right) in [
        ("gone", "a", false),
        ("password", "b", false),
        ("password", "new", true),
        ("right", "c", true),
    ] {
        let reply = new.call(&["AUTH", user, password]);
        assert_eq!(reply.text() == "OK", is_right, "{user} {password}: {reply:?}");
    }
    assert!(new.call(&["FP.ADDNX", "a", "0x1"]).text().starts_with("NOPERM "));
}
