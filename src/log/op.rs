//! The operations of a commit, and their bytes.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::codec::bytes::{Fields, PutFields};
use crate::error::Result;
use crate::fingerprint::{DocId, Fingerprint};

/// Most bytes of a name.
pub(crate) const MAX_NAME_LEN: usize = 65_535;

const INSERT: u8 = 1;
const INSERT_NAMED: u8 = 2;
const REMOVE: u8 = 3;

/// One operation of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op<F> {
    Insert {
        fingerprint: F,
        id: DocId,
    },
    /// An insert into a database with names; `name` has at most [`MAX_NAME_LEN`] bytes.
    InsertNamed {
        fingerprint: F,
        id: DocId,
        name: String,
    },
    Remove {
        fingerprint: F,
        id: DocId,
    },
}

impl<F: Fingerprint> Op<F> {
    /// Bytes of the shortest operation.
    pub(super) const MIN_LEN: usize = 1 + F::BYTES + 8;

    pub(crate) fn encoded_len(&self) -> usize {
        Self::MIN_LEN + self.name().map_or(0, |name| 4 + name.len())
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::InsertNamed { name, .. } => Some(name),
            Self::Insert { .. } | Self::Remove { .. } => None,
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let (kind, fingerprint, id) = match *self {
            Self::Insert { fingerprint, id } => (INSERT, fingerprint, id),
            Self::InsertNamed { fingerprint, id, .. } => (INSERT_NAMED, fingerprint, id),
            Self::Remove { fingerprint, id } => (REMOVE, fingerprint, id),
        };
        out.put_u8(kind);
        out.put_fingerprint(fingerprint);
        out.put_u64(id.0);
        if let Some(name) = self.name() {
            out.put_string(name.as_bytes());
        }
    }

    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<Self> {
        let at = fields.clone();
        let kind = fields.u8("operation kind")?;
        let fingerprint = fields.fingerprint("operation fingerprint")?;
        let id = DocId(fields.u64("operation id")?);
        match kind {
            INSERT => Ok(Self::Insert { fingerprint, id }),
            INSERT_NAMED => {
                let name = fields.text("name")?;
                if name.len() > MAX_NAME_LEN {
                    return Err(at.corruption(format!("name of {} bytes", name.len())));
                }
                Ok(Self::InsertNamed { fingerprint, id, name: name.to_owned() })
            }
            REMOVE => Ok(Self::Remove { fingerprint, id }),
            _ => Err(at.corruption(format!("operation of unknown kind {kind}"))),
        }
    }
}
