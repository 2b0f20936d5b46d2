//! Tables of columns: what a lookup reads, and what verify finds.

use std::sync::Arc;

use super::*;
use crate::codec::header::{FileHeader, FileKind, HEADER_LEN};
use crate::fingerprint::Fingerprint;
use crate::inspection::Inspection;
use crate::layout::{Layout, Permutation, Prefix, block_bytes, bucket_bits};
use crate::paged::{FileSummary, OpenPaged, Paged, PagedWriter};
use crate::scratch::ScratchFiles;
use crate::storage::{LockedFolder, Sim, Storage};
use crate::table::{Profile, Table, TableBuilder, TableOptions};

fn header(kind: FileKind) -> FileHeader {
    FileHeader { kind, bits: 128, part: 1, file_id: 1, nonce: 8, database_id: 2 }
}

/// Table 0 and a table of columns that refers to it.
struct Built {
    table: Table<u128>,
    columns: Columns,
    summary: FileSummary,
    order: Permutation<u128>,
}

/// Random fingerprints, and crowds that agree in all bits of bucket and key.
fn values(count: usize) -> Vec<u128> {
    let mut rng = fastrand::Rng::with_seed(count as u64);
    let mut values: Vec<u128> = (0..count).map(|_| rng.u128(..)).collect();
    let centre = rng.u128(..);
    values.extend((0..count as u128 / 4).map(|i| centre ^ i << 8));
    values.extend((0..count as u128 / 4).map(|i| centre ^ i << 120));
    values.sort_unstable();
    values.dedup();
    values
}

fn build(values: &[u128]) -> Built {
    let sim: Arc<dyn Storage> = Sim::new();
    sim.create_root().unwrap();
    let folder = LockedFolder::lock(&sim).unwrap();
    let options = TableOptions { block_size: 128, filter_bits: 0, filter_depth: 32 };
    let (profile, of_table) = (Profile::of(values), header(FileKind::Table));
    let mut builder = TableBuilder::create(&*sim, "t", &of_table, options, &profile, None).unwrap();
    builder.push_all(values).unwrap();
    let summary = builder.finish().unwrap();
    let table: Table<u128> = Table::open(&*sim, "t", &of_table, summary.len).unwrap();

    let order = Layout::preset("ring-4", 128).unwrap().permutation(1);
    let mut maker = RowMaker::new(order.clone(), bucket_bits(table.count()));
    let mut rows = Vec::new();
    let add = |block, fingerprints: &[u128]| {
        rows.extend_from_slice(maker.rows_of(block, fingerprints));
        Ok(())
    };
    table.for_each_block(add).unwrap();
    rows.sort_unstable();
    let size = (table.count(), table.blocks() as u64);
    let (files, of_columns) = (ScratchFiles::InDatabase(&folder), header(FileKind::Columns));
    let mut builder = ColumnsBuilder::create(&*sim, "c", &of_columns, size, files).unwrap();
    rows.chunks(7).for_each(|some| builder.push_all(some).unwrap());
    let summary = builder.finish().unwrap();
    assert!(summary.len < most_body_bytes(size.0, size.1) + (2 << 12));
    let columns = Columns::open(&*sim, "c", &of_columns, summary.len).unwrap();
    Built { table, columns, summary, order }
}

fn errors(built: &Built) -> Vec<String> {
    let mut inspection = Inspection::new(None);
    let Built { table, columns, summary, order } = built;
    columns.verify(*summary, order, Some(table), &mut inspection).unwrap();
    inspection.into_errors().iter().map(ToString::to_string).collect()
}

#[test]
fn rows_with_a_prefix_lead_to_all_blocks_that_have_it() {
    for count in [0, 1, 7, 600, 5000] {
        let values = values(count);
        let built = build(&values);
        assert_eq!(errors(&built), [""; 0]);
        let view = built.columns.view();
        let bits = u32::from(built.columns.bucket_bits());
        for &value in values.iter().step_by(1 + count / 100) {
            let permuted = built.order.apply(value);
            for depth in [0, bits / 2, bits, bits + 1, bits + 20, view.resolution(), 128] {
                let prefix = Prefix { bits: permuted & u128::prefix_mask(depth), depth };
                let rows = view.rows_with(prefix).unwrap();
                let mut found: Vec<u32> = view.blocks(&rows).unwrap().collect();
                found.sort_unstable();
                found.dedup();
                let depth = depth.min(view.resolution());
                let has_prefix =
                    |&f: &u128| (built.order.apply(f) ^ permuted) & u128::prefix_mask(depth) == 0;
                let mut expected = Vec::new();
                let add = |block, fingerprints: &[u128]| {
                    expected.extend(fingerprints.iter().any(has_prefix).then_some(block));
                    Ok(())
                };
                built.table.for_each_block(add).unwrap();
                assert_eq!(found, expected, "{count}, {depth} bits");
            }
        }
    }
}

#[test]
fn each_row_is_in_the_bucket_whose_rows_it_is_among() {
    let built = build(&values(600));
    let (view, end) = (built.columns.view(), 1u32 << built.columns.bucket_bits());
    for bucket in 0..end {
        for row in view.rows_of(&(bucket..bucket + 1)).unwrap() {
            let around = bucket.saturating_sub(3)..(bucket + 2).min(end);
            for buckets in [0..end, around, bucket..bucket + 1] {
                assert_eq!(view.bucket_of(row, &buckets).unwrap(), bucket, "{row} {buckets:?}");
            }
        }
    }
}

#[test]
fn fingerprints_of_one_block_with_equal_leading_bits_have_one_row() {
    let crowd: Vec<u128> = (0..1000).map(|i| i << 3).collect();
    let built = build(&crowd);
    assert_eq!(built.columns.rows(), built.table.blocks());
    assert_eq!(errors(&built), [""; 0]);
}

/// Writes the columns again with this body and footer, under valid checksums.
fn rewritten(body: &[u8], rows: u32, bytes: [u8; 2]) -> crate::Result<(Columns, FileSummary)> {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let mut writer = PagedWriter::create(&*sim, "c", &header(FileKind::Columns)).unwrap();
    writer.write(&body[HEADER_LEN..]).unwrap();
    let meta = [&rows.to_le_bytes()[..], &bytes].concat();
    let summary = writer.finish(&meta).unwrap();
    Ok((Columns::open(&*sim, "c", &header(FileKind::Columns), summary.len)?, summary))
}

/// Returns the bytes of the body.
fn body(columns: &Columns) -> Vec<u8> {
    let mut all = Vec::new();
    let visit = |bytes: &[u8]| {
        all.extend_from_slice(bytes);
        Ok(())
    };
    columns.file().for_each_chunk(visit).unwrap();
    let trailer = all.len() - 24;
    let body_len = u64::from_le_bytes(*all[trailer..].first_chunk().unwrap());
    all.truncate(usize::try_from(body_len).unwrap());
    all
}

#[test]
fn flipped_bit_is_found_under_valid_checksums() {
    let mut built = build(&values(80));
    let good = body(&built.columns);
    let rows = built.columns.rows();
    let (count, bits) = (u32::try_from(rows).unwrap(), built.columns.bucket_bits());
    let bytes = block_bytes(built.table.blocks() as u64);
    // What is between the parts means nothing.
    let keys_end = HEADER_LEN + 4 * rows;
    let blocks_at = keys_end.next_multiple_of(64);
    let blocks_end = blocks_at + usize::from(bytes) * rows;
    let padding = [keys_end..blocks_at, blocks_end..blocks_end.next_multiple_of(64)];
    for bit in 8 * HEADER_LEN..8 * good.len() {
        if padding.iter().any(|padding| padding.contains(&(bit / 8))) {
            continue;
        }
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        (built.columns, built.summary) = rewritten(&bad, count, [bits, bytes]).unwrap();
        assert_eq!(errors(&built).len(), 1, "bit {bit}");
        let view = built.columns.view();
        for bucket in 0..1 << bits {
            let _ = view.rows_of(&(bucket..bucket + 1)).and_then(|rows| view.keys(&rows));
        }
    }
}

#[test]
fn footer_with_impossible_values_is_refused() {
    let built = build(&values(80));
    let good = body(&built.columns);
    let rows = u32::try_from(built.columns.rows()).unwrap();
    let bits = built.columns.bucket_bits();
    let bytes = block_bytes(built.table.blocks() as u64);
    assert!(rewritten(&good, rows, [bits, bytes]).is_ok());
    for (rows, bits, bytes) in [
        (u32::MAX, bits, bytes),
        (rows + 32, bits, bytes),
        (rows, bits + 1, bytes),
        (rows, 255, bytes),
        (rows, bits, 0),
        (rows, bits, bytes + 1),
        (rows, bits, 5),
    ] {
        let error = rewritten(&good, rows, [bits, bytes]).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Corruption);
        assert!(error.path().is_some());
    }
}

#[test]
fn rows_that_are_not_those_of_table_0_are_found() {
    let (mut built, other) = (build(&values(80)), build(&values(96)));
    (built.columns, built.summary) = (other.columns, other.summary);
    let errors = errors(&built);
    assert!(errors[0].contains("do not match the fingerprints of table 0"), "{errors:?}");
}
