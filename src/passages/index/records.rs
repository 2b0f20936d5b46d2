//! What an index says about its documents.

use std::collections::HashMap;

use crate::fingerprint::DocId;

/// What is stored of a document: as the id of an entry, the digest in the upper and the count in the lower 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    /// How many windows of it are kept. There are fewer than 2^29, as texts are shorter than that.
    pub(super) windows: u32,
    /// The upper half of the sum of their mixed fingerprints modulo 2^64. It has no order, and differs for texts that
    /// have other windows.
    digest: u32,
}

impl Record {
    #[expect(clippy::cast_possible_truncation, reason = "texts have fewer than 2^29 windows")]
    pub(super) fn of(windows: &[u64]) -> Self {
        let sum = windows.iter().fold(0u64, |sum, &window| sum.wrapping_add(mixed(window)));
        Self { windows: windows.len() as u32, digest: (sum >> 32) as u32 }
    }

    /// Returns the id under which the record is stored.
    pub(super) fn to_id(self) -> DocId {
        DocId(u64::from(self.digest) << 32 | u64::from(self.windows))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number are wanted")]
    pub(super) fn from_id(id: DocId) -> Self {
        Self { windows: id.0 as u32, digest: (id.0 >> 32) as u32 }
    }
}

/// The steps that mix the hash of a run, see [`fpdb_text::windows`]. Fingerprints have zeros at their end.
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
    pub(super) records: HashMap<DocId, Record>,
}
