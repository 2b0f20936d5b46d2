//! An index of passages that lasts. It is a database of fingerprints of 64 bits with the ids of
//! documents:
//!
//! | fingerprint | id |
//! | --- | --- |
//! | 0, the leading bits of the hash of a window, zeros | a document that has the window |
//! | 1, the id of a document, zeros | a digest of its windows, and how many of them are kept |
//!
//! Equal windows of a document count once. The settings have `min_words`, the number of bits and
//! the seed of the hashes.

mod answer;
mod lookup;
mod records;
#[cfg(test)]
mod tests;
mod write;

use std::path::Path;
use std::sync::Mutex;

use fpdb_text::windows::{Windows, Words};

use super::work::random_seed;
use crate::base::error::{Error, ErrorKind, Result};
use crate::db::{Db, Options};
use crate::fingerprint::DocId;
use crate::settings::PassageSettings;
use answer::Kept;
pub use answer::{Novelty, Origin, Origins, Place};

/// An index of passages that lasts: for a text, which earlier documents have passages of it.
///
/// It stores hashes of the windows that [`Windows`] keeps, not texts. A run of `min_words` words
/// that stands in an earlier document is always found: at least one kept window lies in it. What it
/// cannot see is where exactly the run begins and ends, and changes between two windows. Where the
/// earlier text is at hand, compare the two.
///
/// A window remembers the first [`MOST_ORIGINS`](Self::MOST_ORIGINS) documents that have it. Later
/// ones are not added, so that a licence or a menu costs no more to look up than anything else.
/// Then the window is *common*: it leads to these documents only, and [`Origins::common`] says how
/// many of a text's windows are. If documents that it remembers are removed, it does not learn of
/// those that it has forgotten: a passage that is left only in these is not found. Where documents
/// are removed and inserted all the time, such as news pages that expire, insert what must be found
/// again.
///
/// After a [repair](crate::Source::damaged), documents may have lost windows, which is as if their
/// texts had been shorter. A document whose record is lost is no longer in the index, and can be
/// inserted again. The report names both.
///
/// The hashes have a seed, which is random for each index. Whoever knows it can write texts with
/// windows of a document without a word of it. Two indexes with the same seed have the same
/// windows, so their entries can be exchanged: see [`create_with_seed`](Self::create_with_seed).
///
/// An index is a folder, like a [`Db`], with the same promises about crashes and failures. One
/// process at a time writes to it. It takes about 6.5 bytes per kept window: at 50 words, 5 % of
/// English and 6 % of Chinese text.
///
/// # Examples
///
/// ```
/// use fpdb::passages::Index;
/// use fpdb::{Db, DocId};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("passages.fpdb");
/// let index = Index::create(&path, 14, Db::options())?;
/// let quote = "The mills were closed in spring, because the new owners had found cheaper coal in the north.";
/// index.insert(&[(DocId(7), &format!("News of the week. {quote} The river is high."))])?;
/// let found = index.find(&format!("He wrote: “{quote}” Nobody answered him."), 10)?;
/// assert_eq!(found.documents[0].id, DocId(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Index {
    db: Db<u64>,
    windows: Windows,
    settings: PassageSettings,
    /// Held by whoever writes: which windows are full must not change between the lookup and the
    /// commit.
    writing: Mutex<()>,
}

impl Index {
    /// The most documents that a window remembers.
    pub const MOST_ORIGINS: usize = answer::MOST_ORIGINS;

    /// The least length of a text, in words, that [`insert_if_novel`](Self::insert_if_novel)
    /// decides about. In a shorter one, the share of windows differs too much from the share of
    /// words: at 100 words its standard deviation is 0.18, at 300 words 0.08.
    pub const MIN_DECIDED: usize = answer::MIN_DECIDED;

    /// Creates an index in a new folder, for runs of at least `min_words` words: 14 to 1000. In
    /// scripts that are written without spaces, 1.6 times as many characters.
    ///
    /// The options say how the index is stored, as they do for a database. Its distance and kind of
    /// ids are set here. The number of [expected entries](Options::expected_entries) is that of
    /// kept windows: about one in `min_words` / 2.5 words.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for another number of words; those of [`Options::create`].
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Index;
    /// use fpdb::{Db, Durability};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("passages.fpdb");
    /// let options = Db::options().expected_entries(1 << 30).durability(Durability::Buffered);
    /// let index = Index::create(&path, 50, options)?;
    /// assert_eq!(index.min_words(), 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(path: impl AsRef<Path>, min_words: usize, options: Options<u64>) -> Result<Self> {
        let path = path.as_ref();
        Self::new(min_words, random_seed(path)?, options, |options| options.create(path))
    }

    /// Creates an index whose hashes have this seed, for those who exchange entries between
    /// indexes. Do not publish the seed: see [`Index`].
    ///
    /// # Errors
    ///
    /// Those of [`create`](Self::create).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Index;
    /// use fpdb::Db;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let [first, second] = ["a.fpdb", "b.fpdb"].map(|name| folder.path().join(name));
    /// let first = Index::create(&first, 50, Db::options())?;
    /// let second = Index::create_with_seed(&second, 50, first.seed(), Db::options())?;
    /// assert_eq!(second.seed(), first.seed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_with_seed(
        path: impl AsRef<Path>,
        min_words: usize,
        seed: u64,
        options: Options<u64>,
    ) -> Result<Self> {
        Self::new(min_words, seed, options, |options| options.create(path))
    }

    /// Creates an index in memory.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a number of words that [`create`](Self::create) does not take.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Index;
    /// let index = Index::in_memory(50)?;
    /// assert!(index.find("A text.", 10)?.documents.is_empty());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn in_memory(min_words: usize) -> Result<Self> {
        Self::new(min_words, random_seed(Path::new(""))?, Db::options(), Options::in_memory)
    }

    fn new(
        min_words: usize,
        seed: u64,
        options: Options<u64>,
        create: impl FnOnce(Options<u64>) -> Result<Db<u64>>,
    ) -> Result<Self> {
        let windows = Windows::new(min_words, seed)?;
        // With 2^n windows, one lookup in a million finds one that is not equal.
        let bits = (options.expected_entries.max(1).ilog2() + 20)
            .clamp(PassageSettings::MIN_BITS.into(), PassageSettings::MAX_BITS.into());
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked above: at most 1000, and at most 63"
        )]
        let settings = PassageSettings { min_words: min_words as u16, bits: bits as u8, seed };
        let db = create(options.passages(settings))?;
        Ok(Self { db, windows, settings, writing: Mutex::new(()) })
    }

    /// Opens an index.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the folder is a database of another kind; those of [`Options::open`].
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Index;
    /// use fpdb::{Db, DocId};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("passages.fpdb");
    /// Index::create(&path, 50, Db::options())?.insert(&[(DocId(1), "A text.")])?;
    /// let index = Index::open(&path, Db::options())?;
    /// assert!(index.contains(DocId(1))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, mut options: Options<u64>) -> Result<Self> {
        options.is_for_index = true;
        let db = options.open(&path)?;
        let Some(settings) = db.description().passages else {
            let message =
                "the database is not an index of passages; open one that `Index::create` has made";
            return Err(Error::new(ErrorKind::Unsupported, message).at_path(path.as_ref()));
        };
        let windows = Windows::new(settings.min_words.into(), settings.seed)?;
        Ok(Self { db, windows, settings, writing: Mutex::new(()) })
    }

    /// Returns the length of the runs that are always found, in words.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Index;
    /// assert_eq!(Index::in_memory(50)?.min_words(), 50);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn min_words(&self) -> usize {
        self.settings.min_words.into()
    }

    /// Returns the seed of the hashes.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Index;
    /// assert_ne!(Index::in_memory(50)?.seed(), Index::in_memory(50)?.seed());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.settings.seed
    }

    /// Returns the database that has the windows: to flush, compact, verify, back up or close it,
    /// or to read it. Its writes fail with `Unsupported`: only the index knows what belongs
    /// together.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::DocId;
    /// use fpdb::passages::Index;
    ///
    /// let index = Index::in_memory(50)?;
    /// index.insert(&[(DocId(1), "A text.")])?;
    /// // One entry for its only window, and one for the document.
    /// assert_eq!(index.database().stats().entries, 2);
    /// index.database().compact()?;
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn database(&self) -> &Db<u64> {
        &self.db
    }

    /// Returns whether a document is in the index.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::contains`](crate::Snapshot::contains).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::DocId;
    /// use fpdb::passages::Index;
    ///
    /// let index = Index::in_memory(50)?;
    /// index.insert(&[(DocId(1), "A text.")])?;
    /// assert!(index.contains(DocId(1))? && !index.contains(DocId(2))?);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn contains(&self, id: DocId) -> Result<bool> {
        self.db.snapshot().contains(self.document(id)?)
    }

    /// Returns the earlier documents that have passages of a text, those with the largest share
    /// first, at most `limit`.
    ///
    /// Looks up the kept windows of the text: about 50 per 1,000 words.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the text is longer than 512 MiB; those of
    /// [`Snapshot::query`](crate::Snapshot::query).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::DocId;
    /// use fpdb::passages::Index;
    ///
    /// let index = Index::in_memory(14)?;
    /// let words = |from: u32, to: u32| (from..to).map(|n| format!("word{n} ")).collect::<String>();
    /// index.insert(&[(DocId(1), &words(0, 300)), (DocId(2), &words(300, 600))])?;
    /// let text = format!("He quotes: {}. And: {}.", words(10, 100), words(400, 440));
    /// let found = index.find(&text, 10)?;
    /// let ids: Vec<_> = found.documents.iter().map(|origin| origin.id.0).collect();
    /// assert_eq!(ids, [1, 2]);
    /// assert!(found.documents[0].share > 0.5 && found.documents[0].share_of_origin < 0.5);
    /// let place = &found.documents[0].places[0];
    /// assert!(place.is_long && text[place.begin..place.end].contains("word50"));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn find(&self, text: &str, limit: usize) -> Result<Origins> {
        let kept = self.kept(text)?;
        let snapshot = self.db.snapshot();
        Ok(kept.origins(&self.holders(&snapshot, &kept.windows)?, limit))
    }

    /// Returns the windows that are kept of a text.
    fn kept(&self, text: &str) -> Result<Kept> {
        let words = Words::of(text, self.seed())?;
        let fingerprint = |hash| self.settings.fingerprint_of_window(hash);
        Ok(Kept::new(&self.windows, words, self.min_words(), fingerprint))
    }

    /// Returns the fingerprint of a document's record.
    fn document(&self, id: DocId) -> Result<u64> {
        self.settings.fingerprint_of_record(id).ok_or_else(|| {
            let bits = self.settings.bits;
            Error::invalid(format!("id {id}: expected a number below 2^{bits}"))
        })
    }
}
