//! `MULTI` and `EXEC`, as clients of Redis use them, and what they ask about commands.

use fpdb_server::Options;

use crate::client::{Client, Reply, bulk, hex, request};
use crate::common::{Served, folder, names};

fn simple(text: &str) -> Reply {
    Reply::Simple(text.to_owned())
}

fn error(text: &str) -> Reply {
    Reply::Error(text.to_owned())
}

fn far(n: u64) -> String {
    hex((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Sends commands in one piece, and returns their replies.
fn pipeline(client: &mut Client, commands: &[&[&str]]) -> Vec<Reply> {
    client.send(&commands.iter().flat_map(|words| request(words)).collect::<Vec<u8>>());
    commands.iter().map(|_| client.read()).collect()
}

/// What redis-py, ioredis and node-redis send by default. The client sees only the last reply: if it
/// had none for the documents that were inserted, they would be duplicates of themselves when it
/// tries again.
#[test]
fn commands_of_a_transaction_are_queued_and_answered_together() {
    let folder = folder();
    let db = names(&folder);
    let server = Served::start(db.clone(), &Options::new());
    let mut client = server.connect();
    let (a, b) = (far(1), far(2));
    let replies = pipeline(
        &mut client,
        &[
            &["MULTI"],
            &["FP.ADDNX", "a", &a],
            &["FP.ADDNX", "copy of a", &a],
            &["FP.QUERY", &a],
            &["FP.ADDNX", "b", &b],
            &["PING"],
            &["FP.DEL", "a"],
            &["EXEC"],
            &["FP.GET", "a"],
        ],
    );
    assert_eq!(replies[0], simple("OK"));
    assert!(replies[1..7].iter().all(|reply| *reply == simple("QUEUED")), "{replies:?}");
    let found = Reply::Array(vec![bulk("a"), Reply::Integer(0), bulk(&a)]);
    let Reply::Array(duplicate) = found.clone() else { unreachable!() };
    let expected = Reply::Array(vec![
        Reply::Array(vec![bulk("inserted")]),
        Reply::Array([vec![bulk("duplicate")], duplicate].concat()),
        Reply::Array(vec![found]),
        Reply::Array(vec![bulk("inserted")]),
        simple("PONG"),
        Reply::Integer(1),
    ]);
    assert_eq!(replies[7], expected);
    assert_eq!(replies[8], Reply::Null);
    assert_eq!(db.stats().documents, 1);
}

#[test]
fn nothing_of_a_transaction_is_executed_if_a_command_was_refused() {
    let folder = folder();
    let db = names(&folder);
    let server = Served::start(db.clone(), &Options::new());
    let mut client = server.connect();
    let a = far(1);
    let aborted = error("EXECABORT Transaction discarded because of previous errors.");
    for (refused, message) in [
        (vec!["SET", "key", "value"], "ERR unknown command 'SET'"),
        (vec!["FP.GET"], "ERR wrong number of arguments for 'fp.get' command"),
    ] {
        let commands: [&[&str]; 5] =
            [&["MULTI"], &["FP.ADDNX", "a", &a], &refused, &["FP.ADDNX", "b", &a], &["EXEC"]];
        let replies = pipeline(&mut client, &commands);
        assert_eq!(replies[2], error(message));
        assert_eq!((&replies[1], &replies[3]), (&simple("QUEUED"), &simple("QUEUED")));
        assert_eq!(replies[4], aborted);
    }
    assert_eq!(db.stats().documents, 0);
    // What fails when it is executed is an element of the reply.
    let replies = pipeline(
        &mut client,
        &[&["MULTI"], &["FP.ADDNX", "a", "12"], &["FP.ADDNX", "b", &a], &["EXEC"]],
    );
    let items = replies[3].items();
    assert!(items[0].text().starts_with("ERR expected a 64-bit fingerprint"));
    assert_eq!(items[1], Reply::Array(vec![bulk("inserted")]));
}

#[test]
fn transactions_begin_and_end_as_those_of_redis() {
    let folder = folder();
    let db = names(&folder);
    let server = Served::start(db.clone(), &Options::new());
    let mut client = server.connect();
    let add: &[&str] = &["FP.ADDNX", "a", &far(1)];
    assert_eq!(client.call(&["EXEC"]), error("ERR EXEC without MULTI"));
    assert_eq!(client.call(&["DISCARD"]), error("ERR DISCARD without MULTI"));
    let replies = pipeline(
        &mut client,
        &[&["MULTI"], add, &["MULTI"], &["WATCH", "a"], &["DISCARD"], &["EXEC"]],
    );
    assert_eq!(replies[2], error("ERR MULTI calls can not be nested"));
    assert!(replies[3].text().starts_with("ERR WATCH is not supported"));
    assert_eq!((&replies[4], &replies[5]), (&simple("OK"), &error("ERR EXEC without MULTI")));
    assert_eq!(pipeline(&mut client, &[&["MULTI"], &["EXEC"]])[1], Reply::Array(vec![]));
    let replies = pipeline(&mut client, &[&["MULTI"], add, &["RESET"], &["EXEC"]]);
    assert_eq!(replies[2..], [simple("RESET"), error("ERR EXEC without MULTI")]);
    // The end of the connection is the end of the transaction.
    let replies = pipeline(&mut client, &[&["MULTI"], add, &["QUIT"]]);
    assert_eq!(replies[2], simple("OK"));
    client.expect_end();
    let mut client = server.connect();
    assert_eq!(pipeline(&mut client, &[&["MULTI"], add])[1], simple("QUEUED"));
    drop(client);
    let mut client = server.connect();
    assert_eq!(client.call(&["EXEC"]), error("ERR EXEC without MULTI"));
    assert_eq!(db.stats().documents, 0);
    assert_eq!(client.call(add), Reply::Array(vec![bulk("inserted")]));
}

#[test]
fn a_transaction_takes_no_more_memory_than_requests_may() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::new().request_memory(1 << 20));
    let mut client = server.connect();
    let text = "x".repeat(10_000);
    assert_eq!(client.call(&["MULTI"]), simple("OK"));
    let refused = (0..200).find_map(|_| match client.call(&["ECHO", &text]) {
        Reply::Error(message) => Some(message),
        reply => {
            assert_eq!(reply, simple("QUEUED"));
            None
        }
    });
    assert!(refused.unwrap().contains("request-memory"));
    assert!(client.call(&["EXEC"]).text().starts_with("EXECABORT"));
    assert_eq!(client.call(&["ECHO", &text]), bulk(&text));
}

/// Many commands, in one commit after the other.
#[test]
fn a_long_transaction_is_answered_in_order() {
    let folder = folder();
    let db = names(&folder);
    let server = Served::start(db.clone(), &Options::new());
    let mut client = server.connect();
    let documents: Vec<(String, String)> =
        (0..3000).map(|n| (format!("page {n}"), far(n % 1000))).collect();
    let mut commands: Vec<Vec<&str>> = vec![vec!["MULTI"]];
    commands.extend(documents.iter().map(|(key, fingerprint)| vec!["FP.ADDNX", key, fingerprint]));
    commands.push(vec!["EXEC"]);
    let commands: Vec<&[&str]> = commands.iter().map(Vec::as_slice).collect();
    let replies = pipeline(&mut client, &commands);
    let items = replies[3001].items();
    let words: Vec<&str> = items.iter().map(Reply::word).collect();
    assert!(words[..1000].iter().all(|word| *word == "inserted"));
    assert!(words[1000..].iter().all(|word| *word == "duplicate"));
    for (n, item) in items.iter().enumerate().skip(1000) {
        assert_eq!(item.items()[1], bulk(&format!("page {}", n % 1000)));
    }
}

#[test]
fn clients_learn_what_the_commands_are() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::new());
    let mut client = server.connect();
    for protocol in ["2", "3"] {
        client.call(&["HELLO", protocol]);
        let all = client.call(&["COMMAND"]);
        assert_eq!(client.call(&["COMMAND", "COUNT"]), Reply::Integer(all.items().len() as i64));
        for command in all.items() {
            assert_eq!(command.items().len(), 10);
        }
        let some = client.call(&["COMMAND", "INFO", "fp.addnx", "SET", "Ping"]);
        let [add, set, ping] = some.items() else { panic!("{some:?}") };
        assert_eq!(*set, Reply::Null);
        assert_eq!((&add.items()[0], &ping.items()[0]), (&bulk("fp.addnx"), &bulk("ping")));
        assert_eq!(add.items()[1..3], [Reply::Integer(-3), Reply::Array(vec![simple("write")])]);
        let summary = |docs: Reply| match docs {
            Reply::Map(mut docs) if protocol == "3" => match docs.remove(0).1 {
                Reply::Map(fields) => fields[0].clone(),
                other => panic!("{other:?}"),
            },
            docs => {
                let fields = docs.items()[1].items();
                (fields[0].clone(), fields[1].clone())
            }
        };
        let (name, text) = summary(client.call(&["COMMAND", "DOCS", "FP.GET"]));
        assert_eq!(name, bulk("summary"));
        assert!(text.text().starts_with("Returns what is known"));
    }
}

#[test]
fn info_has_the_sections_that_were_asked_for() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::new());
    let mut client = server.connect();
    let mut titles = |words: &[&str]| {
        let text = client.call(words).text().to_owned();
        text.lines().filter_map(|line| line.strip_prefix("# ")).collect::<Vec<_>>().join(" ")
    };
    let all = "Server Clients Stats Database";
    assert_eq!(titles(&["INFO"]), all);
    assert_eq!(titles(&["INFO", "everything"]), all);
    assert_eq!(titles(&["INFO", "database"]), "Database");
    assert_eq!(titles(&["INFO", "STATS", "server"]), "Server Stats");
    assert_eq!(titles(&["INFO", "replication"]), "");
}
