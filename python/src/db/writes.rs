//! Writes of many documents.

use std::io;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use fpdb::{DocId, Entry, OnDuplicate, Outcome, Within};
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::base::arrays::{array, byte, type_error, type_name, with_numbers};
use crate::base::errors::OrRaise;
use crate::base::interrupt::{Cancellable, cancellable, interruptible_while};
use crate::base::width::Bits;
use crate::db::documents::Documents;
use crate::db::keys::{Keys, expect_as_many};
use crate::db::options::one_of;
use crate::db::results::named_tuple;

/// On which conditions documents are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conditions {
    unless_near: Option<Within>,
    or_update: Option<OnDuplicate>,
}

impl Conditions {
    /// Takes what the caller gave.
    pub(crate) fn new(
        unless_near: Option<Within>,
        or_update: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        const CHOICES: [(&str, OnDuplicate); 3] = [
            ("keep", OnDuplicate::Keep),
            ("remove", OnDuplicate::Remove),
            ("remember", OnDuplicate::Remember),
        ];
        let or_update = or_update.map(|name| one_of("or_update", name, &CHOICES)).transpose()?;
        Ok(Self { unless_near, or_update })
    }
}

/// What became of each document.
#[derive(Default)]
struct Columns {
    novel: Vec<bool>,
    ids: Vec<u64>,
    distances: Vec<u8>,
    kinds: Vec<u8>,
}

/// The id in the outcome of a document that was not written, because its text is too short.
const NO_ID: u64 = u64::MAX;

impl Columns {
    /// Adds what became of the next documents, as long as these have no fingerprint.
    fn push_too_short<F>(&mut self, documents: Documents<'_, F>) {
        while self.kinds.len() < documents.len() && !documents.has_one(self.kinds.len()) {
            self.novel.push(true);
            self.ids.push(NO_ID);
            self.distances.push(0);
            // `OutcomeKind.TOO_SHORT` in `_results.py`.
            self.kinds.push(4);
        }
    }

    fn push<F: Bits>(&mut self, outcome: &Outcome<F>) {
        // The kinds are numbered in the order of `OutcomeKind` in `_results.py`.
        let (kind, distance) = match outcome {
            Outcome::Inserted(_) => (0, 0),
            Outcome::Unchanged(_) => (1, 0),
            Outcome::UnchangedDuplicate { of, .. } => (1, of.distance),
            Outcome::Updated { distance, .. } => (2, *distance),
            Outcome::Duplicate(found) => (3, found.distance),
            Outcome::Exists(found) => (5, found.distance),
        };
        self.novel.push(!outcome.is_duplicate());
        self.ids.push(outcome.id().0);
        self.distances.push(byte(distance));
        self.kinds.push(kind);
    }
}

pub(crate) fn write<'py, F: Bits>(
    db: &fpdb::Db<F>,
    py: Python<'py>,
    documents: Documents<'_, F>,
    keys: Keys<'_, 'py>,
    conditions: Conditions,
) -> PyResult<Bound<'py, PyAny>> {
    let mut columns = Columns::default();
    keys.write(py, documents, |some| {
        let outcomes = py.detach(|| {
            let mut write = db.write(some);
            if let Some(distance) = conditions.unless_near {
                write = write.unless_near(distance);
            }
            if let Some(on_duplicate) = conditions.or_update {
                write = write.or_update(on_duplicate);
            }
            write.run()
        });
        for outcome in &outcomes.or_raise()? {
            columns.push_too_short(documents);
            columns.push(outcome);
        }
        Ok(())
    })?;
    columns.push_too_short(documents);
    let Columns { novel, ids, distances, kinds } = columns;
    let columns = (array(py, novel), array(py, ids), array(py, distances), array(py, kinds));
    named_tuple(py, "Outcomes", columns)
}

/// Lets `work` read the entries that fingerprints and ids make.
fn with_entries<F: Bits, T>(
    fingerprints: &Bound<'_, PyAny>,
    ids: &Bound<'_, PyAny>,
    work: impl FnOnce(&mut (dyn Iterator<Item = Entry<F>> + Send)) -> PyResult<T>,
) -> PyResult<T> {
    F::with_batch(fingerprints, |fingerprints| {
        with_numbers(ids, "id", |ids| {
            expect_as_many(fingerprints.len(), ids.len(), "ids")?;
            let entries = fingerprints.iter().zip(ids);
            work(&mut entries.map(|(&fingerprint, &id)| Entry { fingerprint, id: DocId(id) }))
        })
    })
}

pub(crate) fn bulk_load<'py, F: Bits>(
    db: &fpdb::Db<F>,
    fingerprints: &Bound<'py, PyAny>,
    ids: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = fingerprints.py();
    let report = with_entries(fingerprints, ids, |entries| {
        cancellable(py, db, |db| db.bulk_load(entries.map(Ok)))
    })?;
    named_tuple(py, "LoadReport", (report.read, report.inserted))
}

/// Chunks that are read before the database has taken them.
const AHEAD: usize = 2;
/// How long to wait before the next attempt to pass on a chunk.
const PAUSE: Duration = Duration::from_millis(1);

/// Loads the chunks of an iterator, which runs on this thread.
pub(crate) fn bulk_load_chunks<'py, F: Bits>(
    db: &fpdb::Db<F>,
    chunks: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = chunks.py();
    let chunks = chunks.try_iter()?;
    let (sender, receiver) = sync_channel(AHEAD);
    let read = || {
        let passed = pass_on(&chunks, &sender);
        if passed.is_err() {
            // This error only ends the load. The caller gets the exception.
            let ended = fpdb::Error::from_input(io::Error::other("the chunks ended early"));
            let _ = py.detach(|| sender.send(Err(ended)));
        }
        drop(sender);
        passed
    };
    let report = interruptible_while(py, read, |cancel| {
        let entries = receiver.into_iter().flat_map(|chunk| match chunk {
            Ok(entries) => entries.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        });
        db.until(cancel).bulk_load(entries)
    })?;
    let report = report.or_raise()?;
    named_tuple(py, "LoadReport", (report.read, report.inserted))
}

/// Passes on chunks until there are no more, or nobody wants more.
fn pass_on<F: Bits>(
    chunks: &Bound<'_, PyIterator>,
    sender: &SyncSender<fpdb::Result<Vec<Entry<F>>>>,
) -> PyResult<()> {
    let py = chunks.py();
    for (number, chunk) in chunks.clone().enumerate() {
        let chunk = chunk?;
        let Ok((fingerprints, ids)) = chunk.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()
        else {
            let message = format!(
                "chunk {number} must be a pair of fingerprints and ids, not {}",
                type_name(&chunk)
            );
            return Err(type_error(message));
        };
        let mut message = Ok(with_entries(&fingerprints, &ids, |entries| Ok(entries.collect()))?);
        loop {
            message = match sender.try_send(message) {
                Ok(()) => break,
                Err(TrySendError::Full(message)) => message,
                Err(TrySendError::Disconnected(_)) => return Ok(()),
            };
            py.check_signals()?;
            py.detach(|| thread::sleep(PAUSE));
        }
    }
    Ok(())
}
