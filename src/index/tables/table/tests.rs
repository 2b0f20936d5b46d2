use super::*;
use crate::base::inspection::Inspection;
use crate::file::codec::header::{FileHeader, FileKind, HEADER_LEN};
use crate::file::codec::prefix_hash::{self, prefix_hash};
use crate::file::paged::{FileSummary, OpenPaged, PagedWriter};
use crate::file::storage::{MemoryBudget, Sim, Storage};
use crate::fingerprint::Word;
use crate::index::Indexed;
use crate::index::tables::block::{self, Job};
use std::sync::Arc;

fn header<F: Word>() -> FileHeader {
    FileHeader {
        kind: FileKind::Table,
        bits: F::BITS,
        part: 0,
        file_id: 1,
        nonce: 8,
        database_id: 2,
    }
}

fn build<F: Word>(values: &[F], options: TableOptions) -> (Table<F>, FileSummary) {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let profile = Profile::of(values);
    let mut builder =
        TableBuilder::create(&*sim, "t", &header::<F>(), options, &profile, None).unwrap();
    builder.push_all(values).unwrap();
    let summary = builder.finish().unwrap();
    (Table::open(&*sim, "t", &header::<F>(), summary.len).unwrap(), summary)
}

/// Returns spread values, a dense run, and a run whose values share their top half.
fn values<F: Word>(count: u64) -> Vec<F> {
    let mut rng = fastrand::Rng::with_seed(count);
    let mut next = || rng.u128(..);
    let mut values: Vec<F> = (0..count).map(|_| F::from_u128(next() >> (128 - F::BITS))).collect();
    values.extend((0..count / 4).map(|i| F::from_u128(0x1234_5678_0000 + u128::from(i))));
    let hot = F::from_u128(next()) & F::prefix_mask(F::BITS / 2);
    values.extend((0..count / 4).map(|_| hot | F::from_u128(next()) >> (F::BITS / 2)));
    values.sort_unstable();
    values.dedup();
    values
}

fn may_contain<F: Word>(table: &Table<F>, prefix: F, depth: u32) -> bool {
    // As a query does it: a prefix that differs from the query's in some bits.
    let query = prefix ^ F::from_u128(0x9e37_79b9_7f4a_7c15_9e37_79b9_7f4a_7c15);
    let Some(filter) = table.view().filter(depth) else { return true };
    let query_hash = prefix_hash(query, depth);
    let flips = prefix_hash::in_groups([0, prefix_hash(prefix ^ query, depth)].into_iter());
    let mut checks = FilterChecks::new();
    filter.start_checks(query_hash, &flips, &mut checks);
    let passing = filter.passing(&checks).unwrap();
    let near = filter.near().unwrap().unwrap();
    assert_eq!(near.passing(query_hash, &flips), passing);
    passing & 2 != 0
}

fn load_index<F: Word>(table: &Table<F>) {
    assert!(table.needs_index() && table.decoded().is_none());
    let reserved = Arc::new(MemoryBudget::new(1 << 30)).reserve(table.needed_index_len()).unwrap();
    table.load_index(reserved, &|| true).unwrap();
    assert!(!table.needs_index() && table.decoded().is_some());
}

/// Returns what a lookup finds, ascending.
fn found_below<F: Word>(table: &Table<F>, prefix: F, depth: u32) -> Vec<F> {
    let table = table.view();
    let mut lookup = table.start_lookup(prefix, depth);
    let (low, high) = (lookup.low, lookup.high);
    table.find_blocks(&mut lookup).unwrap();
    let mut found = Vec::new();
    let mut next = || {
        let Some(block) = lookup.take_block() else { return Ok(None) };
        Ok(Some(Job { block: table.packed(block)?, query: F::ZERO, low, high, tag: () }))
    };
    block::search(&mut next, F::BITS, &block::Searched::default(), |(), f| found.push(f)).unwrap();
    found.sort_unstable();
    found
}

const SMALL: TableOptions = TableOptions { block_size: 128, filter_bits: 0, filter_depth: 0 };

fn check_lookups<F: Word>(count: u64, options: TableOptions) {
    let values = values::<F>(count);
    let (table, summary) = build(&values, options);
    assert_eq!(table.count(), values.len() as u64);
    assert!(table.verify(summary, |_| 1, &mut Inspection::new(None)).unwrap().is_some());
    let mut all = Vec::new();
    let add = |some: &[F]| {
        all.extend_from_slice(some);
        Ok(())
    };
    table.scan(add).unwrap();
    assert_eq!(all, values);
    let (decoded, _) = build(&values, options);
    load_index(&decoded);
    let mut targets = vec![F::ZERO, F::MAX];
    for &v in values.iter().step_by(7) {
        targets.extend([v, F::from_u128(v.to_u128().wrapping_add(1)), v ^ F::ONE]);
    }
    for target in targets {
        let from = values.partition_point(|&v| v < target);
        assert_eq!(table.cursor(target).unwrap().current(), values.get(from).copied());
        let place = table.locate(target).unwrap();
        assert_eq!(place.is_some(), values.get(from) == Some(&target));
        assert_eq!(decoded.locate(target).unwrap(), place);
        for depth in [0, 1, F::BITS / 2, F::BITS - 3, F::BITS] {
            let (low, high) = (target & F::prefix_mask(depth), target | !F::prefix_mask(depth));
            let found = found_below(&table, target, depth);
            let range =
                values.partition_point(|&v| v < low)..values.partition_point(|&v| v <= high);
            assert_eq!(found, values[range]);
            assert!(found.is_empty() || may_contain(&table, target, depth));
            let mut in_memory = Vec::new();
            let query = target ^ F::ONE;
            decoded.decoded().unwrap().search((low, high), query, 8, |f| in_memory.push(f));
            assert!(in_memory.into_iter().eq(found.into_iter().filter(|f| f.distance(query) <= 8)));
        }
    }
}

#[test]
fn every_range_and_place_is_found_at_both_widths() {
    for count in [0, 1, 2, 30, 3000] {
        check_lookups::<u64>(count, SMALL);
        check_lookups::<u128>(count, SMALL);
        let large = TableOptions { block_size: 4096, filter_bits: 10, filter_depth: 32 };
        check_lookups::<u64>(count, large);
    }
}

#[test]
fn places_are_counted_from_the_start_of_each_block() {
    let values = values::<u64>(500);
    let (table, _) = build(&values, SMALL);
    let (decoded, _) = build(&values, SMALL);
    load_index(&decoded);
    let mut cursor = table.cursor(0).unwrap();
    let mut lengths = vec![0; table.blocks()];
    for &v in &values {
        assert_eq!(cursor.current(), Some(v));
        assert_eq!(table.locate(v).unwrap(), Some(cursor.place()));
        assert_eq!(decoded.locate(v).unwrap(), Some(cursor.place()));
        lengths[cursor.place().0] += 1;
        cursor.skip(1).unwrap();
    }
    assert_eq!(cursor.current(), None);
    for (block, length) in lengths.into_iter().enumerate() {
        assert_eq!(table.block_len(block).unwrap(), length);
        assert_eq!(decoded.block_len(block).unwrap(), length);
    }
}

#[test]
fn filter_passes_every_present_prefix_and_few_others() {
    let mut rng = fastrand::Rng::with_seed(9);
    let mut values: Vec<u64> = (0..4000).map(|_| rng.u64(..)).collect();
    values.sort_unstable();
    let options = TableOptions { filter_bits: 10, filter_depth: 32, ..SMALL };
    let (table, _) = build(&values, options);
    assert!(values.iter().all(|&v| may_contain(&table, v, 32)));
    let absent = (0..20_000).filter(|_| may_contain(&table, rng.u64(..), 32)).count();
    assert!(absent < 20_000 * 3 / 100, "{absent} of 20000 absent prefixes passed");
    assert!(table.view().filter(31).is_none() && table.view().filter(33).is_none());
}

/// Writes the table again with this body, under valid checksums.
fn with_body<F: Word>(table: &Table<F>, body: &[u8]) -> (Table<F>, FileSummary) {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let file = table.raw();
    let trailer = file.len() - 24;
    let meta_len = u32::from_le_bytes(*file[trailer + 8..].first_chunk().unwrap());
    let meta = &file[trailer - usize::try_from(meta_len).unwrap()..trailer];
    let mut writer = PagedWriter::create(&*sim, "t", &header::<F>()).unwrap();
    writer.write(&body[HEADER_LEN..]).unwrap();
    let summary = writer.finish(meta).unwrap();
    (Table::open(&*sim, "t", &header::<F>(), summary.len).unwrap(), summary)
}

#[test]
fn flipped_bit_in_the_index_is_found_under_valid_checksums() {
    let values = values::<u64>(500);
    let (good, _) = build(&values, SMALL);
    let (start, end) = (good.index.start(), good.index.end());
    let crowded = end - start - good.blocks().div_ceil(26) * 64;
    assert!(crowded >= 8 * 3, "no slot is crowded");
    for bit in 8 * start..8 * end {
        let mut body = good.raw()[..end].to_vec();
        body[bit / 8] ^= 1 << (bit % 8);
        let (table, summary) = with_body(&good, &body);
        let mut inspection = Inspection::new(None);
        assert!(table.verify(summary, |_| 1, &mut inspection).unwrap().is_none(), "bit {bit}");
        assert_eq!(inspection.found(), 1, "bit {bit}");
        for &value in values.iter().step_by(97) {
            let _ = table.locate(value);
            let _ = table.cursor(value);
            let _ = table.blocks_between(value, u64::MAX);
        }
    }
}

#[test]
fn altered_filter_is_found_under_valid_checksums() {
    fn check<F: Word>(values: &[F], options: TableOptions) {
        let (good, _) = build(values, options);
        let filter = good.filter.unwrap();
        let (start, end) = (filter.offset, filter.offset_of(filter.words));
        for bit in (8 * start..8 * end).step_by(7) {
            let mut body = good.raw()[..end].to_vec();
            let is_removed = body[bit / 8] >> (bit % 8) & 1 == 1;
            body[bit / 8] ^= 1 << (bit % 8);
            let (table, summary) = with_body(&good, &body);
            let mut inspection = Inspection::new(None);
            assert!(table.verify(summary, |_| 1, &mut inspection).unwrap().is_none());
            let [error] = &inspection.into_errors()[..] else { panic!("bit {bit}") };
            assert_eq!(error.offset(), Some((bit / 64 * 8) as u64));
            assert!(error.path().unwrap().ends_with("t"));
            assert_eq!(error.to_string().contains("rules out"), is_removed, "{error}");
            // The same in parts.
            for part in [1, 3, filter.words - 1] {
                let inspection = Inspection::new(None);
                assert!(table.verify_filter(filter, part, &inspection).is_err());
                assert!(good.verify_filter(filter, part, &inspection).is_ok());
            }
        }
    }
    let options = TableOptions { filter_bits: 8, filter_depth: 29, ..SMALL };
    check(&values::<u64>(200), options);
    check(&values::<u128>(200), options);
}

#[test]
fn equal_sets_are_written_as_equal_bytes() {
    let values = values::<u64>(100);
    let (a, b) = (build(&values, SMALL), build(&values, SMALL));
    assert_eq!(a.0.raw(), b.0.raw());
    assert_eq!(a.1, b.1);
}

#[test]
fn damaged_order_is_found_when_a_small_table_is_decoded() {
    let values = values::<u64>(500);
    let (good, _) = build(&values, SMALL);
    let mut body = good.raw()[..good.index.end()].to_vec();
    // The second block takes the place of the third.
    body.copy_within(256..384, 384);
    let (table, _) = with_body(&good, &body);
    let reserved = Arc::new(MemoryBudget::new(1 << 20)).reserve(1 << 20).unwrap();
    assert!(table.load_index(reserved, &|| true).is_err());
    assert!(table.decoded().is_none() && !table.needs_index());
}
