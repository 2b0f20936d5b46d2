//! The documents of damaged segments. Where records are lost, the entries say which documents there
//! were, and with which fingerprints.

use std::collections::HashMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use super::parts::Parts;
use crate::error::Result;
use crate::fingerprint::{DocId, Document, Entry, Fingerprint};
use crate::log::document_key;
use crate::memtable::Memtable;
use crate::merge::DocumentMerge;
use crate::settings::Ids;

/// The newest readable record of each document, in the order of their keys.
fn readable<'a, F: Fingerprint>(
    segments: &'a [Parts<F>],
    recent: &Memtable<F>,
) -> Result<DocumentMerge<'a, F>> {
    let files = segments.iter().filter_map(|parts| parts.documents.as_ref());
    let recent = [recent.documents(u64::MAX)];
    DocumentMerge::of_cursors(files.map(|file| file.iter_readable()), recent.into_iter())
}

/// Returns for each segment how many of its records cannot be read.
pub(super) fn lost_records<F: Fingerprint>(segments: &[Parts<F>]) -> Result<Vec<u64>> {
    let lost = |parts: &Parts<F>| {
        let Some(meta) = parts.meta.documents else { return Ok(0) };
        let Some(documents) = &parts.documents else { return Ok(meta.live + meta.removed) };
        let (mut cursor, mut read) = (documents.iter_readable(), 0);
        while cursor.next()?.is_some() {
            read += 1;
        }
        Ok((meta.live + meta.removed).saturating_sub(read))
    };
    segments.iter().map(lost).collect()
}

/// What entries say about documents whose records are lost.
struct Live<F> {
    /// The fingerprint of each live entry by its id, and whether a record with this id was found.
    entries: HashMap<DocId, (F, bool)>,
    /// Whether no entry and no removal was lost, so that there are no other live entries.
    is_complete: bool,
}

/// How many documents are not as they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Documents without a record, in a database with names.
    pub(super) names: u64,
    /// Documents whose newest record is lost.
    pub(super) versions: u64,
}

/// The documents of a damaged database, in the order of their keys.
pub(super) struct RepairedDocuments<'a, F: Fingerprint> {
    merge: DocumentMerge<'a, F>,
    next: Option<(Vec<u8>, Document<F>)>,
    live: Option<Live<F>>,
    /// Documents without a record.
    rest: Peekable<IntoIter<(Vec<u8>, Document<F>)>>,
}

impl<'a, F: Fingerprint> RepairedDocuments<'a, F> {
    /// Takes all records as they are, because none was lost.
    pub(super) fn complete(segments: &'a [Parts<F>], recent: &Memtable<F>) -> Result<Self> {
        let rest = Vec::new().into_iter().peekable();
        Self { merge: readable(segments, recent)?, next: None, live: None, rest }.begin()
    }

    /// Compares the records with the live entries, because some records are lost. Takes memory for
    /// all entries.
    pub(super) fn with_entries(
        segments: &'a [Parts<F>],
        recent: &Memtable<F>,
        ids: Ids,
        entries: impl Iterator<Item = Result<Entry<F>>>,
        is_complete: impl FnOnce() -> bool,
    ) -> Result<(Self, Changed)> {
        let mut found = HashMap::new();
        for entry in entries {
            let Entry { fingerprint, id } = entry?;
            found.insert(id, (fingerprint, false));
        }
        let mut live = Live { entries: found, is_complete: is_complete() };
        let mut changed = Changed::default();
        let mut merge = readable(segments, recent)?;
        while let Some((_, document)) = merge.next()? {
            let Some(document) = document.filter(|document| document.duplicate_of.is_none()) else {
                continue;
            };
            match live.entries.get_mut(&document.id) {
                Some((fingerprint, is_found)) => {
                    *is_found = true;
                    changed.versions += u64::from(*fingerprint != document.fingerprint);
                }
                None => changed.versions += u64::from(live.is_complete),
            }
        }
        let lost = live.entries.iter().filter(|(_, (_, is_found))| !is_found);
        let mut rest: Vec<_> = lost.map(|(&id, &(f, _))| without_record(ids, id, f)).collect();
        rest.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        if ids == Ids::Names {
            changed.names = rest.len() as u64;
        }
        let rest = rest.into_iter().peekable();
        let repaired =
            Self { merge: readable(segments, recent)?, next: None, live: Some(live), rest };
        Ok((repaired.begin()?, changed))
    }

    fn begin(mut self) -> Result<Self> {
        self.advance()?;
        Ok(self)
    }

    /// Reads the next record that is still true.
    fn advance(&mut self) -> Result<()> {
        self.next = None;
        while let Some((key, document)) = self.merge.next()? {
            let Some(mut document) = document else { continue };
            if let (Some(live), None) = (&self.live, document.duplicate_of) {
                match live.entries.get(&document.id) {
                    Some(&(fingerprint, _)) => document.fingerprint = fingerprint,
                    // A lost record says that it was removed, or has become a duplicate.
                    None if live.is_complete => continue,
                    None => {}
                }
            }
            self.next = Some((key.to_vec(), document));
            break;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Option<(Vec<u8>, Document<F>)>> {
        let is_rest = match (&self.next, self.rest.peek()) {
            (Some((next, _)), Some((rest, _))) => rest < next,
            (None, rest) => rest.is_some(),
            (Some(_), None) => false,
        };
        if is_rest {
            return Ok(self.rest.next());
        }
        let next = self.next.take();
        self.advance()?;
        Ok(next)
    }
}

/// Makes up the record of a document of which only the entry is known.
fn without_record<F: Fingerprint>(ids: Ids, id: DocId, fingerprint: F) -> (Vec<u8>, Document<F>) {
    let name = (ids == Ids::Names).then(|| format!("(lost name of id {id})"));
    let key = document_key(name.as_deref(), id).into_owned();
    (key, Document { fingerprint, id, stamp: None, duplicate_of: None })
}

impl<F: Fingerprint> Iterator for RepairedDocuments<'_, F> {
    type Item = Result<(Vec<u8>, Document<F>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}
