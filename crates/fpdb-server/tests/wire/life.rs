//! The life of documents over the wire: stamps, what becomes of duplicates, expiry, and the care of
//! the files.

use fpdb::{Db, Ids};
use fpdb_server::Options;

use crate::client::{Client, Reply, bulk, request};
use crate::common::{Served, folder, names};

/// Returns a field of the reply to `FP.GET`.
fn field(client: &mut Client, key: &str, name: &str) -> Reply {
    let reply = client.call(&["FP.GET", key]);
    let at = reply.items().iter().position(|item| *item == bulk(name)).unwrap();
    reply.items()[at + 1].clone()
}

fn keys(reply: &Reply) -> Vec<&str> {
    reply.items().iter().map(Reply::word).collect()
}

#[test]
fn documents_have_stamps_which_queries_and_expiry_heed() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let mut client = server.connect();
    assert_eq!(client.call(&["FP.ADDNX", "a", "0xff", "STAMP", "7"]).word(), "inserted");
    assert_eq!(client.call(&["FP.UPSERT", "b", "0xff00", "stamp", "8"]).word(), "inserted");
    assert_eq!(client.call(&["FP.ADDNX", "c", "0xff0000"]).word(), "inserted");
    assert_eq!(field(&mut client, "a", "stamp"), bulk("7"));
    assert_eq!(field(&mut client, "b", "stamp"), bulk("8"));
    assert_eq!(field(&mut client, "c", "stamp"), Reply::Null);
    let recent = client.call(&["FP.QUERY", "0xff", "64", "SINCE", "8", "LIMIT", "9"]);
    assert_eq!(keys(&recent), ["b"]);
    let recent = client.call(&["FP.QUERY", "0xff", "SINCE", "8"]);
    assert_eq!(recent, Reply::Array(vec![]));
    let recent = client.call(&["FP.MQUERY", "0", "SINCE", "8", "0xff", "0xff00"]);
    assert_eq!(recent.items()[0], Reply::Array(vec![]));
    assert_eq!(keys(&recent.items()[1]), ["b"]);
    assert_eq!(client.call(&["FP.TOUCH", "a", "9"]), Reply::Integer(1));
    assert_eq!(client.call(&["FP.TOUCH", "missing", "9"]), Reply::Integer(0));
    // A clock steps back.
    assert_eq!(client.call(&["FP.TOUCH", "a", "8"]), Reply::Integer(1));
    assert_eq!(client.call(&["FP.UPSERT", "a", "0xff", "STAMP", "1"]).word(), "unchanged");
    assert_eq!(field(&mut client, "a", "stamp"), bulk("9"));
    assert_eq!(client.call(&["FP.EXPIRE", "9"]), Reply::Integer(1));
    assert_eq!(client.call(&["FP.GET", "b"]), Reply::Null);
    assert_eq!(field(&mut client, "a", "stamp"), bulk("9"));
    for wrong in [
        &["FP.ADDNX", "d", "0xf", "STAMP", "-1"][..],
        &["FP.ADDNX", "d", "0xf", "STAMP"],
        &["FP.ADDNX", "d", "0xf", "KEEP"],
        &["FP.TOUCH", "d", "now"],
        &["FP.EXPIRE", "now"],
        &["FP.QUERY", "0xf", "SINCE", "1", "SINCE", "2"],
        &["FP.MQUERY", "0", "SINCE", "1"],
    ] {
        assert!(client.call(wrong).text().starts_with("ERR "), "{wrong:?}");
    }
    assert_eq!(client.call(&["FP.GET", "d"]), Reply::Null);
}

#[test]
fn expiry_removes_nothing_and_is_no_error_if_no_document_has_a_stamp() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let mut client = server.connect();
    assert_eq!(client.call(&["FP.EXPIRE", "9"]), Reply::Integer(0));
    assert_eq!(client.call(&["FP.ADDNX", "a", "0xff"]).word(), "inserted");
    assert_eq!(client.call(&["FP.EXPIRE", "9"]), Reply::Integer(0));
    assert_eq!(field(&mut client, "a", "stamp"), Reply::Null);
}

/// Adjacent commands that treat duplicates differently are not committed together.
#[test]
fn an_update_says_what_becomes_of_a_key_that_is_now_a_duplicate() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let mut client = server.connect();
    let add: [[&str; 3]; 4] = [
        ["FP.ADDNX", "original", "0xff"],
        ["FP.ADDNX", "kept", "0xff00"],
        ["FP.ADDNX", "removed", "0xff0000"],
        ["FP.ADDNX", "remembered", "0xff000000"],
    ];
    let update: [&[&str]; 3] = [
        &["FP.UPSERT", "kept", "0xfe"],
        &["FP.UPSERT", "removed", "0xfe", "REMOVE"],
        &["FP.UPSERT", "remembered", "0xfe", "STAMP", "3", "remember"],
    ];
    let sent = add.iter().map(|words| &words[..]).chain(update);
    client.send(&sent.flat_map(request).collect::<Vec<u8>>());
    let replies: Vec<Reply> = (0..7).map(|_| client.read()).collect();
    assert!(replies[..4].iter().all(|reply| reply.word() == "inserted"));
    assert!(replies[4..].iter().all(|reply| reply.word() == "duplicate"), "{replies:?}");
    assert_eq!(field(&mut client, "kept", "fingerprint"), bulk("0x000000000000ff00"));
    assert_eq!(client.call(&["FP.GET", "removed"]), Reply::Null);
    assert_eq!(field(&mut client, "remembered", "fingerprint"), bulk("0x00000000000000fe"));
    assert_eq!(field(&mut client, "remembered", "duplicate_of"), bulk("original"));
    assert_eq!(field(&mut client, "remembered", "stamp"), bulk("3"));
}

#[test]
fn a_database_with_user_ids_refuses_stamps() {
    let folder = folder();
    let db = Db::options().ids(Ids::User).create(folder.path().join("db")).unwrap();
    let server = Served::start(db, &Options::default());
    let mut client = server.connect();
    for words in [
        &["FP.ADDNX", "1", "0xff", "STAMP", "7"][..],
        &["FP.TOUCH", "1", "7"],
        &["FP.EXPIRE", "7"],
        &["FP.QUERY", "0xff", "SINCE", "7"],
        &["FP.MQUERY", "0", "SINCE", "7", "0xff"],
    ] {
        let reply = client.call(words);
        assert!(
            reply.text().starts_with("ERR a database with user ids has no stamps"),
            "{reply:?}"
        );
    }
}

#[test]
fn files_are_flushed_compacted_and_verified() {
    let folder = folder();
    let db = names(&folder);
    let server = Served::start(db.clone(), &Options::default());
    let mut client = server.connect();
    for (key, fingerprint) in [("a", "0xff"), ("b", "0xff00")] {
        client.call(&["FP.ADDNX", key, fingerprint]);
        assert_eq!(db.stats().memtable_entries, 1);
        assert_eq!(client.call(&["FP.FLUSH"]), Reply::Simple("OK".into()));
        assert_eq!(db.stats().memtable_entries, 0);
    }
    // The background may have merged the two segments already.
    let report = client.call(&["FP.COMPACT"]);
    assert!(matches!(report.items()[1], Reply::Integer(1 | 2)), "{report:?}");
    assert_eq!(report.items()[2..4], [bulk("segments_after"), Reply::Integer(1)]);
    assert_eq!(db.stats().segments.len(), 1);
    let report = client.call(&["FP.VERIFY"]);
    assert!(matches!(report.items()[1], Reply::Integer(1..)), "{report:?}");
    assert_eq!(report.items()[4..], [bulk("errors"), Reply::Array(vec![])]);
}

#[test]
fn backups_go_into_the_folder_for_them_and_nowhere_else() {
    let (db_folder, backups) = (folder(), folder());
    let db = names(&db_folder);
    let unset = Served::start(db.clone(), &Options::default());
    let refused = unset.connect().call(&["FP.BACKUP", "monday"]);
    assert!(refused.text().contains("backup-folder"), "{refused:?}");
    drop(unset);
    let within = backups.path().join("within");
    std::fs::create_dir(&within).unwrap();
    let server = Served::start(db, &Options::default().backup_folder(&within));
    let mut client = server.connect();
    client.call(&["FP.ADDNX", "a", "0xff"]);
    assert_eq!(client.call(&["FP.BACKUP", "monday-1.fpdb"]), Reply::Simple("OK".into()));
    let copy = Db::open_read_only(within.join("monday-1.fpdb")).unwrap();
    assert!(copy.snapshot().get("a").unwrap().is_some());
    // A backup that exists is not replaced.
    assert!(client.call(&["FP.BACKUP", "monday-1.fpdb"]).text().starts_with("ERR "));
    let absolute = backups.path().join("x");
    for name in ["", ".", "..", "../x", "a/b", "a\\b", "C:x", absolute.to_str().unwrap()] {
        let reply = client.call(&["FP.BACKUP", name]);
        assert!(reply.text().starts_with("ERR the name of a backup"), "{name}: {reply:?}");
    }
    assert_eq!(std::fs::read_dir(&within).unwrap().count(), 1);
    assert_eq!(std::fs::read_dir(backups.path()).unwrap().count(), 1);
}
