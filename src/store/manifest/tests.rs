//! What a manifest says, its limits, and damaged ones.

use super::*;
use crate::file::names::first_number;
use crate::file::paged::FileSummary;
use crate::file::storage::Sim;
use crate::fingerprint::Ids;
use crate::index::tables::TableFiles;
use crate::index::tables::layout::Layout;
use crate::settings::{IndexSettings, TableSettings};
use crate::store::segment::{DocumentsMeta, IndexFiles};
use crate::{Db, DocId};

fn tables(distance: u32) -> IndexSettings {
    IndexSettings::Tables(TableSettings {
        layout: Layout::preset("half-2", 64).unwrap(),
        distance,
        block_size: 256,
        filter_bits: 10,
    })
}

fn sample() -> Manifest {
    let settings = Settings {
        database_id: 42,
        ids: Ids::Names,
        recipe: Some("pairs/1".into()),
        extraction: Some("main/1".into()),
        passages: None,
        index: tables(3),
    };
    let mut manifest = Manifest::new(settings, 90);
    manifest.generation = 6;
    let log = |generation, end| {
        let number = first_number(generation);
        LogRef { id: FileId { number, nonce: generation + 90 }, end }
    };
    manifest.logs = vec![log(3, Some(99))];
    manifest.begin_session(93, 4);
    manifest.begin_session(95, 6);
    manifest.generation = 7;
    manifest.logs.push(log(5, None));
    let file = FileSummary { len: 1000, crc: 7 };
    manifest.segments.push(SegmentMeta {
        id: first_number(2) + 1,
        nonce: 93,
        ages: first_number(2)..=first_number(2) + 1,
        fingerprints: 10,
        entries: 12,
        removed: 0,
        index: IndexFiles::Tables(TableFiles {
            tables: vec![file; 2],
            postings: file,
            tombstones: None,
        }),
        documents: Some(DocumentsMeta { live: 14, removed: 2, replaced: 3, file }),
        spare: Some(file),
    });
    manifest
}

#[test]
fn settings_that_could_not_be_read_again_are_refused() {
    let settings = |recipe: &str, distance| Settings {
        recipe: Some(recipe.to_owned()),
        index: tables(distance),
        ..sample().settings
    };
    for (settings, expected) in [
        (settings("pairs/1", 3), None),
        // Later releases may create databases for a distance that this one does not offer.
        (settings("pairs/1", 64), None),
        (settings("pairs/1", 65), Some("max distance 65 of 64 bits")),
        (settings(&"x".repeat(256), 3), Some("recipe name of 256 bytes")),
        (settings("", 3), Some("it would have other settings")),
    ] {
        let error = Manifest::new(settings, 90).expect_readable().err();
        assert_eq!(error.is_some(), expected.is_some(), "{error:?}");
        if let Some((error, expected)) = error.zip(expected) {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}

/// Returns a manifest of this many segments, each of another writer.
fn of_segments(count: usize) -> Manifest {
    let mut manifest = sample();
    manifest.generation = count as u64 + 10;
    let segment = manifest.segments.pop().unwrap();
    let numbers = (8..).zip(1 << 40..).take(count);
    manifest.segments = numbers
        .map(|(generation, nonce)| SegmentMeta {
            id: first_number(generation),
            nonce,
            ages: first_number(generation)..=first_number(generation),
            ..segment.clone()
        })
        .collect();
    let session = |segment: &SegmentMeta| Session { nonce: segment.nonce, last: 9 };
    manifest.earlier_sessions = manifest.segments.iter().map(session).collect();
    manifest
}

#[test]
fn greatest_number_of_segments_is_read_and_one_more_is_refused() {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let most = of_segments(MAX_SEGMENTS);
    most.install(&*sim).unwrap();
    assert_eq!(Manifest::read(&*sim).unwrap(), most);

    let more = of_segments(MAX_SEGMENTS + 1);
    let error = more.install(&*sim).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("65,536 segments"), "{error}");
    assert_eq!(sim.list().unwrap().unwrap(), [MANIFEST]);
    assert_eq!(Manifest::read(&*sim).unwrap(), most);
    let error = Manifest::decode(&more.encode()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.to_string().contains("more than 65,536 segments"), "{error}");

    // With 62 more tables.
    let tables = (62 * (8 + 4) * MAX_SEGMENTS) as u64;
    assert!((most.encode().len() as u64) + tables < MAX_LEN - (1 << 20));
}

#[test]
fn longest_manifest_is_read_and_a_longer_one_is_refused() {
    let sim = Sim::new();
    sim.create_root().unwrap();
    for (len, expected) in [(MAX_LEN, "checksum"), (MAX_LEN + 1, "at most 67108864")] {
        let mut bytes = sample().encode();
        bytes.resize(usize::try_from(len).unwrap(), 0);
        sim.set_contents(MANIFEST, &bytes);
        let error = Manifest::read(&*sim).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn huge_counts_in_a_small_manifest_are_refused_without_memory_for_them() {
    let mut of_nothing = sample();
    of_nothing.earlier_sessions.clear();
    of_nothing.logs.clear();
    of_nothing.segments.clear();
    // The four counts are the last fields before the checksum.
    let counts = of_nothing.encode().len() - 4 - 16;
    assert_eq!(of_nothing.encode()[counts..counts + 16], [0; 16]);
    for place in 0..4 {
        for count in [1, 3, 1 << 16, (1 << 16) + 1, 1 << 31, u32::MAX] {
            let mut bytes = of_nothing.encode();
            bytes.truncate(bytes.len() - 4);
            bytes[counts + 4 * place..][..4].copy_from_slice(&count.to_le_bytes());
            bytes.put_u32(crc32fast::hash(&bytes));
            let error = Manifest::decode(&bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{place} {count}");
        }
    }
}

#[test]
fn counters_at_their_limits_are_read() {
    let mut manifest = sample();
    manifest.generation = MAX_GENERATION;
    manifest.next_doc = COUNTER_LIMIT - 1;
    manifest.last_seq = COUNTER_LIMIT - 1;
    manifest.bytes_flushed = COUNTER_LIMIT - 1;
    manifest.bytes_compacted = COUNTER_LIMIT - 1;
    manifest.segments[0].entries = (1 << 48) - 1;
    manifest.segments[0].fingerprints = (1 << 48) - 1;
    let IndexFiles::Tables(files) = &mut manifest.segments[0].index else { panic!() };
    files.postings = FileSummary { len: 1 << 55, crc: 7 };
    assert_eq!(Manifest::decode(&manifest.encode()).unwrap(), manifest);
}

#[test]
fn only_files_of_known_writers_are_what_a_crash_leaves() {
    let mut manifest = sample();
    let file = |generation, nonce| FileId { number: first_number(generation) + 3, nonce };
    for (generation, nonce) in [(7, 95), (6, 95), (5, 95), (6, 93), (1, 93)] {
        assert!(manifest.may_have_left(file(generation, nonce), false), "{generation} {nonce}");
    }
    for (generation, nonce) in [(6, 17), (8, 95), (8, 17), (1, 90)] {
        assert!(!manifest.may_have_left(file(generation, nonce), true), "{generation} {nonce}");
    }
    // A writer that was killed before it installed a manifest. It writes a segment only if there
    // were logs.
    assert!(manifest.may_have_left(file(7, 17), false));
    manifest.logs.clear();
    assert!(!manifest.may_have_left(file(7, 17), false));
    assert!(manifest.may_have_left(file(7, 17), true));
}

#[test]
fn every_flipped_bit_and_truncation_is_corruption() {
    let good = sample().encode();
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Manifest::decode(&bytes).unwrap_err().kind(), ErrorKind::Corruption, "{bit}");
    }
    for len in 0..good.len() {
        assert_eq!(Manifest::decode(&good[..len]).unwrap_err().kind(), ErrorKind::Corruption);
    }
}

#[test]
fn unknown_feature_is_refused_before_anything_that_it_may_change_is_read() {
    let mut manifest = sample();
    manifest.features.to_read = 1 << 41;
    let mut bytes = manifest.encode();
    bytes.truncate(HEADER_LEN + 16);
    bytes.extend_from_slice(b"something new");
    bytes.put_u32(crc32fast::hash(&bytes));
    let error = Manifest::decode(&bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("feature 41"), "{error}");
}

#[test]
fn unknown_extensions_survive_writing() {
    let sim = Sim::new();
    let open = || Db::options().storage(sim.clone());
    open().create("sim").unwrap().close().unwrap();
    let mut manifest = Manifest::read(&*sim).unwrap();
    let extension = |tag| Extension { tag, content: vec![1, 2, 3] };
    manifest.extensions.extend([extension(4), extension(9)]);
    manifest.install(&*sim).unwrap();

    let db = open().open("sim").unwrap();
    db.insert(7, DocId(1)).unwrap();
    db.flush().unwrap();
    db.compact().unwrap();
    db.close().unwrap();
    assert_eq!(Manifest::read(&*sim).unwrap().extensions, manifest.extensions);
}

#[test]
fn a_manifest_names_the_programs_that_created_and_wrote_the_database() {
    let this = "fpdb 0.1";
    let by = |manifest: &Manifest| {
        manifest.writers().map(|writers| [writers.created_by, writers.written_by].join(", "))
    };
    let mut manifest = Manifest::new(sample().settings, 90).created_by(this);
    assert_eq!(by(&manifest).unwrap(), format!("{this}, {this}"));
    // An older program wrote it, and this one opens it.
    let mut content = Vec::new();
    ["other 0.1", "fpdb 0.0.9"].iter().for_each(|text| content.put_string(text.as_bytes()));
    manifest.extensions[0].content = content;
    assert_eq!(by(&manifest).unwrap(), "other 0.1, fpdb 0.0.9");
    manifest.note_writer(this);
    assert_eq!(
        by(&Manifest::decode(&manifest.encode()).unwrap()).unwrap(),
        format!("other 0.1, {this}")
    );
    // What a later release may write there is kept, and is no damage.
    manifest.extensions[0].content = vec![1];
    manifest.note_writer(this);
    assert_eq!((by(&manifest), &*manifest.extensions[0].content), (None, &[1][..]));
    assert!(Manifest::decode(&manifest.encode()).is_ok());
}
