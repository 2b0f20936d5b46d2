//! Expiry: removes documents whose stamp is old.

use crate::base::error::Result;
use crate::base::progress::{Meter, Phase};
use crate::db::read::reader::Reader;
use crate::db::state::core::Core;
use crate::db::state::key::{DocumentKey, OwnedKey, expect_documents};
use crate::db::write::documents::{self, Edit};
use crate::fingerprint::Ids;
use crate::fingerprint::{Document, Fingerprint};

/// Most documents that are removed in one commit.
const BATCH: usize = 1 << 10;

/// Bytes of keys after which a commit ends, too: so it takes little of the space that a full disk
/// keeps for removals, however long the names are.
const BATCH_BYTES: usize = 1 << 16;

/// What an expiry did.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Ids, Stamped};
/// let db = Db::options().ids(Ids::Names).in_memory()?;
/// db.insert(0x00ff, Stamped::new("https://a.example/", 7))?;
/// db.insert(0xff00, Stamped::new("https://b.example/", 8))?;
/// let report = db.expire(8)?;
/// assert_eq!((report.examined, report.removed), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[must_use]
#[non_exhaustive]
pub struct ExpireReport {
    /// Number of documents there were.
    pub examined: u64,
    /// Number of documents removed, because their stamp was older.
    pub removed: u64,
}

/// Removes the documents with an older stamp than `before`, a batch at a time.
pub(crate) fn expire<F: Fingerprint>(
    core: &Core<F>,
    reader: &Reader<F>,
    before: u64,
) -> Result<ExpireReport> {
    let (version, seq) = (&reader.version, reader.seq);
    expect_documents(core.settings.ids, "has no stamps")
        .map_err(|error| error.at_path(core.storage.root()))?;
    let total = version.documents(seq);
    let meter = Meter::new(&reader.watch, Phase::Check, Some(total));
    let mut expiry = Expiry { core, before, old: Vec::new(), old_bytes: 0, removed: 0 };
    // What is removed in the meantime is still in the reader.
    let mut merge = reader.document_merge(None)?;
    let mut examined = 0;
    while let Some((key, document)) = merge.next()? {
        let Some(document) = document else { continue };
        examined += 1;
        meter.advance(1)?;
        if expiry.is_old(&document) {
            expiry.old_bytes += key.len();
            expiry.old.push(match core.settings.ids {
                Ids::Names => OwnedKey::Name(String::from_utf8_lossy(key).into()),
                Ids::User | Ids::Unique => OwnedKey::Id(document.id),
            });
        }
        if expiry.old.len() == BATCH || expiry.old_bytes >= BATCH_BYTES {
            expiry.remove()?;
        }
    }
    expiry.remove()?;
    meter.finish();
    Ok(ExpireReport { examined, removed: expiry.removed })
}

/// An expiry in progress.
struct Expiry<'a, F: Fingerprint> {
    core: &'a Core<F>,
    before: u64,
    /// Documents to remove.
    old: Vec<OwnedKey>,
    /// The bytes of their keys.
    old_bytes: usize,
    removed: u64,
}

impl<F: Fingerprint> Expiry<'_, F> {
    fn is_old(&self, document: &Document<F>) -> bool {
        document.stamp.is_some_and(|stamp| stamp < self.before)
    }

    /// Removes what is old, except for documents that were stamped in the meantime.
    fn remove(&mut self) -> Result<()> {
        let keys: Vec<DocumentKey<'_>> =
            self.old.iter().map(|key| DocumentKey::of_stored(key.as_key())).collect();
        let edit = |_, document: &Document<F>| match self.is_old(document) {
            true => Edit::Remove,
            false => Edit::Keep,
        };
        let edited = documents::edit(self.core, &keys, &edit)?;
        self.removed += edited.into_iter().filter(|&removed| removed).count() as u64;
        self.old.clear();
        self.old_bytes = 0;
        Ok(())
    }
}
