//! The protocol as clients of Redis know it: what they send by mistake, error texts that they
//! recognise, and commands that every server has. Raw bytes, because clients send none of this.

use fpdb_server::Options;

use crate::client::{Client, Reply, bulk, request};
use crate::common::{Served, folder, names};

fn simple(text: &str) -> Reply {
    Reply::Simple(text.to_owned())
}

/// Serves an empty database without a password.
fn with_server(test: impl Fn(&Served)) {
    let folder = folder();
    test(&Served::start(names(&folder), &Options::default()));
}

#[test]
fn requests_of_nothing_get_no_reply() {
    with_server(|server| {
        let mut client = server.connect();
        for bytes in [&b"\r\n"[..], b"\n", b"  \r\n", b"*0\r\n", b"*-1\r\n", b"*-10\r\n"] {
            client.send(&[bytes, b"PING\r\n"].concat());
            assert_eq!(client.read(), simple("PONG"), "{}", bytes.escape_ascii());
        }
    });
}

/// In double quotes, as programs write strings. In single quotes, only the quote itself.
#[test]
fn lines_have_quotes_and_escapes() {
    with_server(|server| {
        let mut client = server.connect();
        for (line, text) in [
            (r"ECHO a\b", r"a\b"),
            (r#"ECHO "a\x62c""#, "abc"),
            (r#"ECHO "\n\r\t\a\b\"\\\q""#, "\n\r\t\x07\x08\"\\q"),
            (r#"ECHO "\xe5\x8e\xbb""#, "去"),
            (r#"ECHO "\x6""#, "x6"),
            (r"ECHO 'a\'b\n'", r"a'b\n"),
            (r#"ECHO """#, ""),
            (r#"ECHO a"b c""#, "ab c"),
            (r#""\x45CHO" x"#, "x"),
        ] {
            client.send(format!("{line}\r\nPING\r\n").as_bytes());
            assert_eq!((client.read(), client.read()), (bulk(text), simple("PONG")), "{line}");
        }
    });
}

#[test]
fn errors_begin_with_the_words_by_which_clients_recognise_them() {
    let no_password = "ERR AUTH <password> called without any password configured for the default \
                       user. Are you sure your configuration is correct?";
    with_server(|server| {
        let mut client = server.connect();
        for (words, message) in [
            (&["AUTH", "x"][..], no_password),
            (&["AUTH", "a", "b", "c"], "ERR syntax error"),
            (&["HELLO", "4"], "NOPROTO unsupported protocol version"),
            (&["HELLO", "x"], "ERR Protocol version is not an integer or out of range"),
            (&["HELLO", "3", "X"], "ERR Syntax error in HELLO option 'X'"),
            (&["PING", "a", "b"], "ERR wrong number of arguments for 'ping' command"),
            (&["NONE", "a"], "ERR unknown command 'NONE'"),
            (&["SELECT", "1"], "ERR DB index is out of range"),
            (&["EXEC"], "ERR EXEC without MULTI"),
            (&["DISCARD"], "ERR DISCARD without MULTI"),
            (&["WATCH", "a"], "ERR WATCH is not supported"),
            (&["CLIENT", "NONE"], "ERR unknown subcommand"),
        ] {
            assert!(client.call(words).text().starts_with(message), "{words:?}");
        }
        assert_eq!(client.call(&["MULTI"]), simple("OK"));
        assert_eq!(client.call(&["MULTI"]).text(), "ERR MULTI calls can not be nested");
        assert_eq!(client.call(&["WATCH", "a"]).text(), "ERR WATCH inside MULTI is not allowed");
        assert!(client.call(&["EXEC"]).text().starts_with("EXECABORT "));
        assert_eq!(client.call(&["UNWATCH"]), simple("OK"));
    });
}

#[test]
fn a_client_without_the_password_is_told_that_its_requests_are_limited() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default().password("secret"));
    for (bytes, message) in [
        (&b"*100\r\n"[..], "ERR Protocol error: unauthenticated multibulk length"),
        (b"*1\r\n$100000000\r\n", "ERR Protocol error: unauthenticated bulk length"),
    ] {
        let mut client = server.connect();
        client.send(bytes);
        assert!(client.read().text().starts_with(message));
        client.expect_end();
    }
    let mut client = server.connect();
    for (words, message) in [
        (&["PING"][..], "NOAUTH Authentication required."),
        (&["HELLO", "3"], "NOAUTH HELLO must be called with the client already authenticated"),
        (&["AUTH", "wrong"], "WRONGPASS invalid username-password pair or user is disabled."),
        (&["AUTH", "default", "secret", "x"], "ERR syntax error"),
        (&["AUTH", "secret"], "OK"),
        (&["PING"], "PONG"),
    ] {
        assert!(client.call(words).text().starts_with(message), "{words:?}");
    }
}

/// Sends these commands, and a last one that shows that no other reply came.
fn replies(client: &mut Client, commands: &[&[&str]]) -> Vec<Reply> {
    let last = ["CLIENT", "REPLY", "ON"];
    client.send(&commands.iter().flat_map(|words| request(words)).collect::<Vec<u8>>());
    client.send(&[request(&last), request(&["ECHO", "the end"])].concat());
    let mut all = vec![client.read()];
    while all.last() != Some(&bulk("the end")) {
        all.push(client.read());
    }
    all.truncate(all.len() - 2);
    all
}

#[test]
fn client_reply_suppresses_replies_and_executes_commands() {
    with_server(|server| {
        let mut client = server.connect();
        let (off, skip) = (&["CLIENT", "REPLY", "OFF"][..], &["CLIENT", "REPLY", "SKIP"][..]);
        let add = |key| ["FP.ADDNX", key, "0xff00"];
        assert_eq!(replies(&mut client, &[off, &["PING"], &["NONE"], &add("a")]), []);
        assert_eq!(client.call(&["DBSIZE"]), Reply::Integer(1), "it was executed");
        // Also if the next command is one of those that are committed together.
        let found = replies(&mut client, &[skip, &add("b"), &add("a"), skip, &["PING"], &["PING"]]);
        assert_eq!((found.len(), found[0].word()), (2, "exists"));
        assert_eq!(found[1], simple("PONG"));
        assert_eq!(replies(&mut client, &[skip, off, &["PING"], &["PING"]]), []);
        assert_eq!(replies(&mut client, &[skip, skip, &["PING"], &["PING"]]), [simple("PONG")]);
        let all = [off, skip, &["PING"], &["RESET"], &["PING"]];
        assert_eq!(replies(&mut client, &all), [simple("RESET"), simple("PONG")]);
        assert_eq!(client.call(&["CLIENT", "REPLY", "NO"]).text(), "ERR syntax error");
        // The array of EXEC has an element for each command.
        assert_eq!(client.call(&["MULTI"]), simple("OK"));
        assert!(client.call(off).text().starts_with("ERR CLIENT REPLY inside MULTI"));
        assert!(client.call(&["EXEC"]).text().starts_with("EXECABORT "));
    });
}

#[test]
fn client_setinfo_stores_what_the_library_is() {
    with_server(|server| {
        let mut client = server.connect();
        assert_eq!(client.call(&["CLIENT", "SETINFO", "lib-name", "redis-py"]), simple("OK"));
        assert_eq!(client.call(&["CLIENT", "SETINFO", "LIB-VER", "8.1.0"]), simple("OK"));
        let info = client.call(&["CLIENT", "INFO"]);
        assert!(info.text().contains(" lib-name=redis-py lib-ver=8.1.0"), "{info:?}");
        let wrong = client.call(&["CLIENT", "SETINFO", "lib-name", "a b"]);
        assert!(wrong.text().starts_with("ERR lib-name cannot contain spaces"), "{wrong:?}");
        let wrong = client.call(&["CLIENT", "SETINFO", "other", "a"]);
        assert!(wrong.text().starts_with("ERR Unrecognized option 'other'"), "{wrong:?}");
    });
}

#[test]
fn info_has_the_sections_that_are_named() {
    with_server(|server| {
        let mut client = server.connect();
        let titles = |reply: &Reply| -> Vec<String> {
            let lines = reply.text().lines().filter_map(|line| line.strip_prefix("# "));
            lines.map(str::to_owned).collect()
        };
        let all = ["Server", "Clients", "Memory", "Stats", "Database"];
        assert_eq!(titles(&client.call(&["INFO"])), all);
        for name in ["everything", "ALL"] {
            assert_eq!(titles(&client.call(&["INFO", name])), all);
        }
        assert_eq!(titles(&client.call(&["INFO", "stats", "SERVER"])), ["Server", "Stats"]);
        assert_eq!(client.call(&["INFO", "keyspace"]), bulk(""));
    });
}

#[test]
fn time_and_dbsize_have_the_form_of_redis() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let mut client = server.connect();
    let now = || std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let (before, time, after) = (now(), client.call(&["TIME"]), now());
    let [seconds, micros] = time.items() else { panic!("{time:?}") };
    assert!((before..=after).contains(&seconds.text().parse().unwrap()));
    assert!(micros.text().parse::<u32>().unwrap() < 1_000_000);
    assert_eq!(client.call(&["DBSIZE"]), Reply::Integer(0));
    client.call(&["FP.ADDNX", "a", "0xff"]);
    assert_eq!(client.call(&["DBSIZE"]), Reply::Integer(1));
    drop(server);
    let entries = folder.path().join("entries");
    let server = Served::start(fpdb::Db::options().create(entries).unwrap(), &Options::default());
    let mut client = server.connect();
    client.call(&["FP.ADDNX", "7", "0xff"]);
    assert_eq!(client.call(&["DBSIZE"]), Reply::Integer(1), "entries count if ids are the user's");
}

#[test]
fn reset_makes_the_connection_as_it_was() {
    with_server(|server| {
        let mut client = server.connect();
        assert!(matches!(client.call(&["HELLO", "3", "SETNAME", "me"]), Reply::Map(_)));
        assert_eq!(client.call(&["MULTI"]), simple("OK"));
        assert_eq!(client.call(&["RESET"]), simple("RESET"));
        assert_eq!(client.call(&["CLIENT", "GETNAME"]), Reply::Null);
        assert_eq!(client.call(&["EXEC"]).text(), "ERR EXEC without MULTI");
        assert!(matches!(client.call(&["HELLO"]), Reply::Array(_)), "RESP2 again");
    });
}
