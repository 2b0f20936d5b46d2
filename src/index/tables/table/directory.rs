//! Writing the directory over block keys, slot by slot.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::base::error::{Error, Result};
use crate::file::codec::bytes::PutFields;
use crate::fingerprint::Word;

/// Bytes of a directory slot: one cache line.
pub(super) const SLOT_LEN: usize = 64;

/// Number of keys that fit into a slot.
const SLOT_KEYS: usize = 30;

/// Mean number of keys per slot: few enough that on even data hardly any slot has more keys than
/// fit.
const MEAN_KEYS: u64 = 26;

/// Most keys of a slot that may have the same part, because a lookup cannot distinguish them.
pub(super) const MAX_EQUAL: usize = 2;

/// Bits of a key that a slot stores: as many as a comparison of signed 16-bit words takes.
const PART_BITS: u32 = 15;

/// Marks an unused place in a slot. Every part of a key is less.
const NONE: i16 = i16::MAX;

/// Takes the place of the first part in a crowded slot, whose keys are in the overflow.
pub(super) const CROWDED: i16 = -1;

/// Returns the number of slots for the keys of this many blocks.
pub(super) fn slots_for(blocks: u64) -> u64 {
    blocks.div_ceil(MEAN_KEYS).max(1)
}

/// Returns the most bytes that the directory and the overflow over this many blocks take.
pub(crate) fn most_index_bytes(bits: u32, blocks: u64) -> u64 {
    slots_for(blocks) * SLOT_LEN as u64 + blocks * u64::from(bits) / 8
}

/// Returns the slot of a fingerprint, and its part: what the slot stores of it if it is a key.
/// As fingerprints ascend, the slot never decreases, nor does the part within a slot.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the bits below are wanted")]
pub(super) fn place_of<F: Word>(fingerprint: F, slots: u64) -> (usize, i16) {
    let product = u128::from(fingerprint.top64()) * u128::from(slots);
    let part = (product as u64 >> (64 - PART_BITS)) as i16;
    ((product >> 64) as usize, part.min(NONE - 1))
}

/// Where the bytes of a directory and its overflow go.
pub(super) trait DirectorySink {
    /// Appends a slot to the directory.
    fn slot(&mut self, bytes: &[u8]) -> Result<()>;
    /// Appends a key to the overflow.
    fn overflow(&mut self, key: &[u8]) -> Result<()>;
}

/// The bytes of a directory and its overflow, in memory.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    pub(super) directory: Vec<u8>,
    pub(super) overflow: Vec<u8>,
}

impl DirectorySink for Bytes {
    fn slot(&mut self, bytes: &[u8]) -> Result<()> {
        self.directory.extend_from_slice(bytes);
        Ok(())
    }

    fn overflow(&mut self, key: &[u8]) -> Result<()> {
        self.overflow.extend_from_slice(key);
        Ok(())
    }
}

/// Builds the directory and the overflow of ascending keys. Keeps only the keys of one slot, as far
/// as they fit into it.
#[derive(Debug)]
pub(super) struct DirectoryBuilder<F, S> {
    slots: u64,
    /// Number of the slot that is being filled.
    slot: u64,
    /// The keys of that slot; none if there are more than fit.
    keys: Vec<F>,
    /// Number of keys in the slots before it.
    before: u32,
    /// Number of keys up to and including this slot.
    end: u32,
    /// Number of keys in the overflow, of slots before this one.
    overflow_before: u32,
    /// Number of keys in the overflow.
    overflow: u32,
    /// The bytes of a slot or a key.
    bytes: Vec<u8>,
    sink: S,
}

impl<F: Word, S: DirectorySink> DirectoryBuilder<F, S> {
    /// Creates a builder for the keys of `blocks` blocks.
    pub(super) fn new(blocks: u64, sink: S) -> Result<Self> {
        if u32::try_from(blocks).is_err() {
            return Err(Error::invalid(format!(
                "a table can have at most 2^32 - 1 blocks, not {blocks}: choose a larger block size"
            )));
        }
        Ok(Self {
            slots: slots_for(blocks),
            slot: 0,
            keys: Vec::with_capacity(SLOT_KEYS),
            before: 0,
            end: 0,
            overflow_before: 0,
            overflow: 0,
            bytes: Vec::with_capacity(SLOT_LEN),
            sink,
        })
    }

    /// Adds the key of the next block.
    pub(super) fn push(&mut self, key: F) -> Result<()> {
        let (slot, _) = place_of(key, self.slots);
        while self.slot < slot as u64 {
            self.end_slot()?;
        }
        if self.keys.len() == SLOT_KEYS {
            self.overflow_keys()?;
        }
        self.end += 1;
        if self.is_crowded() {
            return self.overflow_key(key);
        }
        self.keys.push(key);
        Ok(())
    }

    /// Returns whether keys of the slot are in the overflow. Then all of them are.
    fn is_crowded(&self) -> bool {
        self.overflow > self.overflow_before
    }

    /// Moves the keys of the slot to the overflow.
    fn overflow_keys(&mut self) -> Result<()> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.drain(..).try_for_each(|key| self.overflow_key(key))?;
        self.keys = keys;
        Ok(())
    }

    fn overflow_key(&mut self, key: F) -> Result<()> {
        self.bytes.clear();
        self.bytes.put_fingerprint(key);
        self.overflow += 1;
        self.sink.overflow(&self.bytes)
    }

    fn end_slot(&mut self) -> Result<()> {
        let mut parts = [NONE; SLOT_KEYS];
        for (part, &key) in parts.iter_mut().zip(&self.keys) {
            (_, *part) = place_of(key, self.slots);
        }
        let mut runs = parts.chunk_by(|a, b| a == b).filter(|run| run.first() != Some(&NONE));
        if runs.any(|run| run.len() > MAX_EQUAL) {
            self.overflow_keys()?;
        }
        self.bytes.clear();
        self.bytes.put_u32(self.before);
        if self.is_crowded() {
            self.bytes.put_u32(CROWDED.cast_unsigned().into());
            self.bytes.put_u32(self.end);
            self.bytes.put_u32(self.overflow_before);
            self.bytes.resize(SLOT_LEN, 0);
        } else {
            parts.into_iter().for_each(|part| self.bytes.put_u16(part.cast_unsigned()));
        }
        self.keys.clear();
        (self.before, self.overflow_before) = (self.end, self.overflow);
        self.slot += 1;
        self.sink.slot(&self.bytes)
    }

    /// Ends the remaining slots.
    pub(super) fn finish(mut self) -> Result<S> {
        while self.slot < self.slots {
            self.end_slot()?;
        }
        Ok(self.sink)
    }
}
