//! `MULTI` and `EXEC` work as in Redis.

use fpdb_server::Options;

use crate::client::{Client, Reply, bulk, hex, request};
use crate::common::{Served, folder, names};

fn simple(text: &str) -> Reply {
    Reply::Simple(text.to_owned())
}

/// Sends a transaction in one piece, as clients do. Returns the reply to each command.
fn transaction(client: &mut Client, commands: &[&[&str]]) -> Vec<Reply> {
    let all = [&[&["MULTI"][..]], commands, &[&["EXEC"]]].concat();
    client.send(&all.iter().flat_map(|words| request(words)).collect::<Vec<u8>>());
    all.iter().map(|_| client.read()).collect()
}

#[test]
fn a_transaction_answers_with_one_array() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let mut client = server.connect();
    let replies = transaction(
        &mut client,
        &[
            &["FP.ADDNX", "a", "0xff00"],
            &["FP.ADDNX", "b", "0xff01"],
            &["FP.UPSERT", "c", "0xffffffff"],
            &["FP.ADDNX", "d", "12345"],
            &["FP.QUERY", "0xff00"],
            &["UNWATCH"],
            &["FP.DEL", "a"],
        ],
    );
    assert_eq!(replies[0], simple("OK"));
    assert!(replies[1..8].iter().all(|reply| *reply == simple("QUEUED")), "{replies:?}");
    let fingerprint = bulk("0x000000000000ff00");
    let near = |distance| vec![bulk("a"), Reply::Integer(distance), fingerprint.clone()];
    let executed = replies[8].items();
    assert_eq!(executed[0], Reply::Array(vec![bulk("inserted")]));
    assert_eq!(executed[1], Reply::Array([vec![bulk("duplicate")], near(1)].concat()));
    assert_eq!(executed[2], Reply::Array(vec![bulk("inserted")]));
    assert!(executed[3].text().starts_with("ERR expected a 64-bit fingerprint"));
    assert_eq!(executed[4], Reply::Array(vec![Reply::Array(near(0))]));
    assert_eq!(executed[5..], [simple("OK"), Reply::Integer(1)]);
    assert_eq!(transaction(&mut client, &[]), [simple("OK"), Reply::Array(vec![])]);
    assert_eq!(client.call(&["PING"]), simple("PONG"));
}

#[test]
fn a_transaction_with_a_refused_command_executes_nothing() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let mut client = server.connect();
    let wrong: [(&[&str], &str); 3] = [
        (&["SET", "a", "b"], "ERR unknown command 'SET'"),
        (&["FP.ADDNX", "a"], "ERR wrong number of arguments for 'fp.addnx' command"),
        (&["WATCH", "a"], "ERR WATCH inside MULTI is not allowed"),
    ];
    for (words, message) in wrong {
        let replies = transaction(&mut client, &[&["FP.ADDNX", "a", "0xff"], words, &["PING"]]);
        assert_eq!(replies[1], simple("QUEUED"));
        assert!(replies[2].text().starts_with(message), "{replies:?}");
        assert_eq!(
            replies[4].text(),
            "EXECABORT Transaction discarded because of previous errors."
        );
        assert_eq!(client.call(&["FP.GET", "a"]), Reply::Null);
    }
    assert_eq!(transaction(&mut client, &[&["PING"]])[2].items(), [simple("PONG")]);
}

#[test]
fn the_commands_of_a_transaction_have_their_order() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let mut client = server.connect();
    assert_eq!(client.call(&["EXEC"]).text(), "ERR EXEC without MULTI");
    assert_eq!(client.call(&["DISCARD"]).text(), "ERR DISCARD without MULTI");
    assert_eq!(client.call(&["UNWATCH"]), simple("OK"));
    // As in Redis, this error does not spoil the transaction.
    let replies = transaction(&mut client, &[&["MULTI"], &["PING"]]);
    assert_eq!(replies[1].text(), "ERR MULTI calls can not be nested");
    assert_eq!(replies[3].items(), [simple("PONG")]);
    for end in ["DISCARD", "RESET"] {
        assert_eq!(client.call(&["MULTI"]), simple("OK"));
        assert_eq!(client.call(&["FP.ADDNX", "a", "0xff"]), simple("QUEUED"));
        assert_eq!(client.call(&[end]), simple(if end == "RESET" { "RESET" } else { "OK" }));
        assert_eq!(client.call(&["EXEC"]).text(), "ERR EXEC without MULTI");
        assert_eq!(client.call(&["FP.GET", "a"]), Reply::Null);
    }
    let replies = transaction(&mut client, &[&["HELLO", "3"], &["FP.STATS"]]);
    assert!(replies[3].items().iter().all(|reply| matches!(reply, Reply::Map(_))), "{replies:?}");
    client.send(&[request(&["MULTI"]), request(&["FP.ADDNX", "a", "0xff"])].concat());
    client.send(&request(&["QUIT"]));
    assert_eq!([client.read(), client.read(), client.read()], ["OK", "QUEUED", "OK"].map(simple));
    client.expect_end();
    assert_eq!(server.connect().call(&["FP.GET", "a"]), Reply::Null);
}

#[test]
fn a_transaction_takes_no_more_memory_than_a_request() {
    let folder = folder();
    let options = Options::default().max_request(1 << 16).max_bulk(1 << 16);
    let server = Served::start(names(&folder), &options);
    let mut client = server.connect();
    let text = "x".repeat(10_000);
    let command: &[&str] = &["ECHO", &text];
    let replies = transaction(&mut client, &[command; 6]);
    assert_eq!(replies[7].items().len(), 6);
    let replies = transaction(&mut client, &[command; 7]);
    assert!(replies[7].text().contains("max-request"), "{:?}", replies[7]);
    assert!(replies[8].text().starts_with("EXECABORT "));
    // Many short commands count, too.
    let replies = transaction(&mut client, &[&["PING"][..]; 5000]);
    assert!(replies[5001].text().starts_with("EXECABORT "));
}

/// Sends commands in one piece, and returns their replies.
fn pipeline(client: &mut Client, commands: &[&[&str]]) -> Vec<Reply> {
    client.send(&commands.iter().flat_map(|words| request(words)).collect::<Vec<u8>>());
    commands.iter().map(|_| client.read()).collect()
}

fn far(n: u64) -> String {
    hex((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[test]
fn a_transaction_takes_no_more_memory_than_requests_may() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default().request_memory(1 << 20));
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
    let server = Served::start(db.clone(), &Options::default());
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
