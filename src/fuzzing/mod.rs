//! Entry points for the fuzzers in tools/fuzz, which need private parts. Not part of the interface:
//! this module is hidden, may change in any release, and exists only with the feature `fuzzing`.
//!
//! Each function takes any bytes and panics if a promise of the format is broken.

pub mod documents;

pub use documents::documents;

use std::path::Path;

use crate::block::{self, BlockBuilder, Coding, Job, Packed};
use crate::codec::block_code::BlockCode;
use crate::codec::bytes::Fields;
use crate::codec::header::{FileHeader, FileKind};
use crate::codec::huffman::Histogram;
use crate::fingerprint::Fingerprint;
use crate::log::{ReadMode, read_log};
use crate::manifest::Manifest;

/// Reads a block: a byte that chooses code, width and size, the lengths of a Huffman code, and the
/// block. If strict checking accepts it, encoding its fingerprints gives the same bytes.
pub fn block(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    if choice & 2 == 0 { block_of::<u64>(choice, rest) } else { block_of::<u128>(choice, rest) }
}

fn block_of<F: Fingerprint>(choice: u8, bytes: &[u8]) {
    let Some((coding, bytes)) = coding(choice, F::BITS, bytes) else { return };
    let size = block_size(choice);
    let mut file = bytes.to_vec();
    file.resize(size, 0);
    let packed = Packed { bytes: &file, size, coding: &coding };
    let (mut strict, mut decoded) = (Vec::<F>::new(), Vec::<F>::new());
    let checked = coding.check(&file, size, |f| strict.push(f));
    let read = block::decode_all(coding.kind(), std::iter::once(Ok(packed)), &mut decoded);
    let middle = decoded.get(decoded.len() / 2).copied().unwrap_or(F::ZERO);
    for probe in [F::ZERO, middle, !F::ZERO] {
        let place = packed.place(probe);
        let _ = packed.count_candidates(F::ZERO, probe);
        let mut blocks = [packed].into_iter();
        let mut next = || {
            let job = |block| Job { block, query: probe, low: F::ZERO, high: !F::ZERO, tag: () };
            Ok(blocks.next().map(job))
        };
        let mut found = 0;
        let searched = block::search(coding.kind(), &mut next, F::BITS, |(), _| found += 1);
        if checked.is_ok() {
            assert!(searched.is_ok() && found == strict.len());
            assert_eq!(place.ok().flatten(), strict.binary_search(&probe).ok());
        }
    }
    if checked.is_ok() {
        assert!(read.is_ok() && decoded == strict && strict.is_sorted_by(|a, b| a < b));
        let mut builder = BlockBuilder::new(size, &coding);
        assert_eq!(builder.push_all(&strict), strict.len());
        let mut again = Vec::new();
        builder.finish(&mut again);
        // The number of low bits of an Elias–Fano block is the writer's choice.
        let is_other_choice = choice & 1 == 1 && again.get(2) != file.get(2);
        assert!(again == file || is_other_choice, "a block has two encodings");
    }
}

/// Encodes fingerprints as blocks: a byte that chooses code, width and size, the counts from which
/// the Huffman code is made, and the fingerprints. Decoding gives the same fingerprints.
pub fn fingerprints(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    if choice & 2 == 0 { encode::<u64>(choice, rest) } else { encode::<u128>(choice, rest) }
}

fn encode<F: Fingerprint>(choice: u8, bytes: &[u8]) {
    let mut all: Vec<F> = bytes.chunks_exact(F::BYTES).filter_map(F::read_le).collect();
    all.sort_unstable();
    all.dedup();
    let mut histogram = Histogram::default();
    // Not all neighbours count, so that some symbols are only in the code by smoothing.
    for pair in all.windows(2).step_by(1 + usize::from(choice >> 6)) {
        histogram.add(block::huffman::leading_difference(pair[0], pair[1]));
    }
    let code = if choice & 1 == 0 { BlockCode::Huffman } else { BlockCode::EliasFano };
    let coding = Coding::new(code, &histogram.smoothed(F::BITS));
    let size = block_size(choice);
    let mut left = all.as_slice();
    while !left.is_empty() {
        let mut builder = BlockBuilder::new(size, &coding);
        let count = builder.push_all(left);
        assert!(count > 0, "a block has no room for a fingerprint");
        let mut encoded = Vec::new();
        builder.finish(&mut encoded);
        assert_eq!(encoded.len(), size);
        let mut decoded: Vec<F> = Vec::new();
        coding.check(&encoded, size, |f: F| decoded.push(f)).expect("a block as it was written");
        assert_eq!(decoded, left[..count]);
        left = &left[count..];
    }
}

fn block_size(choice: u8) -> usize {
    block::MIN_SIZE << (choice >> 2 & 7).min(5)
}

/// Returns a coding, and the bytes after it.
fn coding(choice: u8, bits: u32, bytes: &[u8]) -> Option<(Coding, &[u8])> {
    if choice & 1 == 1 {
        return Some((Coding::EliasFano, bytes));
    }
    let (lengths, rest) = bytes.split_at_checked(bits as usize)?;
    let mut stored = vec![BlockCode::Huffman.number()];
    stored.extend_from_slice(lengths);
    Some((Coding::read(bits, &mut Fields::new(&stored, 0)).ok()?, rest))
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
        _ => log_of::<u128>(bytes, &header),
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
