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
    // What is in memory differs between two processes.
    for figures in [&mut served, &mut printed] {
        for name in ["page_memory_bytes", "memtable_bytes", "bytes_log", "bytes_total"] {
            assert!(figures[name].take().is_u64(), "{name}");
        }
    }
    assert_eq!(served, printed);
    assert!(served["segment_list"][0]["entries"] == 2, "{served}");
    assert_eq!(served.as_object().unwrap().len(), 40);
}
