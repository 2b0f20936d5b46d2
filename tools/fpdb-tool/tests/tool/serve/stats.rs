//! `FP.STATS` is `stats --json`.

use serde_json::Value;

use super::client::{Reply, request};
use super::server::Server;
use crate::common::Folder;

/// Returns a reply as the JSON value that it stands for.
fn json(reply: &Reply) -> Value {
    match reply {
        Reply::Integer(number) => (*number).into(),
        Reply::Double(number) => (*number).into(),
        Reply::Bulk(text) => text.as_str().into(),
        Reply::Null => Value::Null,
        Reply::Array(items) => items.iter().map(json).collect(),
        Reply::Map(pairs) => {
            pairs.iter().map(|(name, value)| (name.text().to_owned(), json(value))).collect()
        }
        other => panic!("not a figure: {other:?}"),
    }
}

#[test]
fn the_server_says_about_a_database_what_stats_says() {
    let folder = Folder::new();
    folder.write("fingerprints", "0x00000000000000ff\n0x000000000000ff00\n");
    folder.ok("import --from fp db fingerprints");
    let server = Server::start(&folder, &["--index-memory", "0"]);
    let mut client = server.connect();
    client.send(&request(&["HELLO", "3"]));
    client.read();
    let (mut served, mut printed) =
        (json(&client.call(&["FP.STATS"])), folder.ok("stats db --json").json());
    // What is in memory differs between two processes, and so does how much is left of it.
    let differ =
        ["page_memory_bytes", "page_budget_bytes", "memtable_bytes", "bytes_log", "bytes_total"];
    for figures in [&mut served, &mut printed] {
        for name in differ {
            assert!(figures[name].take().is_u64(), "{name}");
        }
    }
    assert_eq!(served, printed);
    assert!(served["segments"][0]["entries"] == 2, "{served}");
    assert_eq!(served.as_object().unwrap().len(), 43);
}

#[test]
fn a_missing_database_for_a_similarity_is_created_with_sketches() {
    let folder = Folder::new();
    let text = crate::common::text(1, 60);
    let server = Server::start(&folder, &["--jaccard", "0.8"]);
    let mut client = server.connect();
    for (key, word) in [("a", "inserted"), ("b", "duplicate")] {
        assert_eq!(client.call(&["FP.ADDNX", key, "TEXT", &text]).word(), word);
    }
    client.send(&request(&["HELLO", "3"]));
    client.read();
    let stats = json(&client.call(&["FP.STATS"]));
    assert_eq!((&stats["bits"], &stats["ids"]), (&1824.into(), &"names".into()));
    let run = folder.exits(2, "serve other --listen 127.0.0.1:0 --jaccard 0.8 --bits 128");
    assert!(run.err.contains("--jaccard makes a database of sketches"), "{}", run.err);
}

#[test]
fn a_missing_database_is_created_with_names_and_a_recipe_and_opened_the_next_time() {
    let folder = Folder::new();
    let text = "Trains leave for the airport every ten minutes, until midnight.";
    for word in ["inserted", "exists"] {
        let mut server = Server::start(&folder, &["-k", "4"]);
        let added = server.connect().call(&["FP.ADDNX", "https://a.example/", "TEXT", text]);
        assert_eq!(added.word(), word);
        assert_eq!(server.stop().code, 0);
    }
    let stats = folder.ok("stats db --json").json();
    assert_eq!((&stats["ids"], &stats["recipe"]), (&"names".into(), &"pairs/1".into()));
    assert_eq!(stats["max_distance"], 4);
    let run = folder.exits(2, "serve db --listen 127.0.0.1:0 -k 5");
    assert!(run.err.contains('5') && run.err.contains('4'), "{}", run.err);
    let run = folder.exits(2, "serve db --listen 127.0.0.1:0 --recipe fives/1");
    assert!(run.err.contains("recipe pairs/1, not fives/1"), "{}", run.err);
}

#[cfg(target_os = "linux")]
#[test]
fn documents_do_not_wake_the_thread_of_their_connection() {
    let folder = Folder::new();
    let server = Server::start(&folder, &[]);
    let mut client = server.connect();
    let mut switches_after = |documents: u32| {
        (0..documents).for_each(|_| {
            client.call(&["FP.ADDNX", "a", "0xff"]).word();
        });
        let mut tasks = std::fs::read_dir(format!("/proc/{}/task", server.process())).unwrap();
        let status = tasks.find_map(|task| {
            // Other threads may have ended since.
            let status = std::fs::read_to_string(task.unwrap().path().join("status")).ok()?;
            status.starts_with("Name:\tclient 1\n").then_some(status)
        });
        let status = status.expect("the thread of the client");
        let count = status.split("\nvoluntary_ctxt_switches:").nth(1).unwrap();
        count.split_whitespace().next().unwrap().parse::<u32>().unwrap()
    };
    let before = switches_after(10);
    // Not none: after a stall of the disk, it would wake once.
    assert!(switches_after(100) - before < 50);
}
