#![allow(clippy::cast_possible_truncation, reason = "random numbers and small counts")]

use std::collections::BTreeMap;
use std::sync::Arc;

use super::symbols::Symbol;
use super::typed::decode;
use super::*;
use crate::base::error::Result;
use crate::base::inspection::Inspection;
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::paged::{FileSummary, PAGE};
use crate::file::scratch::ScratchFiles;
use crate::file::storage::{LockedFolder, Sim, Storage};
use crate::fingerprint::Ids;
use crate::fingerprint::Word;
use crate::format_example::example;

type Records<F> = BTreeMap<Vec<u8>, Option<Document<F>>>;

fn header(bits: u32) -> FileHeader {
    FileHeader { kind: FileKind::Documents, bits, part: 0, file_id: 1, nonce: 8, database_id: 2 }
}

fn sim() -> Arc<Sim> {
    let sim = Sim::new();
    sim.create_root().unwrap();
    sim
}

/// Returns numbers that look random.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut rng = fastrand::Rng::with_seed(seed);
    move || rng.u64(..)
}

fn original<F: Word>(number: u64) -> Document<F> {
    let mut next = random(number);
    let fingerprint = F::from_u128(u128::from(next()) << 64 | u128::from(next()));
    Document { fingerprint, id: DocId(number), stamp: None, duplicate_of: None }
}

fn symbols_for<F>(records: &Records<F>) -> SymbolTable {
    SymbolTable::train(&records.keys().map(Vec::as_slice).collect::<Vec<_>>())
}

fn write<F: Word>(
    sim: &Sim,
    ids: Ids,
    records: &Records<F>,
    symbols: SymbolTable,
    scratch: Option<ScratchFiles<'_>>,
) -> Result<FileSummary> {
    let (header, most) = (header(F::BITS), records.len() as u64);
    let mut builder = DocumentsBuilder::create(sim, "d", &header, ids, symbols, most, scratch)?;
    for (key, document) in records {
        builder.push(key, document.as_ref())?;
    }
    builder.finish()
}

fn open<F: Word>(sim: &Sim, ids: Ids, len: u64) -> Result<Documents<F>> {
    Documents::open(sim, "d", &header(F::BITS), len, ids)
}

fn all<F: Word>(documents: &Documents<F>, after: Option<&[u8]>) -> Result<Records<F>> {
    let (mut cursor, mut found) = (documents.iter_from(after), Records::new());
    while let Some((key, document)) = cursor.next()? {
        found.insert(key.to_vec(), document);
    }
    Ok(found)
}

fn verify<F: Word>(documents: &Documents<F>, summary: FileSummary) -> usize {
    let mut inspection = Inspection::new(None);
    documents.verify(summary, &mut inspection).unwrap();
    inspection.into_errors().iter().inspect(|error| println!("{error}")).count()
}

fn get<F: Word>(documents: &Documents<F>, key: &[u8]) -> Option<Option<Document<F>>> {
    documents.get(key, documents.hasher.hash(key)).unwrap()
}

/// Keys that are next to this one.
fn neighbours(key: &[u8]) -> Vec<Vec<u8>> {
    let changed = |at: usize, byte: u8| {
        let mut key = key.to_vec();
        key[at] = byte;
        key
    };
    let last = key.len() - 1;
    let mut all = vec![key[..last].to_vec(), [key, &[0]].concat(), [key, &[0xff]].concat()];
    for at in [0, last / 2, last] {
        all.push(changed(at, key[at].wrapping_add(1)));
        all.push(changed(at, key[at].wrapping_sub(1)));
    }
    all
}

/// Returns the most bytes that the file may take.
fn most_bytes<F: Word>(records: &Records<F>) -> u64 {
    let bytes: u64 = records.keys().map(|key| most_record_bytes(F::BYTES, key.len())).sum();
    // With the checksums of its pages.
    (MAX_FIXED_BYTES + bytes) * 1000 / 999
}

/// Writes the records and checks everything that a reader returns.
fn check<F: Word>(ids: Ids, records: &Records<F>) -> Documents<F> {
    let sim = sim();
    let mut last = None;
    for symbols in [SymbolTable::none(), symbols_for(records)] {
        let summary = write(&sim, ids, records, symbols, None).unwrap();
        let most = most_bytes(records);
        assert!(summary.len <= most, "{} bytes instead of {most}", summary.len);
        let documents = open::<F>(&sim, ids, summary.len).unwrap();
        check_open(ids, records, &documents, summary);
        last = Some(documents);
        sim.remove("d").unwrap();
    }
    last.unwrap()
}

fn check_open<F: Word>(
    ids: Ids,
    records: &Records<F>,
    documents: &Documents<F>,
    summary: FileSummary,
) {
    assert_eq!(verify(documents, summary), 0);
    let live = || records.values().flatten();
    assert_eq!(documents.records(), records.len() as u64);
    assert_eq!(documents.removals() as usize, records.len() - live().count());
    let duplicates = live().filter(|d| d.duplicate_of.is_some()).count();
    assert_eq!(documents.duplicates() as usize, duplicates);
    assert_eq!(documents.greatest_id(), live().map(|d| d.id).max());
    assert_eq!(&all(documents, None).unwrap(), records);
    let find = |key: &[u8]| documents.find(key).unwrap().map(|found| found.map(decode::<F>));
    for (key, document) in records {
        assert_eq!(get(documents, key), Some(*document));
        // Without the filter, so that leaves and inner nodes are searched.
        assert_eq!(find(key), Some(*document));
        for other in neighbours(key).iter().filter(|other| !records.contains_key(*other)) {
            assert_eq!(get(documents, other), None);
            assert_eq!(find(other), None, "{other:?}");
        }
    }
    if ids == Ids::Names {
        let by_id: BTreeMap<u64, _> =
            records.iter().filter_map(|(key, d)| Some((d.as_ref()?.id.0, (key, d)))).collect();
        for (&id, (key, document)) in &by_id {
            let found = documents.by_id(DocId(id)).unwrap().unwrap();
            assert_eq!((found.0.as_bytes(), Some(found.1)), (key.as_slice(), **document));
            for other in [id.wrapping_sub(64), id.wrapping_sub(1), id + 1, id + 64, id + 640] {
                let is_there = by_id.contains_key(&other);
                assert_eq!(documents.by_id(DocId(other)).unwrap().is_some(), is_there);
            }
        }
    }
}

fn urls(count: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut next = random(1);
    (0..count).map(move |i| {
        let (site, section) = (next() % 20, ["news", "blog", "shop"][next() as usize % 3]);
        format!("https://www.site-{site}.example/{section}/2024/{}/{i}-title", next() % 12)
            .into_bytes()
    })
}

#[test]
fn every_key_at_a_boundary_is_found_and_its_neighbours_are_not() {
    for count in [1, 2, 3, 50, 500, 3000] {
        let records: Records<u64> =
            urls(count).enumerate().map(|(i, key)| (key, Some(original(i as u64)))).collect();
        let documents = check(Ids::Names, &records);
        assert_eq!(documents.meta.depth > 0, count > 200, "{count}");
    }
}

#[test]
fn tree_of_several_levels_finds_every_key() {
    // A leaf has one record, and every other separator has a thousand bytes without any pattern.
    let mut next = random(2);
    let mut string =
        |len: usize| -> Vec<u8> { (0..len).map(|_| b'!' + (next() % 90) as u8).collect() };
    let mut records: Records<u64> = Records::new();
    for id in 0..100 {
        let start = string(1000);
        for id in [2 * id, 2 * id + 1] {
            let key = [start.as_slice(), &string(2500)].concat();
            records.insert(key, Some(original(id)));
        }
    }
    let documents = check(Ids::Names, &records);
    assert!(documents.meta.depth >= 3, "{:?}", documents.meta);
}

#[test]
fn long_keys_among_short_ones_are_found() {
    let long = |byte: u8, len: usize| vec![byte; len];
    let mut keys = vec![long(b'a', 1), long(b'b', 3), long(b'c', 65_535), long(b'd', 2)];
    for len in [65_535, 65_534, 30_000, 5000, 4000, 100] {
        keys.push(long(b'e', len));
        keys.push([long(b'f', len - 1), vec![b'g']].concat());
        keys.push([long(b'f', len - 1), vec![b'h']].concat());
    }
    // Keys without any pattern.
    let mut next = random(3);
    for len in [65_535usize, 4096, 2000] {
        keys.push((0..len).map(|_| b'!' + (next() % 90) as u8).collect());
    }
    let records: Records<u128> =
        keys.into_iter().enumerate().map(|(i, key)| (key, Some(original(i as u64)))).collect();
    check(Ids::Names, &records);
}

#[test]
fn keys_of_any_bytes_round_trip() {
    // Names are UTF-8, but those of removals only for verify.
    let mut next = random(4);
    let mut records: Records<u64> = Records::new();
    for _ in 0..2000 {
        let key: Vec<u8> =
            (0..=next() % 9).map(|_| [0, 1, 0x7f, 0x80, 0xfe, 0xff][next() as usize % 6]).collect();
        records.insert(key, None);
    }
    let sim = sim();
    for symbols in [SymbolTable::none(), symbols_for(&records)] {
        let summary = write(&sim, Ids::Names, &records, symbols, None).unwrap();
        let documents = open::<u64>(&sim, Ids::Names, summary.len).unwrap();
        assert_eq!(all(&documents, None).unwrap(), records);
        for key in records.keys() {
            assert_eq!(get(&documents, key), Some(None));
        }
        sim.remove("d").unwrap();
    }
}

#[test]
fn symbol_table_of_any_sample_encodes_every_string() {
    let mut next = random(5);
    let strings: Vec<Vec<u8>> =
        (0..200).map(|_| (0..next() % 40).map(|_| next() as u8 % 7 * 42).collect()).collect();
    let urls: Vec<Vec<u8>> = urls(1000).collect();
    let samples: [Vec<&[u8]>; 4] = [
        vec![],
        vec![&[], &[]],
        strings.iter().map(Vec::as_slice).collect(),
        urls.iter().map(Vec::as_slice).collect(),
    ];
    for sample in samples {
        let table = SymbolTable::train(&sample);
        let mut stored = Vec::new();
        table.put(&mut stored);
        stored.extend([0; 9]);
        let table = SymbolTable::read(&stored).unwrap();
        let mut encoder = encoder::Encoder::new(&table);
        for string in strings.iter().chain(&urls) {
            let (mut codes, mut decoded) = (Vec::new(), Vec::new());
            encoder.encode(string, &mut codes);
            table.decode(&codes, &mut decoded).unwrap();
            assert_eq!(&decoded, string);
            for other in strings.iter().chain(urls.iter().take(20)) {
                let common = keys::common_len(string, other);
                let order = string.cmp(other);
                assert_eq!(table.compare(&codes, other), Some((common, order)));
            }
        }
    }
    assert!(SymbolTable::train(&[]).is_plain());
}

#[test]
fn codes_that_stand_for_nothing_or_too_long_a_key_are_refused() {
    let table = SymbolTable::new(&[Symbol::of_byte(b'a')]);
    let decode = |codes: &[u8]| table.decode(codes, &mut Vec::new());
    for codes in [&[1][..], &[0, 254], &[255], &[0, 255]] {
        assert_eq!(decode(codes), None, "{codes:?}");
        assert_eq!(table.compare(codes, b"aa"), None, "{codes:?}");
    }
    assert_eq!(decode(&[0; MAX_KEY]), Some(()));
    assert_eq!(decode(&[0; MAX_KEY + 1]), None);
}

#[test]
fn users_ids_are_keys_and_are_not_stored_again() {
    for step in [1, 7, 1 << 40] {
        let records: Records<u64> = (0..5000u64)
            .map(|i| i.wrapping_mul(step))
            .map(|id| (id.to_be_bytes().to_vec(), (id % 5 != 3).then(|| original(id))))
            .collect();
        let documents = check(Ids::Unique, &records);
        assert_eq!(documents.places.locator.chunks, 0);
    }
    let extremes = [0, 1, u64::MAX - 1, u64::MAX];
    let records: Records<u128> =
        extremes.map(|id| (id.to_be_bytes().to_vec(), Some(original(id)))).into();
    check(Ids::Unique, &records);
}

#[test]
fn gaps_in_the_ids_cost_nothing() {
    let sizes: Vec<u64> = [1, 1 << 50]
        .into_iter()
        .map(|step| {
            let records: Records<u64> = urls(300)
                .zip(0u64..)
                .map(|(key, i)| (key, Some(original(i + i / 64 * 64 * (step - 1)))))
                .collect();
            check(Ids::Names, &records).places.locator.chunks as u64
        })
        .collect();
    assert_eq!(sizes[0], sizes[1]);
}

/// Returns records of all sorts.
fn mixed<F: Word>(ids: Ids, count: u64, seed: u64) -> Records<F> {
    let mut next = random(seed);
    urls(count)
        .zip(0u64..)
        .map(|(name, i)| {
            let id = if ids == Ids::Names { i * 3 } else { ((next() % 4) << 60) + next() % 5000 };
            let mut document = original::<F>(id);
            document.stamp = match next() % 5 {
                0 => Some(0),
                1 => Some(u64::MAX),
                2 => Some(1_700_000_000 + next() % 1000),
                _ => None,
            };
            document.duplicate_of =
                next().is_multiple_of(4).then(|| DocId(next() >> (next() % 64)));
            let key = if ids == Ids::Names { name } else { id.to_be_bytes().to_vec() };
            (key, (!next().is_multiple_of(6)).then_some(document))
        })
        .collect()
}

#[test]
fn records_of_all_sorts_agree_with_a_map() {
    fn check_all<F: Word>(ids: Ids) {
        for (seed, count) in (0..).zip([1, 2, 5, 7, 100, 1000]) {
            let records = mixed::<F>(ids, count, seed);
            let documents = check(ids, &records);
            let keys: Vec<_> = records.keys().collect();
            for key in keys.iter().step_by(1 + keys.len() / 50) {
                let from: Records<F> =
                    records.range(key.to_vec()..).map(|(k, d)| (k.clone(), *d)).collect();
                let mut after = from.clone();
                after.pop_first();
                assert_eq!(all(&documents, Some(key)).unwrap(), after);
                let before = &key[..key.len() - 1];
                assert_eq!(
                    all(&documents, Some(before)).unwrap(),
                    records
                        .range(before.to_vec()..)
                        .filter(|(k, _)| *k != before)
                        .map(|(k, d)| (k.clone(), *d))
                        .collect()
                );
            }
            assert_eq!(all(&documents, Some(&[0xff; 9])).unwrap(), Records::new());
        }
    }
    check_all::<u64>(Ids::Names);
    check_all::<u128>(Ids::Names);
    check_all::<u64>(Ids::Unique);
    check_all::<u128>(Ids::Unique);
}

#[test]
fn file_is_the_same_with_scratch_files() {
    let (sim, ids) = (sim(), Ids::Names);
    let records = mixed::<u64>(ids, 5000, 9);
    let summary = write(&sim, ids, &records, symbols_for(&records), None).unwrap();
    let bytes = sim.contents("d").unwrap();
    sim.remove("d").unwrap();
    let storage: Arc<dyn Storage> = sim.clone();
    let folder = LockedFolder::lock(&storage).unwrap();
    let scratch = Some(ScratchFiles::InDatabase(&folder));
    let again = write(&sim, ids, &records, symbols_for(&records), scratch).unwrap();
    assert_eq!(again, summary);
    assert!(sim.contents("d").unwrap() == bytes);
    assert_eq!(sim.list().unwrap().unwrap(), ["LOCK", "d"]);
}

#[test]
fn file_without_stamps_has_no_bytes_for_them() {
    let len = |stamp: Option<u64>| {
        let records: Records<u64> = urls(2000)
            .zip(0u64..)
            .map(|(key, i)| (key, Some(Document { stamp, ..original(i) })))
            .collect();
        check(Ids::Names, &records).meta.leaf_pages
    };
    // The same stamp everywhere takes only the least stamp of each leaf.
    assert_eq!(len(None), len(Some(5)));
    let empty = check::<u64>(Ids::Names, &Records::new());
    assert_eq!((empty.records(), empty.greatest_id()), (0, None));
}

#[test]
fn builder_refuses_keys_that_are_not_allowed() {
    let sim = sim();
    let refuses = |ids, keys: &[&[u8]], document: Option<Document>| {
        let mut builder =
            DocumentsBuilder::create(&*sim, "d", &header(64), ids, SymbolTable::none(), 2, None)
                .unwrap();
        let (last, before) = keys.split_last().unwrap();
        before.iter().for_each(|key| builder.push::<u64>(key, None).unwrap());
        assert!(builder.push(last, document.as_ref()).is_err());
        sim.remove("d").unwrap();
    };
    refuses(Ids::Names, &[b""], None);
    refuses(Ids::Names, &[&[b'a'; 65_536]], None);
    refuses(Ids::Names, &[b"b", b"b"], None);
    refuses(Ids::Names, &[b"b", b"a"], None);
    refuses(Ids::Unique, &[b"1234567"], None);
    refuses(Ids::Unique, &[&5u64.to_be_bytes()], Some(original(6)));
    let mut records: Records<u64> = Records::new();
    records.insert(b"a".to_vec(), Some(original(1)));
    records.insert(b"b".to_vec(), Some(original(1)));
    let twice = write(&sim, Ids::Names, &records, SymbolTable::none(), None);
    assert!(twice.unwrap_err().to_string().contains("two documents have the id"));
}

#[test]
fn filter_lets_through_one_absent_key_in_a_hundred() {
    let records: Records<u64> =
        urls(20_000).zip(0u64..).map(|(key, i)| (key, Some(original(i)))).collect();
    let sim = sim();
    let summary = write(&sim, Ids::Names, &records, SymbolTable::none(), None).unwrap();
    let documents = open::<u64>(&sim, Ids::Names, summary.len).unwrap();
    let passes = |key: &[u8]| documents.may_contain(documents.hasher.hash(key)).unwrap();
    let passed = (0..100_000).filter(|i| passes(format!("absent {i}").as_bytes())).count();
    assert!((500..1500).contains(&passed), "{passed} of 100,000");
}

#[test]
fn keys_that_one_filter_lets_pass_say_nothing_about_the_filter_of_another_database() {
    let records: Records<u64> =
        urls(20_000).zip(0u64..).map(|(key, i)| (key, Some(original(i)))).collect();
    let of_database = |database_id: u128| {
        let (sim, header) = (sim(), FileHeader { database_id, ..header(64) });
        let (ids, symbols) = (Ids::Names, SymbolTable::none());
        let mut builder =
            DocumentsBuilder::create(&*sim, "d", &header, ids, symbols, 20_000, None).unwrap();
        records.iter().for_each(|(key, record)| builder.push(key, record.as_ref()).unwrap());
        let summary = builder.finish().unwrap();
        let documents = Documents::<u64>::open(&*sim, "d", &header, summary.len, ids).unwrap();
        check_open(ids, &records, &documents, summary);
        documents
    };
    let passes = |documents: &Documents<u64>, key: &String| {
        documents.may_contain(documents.hasher.hash(key.as_bytes())).unwrap()
    };
    let (first, second) = (of_database(1 << 64 | 7), of_database(1 << 64 | 8));
    let absent = (0..100_000).map(|i| format!("absent {i}"));
    let chosen: Vec<_> = absent.filter(|key| passes(&first, key)).collect();
    assert!(chosen.len() > 500);
    let passed = chosen.iter().filter(|key| passes(&second, key)).count();
    assert!(passed < 50, "{passed} of {}", chosen.len());
}

#[test]
fn lookup_of_most_absent_keys_reads_no_leaf() {
    let (sim, ids) = (sim(), Ids::Names);
    let summary = write(&sim, ids, &Records::<u64>::new(), SymbolTable::none(), None).unwrap();
    assert_eq!(get(&open::<u64>(&sim, ids, summary.len).unwrap(), b"a"), None);
    sim.remove("d").unwrap();
    let records = mixed::<u64>(ids, 20, 3);
    let summary = write(&sim, ids, &records, SymbolTable::none(), None).unwrap();
    let mut bytes = sim.contents("d").unwrap();
    bytes[PAGE] ^= 1;
    sim.set_contents("d", &bytes);
    let documents = open::<u64>(&sim, ids, summary.len).unwrap();
    let reads_leaf = |key: &[u8]| documents.get(key, documents.hasher.hash(key)).is_err();
    assert!(records.keys().all(|key| reads_leaf(key)));
    let reading = (0..1000).filter(|i| reads_leaf(format!("absent {i}").as_bytes())).count();
    assert!(reading < 100, "{reading} of 1000");
}

#[test]
fn sample_trains_a_table_as_good_as_that_of_all_keys() {
    let records: Records<u64> =
        urls(20_000).zip(0u64..).map(|(key, i)| (key, Some(original(i)))).collect();
    let documents = {
        let sim = sim();
        let summary = write(&sim, Ids::Names, &records, symbols_for(&records), None).unwrap();
        open::<u64>(&sim, Ids::Names, summary.len).unwrap()
    };
    let sample = documents.sample(20).unwrap();
    let table = SymbolTable::train(&sample.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let sim = sim();
    let summary = write(&sim, Ids::Names, &records, table, None).unwrap();
    let again = open::<u64>(&sim, Ids::Names, summary.len).unwrap();
    assert!(again.names_bytes() * 100 < documents.names_bytes() * 105);
}

/// Returns the bytes of the file that storage-format.md describes: of its symbol table, and of its
/// leaf.
fn example_file() -> (Vec<u8>, Vec<u8>) {
    let symbols = ["https://", "example"].map(|symbol| {
        let mut word = [0; 8];
        word[..symbol.len()].copy_from_slice(symbol.as_bytes());
        Symbol { word: u64::from_le_bytes(word), len: symbol.len() as u8 }
    });
    let document = |id, stamp, duplicate_of: Option<u64>| Document {
        fingerprint: 0x0102_0304_0506_0700 + id,
        id: DocId(id),
        stamp,
        duplicate_of: duplicate_of.map(DocId),
    };
    let mut records: Records<u64> = Records::new();
    records.insert(b"https://example/".to_vec(), Some(document(6, None, None)));
    records.insert(b"https://example/b".to_vec(), None);
    records.insert(b"https://example/c".to_vec(), Some(document(9, Some(1000), Some(6))));
    let sim = sim();
    write(&sim, Ids::Names, &records, SymbolTable::new(&symbols), None).unwrap();
    let bytes = sim.contents("d").unwrap();
    let end = |bytes: &[u8]| bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    let (symbols, leaf) = (&bytes[64..PAGE], &bytes[PAGE..2 * PAGE]);
    (symbols[..end(symbols)].to_vec(), leaf[..end(leaf)].to_vec())
}

#[test]
fn symbol_table_and_leaf_of_the_format_are_the_documented_ones() {
    let (symbols, leaf) = example_file();
    assert_eq!(symbols, example("symbols"), "{symbols:02x?}");
    assert_eq!(leaf, example("leaf"), "{leaf:02x?}");
}

/// Keys of all lengths, with long common prefixes or none, compressible or not, and short keys
/// among long ones.
#[test]
fn a_file_never_takes_more_bytes_than_its_bound() {
    let mut next = random(5);
    let mut tightest = f64::MAX;
    for longest in [1, 20, 100, 200, 300, 600, 900, 1500, 2100, 4000, 4200, 9000, 65_535] {
        for kind in 0..6 {
            let mut records = Records::<u64>::new();
            for i in 0..(2_000_000 / (longest as u64 + 500)).min(4000) {
                let len = match kind {
                    0..=2 => longest,
                    3 if i % 2 == 0 => 3,
                    _ => 1 + next() as usize % longest,
                };
                let mut key: Vec<u8> = match kind {
                    0 => vec![b'a'; len],
                    1 | 4 => (0..len).map(|_| next() as u8).collect(),
                    _ => (0..len).map(|at| (at as u64 * i % 251) as u8).collect(),
                };
                let number = i.to_be_bytes();
                let at = key.len().saturating_sub(if kind == 0 { 8 } else { 8 + key.len() / 2 });
                key[at..]
                    .iter_mut()
                    .zip(&number[8 - number.len().min(len)..])
                    .for_each(|(to, from)| *to = *from);
                let mut document = original(if kind == 5 { next() >> 8 } else { i });
                document.stamp = (kind == 5).then(&mut next);
                records.insert(key, Some(document));
            }
            let (sim, most) = (sim(), most_bytes(&records));
            let summary = write(&sim, Ids::Names, &records, symbols_for(&records), None).unwrap();
            assert!(
                summary.len <= most,
                "{longest}, {kind}: {} bytes instead of {most}",
                summary.len
            );
            tightest = tightest.min(most as f64 / summary.len as f64);
        }
    }
    assert!(tightest < 2.5, "the bound is {tightest:.1} times the need");
}
