//! The documents of damaged segments. Where records are lost, the entries say which documents there
//! were, and with which fingerprints.

use std::collections::{HashMap, HashSet};
use std::iter::Peekable;
use std::vec::IntoIter;

use super::damaged_segment::DamagedSegment;
use crate::base::error::Result;
use crate::fingerprint::Ids;
use crate::fingerprint::{DocId, Document, Entry, Fingerprint};
use crate::store::log::document_key;
use crate::store::memtable::Memtable;
use crate::store::merge::DocumentMerge;

/// The newest readable record of each document, in the order of their keys.
fn readable<'a, F: Fingerprint>(
    segments: &'a [DamagedSegment<F>],
    recent: &'a Memtable<F>,
) -> Result<DocumentMerge<'a, F>> {
    let files = segments.iter().filter_map(|segment| segment.documents.as_ref());
    let recent = [recent.documents(u64::MAX, None)];
    DocumentMerge::of_cursors(files.map(|file| file.iter_readable()), recent.into_iter())
}

/// Returns for each segment how many of its records cannot be read.
pub(super) fn lost_records<F: Fingerprint>(segments: &[DamagedSegment<F>]) -> Result<Vec<u64>> {
    let lost = |segment: &DamagedSegment<F>| {
        let Some(meta) = segment.meta.documents else { return Ok(0) };
        let Some(documents) = &segment.documents else { return Ok(meta.live + meta.removed) };
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
    /// The fingerprint of each live entry by its id.
    fingerprints: HashMap<DocId, F>,
    /// The other ones of ids with several, because removals were lost.
    others: HashMap<DocId, Vec<F>>,
    /// Whether no entry was lost, so that there are no other live entries.
    has_all_entries: bool,
    /// Whether no removal was lost, so that all of these entries are live.
    has_all_removals: bool,
    /// The ids of the documents so far.
    given: HashSet<DocId>,
}

/// What becomes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    /// The newest record is lost, and the document is as the entries say.
    Changed,
    /// A lost record says that the document was removed, or has become a duplicate.
    Outdated,
    /// Another document has its id.
    Contradictory,
}

impl<F: Fingerprint> Live<F> {
    /// Corrects the document of the newest readable record.
    fn correct(&mut self, document: &mut Document<F>) -> Fate {
        let before = *document;
        match self.fingerprints.get(&document.id) {
            // The removal of the entry may be lost.
            Some(_) if !document.is_original() && !self.has_all_removals => {}
            // A duplicate has no entry, so a lost record says that it has become an original.
            Some(&fingerprint) => {
                let others = self.others.get(&document.id);
                let is_live = others.is_some_and(|others| others.contains(&document.fingerprint));
                if !(document.is_original() && is_live) {
                    document.fingerprint = fingerprint;
                }
                document.duplicate_of = None;
            }
            None if document.is_original() && self.has_all_entries => return Fate::Outdated,
            None => {}
        }
        match self.given.insert(document.id) {
            false => Fate::Contradictory,
            true if before == *document => Fate::Kept,
            true => Fate::Changed,
        }
    }
}

/// How many documents are not as they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Documents without a record, in a database with names.
    pub(super) names: u64,
    /// Documents whose newest record is lost.
    pub(super) versions: u64,
    /// Records with the id of another document.
    pub(super) contradictory: u64,
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
    pub(super) fn complete(
        segments: &'a [DamagedSegment<F>],
        recent: &'a Memtable<F>,
    ) -> Result<Self> {
        let rest = Vec::new().into_iter().peekable();
        Self { merge: readable(segments, recent)?, next: None, live: None, rest }.begin()
    }

    /// Compares the records with the live entries, because some records are lost. `lost` returns
    /// how many entries and removals are, once the entries are read. Takes memory for all entries.
    pub(super) fn with_entries(
        segments: &'a [DamagedSegment<F>],
        recent: &'a Memtable<F>,
        ids: Ids,
        entries: impl Iterator<Item = Result<Entry<F>>>,
        lost: impl FnOnce() -> (u64, u64),
    ) -> Result<(Self, Changed)> {
        let (mut fingerprints, mut others) = (HashMap::new(), HashMap::<DocId, Vec<F>>::new());
        for entry in entries {
            let Entry { fingerprint, id } = entry?;
            if let Some(other) = fingerprints.insert(id, fingerprint) {
                others.entry(id).or_default().push(other);
            }
        }
        let (lost_entries, lost_removals) = lost();
        let mut live = Live {
            fingerprints,
            others,
            has_all_entries: lost_entries == 0,
            has_all_removals: lost_removals == 0,
            given: HashSet::new(),
        };
        let (mut changed, mut made_up_before) = (Changed::default(), HashSet::new());
        let mut merge = readable(segments, recent)?;
        while let Some((key, document)) = merge.next()? {
            let Some(mut document) = document else { continue };
            if key.starts_with(LOST_NAME.as_bytes()) {
                made_up_before.insert(key.to_vec());
            }
            match live.correct(&mut document) {
                Fate::Kept => {}
                Fate::Changed | Fate::Outdated => changed.versions += 1,
                Fate::Contradictory => changed.contradictory += 1,
            }
        }
        let given = std::mem::take(&mut live.given);
        let lost = live.fingerprints.iter().filter(|(id, _)| !given.contains(id));
        let mut rest: Vec<_> =
            lost.map(|(&id, &f)| without_record(ids, id, f, &made_up_before)).collect();
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
            if let Some(live) = &mut self.live
                && matches!(live.correct(&mut document), Fate::Outdated | Fate::Contradictory)
            {
                continue;
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

/// What the names of documents that have lost theirs begin with.
const LOST_NAME: &str = "(lost name of id ";

/// Makes up the record of a document of which only the entry is known. Its key is none of `taken`.
fn without_record<F: Fingerprint>(
    ids: Ids,
    id: DocId,
    fingerprint: F,
    taken: &HashSet<Vec<u8>>,
) -> (Vec<u8>, Document<F>) {
    let name = |n: u32| match n {
        _ if ids != Ids::Names => None,
        1 => Some(format!("{LOST_NAME}{id})")),
        n => Some(format!("{LOST_NAME}{id}, {n})")),
    };
    let mut keys = (1..).map(|n| document_key(name(n).as_deref(), id).to_vec());
    let key = keys.find(|key| !taken.contains(key)).unwrap_or_default();
    (key, Document { fingerprint, id, stamp: None, duplicate_of: None })
}

impl<F: Fingerprint> Iterator for RepairedDocuments<'_, F> {
    type Item = Result<(Vec<u8>, Document<F>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}
