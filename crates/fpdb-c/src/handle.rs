//! What the handles hold, and what is done with them: everything that needs no pointers.

use std::sync::atomic::{AtomicU64, Ordering};

use fpdb::text::Recipe;
use fpdb::{Db, Durability, Ids, Key, Match, Options, Outcome};

use crate::code::Failure;

/// An open database. It may be used by many threads at the same time.
#[derive(Debug)]
pub struct FpdbDb(Db);

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
}

/// What became of a document, and which document decided about it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FpdbOutcome {
    /// What became of it.
    pub kind: FpdbOutcomeKind,
    /// The document itself if it was inserted. Otherwise the nearest one, or the one that exists.
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
    match outcome {
        Outcome::Duplicate(near) => found(FpdbOutcomeKind::Duplicate, near),
        Outcome::Exists(known) => found(FpdbOutcomeKind::Exists, known),
        other => {
            let inserted = Match { distance: 0, fingerprint, id: other.id() };
            found(FpdbOutcomeKind::Inserted, inserted)
        }
    }
}

/// The memory for pages of databases that are opened from now on; 0 if it follows what is available.
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
        Ok(Self(options.create(path)?))
    }

    pub(crate) fn open(path: &str, buffered: bool) -> Result<Self, Failure> {
        Ok(Self(options(buffered).open(path)?))
    }

    pub(crate) fn close(self) -> Result<(), Failure> {
        Ok(self.0.close()?)
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.snapshot().len()
    }

    /// Writes documents in one commit.
    pub(crate) fn insert_if_novel(
        &self,
        documents: &[(u64, Key<'_>)],
    ) -> Result<Vec<FpdbOutcome>, Failure> {
        let distance = self.0.description().max_distance;
        let outcomes = self.0.write(documents).unless_near(distance).run()?;
        let pairs = documents.iter().zip(outcomes);
        Ok(pairs.map(|((fingerprint, _), result)| outcome(*fingerprint, result)).collect())
    }

    pub(crate) fn query(&self, fingerprint: u64, distance: u32) -> Result<Vec<FpdbMatch>, Failure> {
        Ok(self.0.query(fingerprint, distance)?.into_iter().map(FpdbMatch::from).collect())
    }

    /// Returns the name of a document.
    pub(crate) fn name(&self, id: u64) -> Result<Option<String>, Failure> {
        Ok(self.0.snapshot().name(fpdb::DocId(id))?)
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
