//! `join`

use serde_json::json;

use crate::common::Folder;

/// Two databases. Of b's entries, two with the same fingerprint are near several of a's, one is
/// near one, and one is near none.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("list-a", "0x07,1\n0x07,2\n0x06,3\n0xff00000000,5\n");
    folder.write("list-b", "0x06,10\n0x06,11\n0x7f00000000,12\n0xffff,13\n");
    folder.ok("import a list-a --id-column 2");
    folder.ok("import b list-b --id-column 2");
    folder
}

#[test]
fn join_prints_the_nearest_entry_of_a_for_each_entry_of_b() {
    let folder = folder();
    let run = folder.ok("join a b -k 3");
    assert_eq!(run.text(), "0  3  10\n0  3  11\n1  5  12\n");
    assert!(run.err.contains("3 of 4 entries have a near-duplicate in a"), "{run:?}");
    let text = folder.ok("join a b -k 3 --csv").text();
    assert_eq!(text, "a,b,distance\n3,10,0\n3,11,0\n5,12,1\n");
}

#[test]
fn join_prints_all_pairs_if_asked() {
    let folder = folder();
    let text = folder.ok("join a b --all --csv --memory 1").text();
    assert_eq!(text, "a,b,distance\n3,10,0\n1,10,1\n2,10,1\n3,11,0\n1,11,1\n2,11,1\n5,12,1\n");
    assert_eq!(folder.ok("join a b --all -k 0").text(), "0  3  10\n0  3  11\n");
}

#[test]
fn json_has_a_record_per_pair_and_a_summary() {
    let folder = folder();
    let records = |line: &str| folder.ok(line).records();
    let pair = |a: u64, b: u64, distance: u32| json!({"type": "pair", "a": a, "b": b, "distance": distance});
    let summary = |pairs: u64, by_distance: [u64; 4]| json!({"type": "summary", "pairs": pairs, "documents": 3, "by_distance": by_distance});
    assert_eq!(
        records("join a b --json"),
        [pair(3, 10, 0), pair(3, 11, 0), pair(5, 12, 1), summary(3, [2, 1, 0, 0])]
    );
    let all = records("join a b --json --all");
    assert_eq!(all.last(), Some(&summary(7, [2, 5, 0, 0])));
    assert_eq!(all.len(), 8);
}

#[test]
fn b_may_be_a_list_with_or_without_ids() {
    let folder = folder();
    let records = |b: &str| folder.ok(&format!("join a {b} --json")).records();
    assert_eq!(records("list-b --id-column 2"), records("b"));
    for line in ["", " --csv --all", " --all --memory 1"] {
        let of_list = folder.ok(&format!("join a list-b --id-column 2{line}"));
        let of_database = folder.ok(&format!("join a b{line}"));
        assert_eq!((of_list.text(), of_list.err), (of_database.text(), of_database.err));
    }
    folder.write("plain", "0xffff\n0x7f00000000\n");
    assert_eq!(folder.ok("join a plain").text(), "1  5  1\n");
    folder.write("binary", 0x7f_0000_0000u64.to_le_bytes());
    assert_eq!(folder.ok("join a binary --fp-format bin-le").text(), "1  5  0\n");
}

#[test]
fn bad_lists_are_clear_errors() {
    let folder = folder();
    folder.write("ids", "0x07,one\n");
    let run = folder.exits(2, "join a ids --id-column 2");
    assert!(run.err.contains("cannot read ids: \"one\" is not a number"), "{run:?}");
    folder.exits(2, "join a nowhere");
    let run = folder.exits(2, "join a b --id-column 2");
    assert!(run.err.contains("b is a database"), "{run:?}");
}

#[test]
fn names_are_those_of_each_database() {
    let folder = Folder::new();
    folder.write("list-a", "0x7,one\n0x70,two\n");
    folder.write("list-b", "0x71,\"th,ree\"\n");
    folder.ok("create a --ids names");
    folder.ok("import a list-a --id-column 2");
    folder.ok("create b --ids names");
    folder.ok("import b list-b --id-column 2");
    assert_eq!(folder.ok("join a b").text(), "1  two  th,ree\n");
    let text = folder.ok("join a b --csv").text();
    assert_eq!(text, "a,b,distance,a_name,b_name\n1,0,1,two,\"th,ree\"\n");
    let record = r#"{"type":"pair","a":1,"b":0,"a_name":"two","b_name":"th,ree","distance":1}"#;
    assert_eq!(folder.ok("join a b --json").text().lines().next(), Some(record));
    // The other one has no names.
    folder.write("list-c", "0x72,9\n");
    folder.ok("import c list-c --id-column 2");
    assert_eq!(folder.ok("join a c").text(), "1  two  9\n");
    assert_eq!(folder.ok("join c a --csv").text(), "a,b,distance,a_name,b_name\n9,1,1,,two\n");
}

#[test]
fn databases_that_cannot_be_compared_are_refused() {
    let folder = folder();
    folder.ok("create wide --bits 128");
    let run = folder.exits(2, "join a wide");
    assert!(run.err.contains("a has 64-bit fingerprints, and wide has 128-bit"), "{run:?}");
    folder.ok("create sketches --jaccard 0.8");
    let run = folder.exits(2, "join a sketches");
    assert!(run.err.contains("and sketches has sketches: they cannot"), "{run:?}");
    folder.ok("create fives --recipe fives/1");
    folder.ok("create pairs --recipe pairs/1");
    let run = folder.exits(2, "join fives pairs");
    assert!(run.err.contains("of the recipe fives/1, and pairs of pairs/1"), "{run:?}");
    folder.ok("join a fives");
    folder.exits(2, "join a");
    folder.exits(2, "join a nowhere");
    folder.exits(2, "join a b --csv --json");
}
