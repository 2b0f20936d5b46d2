//! Databases that are built of given entries or documents.

use fpdb::{
    Db, DocId, Document, Entry, Error, ErrorKind, Ids, Jaccard, MatchRule, Options, Source,
};

type Named = fpdb::Result<(Option<String>, Document)>;

fn named(name: &str, id: u64) -> Named {
    Ok((Some(name.to_owned()), Document::new(id << 40, DocId(id))))
}

fn entry(i: u64) -> fpdb::Result<Entry> {
    Ok(Entry { fingerprint: i << 40, id: DocId(i) })
}

#[test]
fn a_database_of_given_entries_is_complete_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let create = |count, entries: Vec<fpdb::Result<Entry>>| {
        Db::options().build(&path, Source::entries(count, entries))
    };
    let broken = || Err(Error::from_input(std::io::Error::other("line 3")));
    for (count, entries, message) in [
        (3, vec![entry(1), entry(2), broken()], "line 3"),
        (3, vec![entry(1), entry(2)], "there are 2, but 3 were announced"),
        (1, vec![entry(1), entry(2)], "there are more than 1"),
        (1, vec![], "there are 0, but 1 were announced"),
    ] {
        let error = create(count, entries).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(!path.exists(), "{message}");
    }
    let names = Db::options().ids(Ids::Names).build(&path, Source::entries(0, []));
    assert_eq!(names.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(!path.exists());
    assert_eq!(create(2, vec![entry(9), entry(2)]).unwrap().written, 2);
    assert_eq!(create(0, vec![]).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(Db::open(&path).unwrap().snapshot().len(), 2);
}

#[test]
fn given_documents_keep_everything_that_is_known_about_them() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let options = || Db::options().ids(Ids::Names);
    let mut copy = named("b", 7).unwrap();
    (copy.1.stamp, copy.1.duplicate_of) = (Some(2026), Some(DocId(3)));
    let given = [named("a", 3), Ok(copy), named("c", 0)];
    let report = options().build(&first, Source::documents(Some(DocId(9)), 3, given)).unwrap();
    assert_eq!(report.written, 3);
    let snapshot = Db::open_read_only(&first).unwrap().snapshot();
    assert_eq!((snapshot.len(), snapshot.next_id()), (2, Some(DocId(9))));
    let found = snapshot.get("b").unwrap().unwrap();
    assert_eq!((found.id, found.stamp, found.duplicate_of), (DocId(7), Some(2026), Some(DocId(3))));
    let all = snapshot.documents().unwrap();
    let _ = options().build(&second, Source::documents(snapshot.next_id(), 3, all)).unwrap();
    let copied = Db::open_read_only(&second).unwrap().snapshot();
    let all = |snapshot: &fpdb::Snapshot| -> Vec<_> {
        snapshot.documents().unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(all(&copied), all(&snapshot));
    assert!(copied.verify(fpdb::VerifyLevel::Deep).unwrap().errors.is_empty());
}

#[test]
fn documents_that_cannot_be_are_refused_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let names = Db::options().ids(Ids::Names);
    let unnamed = || Ok((None, Document::new(7, DocId(1))));
    for (next, given, message) in [
        (Some(9), vec![named("b", 1), named("a", 2)], "not in order"),
        (Some(9), vec![named("a", 1), named("a", 2)], "not in order"),
        (Some(9), vec![named("a", 1), named("b", 1)], "the id 1"),
        (Some(9), vec![named("a", 9), named("b", 1)], "the next id is 9"),
        (Some(9), vec![named("", 1), named("b", 2)], "a name of 0 bytes"),
        (Some(9), vec![unnamed(), named("b", 2)], "no name"),
        (Some(1 << 63), vec![named("a", 1), named("b", 2)], "expected at most"),
        (None, vec![named("a", 1), named("b", 2)], "needs the id that the next name gets"),
    ] {
        let created = names.clone().build(&path, Source::documents(next.map(DocId), 2, given));
        let error = created.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert!(!path.exists(), "{message}");
    }
    let unique = Db::options().ids(Ids::Unique);
    let error = unique.build(&path, Source::documents(None, 1, [named("a", 1)])).unwrap_err();
    assert!(error.to_string().contains("a name"), "{error}");
    let error = Db::options().build(&path, Source::documents(None, 0, [])).unwrap_err();
    assert!(error.to_string().contains("has no documents"), "{error}");
}

#[test]
fn ids_of_removed_documents_do_not_come_back_in_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    for (name, documents) in [("one", vec![named("a", 0)]), ("none", Vec::new())] {
        let path = folder.path().join(name);
        let count = documents.len() as u64;
        let options = Db::options().ids(Ids::Names);
        let _ = options.build(&path, Source::documents(Some(DocId(2)), count, documents)).unwrap();
        assert_eq!(Db::open(&path).unwrap().insert(9, "c").unwrap(), DocId(2), "{name}");
    }
}

#[test]
fn a_rule_that_was_written_down_is_the_same_rule() {
    let similar = Options::sketches().similar(Jaccard::at_least(0.9)).in_memory().unwrap();
    let rule = &similar.description().rule;
    let (bands, jaccard) = (rule.bands().unwrap(), rule.jaccard().unwrap());
    let (distance, margin) = (rule.distance(), rule.margin().unwrap());
    let again = MatchRule::of_bands(jaccard, bands, distance, margin).unwrap();
    assert_eq!(again, *rule);
    let other = MatchRule::of_bands(jaccard, (16, 8), 128, 0).unwrap();
    for rule in [rule, &other] {
        let same = Options::sketches().rule(rule).in_memory().unwrap();
        assert_eq!(same.description().rule, *rule);
    }
    let near =
        Db::options().rule(&Db::options().max_distance(6).in_memory().unwrap().description().rule);
    assert_eq!(near.in_memory().unwrap().description().max_distance, 6);
    let words = Options::bits128().rule(rule).in_memory();
    assert_eq!(words.unwrap_err().kind(), ErrorKind::InvalidArgument);
    for (bands, minima, most) in [(0, 5, 38), (17, 5, 38), (8, 0, 38), (8, 9, 38), (8, 5, 129)] {
        let error = MatchRule::of_bands(jaccard, (bands, minima), most, margin).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}
