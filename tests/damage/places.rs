//! Damage by place: bits, lengths and sectors.

use crate::common::Rng;
use crate::intact::Intact;
use crate::{Allowed, Counts, Damage, check_every_kind, in_parallel};
use fpdb::Fingerprint;

const SECTOR: usize = 512;

/// Returns each file that has bytes.
fn files<F: Fingerprint>(intact: &Intact<F>) -> impl Iterator<Item = (&str, &[u8])> {
    let files = intact.files.iter().map(|(name, bytes)| (&**name, &**bytes));
    files.filter(|(_, bytes)| !bytes.is_empty())
}

/// Whether a byte is in a long run of zeros, as pages of documents have at their end. One byte in
/// 16 of them is enough.
fn is_padding(bytes: &[u8], at: usize) -> bool {
    let around = &bytes[at.saturating_sub(16)..bytes.len().min(at + 16)];
    !at.is_multiple_of(16) && around.iter().all(|byte| *byte == 0)
}

/// Bytes at both ends of a file of which every bit is flipped.
const ENDS: usize = 64;

/// Whether this bit of a byte is flipped: one of each byte, in turn, and all of them near the ends.
/// In between, bits of a byte differ in nothing but the checksum. Unit tests flip every bit of a
/// page, of a manifest and of a log.
fn is_flipped(len: usize, at: usize, bit: usize) -> bool {
    let is_near_an_end = at < ENDS || len - at <= ENDS;
    is_near_an_end || bit == (at + at / 8) % 8
}

fn flip_bits<F: Fingerprint>(intact: &Intact<F>, counts: &Counts) {
    for (name, good) in files(intact) {
        in_parallel(good.len() * 8, |n| {
            if is_padding(good, n / 8) || !is_flipped(good.len(), n / 8, n % 8) {
                return;
            }
            let mut bytes = good.to_vec();
            bytes[n / 8] ^= 1 << (n % 8);
            let what = format!("{name}, bit {} of byte {} flipped", n % 8, n / 8);
            Damage::new(intact, &name, &bytes, &what).check(counts);
        });
    }
}

#[test]
fn flipped_bit_of_every_byte_is_found_and_changes_no_answer() {
    let counts = check_every_kind!(flip_bits);
    println!("a bit of every byte: {counts:?}");
}

fn truncate<F: Fingerprint>(intact: &Intact<F>, counts: &Counts) {
    for (name, good) in files(intact) {
        in_parallel(good.len(), |len| {
            if is_padding(good, len) {
                return;
            }
            let what = format!("{name} truncated to {len} bytes");
            let is_log = name.ends_with(".log");
            let allowed = if is_log { Allowed::Prefix } else { Allowed::Found };
            Damage::new(intact, &name, &good[..len], &what).allow(allowed).check(counts);
        });
    }
}

#[test]
fn every_truncation_is_found_or_gives_the_state_of_an_earlier_commit() {
    let counts = check_every_kind!(truncate);
    println!("every truncation: {counts:?}");
}

/// Returns the sectors of a file, the last of which may be shorter.
fn sectors(good: &[u8]) -> Vec<std::ops::Range<usize>> {
    (0..good.len()).step_by(SECTOR).map(|at| at..good.len().min(at + SECTOR)).collect()
}

/// What is left of the log may end with the last commit that is intact.
fn check_sector<F: Fingerprint>(
    counts: &Counts,
    intact: &Intact<F>,
    name: &str,
    bytes: &[u8],
    what: &str,
) {
    if bytes != intact.files[name] {
        let is_log = name.ends_with(".log");
        let allowed = if is_log { Allowed::Prefix } else { Allowed::Found };
        Damage::new(intact, &name, bytes, what).allow(allowed).check(counts);
    }
}

fn fill_sectors<F: Fingerprint>(intact: &Intact<F>, counts: &Counts) {
    for (name, good) in files(intact) {
        let mut rng = Rng::new(good.len() as u64);
        for range in sectors(good) {
            for fill in ["zeros", "ones", "random bytes"] {
                let mut bytes = good.to_vec();
                bytes[range.clone()].iter_mut().for_each(|byte| {
                    *byte = match fill {
                        "zeros" => 0,
                        "ones" => 0xff,
                        _ => rng.next().to_le_bytes()[0],
                    };
                });
                let what = format!("{fill} in {range:?} of {name}");
                check_sector(counts, intact, name, &bytes, &what);
            }
        }
    }
}

#[test]
fn every_zeroed_or_random_sector_is_found() {
    let counts = check_every_kind!(fill_sectors);
    println!("every sector replaced: {counts:?}");
}

fn swap_sectors<F: Fingerprint>(intact: &Intact<F>, counts: &Counts) {
    for (name, good) in files(intact) {
        let all = sectors(good);
        in_parallel(all.len() * all.len(), |n| {
            let (one, two) = (all[n / all.len()].clone(), all[n % all.len()].clone());
            let len = one.len().min(two.len());
            let (one, two) = (one.start..one.start + len, two.start..two.start + len);
            let mut bytes = good.to_vec();
            bytes[two.clone()].copy_from_slice(&good[one.clone()]);
            let what = format!("a copy of {one:?} in {two:?} of {name}");
            check_sector(counts, intact, name, &bytes, &what);
            if one.start < two.start {
                bytes[one.clone()].copy_from_slice(&good[two.clone()]);
                let what = format!("{one:?} and {two:?} of {name} swapped");
                check_sector(counts, intact, name, &bytes, &what);
            }
        });
    }
}

#[test]
fn every_swapped_or_duplicated_sector_is_found() {
    let counts = check_every_kind!(swap_sectors);
    println!("sectors within a file: {counts:?}");
}

fn copy_sectors<F: Fingerprint>(intact: &Intact<F>, counts: &Counts) {
    for (name, good) in files(intact) {
        for (other, source) in intact.files.iter().filter(|(other, _)| *other != name) {
            for (to, from) in sectors(good)
                .into_iter()
                .flat_map(|to| sectors(source).into_iter().map(move |from| (to.clone(), from)))
            {
                let len = from.len().min(to.len());
                let mut bytes = good.to_vec();
                bytes[to.start..to.start + len]
                    .copy_from_slice(&source[from.start..from.start + len]);
                let what = format!("{from:?} of {other} in {to:?} of {name}");
                check_sector(counts, intact, name, &bytes, &what);
            }
        }
    }
}

#[test]
fn every_sector_of_another_file_is_found() {
    let counts = check_every_kind!(copy_sectors);
    println!("sectors of other files: {counts:?}");
}
