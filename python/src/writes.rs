//! Writes of many documents.

use fpdb::{DocId, Entry, OnDuplicate, Outcome, Within};
use pyo3::prelude::*;

use crate::arrays::{array, byte, with_numbers};
use crate::errors::OrRaise;
use crate::interrupt::cancellable;
use crate::keys::{Keys, expect_as_many};
use crate::options::one_of;
use crate::results::named_tuple;
use crate::width::Bits;

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

impl Columns {
    fn push<F: Bits>(&mut self, outcome: &Outcome<F>) {
        // The kinds are numbered in the order of `OutcomeKind` in `_results.py`.
        let (kind, distance) = match outcome {
            Outcome::Inserted(_) => (0, 0),
            Outcome::Unchanged(_) => (1, 0),
            Outcome::UnchangedDuplicate { of, .. } => (1, of.distance),
            Outcome::Updated { distance, .. } => (2, *distance),
            Outcome::Duplicate(found) => (3, found.distance),
        };
        self.novel.push(!outcome.is_duplicate());
        self.ids.push(outcome.id().0);
        self.distances.push(byte(distance));
        self.kinds.push(kind);
    }
}

pub(crate) fn write<'py, F: Bits>(
    db: &fpdb::Db<F>,
    fingerprints: &Bound<'py, PyAny>,
    keys: Keys<'_, 'py>,
    conditions: Conditions,
) -> PyResult<Bound<'py, PyAny>> {
    let py = fingerprints.py();
    let mut columns = Columns::default();
    keys.write(fingerprints, |documents| {
        let outcomes = py.detach(|| {
            let mut write = db.write(documents);
            if let Some(distance) = conditions.unless_near {
                write = write.unless_near(distance);
            }
            if let Some(on_duplicate) = conditions.or_update {
                write = write.or_update(on_duplicate);
            }
            write.run()
        });
        outcomes.or_raise()?.iter().for_each(|outcome| columns.push(outcome));
        Ok(())
    })?;
    let Columns { novel, ids, distances, kinds } = columns;
    let columns = (array(py, novel), array(py, ids), array(py, distances), array(py, kinds));
    named_tuple(py, "Outcomes", columns)
}

pub(crate) fn bulk_load<'py, F: Bits>(
    db: &fpdb::Db<F>,
    fingerprints: &Bound<'py, PyAny>,
    ids: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = fingerprints.py();
    let report = F::with_batch(fingerprints, |fingerprints| {
        with_numbers(ids, "id", |ids| {
            expect_as_many(fingerprints.len(), ids.len(), "ids")?;
            let entries = fingerprints.iter().zip(ids);
            let entries = entries.map(|(&f, &id)| Ok(Entry { fingerprint: f, id: DocId(id) }));
            cancellable(py, db, |db| db.bulk_load(entries))
        })
    })?;
    named_tuple(py, "LoadReport", (report.read, report.inserted))
}
