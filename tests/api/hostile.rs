//! Databases that an attacker made: all checksums are right, the values are not. What they cost is
//! bounded by their size.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fpdb::storage::Sim;
use fpdb::{Db, DocId, ErrorKind, Ids, Options};

fn options(sim: &Arc<Sim>) -> Options<u64> {
    Db::options().storage(sim.clone()).background(false)
}

/// Sets the field *next id* of the manifest, and its checksum.
fn set_next_id(sim: &Sim, next_id: u64) {
    let mut manifest = sim.contents("MANIFEST").unwrap();
    let number = |at: usize, len: usize| {
        let bytes = manifest[at..at + len].iter().rev();
        bytes.fold(0, |number, &byte| number << 8 | usize::from(byte))
    };
    // From the header to the strings: features to read and to write, kind of ids.
    let mut at = 64 + 8 + 8 + 1;
    for _string in ["recipe", "extraction"] {
        at += 4 + number(at, 4);
    }
    // Purpose, kind of index, block size, code, filter bits, and the layout's name.
    at += 1 + 1 + 4 + 1 + 4;
    at += 4 + number(at, 4);
    let cells = number(at, 1);
    let tables = number(at + 1 + cells, 1);
    // After the layout, the distance.
    let generation = at + 2 + cells + tables * cells + 1;
    // After the generation, the session, and whether it is unfinished.
    let next_id_at = generation + 8 + 8 + 1;
    manifest[next_id_at..next_id_at + 8].copy_from_slice(&next_id.to_le_bytes());
    let end = manifest.len() - 4;
    let checksum = crc32fast::hash(&manifest[..end]);
    manifest[end..].copy_from_slice(&checksum.to_le_bytes());
    sim.set_contents("MANIFEST", &manifest);
}

#[test]
fn forged_next_id_does_not_make_compaction_write_names_for_the_gap() {
    for gap in [1 << 20, 1 << 40, (1 << 62) - 1] {
        let sim = Sim::new();
        let db = options(&sim).ids(Ids::Names).create("sim").unwrap();
        assert_eq!(db.insert(1, "first").unwrap(), DocId(0));
        db.close().unwrap();
        set_next_id(&sim, gap);
        let db = options(&sim).open("sim").unwrap();
        assert_eq!(db.insert(2, "second").unwrap(), DocId(gap));
        db.flush().unwrap();
        let start = Instant::now();
        db.compact().unwrap();
        let stats = db.stats();
        assert_eq!((stats.segments.len(), stats.entries), (1, 2));
        assert!(stats.bytes_names < 1 << 10, "{} bytes of names", stats.bytes_names);
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        assert_eq!(db.snapshot().name(DocId(0)).unwrap().as_deref(), Some("first"));
        assert_eq!(db.snapshot().name(DocId(gap)).unwrap().as_deref(), Some("second"));
        assert_eq!(db.snapshot().name(DocId(gap - 1)).unwrap(), None);
        assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
    }
}

#[test]
fn removed_documents_take_no_space_in_the_names() {
    let sim = Sim::new();
    let db = options(&sim).ids(Ids::Names).create("sim").unwrap();
    let name = |i: u64| format!("https://example.org/{i}");
    (0..10_000).for_each(|i| assert_eq!(db.insert(i, &name(i)).unwrap(), DocId(i)));
    db.flush().unwrap();
    let kept = |i: &u64| matches!(i, 0 | 5_000 | 9_999);
    (0..10_000).filter(|i| !kept(i)).for_each(|i| assert!(db.remove_entry(i, i).unwrap()));
    db.compact().unwrap();
    assert!(db.stats().bytes_names < 1 << 10, "{} bytes of names", db.stats().bytes_names);
    for i in (0..10_000).step_by(1000).chain([9_999]) {
        assert_eq!(db.snapshot().name(DocId(i)).unwrap(), kept(&i).then(|| name(i)));
    }
}

#[test]
fn last_ids_are_refused_before_the_manifest_cannot_hold_the_next_one() {
    let sim = Sim::new();
    options(&sim).ids(Ids::Names).create("sim").unwrap().close().unwrap();
    set_next_id(&sim, (1 << 63) - 2);
    let db = options(&sim).open("sim").unwrap();
    db.insert(1, "last").unwrap();
    let error = db.insert(2, "one too many").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    db.close().unwrap();
    assert_eq!(options(&sim).open("sim").unwrap().stats().entries, 1);
}
