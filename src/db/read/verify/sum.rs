//! Sums over entries, by which the same entries in another order are known.

use twox_hash::XxHash3_64;

use crate::fingerprint::{Entry, Fingerprint, Sketch};

/// A sum over entries that does not depend on their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) hashes: u64,
}

impl Sum {
    pub(super) fn add<F: Fingerprint>(&mut self, entry: Entry<F>) {
        self.count += 1;
        self.hashes = self.hashes.wrapping_add(hash(entry));
    }
}

fn hash<F: Fingerprint>(Entry { fingerprint, id }: Entry<F>) -> u64 {
    let mut bytes = [0; 8 + size_of::<Sketch>()];
    let (number, rest) = bytes.split_at_mut(8);
    number.copy_from_slice(&id.0.to_le_bytes());
    fingerprint.put_le(rest);
    XxHash3_64::oneshot(&bytes[..8 + F::BYTES])
}
