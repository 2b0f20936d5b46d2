//! What an index of passages stores; storage-format.md, "Passages".

use crate::base::error::{Error, Result};
use crate::file::codec::bytes::{Fields, PutFields};
use crate::fingerprint::{DocId, Entry, Fingerprint};

/// How an index of passages makes fingerprints of texts. Chosen when the index is created.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "text")] {
/// let index = fpdb::passages::Index::in_memory(50)?;
/// let settings = index.database().description().passages.unwrap();
/// assert_eq!((settings.min_words, settings.bits, settings.seed), (50, 46, index.seed()));
/// # }
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PassageSettings {
    /// The least number of words of a run that is always found: 14 to 1000.
    pub min_words: u16,
    /// How many bits of a window's hash, and of a document's id, are stored: 46 to 63.
    pub bits: u8,
    /// Decides the hashes of words, and the base of the polynomial that hashes windows. Whoever
    /// knows it can write texts that pass for others, so it is not serialized.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub seed: u64,
}

/// What an entry of an index says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexEntry {
    /// This document has the window that the fingerprint stands for.
    Window(DocId),
    /// This document is in the index, and this is said of it.
    Record(DocId, DocumentRecord),
}

/// What is stored of a document: as the id of an entry, the count in the upper and the digest in
/// the lower 32 bits. A block stores the ids of its entries in as many bits as the greatest needs,
/// and counts are small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DocumentRecord {
    /// How many windows of it are kept. There are fewer than 2^29, as texts are shorter than that.
    pub windows: u32,
    /// A digest of their fingerprints.
    pub digest: u32,
}

impl DocumentRecord {
    /// Returns the id under which the record is stored.
    #[cfg(feature = "text")]
    pub(crate) fn to_id(self) -> DocId {
        DocId(u64::from(self.windows) << 32 | u64::from(self.digest))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number are wanted")]
    pub(crate) fn from_id(id: DocId) -> Self {
        Self { windows: (id.0 >> 32) as u32, digest: id.0 as u32 }
    }
}

/// The first bit of the fingerprint of a record. So records follow all windows.
const RECORD: u64 = 1 << 63;

impl PassageSettings {
    /// The least number of bits of a hash that are stored. With 2^26 windows, one lookup in a
    /// million then finds a window that is not equal.
    pub(crate) const MIN_BITS: u8 = 46;
    pub(crate) const MAX_BITS: u8 = 63;

    /// Returns a word that is not greater than the fingerprint of any record.
    pub(crate) fn before_records<F: Fingerprint>() -> F::Word {
        F::of_number(RECORD.into()).and_then(F::word).unwrap_or(F::Word::ZERO)
    }

    /// Returns the fingerprint of a window with this hash.
    #[cfg(feature = "text")]
    pub(crate) fn fingerprint_of_window(&self, hash: u64) -> u64 {
        let unused = u64::BITS - u32::from(self.bits);
        hash >> unused << (unused - 1)
    }

    /// Returns the fingerprint of a document's record; `None` if the id is too large for the index.
    #[cfg(feature = "text")]
    pub(crate) fn fingerprint_of_record(&self, id: DocId) -> Option<u64> {
        let fits = id.0 >> self.bits == 0;
        fits.then(|| RECORD | id.0 << (Self::MAX_BITS - self.bits))
    }

    /// Returns what an entry says.
    pub(crate) fn read(&self, Entry { fingerprint, id }: Entry<u64>) -> IndexEntry {
        if fingerprint & RECORD == 0 {
            return IndexEntry::Window(id);
        }
        let document = DocId((fingerprint & !RECORD) >> (Self::MAX_BITS - self.bits));
        IndexEntry::Record(document, DocumentRecord::from_id(id))
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(self.min_words);
        out.put_u8(self.bits);
        out.put_u64(self.seed);
    }

    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<Self> {
        let (min_words, bits) = (fields.u16("min words")?, fields.u8("bits of windows")?);
        Ok(Self { min_words, bits, seed: fields.u64("seed")? })
    }

    /// Refuses settings that no index can have.
    pub(super) fn check(&self) -> Result<()> {
        let Self { min_words, bits, .. } = self;
        if !(14..=1000).contains(min_words) {
            return Err(Error::invalid(format!("min words {min_words}: expected 14 to 1000")));
        }
        if !(Self::MIN_BITS..=Self::MAX_BITS).contains(bits) {
            let (least, most) = (Self::MIN_BITS, Self::MAX_BITS);
            let message = format!("windows of {bits} bits: expected {least} to {most}");
            return Err(Error::invalid(message));
        }
        Ok(())
    }
}
