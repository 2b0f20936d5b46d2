//! New databases from entries or documents that the caller gives.

use std::path::Path;

use super::report::BuildReport;
use super::source::{Entries, NamedDocuments};
use super::unfinished::build;
use crate::base::error::{Error, Result};
use crate::base::progress::Watch;
use crate::db::handle::WriteHandle;
use crate::db::options::Options;
use crate::db::read::lookup::NamedDocument;
use crate::db::write::load::{LoadReport, load};
use crate::db::write::load_documents::{DocumentsToLoad, load_documents};
use crate::documents::{DocumentsBuilder, SymbolTable};
use crate::file::codec::header::FileKind;
use crate::file::names::FileId;
use crate::file::storage::{InMemory, PageBudget};
use crate::fingerprint::Ids;
use crate::fingerprint::{DocId, Document, Fingerprint};
use crate::settings::Settings;
use crate::store::log::{MAX_NAME_LEN, document_key};

/// Documents from whose keys the symbols of the new file are chosen, and their bytes.
const SAMPLED_KEYS: usize = 1 << 14;
const SAMPLED_BYTES: usize = 4 << 20;

/// A document and its key.
type Keyed<F> = (Vec<u8>, Document<F>);

/// Creates a database of these entries, or nothing.
pub(crate) fn of_entries<F: Fingerprint>(
    options: Options<F>,
    path: &Path,
    count: u64,
    entries: &mut Entries<'_, F>,
) -> Result<BuildReport> {
    if options.new_ids().identify_documents() {
        let message = "a database of entries has user ids, and no sketches: give documents, or choose \
                       Ids::User";
        return Err(Error::invalid(message).at_path(path));
    }
    let watch = options.watch.clone();
    build(options, path, |db| {
        let entries = &mut Announced { given: entries, count, left: count };
        let LoadReport { read, inserted: written } = load(db.core(), entries, &watch)?;
        Ok(BuildReport { read, written, ..BuildReport::default() })
    })
}

/// Creates a database of these documents, or nothing. They are in the order of their keys.
pub(crate) fn of_documents<F: Fingerprint>(
    options: Options<F>,
    path: &Path,
    next_id: Option<DocId>,
    count: u64,
    documents: &mut NamedDocuments<'_, F>,
) -> Result<BuildReport> {
    let ids = options.new_ids();
    let next_doc = match (ids, next_id) {
        (Ids::Names, Some(next)) if next.0 <= MAX_NEXT_ID => next.0,
        (Ids::Unique, None) => 0,
        _ => return Err(wrong_next_id(ids, next_id).at_path(path)),
    };
    let watch = options.watch.clone();
    build(options, path, |db| {
        let given = Announced { given: documents, count, left: count };
        let written = fill(db, Keys { given, ids, next_doc, last: None }, &watch)?;
        Ok(BuildReport { read: written, written, ..BuildReport::default() })
    })
}

/// The greatest next id that a manifest can have.
const MAX_NEXT_ID: u64 = (1 << 63) - 1;

fn wrong_next_id(ids: Ids, next_id: Option<DocId>) -> Error {
    Error::invalid(match (ids, next_id) {
        (Ids::User, _) => {
            "a database with user ids has no documents: choose Ids::Unique or Ids::Names".to_owned()
        }
        (_, None) => "a database with names needs the id that the next name gets".to_owned(),
        (Ids::Unique, _) => "only a database with names has a next id: give None".to_owned(),
        (_, Some(id)) => format!("the next id is {id}: expected at most {MAX_NEXT_ID}"),
    })
}

fn fill<F: Fingerprint>(
    db: &WriteHandle<F>,
    mut documents: Keys<'_, F>,
    watch: &Watch,
) -> Result<u64> {
    let (count, next_doc) = (documents.given.count, documents.next_doc);
    let sample = sample(&mut documents)?;
    let keys: Vec<&[u8]> = sample.iter().map(|(key, _)| key.as_slice()).collect();
    let symbols = SymbolTable::train_sorted(keys.len(), |place| &keys[place]);
    let of_sample = bytes_of(&db.core().settings, &sample, symbols.clone())?;
    let bytes = bytes_of_all(of_sample, sample.len() as u64, count);
    let documents = &mut sample.into_iter().map(Ok).chain(documents);
    let given = DocumentsToLoad { documents, most: count, bytes, symbols, next_doc };
    load_documents(db.core(), given, watch)
}

/// Returns how many bytes a file of these documents takes.
fn bytes_of<F: Fingerprint>(
    settings: &Settings,
    sample: &[Keyed<F>],
    symbols: SymbolTable,
) -> Result<u64> {
    let storage = InMemory::folder(Path::new("(memory)"), PageBudget::new(u64::MAX));
    let header = settings.header(FileKind::Documents, 0, FileId { number: 0, nonce: 0 });
    let most = sample.len() as u64;
    let mut file =
        DocumentsBuilder::create(&*storage, "sample", &header, settings.ids, symbols, most, None)?;
    sample.iter().try_for_each(|(key, document)| file.push(key, Some(document)))?;
    Ok(file.finish()?.len)
}

/// Returns about as many bytes as all documents take if those of a sample take so many. The others
/// may be a little longer.
fn bytes_of_all(of_sample: u64, sample: u64, count: u64) -> u64 {
    let bytes = u128::from(of_sample) * u128::from(count) / u128::from(sample.max(1));
    let more = if count > sample { bytes / 20 } else { 0 };
    u64::try_from(bytes + more).unwrap_or(u64::MAX)
}

/// Takes the first documents.
fn sample<F: Fingerprint>(documents: &mut Keys<'_, F>) -> Result<Vec<Keyed<F>>> {
    let (mut sample, mut bytes) = (Vec::new(), 0);
    while sample.len() < SAMPLED_KEYS && bytes < SAMPLED_BYTES {
        let Some(document) = documents.next() else { break };
        let document = document?;
        bytes += document.0.len();
        sample.push(document);
    }
    Ok(sample)
}

/// An iterator that must give as many items as were announced.
struct Announced<'a, T> {
    given: &'a mut (dyn Iterator<Item = Result<T>> + 'a),
    count: u64,
    left: u64,
}

impl<T> Iterator for Announced<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        match (self.given.next(), self.left) {
            (None, 0) => None,
            (Some(Err(error)), _) => Some(Err(error)),
            (Some(Ok(_)), 0) => {
                let message = format!("there are more than {}, as many as announced", self.count);
                Some(Err(Error::invalid(message)))
            }
            (None, left) => {
                self.left = 0;
                let (there, count) = (self.count - left, self.count);
                Some(Err(Error::invalid(format!("there are {there}, but {count} were announced"))))
            }
            (given, _) => {
                self.left -= 1;
                given
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

/// Checks documents and their order, and makes their keys.
struct Keys<'a, F> {
    given: Announced<'a, NamedDocument<F>>,
    ids: Ids,
    next_doc: u64,
    last: Option<Vec<u8>>,
}

impl<F: Fingerprint> Keys<'_, F> {
    fn check(&mut self, (name, document): NamedDocument<F>) -> Result<Keyed<F>> {
        let id = document.id;
        if name.is_some() != (self.ids == Ids::Names) {
            let what = if name.is_some() { "a" } else { "no" };
            let message =
                format!("document {id} has {what} name, in a database with {} ids", self.ids);
            return Err(Error::invalid(message));
        }
        if let Some(name) = &name {
            self.check_name(name, &document)?;
        }
        let key = document_key(name.as_deref(), id).to_vec();
        if self.last.replace(key.clone()).is_some_and(|last| last >= key) {
            let order = if name.is_some() { "names" } else { "ids" };
            return Err(Error::invalid(format!(
                "document {id} is not in order: expected documents by ascending {order}, each once"
            )));
        }
        Ok((key, document))
    }

    fn check_name(&self, name: &str, document: &Document<F>) -> Result<()> {
        let Document { id, duplicate_of, .. } = *document;
        if name.is_empty() || name.len() > MAX_NAME_LEN {
            return Err(Error::invalid(format!(
                "document {id} has a name of {} bytes: expected 1 to {MAX_NAME_LEN}",
                name.len()
            )));
        }
        match [Some(id), duplicate_of].into_iter().flatten().find(|id| id.0 >= self.next_doc) {
            None => Ok(()),
            Some(found) => Err(Error::invalid(format!(
                "document {id} has the id {found}, but the next id is {}: expected a lower one",
                self.next_doc
            ))),
        }
    }
}

impl<F: Fingerprint> Iterator for Keys<'_, F> {
    type Item = Result<Keyed<F>>;

    fn next(&mut self) -> Option<Self::Item> {
        let document = self.given.next()?;
        Some(document.and_then(|document| self.check(document)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::handle::open::open_in_memory;
    use crate::fingerprint::Sketch;

    /// Documents with names like addresses, and sketches of which no part is zero.
    fn documents(count: u64) -> Vec<Keyed<Sketch>> {
        let mut named: Vec<(String, u64)> =
            (0..count).map(|id| (format!("https://{}.example/page/{id}", id % 97), id)).collect();
        named.sort();
        let document = |(name, id): (String, u64)| {
            let part = u128::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            let planes = [0, 7, 14, 21, 28, 35].map(|bits| part.rotate_left(bits));
            let sketch = Sketch::of_parts(planes, 500, std::array::from_fn(|at| id << at | 1));
            let document =
                Document { fingerprint: sketch, id: DocId(id), stamp: None, duplicate_of: None };
            (document_key(Some(&name), DocId(id)).to_vec(), document)
        };
        named.into_iter().map(document).collect()
    }

    #[test]
    fn a_sample_tells_the_bytes_of_all_documents_to_within_a_fifth() {
        let options = Options::<Sketch>::default().ids(Ids::Names);
        let options = options.similar(crate::Jaccard::at_least(0.8));
        let db = open_in_memory(options).unwrap();
        let settings = &db.core().settings;
        let all = documents(60_000);
        let size = |documents: &[Keyed<Sketch>]| {
            let keys: Vec<&[u8]> = documents.iter().map(|(key, _)| key.as_slice()).collect();
            bytes_of(
                settings,
                documents,
                SymbolTable::train_sorted(keys.len(), |place| &keys[place]),
            )
            .unwrap()
        };
        let count = all.len() as u64;
        for sample in [SAMPLED_KEYS, all.len()] {
            let about = bytes_of_all(size(&all[..sample]), sample as u64, count);
            let real = size(&all);
            assert!(about >= real && about * 5 <= real * 6, "{sample}: {about}, not {real}");
        }
    }
}
