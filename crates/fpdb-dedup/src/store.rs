//! The features of the documents of a database, in files beside it.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use fpdb::text::jaccard::{Compact, Mixed, Shingles};
use fpdb::{Db, Description, DocId, Durability, ErrorKind, Fingerprint, Options};
use twox_hash::XxHash3_64;

use crate::error::{Error, Result};
use crate::lists::{Lists, replace, sync_folder, u32_of, u64_of};

/// Records after which those before are put into the index. No more are read again after a crash.
const CHECKPOINT: usize = if cfg!(test) { 8 } else { 1 << 17 };

/// The features of the documents of a database, in a folder beside it.
///
/// A document's features are found by its name and its fingerprint. So the features of an old
/// version, or of a document that is gone, are never taken for another document's. Nothing is ever
/// removed from the files: to free their space, remove the folder while nobody has it open. A
/// document without features is compared by its sketch.
///
/// A document takes 16 bytes beside its [`Compact`] list, and about 20 in the index, which is a
/// database itself. Each byte of a list is written once, and what is known is not written again. In
/// memory, 131,072 documents take 4 MB.
///
/// # Examples
///
/// Pages of which a sketch finds the similar ones, and their features decide:
///
/// ```
/// use fpdb::text::Recipe;
/// use fpdb::{Db, Ids, Jaccard, Options, Sketch, Within};
/// use fpdb_dedup::FeatureStore;
///
/// let recipe = Recipe::<Sketch>::for_sketches("pairs/1")?;
/// let options = Options::<Sketch>::default().similar(Jaccard::at_least(0.8));
/// let db = options.ids(Ids::Names).recipe(&recipe).in_memory()?;
/// let folder = std::env::temp_dir().join(format!("fpdb-features-{}", std::process::id()));
/// let mut store = FeatureStore::open(&folder, recipe.name(), Db::options())?;
///
/// let words: Vec<String> = (0..100).map(|number| number.to_string()).collect();
/// let texts = [("a", words.join(" ")), ("b", words[..90].join(" ")), ("c", words[..70].join(" "))];
/// let mut kept = Vec::new();
/// for (name, text) in &texts {
///     let (found, features) = recipe.fingerprint_with_features(text);
///     let sketch = found.fingerprint.expect("enough words");
///     let features = store.mixed(&features);
///     // Of duplicates, too. `Write::before_commit` can leave them out.
///     store.insert([(*name, sketch, &features)])?;
///     let outcomes = db
///         .write(&[(sketch, *name)])
///         .unless_near(Within::Rule)
///         .confirm(256, |_, other| {
///             // What another writer is about to commit has no name yet.
///             let name = db.snapshot().name(other.found.id).map_err(std::io::Error::other)?;
///             let other = store.get(&name.unwrap_or_default(), other.found.fingerprint);
///             let other = other.map_err(std::io::Error::other)?;
///             Ok(other.is_some_and(|other| other.jaccard(&features) >= 0.8))
///         })
///         .run()?;
///     if !outcomes[0].is_duplicate() {
///         kept.push(*name);
///     }
/// }
/// assert_eq!(kept, ["a", "c"]);
/// store.close()?;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FeatureStore {
    folder: PathBuf,
    lists: Lists,
    /// Where the record of each document begins, by the document's hash. Has only records that
    /// survive a power failure, so that none of its places is ever another record's.
    index: Db,
    /// The same of the records that are not in the index yet.
    recent: HashMap<u64, u64>,
    ends: Ends,
}

impl FeatureStore {
    /// Opens the store in a folder, or creates it. Only one process can have it open. `recipe` is
    /// the name of what makes the features, and the index is opened with `options`.
    ///
    /// If it was not closed, the records since its last checkpoint are read, at most 131,072.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] if the features are of another recipe; [`Error::Damaged`];
    /// [`Error::File`]; [`Error::Index`], also if another process has it open.
    ///
    /// See the example of [`FeatureStore`].
    pub fn open(folder: &Path, recipe: &str, options: Options) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
        sync_folder(folder.parent().unwrap_or(folder))?;
        let options = options.max_distance(0).durability(Durability::Buffered);
        let (path, index) = (folder.join("lists"), folder.join("index"));
        let known = Description::read(&index);
        let is_new = known.is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let mut ends = Ends::read(&folder.join(ENDS))?;
        if is_new && ends.indexed > 0 {
            // Before there is an index that has nothing.
            ends.indexed = 0;
            ends.write(&folder.join(ENDS))?;
        }
        // Before the lists are opened, because it keeps other processes out.
        let index = if is_new { options.create(&index)? } else { options.open(&index)? };
        if !path.exists() {
            Lists::create(&path, recipe, random_seed())?;
        }
        let lists = Lists::open(&path, recipe)?;
        let folder = folder.to_owned();
        let mut store = Self { folder, lists, index, recent: HashMap::new(), ends };
        store.recover()?;
        Ok(store)
    }

    /// Prepares features to be kept and compared.
    #[must_use]
    pub fn mixed(&self, features: &Shingles) -> Mixed {
        Mixed::new(features, self.lists.seed)
    }

    /// Returns the seed with which features are [mixed](Mixed::new).
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.lists.seed
    }

    /// Returns the features of the document with this name and this fingerprint, if they are known.
    /// Reads about 2 pages of the index, and the list.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`]; [`Error::File`]; [`Error::Index`].
    pub fn get<F: Fingerprint>(&mut self, name: &str, fingerprint: F) -> Result<Option<Compact>> {
        self.find(hash_of(self.lists.seed, name, fingerprint))
    }

    /// Returns the features of the document with this hash.
    fn find(&mut self, hash: u64) -> Result<Option<Compact>> {
        let recent = self.recent.get(&hash).copied();
        let begins = match recent {
            Some(begin) => vec![DocId(begin)],
            None => self.index.snapshot().ids(hash)?,
        };
        // The last one is what was inserted last.
        for DocId(begin) in begins.into_iter().rev() {
            let (of, list) = self.lists.record(begin)?;
            if of == hash {
                return Ok(Some(list));
            }
        }
        Ok(None)
    }

    /// Adds the features of documents: their names, their fingerprints, and what
    /// [`mixed`](Self::mixed) returns. Do this before the documents are committed, and
    /// [`sync`](Self::sync) if the commit survives a power failure.
    ///
    /// # Errors
    ///
    /// [`Error::File`], such as for a full disk; [`Error::Index`].
    pub fn insert<'a, F: Fingerprint>(
        &mut self,
        documents: impl IntoIterator<Item = (&'a str, F, &'a Mixed)>,
    ) -> Result<()> {
        let documents = documents.into_iter();
        let records = documents.map(|(name, fingerprint, features)| {
            (hash_of(self.lists.seed, name, fingerprint), features)
        });
        let mut records: Vec<(u64, Compact)> =
            records.map(|(hash, features)| (hash, features.compact())).collect();
        let mut known = Vec::with_capacity(records.len());
        for (hash, list) in &records {
            known.push(self.find(*hash)?.as_ref() == Some(list));
        }
        let mut is_known = known.into_iter();
        records.retain(|_| is_known.next() != Some(true));
        let begins = self.lists.append(&records)?;
        self.recent.extend(records.iter().map(|(hash, _)| *hash).zip(begins));
        if self.recent.len() >= CHECKPOINT { self.checkpoint() } else { Ok(()) }
    }

    /// Waits until everything that was inserted survives a power failure.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    pub fn sync(&self) -> Result<()> {
        self.lists.sync()
    }

    /// Syncs and closes the store.
    ///
    /// # Errors
    ///
    /// [`Error::File`]; [`Error::Index`].
    pub fn close(mut self) -> Result<()> {
        self.checkpoint()?;
        Ok(self.index.close()?)
    }

    /// Puts the records into the index that may not be in it.
    fn recover(&mut self) -> Result<()> {
        let mut from = self.ends.indexed.max(self.lists.begin);
        loop {
            let recent = &mut self.recent;
            let end = self.lists.recover(from, self.ends.synced, CHECKPOINT, |hash, begin| {
                recent.insert(hash, begin);
            })?;
            if end == from {
                return Ok(());
            }
            from = end;
            self.checkpoint_at(from)?;
        }
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.checkpoint_at(self.lists.end)
    }

    /// Puts the recent records into the index, which end here, so that they need not be read again.
    fn checkpoint_at(&mut self, end: u64) -> Result<()> {
        self.lists.sync()?;
        let entries = self.recent.iter().map(|(&hash, &begin)| (hash, begin));
        self.index.write(&entries.collect::<Vec<_>>()).run()?;
        self.index.sync()?;
        self.ends = Ends { indexed: end, synced: self.ends.synced.max(end) };
        self.ends.write(&self.folder.join(ENDS))?;
        self.recent.clear();
        Ok(())
    }
}

/// The file of [`Ends`].
const ENDS: &str = "ends";

/// Up to where the file of lists is in the index, and up to where it survives a power failure: two
/// numbers of 64 bits, and their CRC-32.
#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    indexed: u64,
    /// What is damaged before this was not being written when the system failed.
    synced: u64,
}

impl Ends {
    fn read(path: &Path) -> Result<Self> {
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            bytes => bytes.map_err(Error::file(path))?,
        };
        let (numbers, sum) = bytes.split_at(bytes.len().min(16));
        if bytes.len() != 20 || crc32fast::hash(numbers) != u32_of(sum) {
            return Err(Error::damaged(path, "the checksum is wrong"));
        }
        let (indexed, synced) = numbers.split_at(8);
        Ok(Self { indexed: u64_of(indexed), synced: u64_of(synced) })
    }

    fn write(self, path: &Path) -> Result<()> {
        let mut bytes = [self.indexed.to_le_bytes(), self.synced.to_le_bytes()].concat();
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        replace(path, &bytes)
    }
}

fn hash_of<F: Fingerprint>(seed: u64, name: &str, fingerprint: F) -> u64 {
    let mut bytes = (name.len() as u64).to_le_bytes().to_vec();
    bytes.extend(name.as_bytes());
    fingerprint.write_le(&mut bytes);
    XxHash3_64::oneshot_with_seed(seed, &bytes)
}

/// Returns a number that nobody can foresee.
fn random_seed() -> u64 {
    RandomState::new().hash_one(SystemTime::now())
}

#[cfg(test)]
mod tests;
