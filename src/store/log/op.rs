//! The operations of a commit, and their bytes.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Deref;

use crate::base::error::Result;
use crate::file::codec::bytes::{Fields, PutFields};
use crate::fingerprint::{DocId, Document, Entry, Fingerprint};

/// Most bytes of a name.
pub(crate) const MAX_NAME_LEN: usize = 65_535;

const INSERT: u8 = 1;
const CHANGE: u8 = 2;
const REMOVE: u8 = 3;

/// Flags of a change: what there was before, and what there is after it.
const WAS_ORIGINAL: u8 = 1;
const WAS_DUPLICATE: u8 = 2;
const IS_ORIGINAL: u8 = 4;
const IS_DUPLICATE: u8 = 8;
const HAS_STAMP: u8 = 16;
const HAS_NAME: u8 = 32;

/// One operation of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op<F> {
    /// Inserts an entry, in a database without documents.
    Insert { fingerprint: F, id: DocId },
    /// Removes an entry, in a database without documents.
    Remove { fingerprint: F, id: DocId },
    /// Changes what is known about a document, in a database that keeps documents.
    Change(DocumentChange<F>),
}

/// The change of a document. It says what there was before, so that a log can be replayed without
/// looking anything up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentChange<F> {
    /// The name, in a database with names; at most [`MAX_NAME_LEN`] bytes.
    pub name: Option<Box<str>>,
    pub id: DocId,
    pub before: Before<F>,
    /// The document from now on, with the same id; `None` if it is removed.
    pub after: Option<Document<F>>,
}

/// What a database knew about a document before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before<F> {
    /// Nothing.
    Absent,
    /// An original with this fingerprint.
    Original(F),
    /// A duplicate, which has no entry.
    Duplicate,
}

impl<F: Fingerprint> Before<F> {
    pub(crate) fn of(document: Option<Document<F>>) -> Self {
        match document {
            None => Self::Absent,
            Some(Document { duplicate_of: Some(_), .. }) => Self::Duplicate,
            Some(Document { fingerprint, .. }) => Self::Original(fingerprint),
        }
    }
}

impl<F: Fingerprint> DocumentChange<F> {
    /// Returns the key of the document.
    pub(crate) fn key(&self) -> KeyBytes<'_> {
        document_key(self.name.as_deref(), self.id)
    }

    /// Returns the entries that go and come with this change.
    pub(crate) fn entries(&self) -> (Option<Entry<F>>, Option<Entry<F>>) {
        let removed = match self.before {
            Before::Original(fingerprint) => Some(Entry { fingerprint, id: self.id }),
            Before::Absent | Before::Duplicate => None,
        };
        let inserted = self.after.and_then(Document::entry);
        if removed == inserted { (None, None) } else { (removed, inserted) }
    }

    fn flags(&self) -> u8 {
        let before = match self.before {
            Before::Absent => 0,
            Before::Original(_) => WAS_ORIGINAL,
            Before::Duplicate => WAS_DUPLICATE,
        };
        let after = self.after.map_or(0, |after| {
            let stamp = if after.stamp.is_some() { HAS_STAMP } else { 0 };
            stamp | if after.duplicate_of.is_some() { IS_DUPLICATE } else { IS_ORIGINAL }
        });
        before | after | if self.name.is_some() { HAS_NAME } else { 0 }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(CHANGE);
        out.put_u8(self.flags());
        out.put_u64(self.id.0);
        if let Some(name) = &self.name {
            out.put_string(name.as_bytes());
        }
        if let Before::Original(fingerprint) = self.before {
            out.put_fingerprint(fingerprint);
        }
        if let Some(after) = self.after {
            out.put_fingerprint(after.fingerprint);
            after.stamp.into_iter().for_each(|stamp| out.put_u64(stamp));
            after.duplicate_of.into_iter().for_each(|id| out.put_u64(id.0));
        }
    }

    fn encoded_len(&self) -> usize {
        let name = self.name.as_ref().map_or(0, |name| 4 + name.len());
        let before = if matches!(self.before, Before::Original(_)) { F::BYTES } else { 0 };
        let after = self.after.map_or(0, |after| {
            let optional = [after.stamp.is_some(), after.duplicate_of.is_some()];
            F::BYTES + 8 * optional.iter().filter(|there| **there).count()
        });
        MIN_LEN + name + before + after
    }

    /// Reads what [`encode`](Self::encode) wrote after the kind.
    fn decode(fields: &mut Fields<'_>) -> Result<Self> {
        let at = fields.clone();
        let flags = fields.u8("flags of a change")?;
        let has = |flag| flags & flag != 0;
        let id = DocId(fields.u64("operation id")?);
        let name = if has(HAS_NAME) {
            let name = fields.text("name")?;
            if !(1..=MAX_NAME_LEN).contains(&name.len()) {
                return Err(at.corruption(format!("name of {} bytes", name.len())));
            }
            Some(name.into())
        } else {
            None
        };
        let before = match (has(WAS_ORIGINAL), has(WAS_DUPLICATE)) {
            (false, false) => Before::Absent,
            (true, false) => Before::Original(fields.fingerprint("fingerprint before")?),
            (false, true) => Before::Duplicate,
            (true, true) => return Err(at.corruption("contradictory flags of a change")),
        };
        let is_there = match (has(IS_ORIGINAL), has(IS_DUPLICATE)) {
            (false, false) if has(HAS_STAMP) || before == Before::Absent => {
                return Err(at.corruption("contradictory flags of a change"));
            }
            (true, true) => return Err(at.corruption("contradictory flags of a change")),
            (original, duplicate) => original || duplicate,
        };
        if flags >= HAS_NAME << 1 {
            return Err(at.corruption("unknown flags of a change"));
        }
        let mut after = None;
        if is_there {
            let fingerprint = fields.fingerprint("fingerprint")?;
            let mut optional = |flag, what| has(flag).then(|| fields.u64(what)).transpose();
            let stamp = optional(HAS_STAMP, "stamp")?;
            let duplicate_of = optional(IS_DUPLICATE, "original")?.map(DocId);
            after = Some(Document { fingerprint, id, stamp, duplicate_of });
        }
        Ok(Self { name, id, before, after })
    }
}

/// The key of a document, as bytes by which documents are sorted and found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyBytes<'a> {
    Name(&'a [u8]),
    Id([u8; size_of::<DocId>()]),
}

impl Deref for KeyBytes<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Name(name) => name,
            Self::Id(id) => id,
        }
    }
}

impl AsRef<[u8]> for KeyBytes<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Returns the key of a document: its name, or else its id.
#[inline]
pub(crate) fn document_key(name: Option<&str>, id: DocId) -> KeyBytes<'_> {
    match name {
        Some(name) => KeyBytes::Name(name.as_bytes()),
        None => KeyBytes::Id(id.0.to_be_bytes()),
    }
}

/// Bytes of the shortest operation.
pub(super) const MIN_LEN: usize = 1 + 1 + 8;

impl<F: Fingerprint> Op<F> {
    pub(crate) fn encoded_len(&self) -> usize {
        match self {
            Self::Insert { .. } | Self::Remove { .. } => 1 + F::BYTES + 8,
            Self::Change(change) => change.encoded_len(),
        }
    }

    /// Returns the length of the name, if the operation has one.
    pub(super) fn name_len(&self) -> Option<usize> {
        match self {
            Self::Change(change) => change.name.as_ref().map(|name| name.len()),
            Self::Insert { .. } | Self::Remove { .. } => None,
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let (kind, fingerprint, id) = match self {
            Self::Insert { fingerprint, id } => (INSERT, *fingerprint, *id),
            Self::Remove { fingerprint, id } => (REMOVE, *fingerprint, *id),
            Self::Change(change) => return change.encode(out),
        };
        out.put_u8(kind);
        out.put_fingerprint(fingerprint);
        out.put_u64(id.0);
    }

    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<Self> {
        let at = fields.clone();
        let kind = fields.u8("operation kind")?;
        if kind == CHANGE {
            return DocumentChange::decode(fields).map(Self::Change);
        }
        let fingerprint = fields.fingerprint("operation fingerprint")?;
        let id = DocId(fields.u64("operation id")?);
        match kind {
            INSERT => Ok(Self::Insert { fingerprint, id }),
            REMOVE => Ok(Self::Remove { fingerprint, id }),
            _ => Err(at.corruption(format!("operation of unknown kind {kind}"))),
        }
    }
}
