//! What an index says about its documents.

use std::collections::HashMap;

use crate::fingerprint::DocId;
use crate::settings::DocumentRecord;

/// Returns the record of a document with these windows. The digest is the upper half of the sum of
/// their mixed fingerprints modulo 2^64. It has no order, and differs for texts that have other
/// windows.
#[expect(clippy::cast_possible_truncation, reason = "texts have fewer than 2^29 windows")]
pub(super) fn record_of(windows: &[u64]) -> DocumentRecord {
    let sum = windows.iter().fold(0u64, |sum, &window| sum.wrapping_add(mixed(window)));
    DocumentRecord { windows: windows.len() as u32, digest: (sum >> 32) as u32 }
}

/// The steps that mix the hash of a run, see [`fpdb_text::windows`]. Fingerprints have zeros at
/// their end.
fn mixed(mut x: u64) -> u64 {
    for _ in 0..2 {
        x ^= x >> 32;
        x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    x ^ x >> 32
}

/// Which documents have each window of some texts, and what is stored of these documents.
pub(super) struct Holders {
    /// For each window, documents that have a record, ascending.
    pub(super) of_windows: Vec<Vec<DocId>>,
    pub(super) records: HashMap<DocId, DocumentRecord>,
}
