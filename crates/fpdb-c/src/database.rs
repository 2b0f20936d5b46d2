//! What is done with a database, whatever its width: fingerprints are bytes here.

use std::fmt;

use fpdb::{
    Db, DocId, Document, Ids, Key, Match, OnDuplicate, Outcome, QueryOptions, ReadOnlyDb, Snapshot,
    Stamped, Stats, VerifyLevel, Within,
};

use crate::code::{Failure, FpdbCode};
use crate::structs::{
    FpdbDocument, FpdbIds, FpdbMatch, FpdbOutcome, FpdbOutcomeKind, FpdbStats, FpdbWriteMode,
};
use crate::width::Width;

/// How documents are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    pub(crate) mode: FpdbWriteMode,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) within: Within,
}

/// What a query found.
pub(crate) struct Found {
    /// The number of matches.
    pub(crate) number: usize,
    /// The first of them.
    pub(crate) matches: Vec<FpdbMatch>,
    /// The fingerprints of these, one after the other.
    pub(crate) fingerprints: Vec<u8>,
}

/// What has failed since the database was opened.
pub(crate) struct Failures {
    /// Why the handle takes no more writes.
    pub(crate) write: Option<String>,
    /// Why the last attempt in the background failed.
    pub(crate) background: Option<String>,
}

/// An open database. Fingerprints have [`size`](Self::size) bytes each.
pub(crate) trait Database: fmt::Debug + Send + Sync {
    fn size(&self) -> usize;
    fn bits(&self) -> u32;
    fn has_names(&self) -> bool;
    fn recipe(&self) -> Option<&str>;
    fn close(self: Box<Self>) -> Result<(), Failure>;
    /// Returns whether there is anything new.
    fn refresh(&self) -> Result<bool, Failure>;
    fn len(&self) -> u64;
    fn stats(&self) -> FpdbStats;
    fn failures(&self) -> Failures;

    /// Writes documents in one commit.
    fn write(
        &self,
        fingerprints: &[u8],
        keys: &[Stamped<'_>],
        how: How,
    ) -> Result<Vec<FpdbOutcome>, Failure>;
    fn remove(&self, key: Key<'_>) -> Result<bool, Failure>;
    fn remove_entry(&self, fingerprint: &[u8], id: u64) -> Result<bool, Failure>;
    fn touch(&self, key: Key<'_>, stamp: u64) -> Result<bool, Failure>;
    /// Returns how many documents were removed.
    fn expire(&self, before: u64) -> Result<u64, Failure>;

    /// Finds matches, of which at most `most` are returned.
    fn query(
        &self,
        fingerprint: &[u8],
        options: QueryOptions,
        most: usize,
    ) -> Result<Found, Failure>;
    /// Returns a document and its fingerprint.
    fn get(&self, key: Key<'_>) -> Result<Option<(FpdbDocument, Vec<u8>)>, Failure>;
    fn name(&self, id: u64) -> Result<Option<String>, Failure>;

    fn sync(&self) -> Result<(), Failure>;
    fn flush(&self) -> Result<(), Failure>;
    fn compact(&self) -> Result<(), Failure>;
    fn backup(&self, path: &str) -> Result<(), Failure>;
    /// Fails with the first damage.
    fn verify(&self, level: VerifyLevel) -> Result<(), Failure>;
    /// Reads into memory what queries need.
    fn warm(&self) -> Result<(), Failure>;
    fn release_memory(&self);
}

/// A database of one width.
#[derive(Debug)]
pub(crate) enum OfWidth<F: Width> {
    Writer(Db<F>),
    Reader(ReadOnlyDb<F>),
}

impl<F: Width> OfWidth<F> {
    /// Returns the database for writing.
    fn writer(&self) -> Result<&Db<F>, Failure> {
        match self {
            Self::Writer(db) => Ok(db),
            Self::Reader(_) => Err(Failure::invalid(
                "the database was opened for reading only: open it without read_only",
            )),
        }
    }

    /// Returns a snapshot.
    fn snapshot(&self) -> Snapshot<F> {
        match self {
            Self::Writer(db) => db.snapshot(),
            Self::Reader(db) => db.snapshot(),
        }
    }

    fn numbers(&self) -> Stats {
        match self {
            Self::Writer(db) => db.stats(),
            Self::Reader(db) => db.stats(),
        }
    }

    fn description(&self) -> &fpdb::Description {
        match self {
            Self::Writer(db) => db.description(),
            Self::Reader(db) => db.description(),
        }
    }
}

impl<F: Width> Database for OfWidth<F> {
    fn size(&self) -> usize {
        F::BYTES
    }

    fn bits(&self) -> u32 {
        F::BITS
    }

    fn has_names(&self) -> bool {
        self.description().ids == Ids::Names
    }

    fn recipe(&self) -> Option<&str> {
        self.description().recipe.as_deref()
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        match *self {
            Self::Writer(db) => Ok(db.close()?),
            Self::Reader(_) => Ok(()),
        }
    }

    fn refresh(&self) -> Result<bool, Failure> {
        match self {
            Self::Writer(_) => Ok(false),
            Self::Reader(db) => Ok(db.refresh()?),
        }
    }

    fn len(&self) -> u64 {
        self.snapshot().len()
    }

    fn stats(&self) -> FpdbStats {
        let stats = self.numbers();
        let count = |number: usize| number as u64;
        let jaccard = self.description().rule.jaccard();
        FpdbStats {
            size: size_of::<FpdbStats>(),
            entries: stats.entries,
            documents: stats.documents,
            duplicates: stats.duplicates,
            removed: stats.removed,
            segments: count(stats.segments.len()),
            disk_bytes: stats.bytes_total,
            log_bytes: stats.bytes_log,
            recent_entries: count(stats.memtable_entries),
            recent_bytes: count(stats.memtable_bytes),
            page_memory: stats.page_memory_bytes,
            page_memory_limit: stats.page_budget_bytes,
            index_memory: stats.index_loaded_bytes,
            flushed_bytes: stats.bytes_flushed,
            compacted_bytes: stats.bytes_compacted,
            stalled_microseconds: u64::try_from(stats.stalled.as_micros()).unwrap_or(u64::MAX),
            refused_writes: stats.refused_writes,
            similarity: jaccard.map_or(-1.0, fpdb::Jaccard::similarity),
            bits: stats.bits,
            max_distance: stats.max_distance,
            ids: FpdbIds::number(stats.ids),
            write_failed: stats.write_error.is_some().into(),
            background_failed: stats.background_error.is_some().into(),
            reserved: 0,
        }
    }

    fn failures(&self) -> Failures {
        let stats = self.numbers();
        Failures { write: stats.write_error, background: stats.background_error }
    }

    fn write(
        &self,
        fingerprints: &[u8],
        keys: &[Stamped<'_>],
        how: How,
    ) -> Result<Vec<FpdbOutcome>, Failure> {
        let db = self.writer()?;
        let fingerprints = fingerprints.chunks_exact(F::BYTES).map(F::of_c);
        let documents: Vec<(F, Stamped<'_>)> = fingerprints.zip(keys.iter().copied()).collect();
        let write = db.write(&documents);
        let outcomes = match how.mode {
            FpdbWriteMode::InsertIfNovel => write.unless_near(how.within),
            FpdbWriteMode::UpsertIfNovel => {
                write.unless_near(how.within).or_update(how.on_duplicate)
            }
            FpdbWriteMode::Always => write,
        }
        .run()?;
        let pairs = documents.iter().zip(outcomes);
        Ok(pairs.map(|((fingerprint, _), result)| outcome(*fingerprint, result)).collect())
    }

    fn remove(&self, key: Key<'_>) -> Result<bool, Failure> {
        Ok(self.writer()?.remove(key)?)
    }

    fn remove_entry(&self, fingerprint: &[u8], id: u64) -> Result<bool, Failure> {
        Ok(self.writer()?.remove_entry(F::of_c(fingerprint), id)?)
    }

    fn touch(&self, key: Key<'_>, stamp: u64) -> Result<bool, Failure> {
        Ok(self.writer()?.touch(key, stamp)?)
    }

    fn expire(&self, before: u64) -> Result<u64, Failure> {
        Ok(self.writer()?.expire(before)?.removed)
    }

    fn query(
        &self,
        fingerprint: &[u8],
        options: QueryOptions,
        most: usize,
    ) -> Result<Found, Failure> {
        let fingerprint = F::of_c(fingerprint);
        let found = match self {
            Self::Writer(db) => db.query(fingerprint, options)?,
            Self::Reader(db) => db.snapshot().query(fingerprint, options)?,
        };
        let first = &found[..found.len().min(most)];
        let mut fingerprints = Vec::with_capacity(first.len() * F::BYTES);
        first.iter().for_each(|found| found.fingerprint.put_c(&mut fingerprints));
        let matches = first.iter().map(|found| near(fingerprint, found)).collect();
        Ok(Found { number: found.len(), matches, fingerprints })
    }

    fn get(&self, key: Key<'_>) -> Result<Option<(FpdbDocument, Vec<u8>)>, Failure> {
        let document = match self {
            Self::Writer(db) => db.get(key)?,
            Self::Reader(db) => db.snapshot().get(key)?,
        };
        Ok(document.map(|document| {
            let mut bytes = Vec::with_capacity(F::BYTES);
            document.fingerprint.put_c(&mut bytes);
            (stored(&document), bytes)
        }))
    }

    fn name(&self, id: u64) -> Result<Option<String>, Failure> {
        Ok(self.snapshot().name(DocId(id))?)
    }

    fn sync(&self) -> Result<(), Failure> {
        Ok(self.writer()?.sync()?)
    }

    fn flush(&self) -> Result<(), Failure> {
        Ok(self.writer()?.flush()?)
    }

    fn compact(&self) -> Result<(), Failure> {
        let _ = self.writer()?.compact()?;
        Ok(())
    }

    fn backup(&self, path: &str) -> Result<(), Failure> {
        match self {
            Self::Writer(db) => Ok(db.backup(path)?),
            Self::Reader(db) => Ok(db.backup(path)?),
        }
    }

    fn verify(&self, level: VerifyLevel) -> Result<(), Failure> {
        let report = match self {
            Self::Writer(db) => db.verify(level)?,
            Self::Reader(db) => db.snapshot().verify(level)?,
        };
        let Some(first) = report.errors.first() else { return Ok(()) };
        let more = match report.errors.len() - 1 {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        Err(Failure { code: FpdbCode::Corruption, message: format!("{first}{more}") })
    }

    fn warm(&self) -> Result<(), Failure> {
        match self {
            Self::Writer(db) => Ok(db.warm()?),
            Self::Reader(db) => Ok(db.warm()?),
        }
    }

    fn release_memory(&self) {
        match self {
            Self::Writer(db) => db.release_memory(),
            Self::Reader(db) => db.release_memory(),
        }
    }
}

fn stored<F>(document: &Document<F>) -> FpdbDocument {
    FpdbDocument {
        size: size_of::<FpdbDocument>(),
        id: document.id.0,
        stamp: document.stamp.unwrap_or(0),
        duplicate_of: document.duplicate_of.map_or(0, |id| id.0),
        has_stamp: document.stamp.is_some().into(),
        is_duplicate: document.duplicate_of.is_some().into(),
    }
}

fn near<F: Width>(fingerprint: F, found: &Match<F>) -> FpdbMatch {
    FpdbMatch {
        id: found.id.0,
        similarity: Width::similarity(fingerprint, found.fingerprint).unwrap_or(-1.0),
        distance: found.distance,
        reserved: [0; 3],
    }
}

fn outcome<F: Width>(fingerprint: F, outcome: Outcome<F>) -> FpdbOutcome {
    let id = outcome.id();
    let itself = Match { distance: 0, fingerprint, id };
    let (kind, found) = match outcome {
        Outcome::Inserted(_) => (FpdbOutcomeKind::Inserted, itself),
        Outcome::Unchanged(_) => (FpdbOutcomeKind::Unchanged, itself),
        Outcome::Updated { from, distance, .. } => {
            (FpdbOutcomeKind::Updated, Match { distance, fingerprint: from, id })
        }
        Outcome::Duplicate(found) => (FpdbOutcomeKind::Duplicate, found),
        Outcome::UnchangedDuplicate { of, .. } => (FpdbOutcomeKind::UnchangedDuplicate, of),
        Outcome::Exists(found) => (FpdbOutcomeKind::Exists, found),
    };
    FpdbOutcome { kind, reserved: 0, document: near(fingerprint, &found) }
}
