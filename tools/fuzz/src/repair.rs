//! Makes the checksums of damaged files right, as storage-format.md describes them. Otherwise a
//! fuzzer would only ever test that damage is noticed.

use std::collections::BTreeMap;

/// The files of a folder, by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

const HEADER: usize = 64;
const PAGE: usize = 4096;
const SUMS: usize = PAGE / 4 - 1;

/// Runs `check` with the input as it is if its first byte is even, and otherwise with right
/// checksums.
pub(crate) fn with_and_without(input: &[u8], repair: fn(&mut [u8]), check: impl Fn(&[u8])) {
    let Some((choice, bytes)) = input.split_first() else { return };
    let mut bytes = bytes.to_vec();
    if choice & 1 == 1 {
        repair(&mut bytes);
    }
    check(&bytes);
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(field) = bytes.get_mut(at..at + 4) {
        field.copy_from_slice(&value.to_le_bytes());
    }
}

fn number(bytes: &[u8], at: usize, len: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    let number = bytes.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    usize::try_from(number).ok()
}

/// Repairs the checksums of the file header.
fn header(bytes: &mut [u8]) {
    if bytes.len() >= HEADER {
        put(bytes, 12, crc32fast::hash(&bytes[..12]));
        put(bytes, 60, crc32fast::hash(&bytes[..60]));
    }
}

/// Repairs a file of a folder, and what the manifests say about it. `base` are the files as they
/// were.
pub(crate) fn file(files: &mut Files, base: &Files, name: &str) {
    let Some(bytes) = files.get_mut(name) else { return };
    match name.rsplit('.').next() {
        Some("MANIFEST" | "copy") => return manifest(bytes),
        Some("log") => return log(bytes),
        Some("spare") => spare(bytes),
        _ => paged(bytes),
    }
    let (old, new) = (summary(&base[name]), summary(bytes));
    for (name, bytes) in files.iter_mut().filter(|(name, _)| name.starts_with("MANIFEST")) {
        if let Some(at) = base[name].windows(old.len()).position(|window| window == old) {
            bytes[at..at + new.len()].copy_from_slice(&new);
            manifest(bytes);
        }
    }
}

/// Returns what a manifest says about these bytes of a file.
fn summary(bytes: &[u8]) -> Vec<u8> {
    let (len, crc) = (bytes.len() as u64, crc32fast::hash(bytes));
    [&len.to_le_bytes()[..], &crc.to_le_bytes()].concat()
}

/// Repairs a spare, and the manifest in it.
fn spare(bytes: &mut [u8]) {
    let inner = HEADER + 4;
    if let Some(bytes) = number(bytes, HEADER, 4).and_then(|len| bytes.get_mut(inner..inner + len))
    {
        manifest(bytes);
    }
    paged(bytes);
}

/// Repairs a manifest.
pub(crate) fn manifest(bytes: &mut [u8]) {
    header(bytes);
    if let Some(end) = bytes.len().checked_sub(4) {
        let sum = crc32fast::hash(&bytes[..end]);
        put(bytes, end, sum);
    }
}

fn checksum(identity: &[u8], number: u64, covered: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(identity);
    hasher.update(&number.to_le_bytes());
    hasher.update(covered);
    hasher.finalize()
}

/// Repairs a log: all frames that follow each other from the first on.
pub(crate) fn log(bytes: &mut [u8]) {
    header(bytes);
    let Some(identity) = bytes.get(16..56).map(<[u8]>::to_vec) else { return };
    let mut at = HEADER;
    while let Some(len) = number(bytes, at, 4).filter(|&len| len >= 28) {
        let Some(frame) = bytes.get(at..at + len) else { return };
        let sum = checksum(&identity, at as u64, &frame[..len - 4]);
        put(bytes, at + len - 4, sum);
        at += len;
    }
}

/// Repairs a paged file, if its trailer says where its parts are. If the lengths in the trailer do
/// not add up, only the header is repaired.
pub(crate) fn paged(bytes: &mut [u8]) {
    header(bytes);
    let Some(trailer) = bytes.len().checked_sub(24) else { return };
    let Some(meta) = number(bytes, trailer + 8, 4) else { return };
    let Some(identity) = bytes.get(16..56).map(<[u8]>::to_vec) else { return };
    let Some(body) = number(bytes, trailer, 8) else { return };
    let Some(start) = trailer.checked_sub(meta) else { return };
    let pages = body.div_ceil(PAGE);
    if body < HEADER || body > start || start - body != 4 * (pages + pages.div_ceil(SUMS)) {
        return;
    }
    for page in 0..pages {
        let sum =
            checksum(&identity, page as u64, &bytes[page * PAGE..body.min((page + 1) * PAGE)]);
        put(bytes, body + page / SUMS * PAGE + page % SUMS * 4, sum);
    }
    for sums in 0..pages.div_ceil(SUMS) {
        let (from, len) = (body + sums * PAGE, (pages - sums * SUMS).min(SUMS) * 4);
        let sum = checksum(&identity, 1 << 63 | sums as u64, &bytes[from..from + len]);
        put(bytes, from + len, sum);
    }
    let sum = checksum(&identity, u64::MAX, &bytes[start..trailer + 12]);
    put(bytes, trailer + 12, sum);
    bytes[trailer + 16..].copy_from_slice(&[0x8f, b'f', b'p', b'e', b'n', b'd', b'\r', 0x1a]);
}
