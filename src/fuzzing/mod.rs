//! Entry points for the fuzzers in tools/fuzz, which need private parts. Not part of the interface:
//! this module is hidden, may change in any release, and exists only with the feature `fuzzing`.
//!
//! Each function takes any bytes and panics if a promise of the format is broken.

mod documents;

pub use documents::documents;

use std::path::Path;

use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::codec::huffman::{Code, Histogram};
use crate::fingerprint::{Fingerprint, Sketch, Word};
use crate::index::tables::block::{self, BlockBuilder, Job, Packed};
use crate::store::log::{ReadMode, read_log};
use crate::store::manifest::Manifest;

/// Reads a block: a byte that chooses width and size, the lengths of a Huffman code, and the block.
/// If strict checking accepts it, encoding its fingerprints gives the same bytes.
pub fn block(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    if choice & 2 == 0 { block_of::<u64>(choice, rest) } else { block_of::<u128>(choice, rest) }
}

fn block_of<F: Word>(choice: u8, bytes: &[u8]) {
    let Some((code, bytes)) = code_of(F::BITS, bytes) else { return };
    let size = block_size(choice);
    let mut file = bytes.to_vec();
    file.resize(size, 0);
    let packed = Packed { bytes: &file, size, code: &code, zeros: 0 };
    let (mut strict, mut decoded) = (Vec::<F>::new(), Vec::<F>::new());
    let checked = block::check(&packed, |f| strict.push(f));
    let read = block::decode_all(std::iter::once(Ok(packed)), &mut decoded);
    let middle = decoded.get(decoded.len() / 2).copied().unwrap_or(F::ZERO);
    for probe in [F::ZERO, middle, !F::ZERO] {
        let place = packed.place(probe);
        let mut blocks = [packed].into_iter();
        let mut next = || {
            let job = |block| Job { block, query: probe, low: F::ZERO, high: !F::ZERO, tag: () };
            Ok(blocks.next().map(job))
        };
        let mut found = 0;
        let searched =
            block::search(&mut next, F::BITS, &block::Searched::default(), |(), _| found += 1);
        if checked.is_ok() {
            assert!(searched.is_ok() && found == strict.len());
            assert_eq!(place.ok().flatten(), strict.binary_search(&probe).ok());
        }
    }
    if checked.is_ok() {
        assert!(read.is_ok() && decoded == strict && strict.is_sorted_by(|a, b| a < b));
        let mut builder = BlockBuilder::new(size, &code, 0);
        assert_eq!(builder.push_all(&strict), strict.len());
        let mut again = Vec::new();
        builder.finish(&mut again);
        assert!(again == file, "a block has two encodings");
    }
}

/// Encodes fingerprints as blocks: a byte that chooses width and size, the counts from which
/// the Huffman code is made, and the fingerprints. Decoding gives the same fingerprints.
pub fn fingerprints(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    if choice & 2 == 0 { encode::<u64>(choice, rest) } else { encode::<u128>(choice, rest) }
}

fn encode<F: Word>(choice: u8, bytes: &[u8]) {
    let mut all: Vec<F> = bytes.chunks_exact(F::BYTES).filter_map(F::read_le).collect();
    all.sort_unstable();
    all.dedup();
    let mut histogram = Histogram::default();
    // Not all neighbours count, so that some symbols are only in the code by smoothing.
    for pair in all.windows(2).step_by(1 + usize::from(choice >> 6)) {
        histogram.add(block::leading_difference(pair[0], pair[1]));
    }
    let code = Code::from_histogram(&histogram.smoothed(F::BITS));
    let size = block_size(choice);
    let mut left = all.as_slice();
    while !left.is_empty() {
        let mut builder = BlockBuilder::new(size, &code, 0);
        let count = builder.push_all(left);
        assert!(count > 0, "a block has no room for a fingerprint");
        let mut encoded = Vec::new();
        builder.finish(&mut encoded);
        assert_eq!(encoded.len(), size);
        let mut decoded: Vec<F> = Vec::new();
        let packed = Packed { bytes: &encoded, size, code: &code, zeros: 0 };
        block::check(&packed, |f: F| decoded.push(f)).expect("a block as it was written");
        assert_eq!(decoded, left[..count]);
        left = &left[count..];
    }
}

fn block_size(choice: u8) -> usize {
    block::MIN_SIZE << (choice >> 2 & 7).min(5)
}

/// Returns a Huffman code, and the bytes after its lengths.
fn code_of(bits: u32, bytes: &[u8]) -> Option<(Code, &[u8])> {
    let (lengths, rest) = bytes.split_at_checked(bits as usize)?;
    Some((Code::from_lengths(lengths).ok()?, rest))
}

/// Reads a manifest. If it is accepted, encoding it gives the same bytes.
pub fn manifest(bytes: &[u8]) {
    if let Ok(manifest) = Manifest::decode(bytes) {
        assert!(manifest.encode() == bytes, "a manifest has two encodings");
    }
}

/// Reads a log, in both modes and up to every kind of end.
pub fn log(bytes: &[u8]) {
    let Ok(header) = FileHeader::decode(FileKind::Log, bytes) else { return };
    match header.bits {
        64 => log_of::<u64>(bytes, &header),
        128 => log_of::<u128>(bytes, &header),
        _ => log_of::<Sketch>(bytes, &header),
    }
}

fn log_of<F: Fingerprint>(bytes: &[u8], header: &FileHeader) {
    let path = Path::new("log");
    let recovered = read_log::<F>(bytes, path, header, None, ReadMode::Recover);
    let followed = read_log::<F>(bytes, path, header, None, ReadMode::Follow);
    if let (Ok(recovered), Ok(followed)) = (&recovered, &followed) {
        assert!(recovered.commits.starts_with(&followed.commits));
        assert!(recovered.valid_end <= bytes.len() as u64);
        let end = Some(recovered.valid_end).filter(|&end| end > 0);
        let again = read_log::<F>(bytes, path, header, end, ReadMode::Follow);
        assert_eq!(again.map(|log| log.commits).ok().as_ref(), Some(&recovered.commits));
    }
}
