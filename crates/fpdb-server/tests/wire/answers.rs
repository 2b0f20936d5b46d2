//! The server answers as the library does, whatever the form and the number of commands.

use std::collections::BTreeMap;

use fastrand::Rng;
use fpdb::text::Recipe;
use fpdb::{Db, Fingerprint, Ids, Match, Outcome, Sketch};
use fpdb_server::Options;

use crate::client::{Client, Reply, bulk, hex, request};
use crate::common::{Served, folder, names};

/// Returns a fingerprint that is near to others of the same center.
fn near(random: &mut Rng) -> u64 {
    let center = random.u64(..40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    center ^ (1 << random.u32(..64)) ^ (1 << random.u32(..64))
}

/// Returns a text of random words.
fn text(words: usize) -> String {
    let mut random = Rng::with_seed(1);
    let words: Vec<_> = (0..words).map(|_| format!("w{:x}", random.u32(..1 << 24))).collect();
    words.join(" ")
}

fn match_of(db: &Db, found: Match) -> Vec<Reply> {
    let key = db.snapshot().name(found.id).unwrap().unwrap_or(found.id.to_string());
    vec![bulk(&key), Reply::Integer(found.distance.into()), bulk(&hex(found.fingerprint))]
}

/// Executes a command with the library.
fn expected(db: &Db, words: &[&str]) -> Reply {
    let word = |word: &str, rest: Vec<Reply>| Reply::Array([vec![bulk(word)], rest].concat());
    let fingerprint = |text: &str| u64::from_str_radix(&text[2..], 16).unwrap();
    let outcome = |outcome| match outcome {
        Outcome::Inserted(_) => word("inserted", vec![]),
        Outcome::Unchanged(_) => word("unchanged", vec![]),
        Outcome::UnchangedDuplicate { of, .. } => word("unchanged", match_of(db, of)),
        Outcome::Updated { from, distance, .. } => {
            word("updated", vec![Reply::Integer(distance.into()), bulk(&hex(from))])
        }
        Outcome::Duplicate(found) => word("duplicate", match_of(db, found)),
        Outcome::Exists(found) => word("exists", match_of(db, found)),
    };
    match *words {
        ["FP.ADDNX", key, text] => outcome(db.insert_if_novel(fingerprint(text), key).unwrap()),
        ["FP.UPSERT", key, text] => outcome(db.upsert_if_novel(fingerprint(text), key).unwrap()),
        ["FP.QUERY", text, distance] => {
            let distance: u32 = distance.parse().unwrap();
            let found = db.query(fingerprint(text), distance).unwrap();
            Reply::Array(found.into_iter().map(|found| Reply::Array(match_of(db, found))).collect())
        }
        ["FP.DEL", key] => Reply::Integer(db.remove(key).unwrap().into()),
        ["PING"] => Reply::Simple("PONG".into()),
        _ => panic!("unknown: {words:?}"),
    }
}

#[test]
fn pipelined_commands_are_answered_as_one_after_the_other() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let model = Db::options().ids(Ids::Names).create(folder.path().join("model")).unwrap();
    let mut random = Rng::with_seed(1);
    let commands: Vec<Vec<String>> = (0..3000)
        .map(|_| {
            let key = format!("page {}", random.u32(..300));
            let fingerprint = hex(near(&mut random));
            match random.u32(..20) {
                0..=11 => vec!["FP.ADDNX".into(), key, fingerprint],
                12..=15 => vec!["FP.UPSERT".into(), key, fingerprint],
                16 => vec!["FP.QUERY".into(), fingerprint, "5".into()],
                17..=18 => vec!["FP.DEL".into(), key],
                _ => vec!["PING".into()],
            }
        })
        .collect();
    let mut client = server.connect();
    let mut rest = commands.as_slice();
    while !rest.is_empty() {
        let count = random.usize(1..=400).min(rest.len());
        let (now, later) = rest.split_at(count);
        let words = |command: &Vec<String>| -> Vec<u8> {
            request(&command.iter().map(String::as_str).collect::<Vec<_>>())
        };
        client.send(&now.iter().flat_map(words).collect::<Vec<u8>>());
        for command in now {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            assert_eq!(client.read(), expected(&model, &words), "{words:?}");
        }
        rest = later;
    }
}

#[test]
fn an_error_of_one_command_leaves_its_neighbours_alone() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let mut client = server.connect();
    let long = "x".repeat(65_536);
    let requests = [
        request(&["FP.ADDNX", "a", "0xff00000000000000"]),
        request(&["FP.ADDNX", &long, "0x00ff000000000000"]),
        request(&["FP.ADDNX", "b", "no fingerprint"]),
        request(&["FP.ADDNX", "b"]),
        request(&["FP.ADDNX", "b", "TEXT", "a text"]),
        request(&["FP.ADDNX", "", "0x00ff000000000000"]),
        request(&["FP.ADDNX", "c", "0x0000ff0000000000"]),
        request(&["fp.addnx", "d", "0x0000FF0000000001"]),
    ];
    client.send(&requests.concat());
    let replies: Vec<Reply> = requests.iter().map(|_| client.read()).collect();
    assert_eq!(replies[0].word(), "inserted");
    let errors =
        ["65535 bytes", "64-bit fingerprint", "number of arguments", "recipe", "65535 bytes"];
    for (reply, error) in replies[1..6].iter().zip(errors) {
        assert!(reply.text().starts_with("ERR ") && reply.text().contains(error), "{reply:?}");
    }
    assert_eq!(replies[6].word(), "inserted");
    let duplicate = [bulk("duplicate"), bulk("c"), Reply::Integer(1), bulk("0x0000ff0000000000")];
    assert_eq!(replies[7].items(), duplicate);
}

#[test]
fn both_protocols_and_lines_have_the_same_answers() {
    let folder = folder();
    let db = Db::options().ids(Ids::Unique).create(folder.path().join("db")).unwrap();
    let server = Served::start(db, &Options::default());
    let (mut old, mut new) = (server.connect(), server.connect());
    let map = |reply: Reply| match reply {
        Reply::Map(pairs) => pairs.into_iter().map(|(key, value)| (key.text().to_owned(), value)),
        other => panic!("not a map: {other:?}"),
    };
    let hello: BTreeMap<_, _> = map(new.call(&["HELLO", "3"])).collect();
    assert_eq!((&hello["proto"], &hello["server"]), (&Reply::Integer(3), &bulk("fpdb")));
    assert_eq!(old.call(&["FP.ADDNX", "7", "0xff"]).word(), "inserted");
    let get = old.call(&["FP.GET", "7"]);
    let pairs = get.items().chunks(2).map(|pair| (pair[0].text().to_owned(), pair[1].clone()));
    let pairs: BTreeMap<_, _> = pairs.collect();
    assert_eq!(pairs["fingerprint"], bulk("0x00000000000000ff"));
    assert_eq!(map(new.call(&["FP.GET", "7"])).collect::<BTreeMap<_, _>>(), pairs);
    assert_eq!(
        (old.call(&["FP.GET", "8"]), new.call(&["FP.GET", "8"])),
        (Reply::Null, Reply::Null)
    );
    let stats: BTreeMap<_, _> = map(new.call(&["FP.STATS"])).collect();
    assert_eq!((&stats["entries"], &stats["bits"]), (&Reply::Integer(1), &Reply::Integer(64)));
    assert!(matches!(stats["write_amplification"], Reply::Double(_)), "{stats:?}");
    let by_line = |client: &mut Client, line: &str| {
        client.send(format!("{line}\r\n").as_bytes());
        client.read()
    };
    assert_eq!(by_line(&mut old, "ping"), Reply::Simple("PONG".into()));
    assert_eq!(by_line(&mut old, "  ECHO 'a  b' "), bulk("a  b"));
    let found = by_line(&mut new, "FP.QUERY 0xfe 3 LIMIT 1");
    assert_eq!(found, old.call(&["FP.QUERY", "0xfe"]));
    assert_eq!(found.items()[0].items()[0], bulk("7"));
    let answers = old.call(&["FP.MQUERY", "1", "0xfe", "0xff0000", "0xff"]);
    assert_eq!(
        answers.items(),
        [found, Reply::Array(vec![]), old.call(&["FP.QUERY", "0xff", "1"])]
    );
    assert_eq!(new.call(&["FP.DEL", "7", "0xfe"]), Reply::Integer(0));
    assert_eq!(new.call(&["FP.DEL", "7"]), Reply::Integer(1));
    assert_eq!(new.call(&["RESET"]), Reply::Simple("RESET".into()));
    assert!(matches!(new.call(&["HELLO"]), Reply::Array(_)));
    assert!(new.call(&["HELLO", "4"]).text().starts_with("NOPROTO "));
}

#[test]
fn fingerprints_of_128_bits_and_user_ids_are_served() {
    let folder = folder();
    let db = fpdb::Options::bits128().create(folder.path().join("db")).unwrap();
    let server = Served::start(db, &Options::default());
    let mut client = server.connect();
    let fingerprint = "0x0123456789abcdef0123456789abcdef";
    assert_eq!(client.call(&["FP.ADDNX", "18446744073709551615", fingerprint]).word(), "inserted");
    let near = "0x0123456789abcdef0123456789abcdee";
    let found = client.call(&["FP.QUERY", near]);
    let expected = [bulk("18446744073709551615"), Reply::Integer(1), bulk(fingerprint)];
    assert_eq!(found.items(), [Reply::Array(expected.to_vec())]);
    for words in [
        &["FP.GET", "7"][..],
        &["FP.DEL", "7"],
        &["FP.UPSERT", "7", near],
        &["FP.ADDNX", "-1", near],
        &["FP.ADDNX", "name", near],
        &["FP.QUERY", near, "129"],
        &["FP.QUERY", near, "3", "LIMIT", "0"],
        &["FP.QUERY", "ff"],
    ] {
        let reply = client.call(words);
        assert!(reply.text().starts_with("ERR "), "{words:?}: {reply:?}");
    }
    assert_eq!(client.call(&["FP.DEL", "18446744073709551615", fingerprint]), Reply::Integer(1));
}

#[test]
fn texts_are_compared_by_the_recipe_of_the_database() {
    let folder = folder();
    let db = Db::options().ids(Ids::Names).recipe("default").create(folder.path().join("db"));
    let server = Served::start(db.unwrap(), &Options::default());
    let mut client = server.connect();
    let document = text(60);
    assert_eq!(client.call(&["FP.ADDNX", "a", "TEXT", &document]).word(), "inserted");
    let same = client.call(&["FP.ADDNX", "b", "text", &document.to_uppercase()]);
    assert_eq!((same.word(), &same.items()[1]), ("duplicate", &bulk("a")));
    assert_eq!(client.call(&["FP.UPSERT", "a", "TEXT", &document]).word(), "unchanged");
    assert_eq!(client.call(&["FP.ADDNX", "c", "TEXT", ""]).word(), "too-short");
    assert_eq!(client.call(&["FP.QUERY", "TEXT", &document]).items().len(), 1);
    assert_eq!(client.call(&["FP.QUERY", "TEXT", ""]), Reply::Null);
    client.send(b"*4\r\n$8\r\nFP.ADDNX\r\n$1\r\nd\r\n$4\r\nTEXT\r\n$1\r\n\xff\r\n");
    assert_eq!(client.read().text(), "ERR the text is not UTF-8");
}

#[test]
fn texts_and_sketches_are_served_from_a_database_of_sketches() {
    let folder = folder();
    let path = folder.path().join("db");
    let options = fpdb::Options::sketches().ids(Ids::Names).recipe("pairs/1");
    let db = options.create(&path).unwrap();
    let server = Served::start(db.clone(), &Options::default());
    let mut client = server.connect();
    let document = text(120);
    let near = format!("{document} and two more words");
    assert_eq!(client.call(&["FP.ADDNX", "a", "TEXT", &document]).word(), "inserted");
    let duplicate = client.call(&["FP.ADDNX", "b", "TEXT", &near]);
    assert_eq!((duplicate.word(), &duplicate.items()[1]), ("duplicate", &bulk("a")));
    let stored = duplicate.items()[3].text().to_owned();
    let sketch = Recipe::for_sketches("pairs/1").unwrap().fingerprint(&document).fingerprint;
    assert_eq!(Some(stored.clone()), sketch.map(Sketch::to_hex));

    let expected = [bulk("a"), Reply::Integer(0), bulk(&stored)];
    let found = Reply::Array(vec![Reply::Array(expected.to_vec())]);
    for words in [&["FP.QUERY", &stored][..], &["FP.QUERY", &stored, "128"]] {
        assert_eq!(client.call(words), found, "{words:?}");
    }
    assert_eq!(client.call(&["FP.MQUERY", "0", &stored]), Reply::Array(vec![found.clone()]));
    assert_eq!(client.call(&["FP.UPSERT", "a", &stored]).word(), "unchanged");
    assert_eq!(client.call(&["FP.GET", "a"]).items()[3], bulk(&stored));
    assert_eq!(client.call(&["FP.QUERY", "TEXT", &text(60)]), Reply::Array(vec![]));
    for (words, message) in [
        (["FP.QUERY", &stored, "129"], "ERR expected a distance from 0 to 128"),
        (["FP.ADDNX", "c", "0xg"], "ERR expected a sketch: 0x and up to 456 hex digits"),
    ] {
        assert_eq!(client.call(&words).text(), message);
    }
    let info = client.call(&["INFO", "database"]).text().to_owned();
    assert!(info.contains("bits:1824\r\nmatch_rule:Jaccard similarity at least 0.8"), "{info}");

    db.flush().unwrap();
    let reader = fpdb::Options::sketches().open_read_only(&path).unwrap();
    let reader = Served::start(reader, &Options::default());
    assert_eq!(reader.connect().call(&["FP.QUERY", "TEXT", &document]), found);
    let refused = reader.connect().call(&["FP.DEL", "a"]);
    assert!(refused.text().starts_with("READONLY "), "{refused:?}");
    assert_eq!(client.call(&["FP.DEL", "a"]), Reply::Integer(1));
}

/// Whatever the order in which the server executes the commands, the result is as if it had
/// executed all inserts first, and then the others.
#[test]
fn near_duplicates_from_several_connections_are_never_both_inserted() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let address = server.address;
    let threads = (0..8).map(|thread| {
        std::thread::spawn(move || {
            let mut client = Client::new(address);
            let mut random = Rng::with_seed(thread);
            let mut replies = Vec::new();
            for round in 0..20 {
                let sent: Vec<(String, u64)> = (0..20)
                    .map(|at| (format!("{thread} {round} {at}"), near(&mut random)))
                    .collect();
                for (key, fingerprint) in &sent {
                    client.send(&request(&["FP.ADDNX", key, &hex(*fingerprint)]));
                }
                replies.extend(sent.into_iter().map(|(key, sent)| (key, sent, client.read())));
            }
            replies
        })
    });
    let threads: Vec<_> = threads.collect();
    let replies: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    let (inserted, others): (Vec<_>, Vec<_>) =
        replies.into_iter().partition(|(_, _, reply)| reply.word() == "inserted");
    let model = Db::options().ids(Ids::Names).create(folder.path().join("model")).unwrap();
    for (key, fingerprint, _) in &inserted {
        let outcome = model.insert_if_novel(*fingerprint, key.as_str()).unwrap();
        assert!(matches!(outcome, Outcome::Inserted(_)), "{key}");
    }
    let by_key: BTreeMap<&str, u64> =
        inserted.iter().map(|(key, fingerprint, _)| (key.as_str(), *fingerprint)).collect();
    for (key, fingerprint, reply) in &others {
        let original = reply.items()[1].text();
        let distance = (by_key[original] ^ fingerprint).count_ones();
        assert!(distance <= 3, "{key}");
        assert_eq!(reply.items()[2], Reply::Integer(distance.into()));
    }
    assert!(!others.is_empty());
    let mut client = server.connect();
    for (key, fingerprint) in by_key {
        let found = client.call(&["FP.QUERY", &hex(fingerprint)]);
        assert_eq!(found.items().len(), 1, "{key}");
    }
}

#[test]
fn clients_of_redis_can_introduce_themselves() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let mut client = server.connect();
    let ok = Reply::Simple("OK".into());
    assert_eq!(client.call(&["CLIENT", "SETINFO", "LIB-NAME", "redis-py"]), ok);
    assert_eq!(client.call(&["CLIENT", "GETNAME"]), Reply::Null);
    assert_eq!(client.call(&["CLIENT", "SETNAME", "crawler"]), ok);
    assert!(client.call(&["CLIENT", "SETNAME", "a b"]).text().starts_with("ERR "));
    assert_eq!(client.call(&["CLIENT", "GETNAME"]), bulk("crawler"));
    assert_eq!(client.call(&["CLIENT", "ID"]), Reply::Integer(1));
    assert!(client.call(&["CLIENT", "LIST"]).text().contains("name=crawler"));
    assert!(client.call(&["CLIENT", "KILL", "x"]).text().starts_with("ERR unknown subcommand"));
    let commands = client.call(&["COMMAND"]);
    assert_eq!(client.call(&["COMMAND", "COUNT"]), Reply::Integer(commands.items().len() as i64));
    assert_eq!(commands.items()[0].items()[..2], [bulk("fp.addnx"), Reply::Integer(-3)]);
    assert_eq!(client.call(&["SELECT", "0"]), ok);
    assert_eq!(client.call(&["SELECT", "1"]).text(), "ERR DB index is out of range");
    assert_eq!(client.call(&["SET", "a", "b"]).text(), "ERR unknown command 'SET'");
    assert_eq!(client.call(&["GET"]).text(), "ERR unknown command 'GET'");
    assert!(client.call(&["AUTH", "x"]).text().starts_with("ERR AUTH"));
    assert_eq!(client.call(&["PING", "hi"]), bulk("hi"));
    assert!(
        client.call(&["PING", "a", "b"]).text().contains("wrong number of arguments for 'ping'")
    );
    // Nothing after QUIT is executed.
    client.send(&[request(&["QUIT"]), request(&["PING"])].concat());
    assert_eq!(client.read(), ok);
    client.expect_end();
}

#[test]
fn clients_find_out_about_commands() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    for protocol in ["2", "3"] {
        let mut client = server.connect();
        client.call(&["HELLO", protocol]);
        let all = client.call(&["COMMAND"]);
        assert!(all.items().iter().all(|command| command.items().len() == 10), "{all:?}");
        assert_eq!(client.call(&["COMMAND", "INFO"]), all);
        let some = client.call(&["COMMAND", "INFO", "FP.GET", "SET"]);
        let get = some.items()[0].items();
        assert_eq!(get[..2], [bulk("fp.get"), Reply::Integer(2)]);
        let flag = |flag: &str| Reply::Array(vec![Reply::Simple(flag.to_owned())]);
        assert_eq!((&get[2], &get[6]), (&flag("readonly"), &flag("@read")));
        assert_eq!(some.items()[1..], [Reply::Null]);
        let docs = client.call(&["COMMAND", "DOCS", "fp.del", "SET"]);
        let (name, fields) = match &docs {
            Reply::Map(docs) => (&docs[0].0, format!("{:?}", docs[0].1)),
            docs => (&docs.items()[0], format!("{:?}", docs.items()[1])),
        };
        assert_eq!(*name, bulk("fp.del"));
        assert!(fields.contains("summary") && fields.contains("Removes a document."), "{fields}");
        let docs = match client.call(&["COMMAND", "DOCS"]) {
            Reply::Map(docs) => docs.len(),
            docs => docs.items().len() / 2,
        };
        assert_eq!(docs, all.items().len());
        assert!(client.call(&["COMMAND", "WHAT"]).text().starts_with("ERR unknown subcommand"));
    }
}

#[test]
fn many_queries_in_one_command_have_the_replies_of_one_after_the_other() {
    let folder = folder();
    let db = names(&folder);
    let mut random = Rng::with_seed(5);
    // Near enough to each other that answers have several matches, and some have none.
    let all: Vec<u64> = (0..200).map(|_| random.u64(..) & 0x0f0f).collect();
    for (at, fingerprint) in all.iter().enumerate() {
        db.insert(*fingerprint, &format!("page {at}")).unwrap();
    }
    let server = Served::start(db, &Options::default());
    let mut client = server.connect();
    let far = [u64::MAX, u64::MAX];
    let queries: Vec<String> = all.iter().chain(&far).chain(&all[..9]).map(|f| hex(*f)).collect();
    let words: Vec<&str> =
        ["FP.MQUERY", "1"].into_iter().chain(queries.iter().map(String::as_str)).collect();
    let together = client.call(&words);
    assert_eq!(together.items().len(), queries.len());
    assert!(together.items().iter().any(|found| found.items().len() > 1));
    assert_eq!(together.items()[all.len()], Reply::Array(vec![]));
    for (query, found) in queries.iter().zip(together.items()) {
        assert_eq!(&client.call(&["FP.QUERY", query, "1"]), found, "{query}");
    }
}
