//! Reports, statistics, matches and errors become JSON that programs can rely on.

use fpdb::{Db, DocId, Entry, ErrorKind, Ids, Match, OnDuplicate};
use serde_json::{json, to_value};

#[test]
fn statistics_are_an_object_with_the_names_of_the_fields() {
    let db = Db::options().ids(Ids::Names).in_memory().unwrap();
    db.insert(7, "a").unwrap();
    db.flush().unwrap();
    let stats = to_value(db.stats()).unwrap();
    assert_eq!((&stats["entries"], &stats["ids"]), (&json!(1), &json!("names")));
    assert_eq!(stats["recipe"], json!(null));
    assert_eq!(stats["stalled_seconds"], 0.0);
    let version = stats["format_version"].as_str().unwrap();
    assert!(version.split('.').all(|number| number.parse::<u16>().is_ok()), "{version}");
    let segment = &stats["segments"][0];
    let sizes = segment["files"].as_object().unwrap().values();
    assert_eq!(segment["bytes"], sizes.map(|size| size.as_u64().unwrap()).sum::<u64>());
    assert_eq!(segment["tables"].as_array().unwrap().len(), db.stats().tables);
}

#[test]
fn outcomes_and_reports_are_objects() {
    let db = Db::options().in_memory().unwrap();
    let inserted = db.insert_if_novel(0b000, 1).unwrap();
    assert_eq!(to_value(inserted).unwrap(), json!({"inserted": 1}));
    let copy = db.insert_if_novel(0b001, 2).unwrap();
    let found = json!({"distance": 1, "id": 1, "fingerprint": 0});
    assert_eq!(to_value(copy).unwrap(), json!({"duplicate": found}));
    let matches = db.query(0, 3).unwrap();
    assert_eq!(matches, [Match { distance: 0, id: DocId(1), fingerprint: 0 }]);
    let entry = Entry { fingerprint: u128::MAX, id: DocId(1) };
    assert_eq!(
        serde_json::to_string(&entry).unwrap(),
        format!(r#"{{"fingerprint":{},"id":1}}"#, u128::MAX)
    );
    db.compact().unwrap();
    let verified = db.snapshot().verify(fpdb::VerifyLevel::Full).unwrap();
    assert_eq!(to_value(&verified).unwrap()["errors"], json!([]));
    let recovered = to_value(db.recovery()).unwrap();
    let nothing = json!({"commits": 0, "operations": 0, "torn_tail": false, "orphans": 0});
    assert_eq!(recovered, nothing);
}

#[test]
fn an_updated_document_says_which_and_from_what() {
    let db = Db::options().ids(Ids::Unique).in_memory().unwrap();
    for (fingerprint, expected) in [
        (0b00, json!({"inserted": 5})),
        (0b00, json!({"unchanged": 5})),
        (0b11, json!({"updated": {"id": 5, "from": 0, "distance": 2}})),
    ] {
        let document = [(fingerprint, 5)];
        let outcome = db.write(&document).or_update(OnDuplicate::Keep).run().unwrap()[0];
        assert_eq!(to_value(outcome).unwrap(), expected);
    }
}

#[test]
fn errors_say_kind_message_and_place() {
    let error = Db::open("no/such/folder").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let value = to_value(&error).unwrap();
    assert_eq!((&value["kind"], &value["path"]), (&json!("not-found"), &json!("no/such/folder")));
    assert_eq!((&value["message"], &value["offset"]), (&json!(error.to_string()), &json!(null)));
}
