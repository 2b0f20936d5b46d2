//! Texts that several indexes of passages have.

use std::iter::Peekable;
use std::path::PathBuf;

use crate::base::error::{Error, Result};
use crate::db::read::reader::Reader;
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::settings::{DocumentRecord, IndexEntry, PassageSettings};

/// Refuses indexes that have different texts with the same id, because windows have only the id of
/// their text.
pub(super) fn refuse_different_texts<F: Fingerprint>(
    settings: PassageSettings,
    sources: &[Reader<F>],
    paths: &[PathBuf],
) -> Result<()> {
    let mut records: Vec<Peekable<_>> =
        sources.iter().map(|source| records(settings, source).peekable()).collect();
    loop {
        let mut least: Option<DocId> = None;
        for of_source in &mut records {
            match of_source.peek() {
                Some(Ok((id, _))) => least = Some(least.map_or(*id, |least| least.min(*id))),
                Some(Err(_)) => return of_source.next().map_or(Ok(()), |read| read.map(drop)),
                None => {}
            }
        }
        let Some(least) = least else { return Ok(()) };
        let mut first: Option<DocumentRecord> = None;
        for (of_source, path) in records.iter_mut().zip(paths) {
            let is_least = |read: &Result<_>| read.as_ref().is_ok_and(|&(id, _)| id == least);
            let Some(Ok((id, record))) = of_source.next_if(is_least) else { continue };
            if *first.get_or_insert(record) != record {
                let message = format!(
                    "document {id} of this index of passages has another text than document {id} of \
                     an index before it: remove one of them, or insert it with another id"
                );
                return Err(Error::invalid(message).at_path(path));
            }
        }
    }
}

/// Returns the record of each text, by id. Of several records, which only lost removals leave, the
/// index uses the first.
fn records<F: Fingerprint>(
    settings: PassageSettings,
    source: &Reader<F>,
) -> impl Iterator<Item = Result<(DocId, DocumentRecord)>> {
    let mut last = None;
    source.entries_from(PassageSettings::before_records::<F>()).filter_map(move |entry| {
        let read = entry.map(|Entry { fingerprint, id }| {
            settings.read(Entry { fingerprint: fingerprint.top64(), id })
        });
        match read {
            Ok(IndexEntry::Record(id, _)) if last.replace(id) == Some(id) => None,
            Ok(IndexEntry::Record(id, record)) => Some(Ok((id, record))),
            Ok(IndexEntry::Window(_)) => None,
            Err(error) => Some(Err(error)),
        }
    })
}
