//! What a document was after a commit.

use std::ops::Range;

use crate::fingerprint::{DocId, Document, Fingerprint};

/// Numbers of commits, counted from the first one of the memtable.
pub(crate) type Commits = Range<u32>;

/// What a document was after a commit that changed it, or that it was removed.
#[derive(Debug, Clone, Copy)]
pub(super) struct State<F> {
    pub(super) commit: u32,
    pub(super) document: Option<Document<F>>,
}

/// The last state of a document, without what few documents have. There is one of these for each
/// recent document, so it has as few bytes as possible: 256 with a sketch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Last<F> {
    /// The fingerprint, or a former one, or zero if the document was removed.
    pub(super) fingerprint: F,
    pub(super) id: DocId,
    pub(super) commit: u32,
    pub(super) flags: Flags,
}

/// What is known about a document, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flags(u8);

impl Flags {
    pub(super) const NONE: Self = Self(0);
    /// Older sources have the document.
    pub(super) const REPLACES: Self = Self(1);
    /// It is an original there.
    pub(super) const REPLACES_ORIGINAL: Self = Self(2);
    /// It was not removed.
    pub(super) const EXISTS: Self = Self(4);
    pub(super) const IS_DUPLICATE: Self = Self(8);
    pub(super) const HAS_STAMP: Self = Self(16);
    /// It has earlier states here.
    pub(super) const HAS_EARLIER: Self = Self(32);

    #[inline]
    pub(super) fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    /// Sets a flag, or clears it.
    #[must_use]
    pub(super) fn with(self, flag: Self, is_set: bool) -> Self {
        Self(if is_set { self.0 | flag.0 } else { self.0 & !flag.0 })
    }

    /// Returns whether the document is an original.
    #[inline]
    pub(super) fn is_original(self) -> bool {
        self.has(Self::EXISTS) && !self.has(Self::IS_DUPLICATE)
    }

    /// Returns the flags with those that say what a document is now.
    #[must_use]
    pub(super) fn with_document<F: Fingerprint>(self, document: Option<&Document<F>>) -> Self {
        self.with(Self::EXISTS, document.is_some())
            .with(Self::IS_DUPLICATE, document.is_some_and(|it| it.duplicate_of.is_some()))
            .with(Self::HAS_STAMP, document.is_some_and(|it| it.stamp.is_some()))
    }
}

/// Numbers that only some documents have. It takes no memory before the first one.
#[derive(Debug, Default)]
pub(super) struct Column(Vec<u64>);

impl Column {
    /// Returns the number that was set last.
    pub(super) fn get(&self, document: usize) -> u64 {
        self.0.get(document).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, document: usize, number: u64) {
        if self.0.len() <= document {
            self.0.resize(document + 1, 0);
        }
        self.0[document] = number;
    }

    /// Returns about how many bytes this occupies.
    pub(super) fn memory(&self) -> usize {
        self.0.len() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Sketch;

    #[test]
    fn last_state_of_a_document_takes_16_bytes_besides_its_fingerprint() {
        assert_eq!((size_of::<Last<Sketch>>(), size_of::<Last<u64>>()), (256, 24));
    }

    #[test]
    fn flags_say_what_a_document_is_now_and_keep_the_others() {
        let document = |stamp, duplicate_of: Option<u64>| {
            let duplicate_of = duplicate_of.map(DocId);
            Document { fingerprint: 1_u64, id: DocId(2), stamp, duplicate_of }
        };
        let flags = Flags::NONE.with(Flags::REPLACES, true);
        let duplicate = flags.with_document(Some(&document(Some(3), Some(4))));
        assert!(duplicate.has(Flags::HAS_STAMP) && !duplicate.is_original());
        let original = duplicate.with_document(Some(&document(None, None)));
        assert!(original.is_original() && !original.has(Flags::HAS_STAMP));
        assert_eq!(original.with_document::<u64>(None), flags);
    }
}
