//! What the handles hold, and what is done with them: everything that needs no pointers.

use std::sync::atomic::{AtomicU64, Ordering};

use fpdb::text::Recipe;
use fpdb::{
    Db, DocId, Document, Durability, Ids, Key, Match, Options, Outcome, ReadOnlyDb, Snapshot,
    Stamped, VerifyLevel,
};

use crate::code::{Failure, FpdbCode};

/// An open database. It may be used by many threads at the same time.
#[derive(Debug)]
pub struct FpdbDb(Handle);

#[derive(Debug)]
enum Handle {
    Writer(Db),
    Reader(ReadOnlyDb),
}

/// A method that makes fingerprints of texts. It may be used by many threads at the same time.
#[derive(Debug)]
pub struct FpdbRecipe(Recipe);

/// A document that is near a fingerprint.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FpdbMatch {
    /// The id of the document.
    pub id: u64,
    /// Its fingerprint.
    pub fingerprint: u64,
    /// The number of bits in which that differs from the one that was asked for.
    pub distance: u32,
}

/// What is stored of a document.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FpdbDocument {
    /// Its id.
    pub id: u64,
    /// Its fingerprint.
    pub fingerprint: u64,
    /// Its stamp, if it has one.
    pub stamp: u64,
    /// The document of which it is a duplicate, if it is one.
    pub duplicate_of: u64,
    /// Whether it has a stamp.
    pub has_stamp: bool,
    /// Whether it is a duplicate.
    pub is_duplicate: bool,
}

impl From<Document> for FpdbDocument {
    fn from(document: Document) -> Self {
        Self {
            id: document.id.0,
            fingerprint: document.fingerprint,
            stamp: document.stamp.unwrap_or(0),
            duplicate_of: document.duplicate_of.map_or(0, |id| id.0),
            has_stamp: document.stamp.is_some(),
            is_duplicate: document.duplicate_of.is_some(),
        }
    }
}

/// What became of a document.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FpdbOutcomeKind {
    /// It was new, and is in the database now.
    Inserted = 0,
    /// Another document is near it, so it was not inserted.
    Duplicate = 1,
    /// Its name or id is in the database already, so it was not inserted.
    Exists = 2,
    /// Its name or id is in the database already, and has the new fingerprint now. Upserts only.
    Updated = 3,
    /// Its name or id is in the database already, with this fingerprint. Upserts only.
    Unchanged = 4,
}

/// What became of a document, and which document decided about it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FpdbOutcome {
    /// What became of it.
    pub kind: FpdbOutcomeKind,
    /// For a duplicate, the nearest document; for one that exists, that one; otherwise the document
    /// itself. After an update, the distance is that from its earlier fingerprint.
    pub document: FpdbMatch,
}

fn found(kind: FpdbOutcomeKind, found: Match) -> FpdbOutcome {
    FpdbOutcome { kind, document: found.into() }
}

impl From<Match> for FpdbMatch {
    fn from(found: Match) -> Self {
        Self { id: found.id.0, fingerprint: found.fingerprint, distance: found.distance }
    }
}

fn outcome(fingerprint: u64, outcome: Outcome) -> FpdbOutcome {
    let id = outcome.id();
    let itself = |distance| Match { distance, fingerprint, id };
    match outcome {
        Outcome::Duplicate(near) => found(FpdbOutcomeKind::Duplicate, near),
        Outcome::Exists(known) => found(FpdbOutcomeKind::Exists, known),
        Outcome::Updated { distance, .. } => found(FpdbOutcomeKind::Updated, itself(distance)),
        Outcome::Inserted(_) => found(FpdbOutcomeKind::Inserted, itself(0)),
        Outcome::Unchanged(_) | Outcome::UnchangedDuplicate { .. } => {
            found(FpdbOutcomeKind::Unchanged, itself(0))
        }
    }
}

/// The memory for pages of databases that are opened from now on; 0 if it follows what is
/// available.
static PAGE_MEMORY: AtomicU64 = AtomicU64::new(0);

pub(crate) fn set_page_memory(bytes: u64) {
    PAGE_MEMORY.store(bytes, Ordering::Relaxed);
}

fn options(buffered: bool) -> Options {
    let durability = if buffered { Durability::Buffered } else { Durability::Sync };
    let options = Db::options().durability(durability);
    match PAGE_MEMORY.load(Ordering::Relaxed) {
        0 => options,
        bytes => options.page_memory(bytes),
    }
}

impl FpdbDb {
    pub(crate) fn create(
        path: &str,
        recipe: Option<&FpdbRecipe>,
        names: bool,
        max_distance: u32,
        buffered: bool,
    ) -> Result<Self, Failure> {
        let ids = if names { Ids::Names } else { Ids::User };
        let mut options = options(buffered).ids(ids).max_distance(max_distance);
        if let Some(recipe) = recipe {
            options = options.recipe(&recipe.0);
        }
        Ok(Self(Handle::Writer(options.create(path)?)))
    }

    pub(crate) fn open(path: &str, buffered: bool) -> Result<Self, Failure> {
        Ok(Self(Handle::Writer(options(buffered).open(path)?)))
    }

    pub(crate) fn open_read_only(path: &str) -> Result<Self, Failure> {
        Ok(Self(Handle::Reader(options(false).open_read_only(path)?)))
    }

    pub(crate) fn close(self) -> Result<(), Failure> {
        match self.0 {
            Handle::Writer(db) => Ok(db.close()?),
            Handle::Reader(_) => Ok(()),
        }
    }

    /// Returns the database for writing.
    fn writer(&self) -> Result<&Db, Failure> {
        match &self.0 {
            Handle::Writer(db) => Ok(db),
            Handle::Reader(_) => {
                Err(Failure::invalid("the database was opened for reading only: use fpdb_open"))
            }
        }
    }

    /// Returns a snapshot. A child that was forked gets one, too.
    fn snapshot(&self) -> Snapshot {
        match &self.0 {
            Handle::Writer(db) => db.snapshot(),
            Handle::Reader(db) => db.snapshot(),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.snapshot().len()
    }

    /// Writes documents in one commit.
    pub(crate) fn insert_if_novel(
        &self,
        documents: &[(u64, Key<'_>)],
    ) -> Result<Vec<FpdbOutcome>, Failure> {
        let db = self.writer()?;
        let distance = db.description().max_distance;
        let outcomes = db.write(documents).unless_near(distance).run()?;
        let pairs = documents.iter().zip(outcomes);
        Ok(pairs.map(|((fingerprint, _), result)| outcome(*fingerprint, result)).collect())
    }

    pub(crate) fn upsert_if_novel(
        &self,
        fingerprint: u64,
        key: Key<'_>,
        stamp: Option<u64>,
    ) -> Result<FpdbOutcome, Failure> {
        let result = self.writer()?.upsert_if_novel(fingerprint, Stamped { key, stamp })?;
        Ok(outcome(fingerprint, result))
    }

    pub(crate) fn remove(&self, key: Key<'_>) -> Result<bool, Failure> {
        Ok(self.writer()?.remove(key)?)
    }

    pub(crate) fn touch(&self, key: Key<'_>, stamp: u64) -> Result<bool, Failure> {
        Ok(self.writer()?.touch(key, stamp)?)
    }

    /// Returns how many documents were removed.
    pub(crate) fn expire(&self, before: u64) -> Result<u64, Failure> {
        Ok(self.writer()?.expire(before)?.removed)
    }

    pub(crate) fn query(&self, fingerprint: u64, distance: u32) -> Result<Vec<FpdbMatch>, Failure> {
        let found = match &self.0 {
            Handle::Writer(db) => db.query(fingerprint, distance)?,
            Handle::Reader(db) => db.snapshot().query(fingerprint, distance)?.to_vec(),
        };
        Ok(found.into_iter().map(FpdbMatch::from).collect())
    }

    pub(crate) fn get(&self, key: Key<'_>) -> Result<Option<FpdbDocument>, Failure> {
        let document = match &self.0 {
            Handle::Writer(db) => db.get(key)?,
            Handle::Reader(db) => db.snapshot().get(key)?,
        };
        Ok(document.map(FpdbDocument::from))
    }

    /// Returns the name of a document.
    pub(crate) fn name(&self, id: u64) -> Result<Option<String>, Failure> {
        Ok(self.snapshot().name(DocId(id))?)
    }

    /// Returns whether there is anything new.
    pub(crate) fn refresh(&self) -> Result<bool, Failure> {
        match &self.0 {
            Handle::Writer(_) => Ok(false),
            Handle::Reader(db) => Ok(db.refresh()?),
        }
    }

    pub(crate) fn flush(&self) -> Result<(), Failure> {
        Ok(self.writer()?.flush()?)
    }

    pub(crate) fn compact(&self) -> Result<(), Failure> {
        let _ = self.writer()?.compact()?;
        Ok(())
    }

    pub(crate) fn backup(&self, path: &str) -> Result<(), Failure> {
        match &self.0 {
            Handle::Writer(db) => Ok(db.backup(path)?),
            Handle::Reader(db) => Ok(db.backup(path)?),
        }
    }

    /// Fails with the first damage.
    pub(crate) fn verify(&self, quick: bool) -> Result<(), Failure> {
        let level = if quick { VerifyLevel::Quick } else { VerifyLevel::Full };
        let report = self.snapshot().verify(level)?;
        let Some(first) = report.errors.first() else { return Ok(()) };
        let more = match report.errors.len() - 1 {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        Err(Failure { code: FpdbCode::Corruption, message: format!("{first}{more}") })
    }

    pub(crate) fn release_memory(&self) {
        match &self.0 {
            Handle::Writer(db) => db.release_memory(),
            Handle::Reader(db) => db.release_memory(),
        }
    }
}

impl FpdbRecipe {
    pub(crate) fn named(name: &str) -> Result<Self, Failure> {
        Ok(Self(Recipe::named(name)?))
    }

    pub(crate) fn fingerprint(&self, text: &str) -> Option<u64> {
        self.0.fingerprint(text).fingerprint
    }
}
