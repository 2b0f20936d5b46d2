//! `clusters`

use std::collections::BTreeSet;

use fpdb::{Db, DocId, Ids, Key, Stamped};
use serde_json::{Value, json};

use crate::common::{Folder, records};

/// A chain of three, each 2 bits from the one before, a pair of equal ones, and one alone.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("list", "0x0,1\n0x3,2\n0xf,3\n0xffff0000,4\n0xffff0000,5\n0xff00000000,6\n");
    folder.ok("import db list --id-column 2");
    folder
}

#[test]
fn keep_first_drops_what_is_near_a_kept_document_only() {
    let folder = folder();
    let records = records(&folder.ok("clusters db --json").text());
    let cluster = |first, radius, ids: Value| json!({"type": "cluster", "first": first, "radius": radius, "ids": ids});
    assert_eq!(records[0], cluster(1, 2, json!([1, 2])));
    assert_eq!(records[1], cluster(4, 0, json!([4, 5])));
    let summary =
        json!({"type": "summary", "clusters": 2, "duplicates": 2, "chains": 0, "sizes": [0, 2]});
    assert_eq!(records[2..], [summary]);
    let text = folder.ok("clusters db --keep first").text();
    assert_eq!(text.lines().collect::<BTreeSet<_>>(), ["1", "3", "4", "6"].into());
}

#[test]
fn components_follow_chains_and_report_them() {
    let folder = folder();
    let run = folder.ok("clusters db --method components");
    assert_eq!(run.text(), "3  1\n2  4\n");
    assert!(run.err.contains("1 have a member farther than 3 bits"), "{}", run.err);
    let text = folder.ok("clusters db --method components --keep first").text();
    assert_eq!(text.lines().collect::<BTreeSet<_>>(), ["1", "4", "6"].into());
}

#[test]
fn names_are_printed_and_escaped() {
    let folder = Folder::new();
    folder.write("list", "0x7,one\n0x7,t\u{1b}[2Jwo\n0x1,three\n");
    folder.ok("create db --ids names");
    folder.ok("import db list --id-column 2");
    assert_eq!(folder.ok("clusters db").text(), "3  one\n");
    assert_eq!(folder.ok("clusters db --keep first").text(), "one\n");
    assert_eq!(folder.ok("clusters db -k 0 --keep first").text(), "three\none\n");
    let text = folder.ok("clusters db --json").text();
    assert!(text.contains(r#""names":["one","t\u001b[2Jwo","three"]"#), "{text}");
}

#[test]
fn too_little_memory_and_wrong_arguments_are_clear_errors() {
    let folder = folder();
    let run = folder.exits(2, "clusters db --memory 10");
    assert!(run.err.contains("too many for 10 bytes of memory"), "{}", run.err);
    // The near fingerprints fit, but not the pairs.
    let run = folder.exits(2, "clusters db --memory 192 --scratch nowhere");
    assert!(run.err.contains("temporary file") && run.err.contains("nowhere"), "{}", run.err);
    folder.exits(2, "clusters nowhere");
    folder.exits(2, "clusters db --keep first --json");
    folder.exits(2, "clusters db --keep last");
}

#[test]
fn keep_newest_keeps_the_latest_stamp_of_each_cluster() {
    let documents = [(0x0, 1, 20), (0x1, 2, 20), (0xff00, 3, 20), (0x3, 4, 10), (0xff01, 5, 30)];
    for ids in [Ids::Names, Ids::Unique] {
        let folder = Folder::new();
        let db = Db::options().ids(ids).create(folder.file("db")).unwrap();
        for (fingerprint, id, stamp) in documents {
            let name = id.to_string();
            let key = if ids == Ids::Names { Key::Name(&name) } else { Key::Id(DocId(id)) };
            let _ = db.insert(fingerprint, Stamped::new(key, stamp)).unwrap();
        }
        // A document without a stamp is the oldest.
        let key = if ids == Ids::Names { Key::Name("6") } else { Key::Id(DocId(6)) };
        let _ = db.insert(0x2, key).unwrap();
        db.close().unwrap();
        let text = folder.ok("clusters db --method components --keep newest").text();
        assert_eq!(text.lines().collect::<BTreeSet<_>>(), ["1", "5"].into());
        let text = folder.ok("clusters db --method components --keep first").text();
        assert_eq!(text.lines().collect::<BTreeSet<_>>(), ["1", "3"].into());
    }
    let run = self::folder().exits(2, "clusters db --keep newest");
    assert!(run.err.contains("needs a database created with --ids"), "{}", run.err);
}
