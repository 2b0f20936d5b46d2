//! Inserting and removing documents.

use std::collections::{HashMap, HashSet};

use super::Index;
use super::answer::{Kept, Novelty};
use super::records::record_of;
use crate::base::error::{Error, Result};
use crate::base::parallel::lock;
use crate::db::Snapshot;
use crate::fingerprint::{DocId, Entry};
use crate::settings::IndexEntry;

/// Entries that a removal without texts removes in one commit.
const MOST_REMOVED: usize = 10_000;

impl Index {
    /// Inserts documents, in one commit.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if a document is in the index already, or twice among these, if an id is
    /// 2^46 or more, or if a text is longer than 512 MiB; the errors of
    /// [`Db::insert`](crate::Db::insert). If one fails, nothing is inserted.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::DocId;
    /// use fpdb::passages::Index;
    ///
    /// let index = Index::in_memory(50)?;
    /// index.insert(&[(DocId(1), "A text."), (DocId(2), "Another text.")])?;
    /// assert!(index.insert(&[(DocId(2), "A third text.")]).is_err());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn insert(&self, documents: &[(DocId, &str)]) -> Result<()> {
        self.write(documents, |_, _| None).map(|_| ())
    }

    /// Inserts those documents of which less than `share` stands in one earlier document, in one
    /// commit, and says which they are.
    ///
    /// Documents are decided in turn, so one may be known because of another before it. The share
    /// counts kept windows. Those that are [common](super::Origins::common) count as if each
    /// earlier document had them. A text that is shorter than [`MIN_DECIDED`](Self::MIN_DECIDED)
    /// words and has any of its windows in common with an earlier document is not decided: compare
    /// the texts, or use fingerprints.
    ///
    /// Atomic: of several texts that are inserted at the same time and are known by each other, one
    /// is inserted.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a share that is not above 0 and at most 1; those of
    /// [`insert`](Self::insert).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::DocId;
    /// use fpdb::passages::{Index, Novelty};
    ///
    /// let index = Index::in_memory(50)?;
    /// let words = |from: u32, to: u32| (from..to).map(|n| format!("word{n} ")).collect::<String>();
    /// let article = words(0, 500);
    /// let with_comments = article.clone() + &words(5000, 5040);
    /// let answers = index.insert_if_novel(&[(DocId(1), &article), (DocId(2), &with_comments)], 0.7)?;
    /// assert!(matches!(&answers[..], [Novelty::Novel, Novelty::Known { id: DocId(1), .. }]));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn insert_if_novel(&self, documents: &[(DocId, &str)], share: f64) -> Result<Vec<Novelty>> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::invalid(format!(
                "share {share}: expected a share above 0, at most 1"
            )));
        }
        self.write(documents, |kept, holders| kept.known(holders, share))
    }

    /// Inserts documents for which `known` returns nothing.
    fn write(
        &self,
        documents: &[(DocId, &str)],
        known: impl Fn(&Kept, &[Vec<DocId>]) -> Option<Novelty>,
    ) -> Result<Vec<Novelty>> {
        let kept = documents.iter().map(|(_, text)| self.kept(text)).collect::<Result<Vec<_>>>()?;
        let _writing = lock(&self.writing);
        let mut batch = Batch { entries: Vec::new(), pending: HashMap::new() };
        let snapshot = self.db.snapshot();
        self.refuse_known_ids(&snapshot, documents)?;
        let all: Vec<u64> = kept.iter().flat_map(|kept| kept.windows.iter().copied()).collect();
        let mut stored = self.holders(&snapshot, &all)?.of_windows.into_iter();
        let mut outcomes = Vec::with_capacity(documents.len());
        for (&(id, _), kept) in documents.iter().zip(&kept) {
            let windows = kept.windows.iter().zip(stored.by_ref());
            let holders: Vec<_> =
                windows.map(|(&window, ids)| batch.holders(window, ids)).collect();
            let known = known(kept, &holders);
            if known.is_none() {
                batch.insert(id, self.document(id)?, &kept.windows, &holders);
            }
            outcomes.push(known.unwrap_or(Novelty::Novel));
        }
        self.db.write_to_index(&batch.entries)?;
        Ok(outcomes)
    }

    fn refuse_known_ids(
        &self,
        snapshot: &Snapshot<u64>,
        documents: &[(DocId, &str)],
    ) -> Result<()> {
        let mut ids: Vec<DocId> = documents.iter().map(|&(id, _)| id).collect();
        ids.sort_unstable();
        let again = ids.windows(2).find_map(|pair| (pair.first() == pair.last()).then(|| pair[0]));
        if let Some(id) = again {
            return Err(Error::invalid(format!(
                "document {id} occurs twice; give each document an id of its own"
            )));
        }
        let documents = ids.iter().map(|&id| self.document(id)).collect::<Result<Vec<_>>>()?;
        let answers = snapshot.query_batch(&documents, 0)?;
        let known = ids.iter().zip(answers.iter()).find(|(_, found)| !found.is_empty());
        known.map_or(Ok(()), |(id, _)| {
            let message = "is in the index already; remove it before you insert a new version";
            Err(Error::invalid(format!("document {id} {message}")))
        })
    }

    /// Removes documents, given with the texts that were inserted, in one commit. Returns for each
    /// whether it was in the index. A document that is given twice was in it the first time only.
    ///
    /// A window that was common may have had more documents than it remembers. It does not learn of
    /// them by a removal.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if a text has other windows than the one that was inserted; those of
    /// [`Db::remove`](crate::Db::remove). Then nothing is removed.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::DocId;
    /// use fpdb::passages::Index;
    ///
    /// let index = Index::in_memory(50)?;
    /// index.insert(&[(DocId(1), "A text.")])?;
    /// assert!(index.remove(&[(DocId(1), "Not the text.")]).is_err());
    /// assert_eq!(index.remove(&[(DocId(1), "A text."), (DocId(2), "Another text.")])?, [true, false]);
    /// assert!(!index.contains(DocId(1))?);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn remove(&self, documents: &[(DocId, &str)]) -> Result<Vec<bool>> {
        let _writing = lock(&self.writing);
        let mut records = self.records(
            &self.db.snapshot(),
            documents.iter().map(|&(id, _)| id).collect::<HashSet<_>>(),
        )?;
        let (mut entries, mut existed) = (Vec::new(), Vec::with_capacity(documents.len()));
        for &(id, text) in documents {
            let (kept, fingerprint) = (self.kept(text)?, self.document(id)?);
            let record = records.remove(&id);
            if record.is_some_and(|record| record != record_of(&kept.windows)) {
                let message = "was inserted with another text; give the text that was inserted, or use remove_all";
                return Err(Error::invalid(format!("document {id} {message}")));
            }
            // Entries that do not exist, of windows that were common or are lost, are left alone.
            entries.extend(kept.windows.iter().map(|&fingerprint| Entry { fingerprint, id }));
            entries.extend(record.map(|record| Entry { fingerprint, id: record.to_id() }));
            existed.push(record.is_some());
        }
        self.db.remove_from_index(&entries)?;
        Ok(existed)
    }

    /// Removes documents whose texts are not at hand. Reads the whole index, so remove many at
    /// once. Returns how many there were.
    ///
    /// After a failure or a crash some of their windows may be removed. Call it again.
    ///
    /// # Errors
    ///
    /// Those of [`Db::remove`](crate::Db::remove).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::DocId;
    /// use fpdb::passages::Index;
    ///
    /// let index = Index::in_memory(50)?;
    /// index.insert(&[(DocId(1), "A text."), (DocId(2), "Another text.")])?;
    /// assert_eq!(index.remove_all(&[DocId(2), DocId(3)])?, 1);
    /// assert!(!index.contains(DocId(2))?);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn remove_all(&self, documents: &[DocId]) -> Result<usize> {
        let _writing = lock(&self.writing);
        let snapshot = self.db.snapshot();
        // Entries of documents come last in their order, so a document disappears after its
        // windows.
        let wanted: HashMap<DocId, u64> =
            documents.iter().map(|&id| Ok((id, self.document(id)?))).collect::<Result<_>>()?;
        let (mut removed, mut entries) = (0, Vec::new());
        for entry in snapshot.iter() {
            let entry = entry?;
            let (IndexEntry::Window(id) | IndexEntry::Record(id, _)) = self.settings.read(entry);
            let is_document = matches!(self.settings.read(entry), IndexEntry::Record(..));
            if wanted.contains_key(&id) {
                removed += usize::from(is_document);
                entries.push(entry);
            }
            if entries.len() >= MOST_REMOVED {
                self.db.remove_from_index(&entries)?;
                entries.clear();
            }
        }
        self.db.remove_from_index(&entries)?;
        Ok(removed)
    }
}

/// The entries of a commit.
struct Batch {
    entries: Vec<(u64, DocId)>,
    /// The documents of the commit that have a window.
    pending: HashMap<u64, Vec<DocId>>,
}

impl Batch {
    /// Returns the documents that have a window, stored ones and new ones.
    fn holders(&self, window: u64, mut stored: Vec<DocId>) -> Vec<DocId> {
        stored.extend(self.pending.get(&window).into_iter().flatten());
        stored
    }

    fn insert(&mut self, id: DocId, document: u64, windows: &[u64], holders: &[Vec<DocId>]) {
        for (&window, holders) in windows.iter().zip(holders) {
            if holders.len() < Index::MOST_ORIGINS {
                self.pending.entry(window).or_default().push(id);
                self.entries.push((window, id));
            }
        }
        self.entries.push((document, record_of(windows).to_id()));
    }
}
