//! Answers to queries.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fpdb::text::Recipe;
use fpdb::{Answers, DocId, ErrorKind, QueryOptions, Snapshot, Within};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::base::arrays::{array, byte};
use crate::base::errors::OrRaise;
use crate::base::interrupt::cancellable;
use crate::base::numbers::Number;
use crate::base::width::Bits;
use crate::db::documents::Documents;
use crate::db::results::{Match, named_tuple};

pub(crate) fn options(
    within: Within,
    limit: Option<Number>,
    since: Option<Number>,
) -> QueryOptions {
    let mut options = QueryOptions::within(within);
    if let Some(limit) = limit {
        options = options.limit(limit.count());
    }
    if let Some(Number(stamp)) = since {
        options = options.since(stamp);
    }
    options
}

pub(crate) fn query<'py, F: Bits>(
    snapshot: &Snapshot<F>,
    fingerprint: &Bound<'py, PyAny>,
    options: QueryOptions,
) -> PyResult<Bound<'py, PyList>> {
    let py = fingerprint.py();
    let fingerprint = F::from_object(fingerprint)?;
    let matches = py.detach(|| snapshot.query(fingerprint, options)).or_raise()?;
    PyList::new(py, matches.into_iter().map(Match::from))
}

/// Returns `None` for a text that is too short to be compared.
pub(crate) fn query_text<'py, F: Bits>(
    py: Python<'py>,
    snapshot: &Snapshot<F>,
    recipe: &Recipe<F>,
    text: &str,
    options: QueryOptions,
) -> PyResult<Option<Bound<'py, PyList>>> {
    let matches = py.detach(|| snapshot.query_text(recipe, text, options)).or_raise()?;
    matches.map(|matches| PyList::new(py, matches.into_iter().map(Match::from))).transpose()
}

pub(crate) fn nearest<F: Bits>(
    snapshot: &Snapshot<F>,
    fingerprint: &Bound<'_, PyAny>,
    within: Within,
) -> PyResult<Option<Match>> {
    let py = fingerprint.py();
    let fingerprint = F::from_object(fingerprint)?;
    let found = py.detach(|| snapshot.nearest(fingerprint, within)).or_raise()?;
    Ok(found.map(Match::from))
}

pub(crate) fn query_batch<'py, F: Bits>(
    snapshot: &Snapshot<F>,
    py: Python<'py>,
    queries: Documents<'_, F>,
    within: Within,
) -> PyResult<Bound<'py, PyAny>> {
    let answers = answer(py, snapshot, queries.fingerprints, within)?;
    let Columns { offsets, ids, distances } = answers.spread(queries);
    named_tuple(py, "Answers", (array(py, offsets), array(py, ids), array(py, distances)))
}

/// Queries that show how long the others of a batch will take.
const SAMPLE: u32 = 1 << 8;
/// How long a batch may take that cannot be interrupted.
const UNINTERRUPTED: Duration = Duration::from_millis(100);

/// Answers a batch. One that takes long can be interrupted. A short one is answered on this thread,
/// because the memory of a new one is cold, which costs a millisecond.
fn answer<F: Bits>(
    py: Python<'_>,
    snapshot: &Snapshot<F>,
    fingerprints: &[F],
    within: Within,
) -> PyResult<Columns> {
    let (sample, rest) = fingerprints.split_at(fingerprints.len().min(SAMPLE as usize));
    let begun = Instant::now();
    let Some(mut columns) = answer_at_once(py, snapshot, sample, within)? else {
        return answer_on_a_thread(py, snapshot, fingerprints, within);
    };
    if rest.is_empty() {
        return Ok(columns);
    }
    let per_query = begun.elapsed() / SAMPLE;
    let expected = per_query.saturating_mul(u32::try_from(rest.len()).unwrap_or(u32::MAX));
    let others = match expected < UNINTERRUPTED {
        true => answer_at_once(py, snapshot, rest, within)?,
        false => None,
    };
    columns.append(match others {
        Some(others) => others,
        None => answer_on_a_thread(py, snapshot, rest, within)?,
    });
    Ok(columns)
}

/// Answers a batch on this thread, where it cannot be interrupted. Returns `None` if that takes too
/// long.
fn answer_at_once<F: Bits>(
    py: Python<'_>,
    snapshot: &Snapshot<F>,
    fingerprints: &[F],
    within: Within,
) -> PyResult<Option<Columns>> {
    let begun = Instant::now();
    let snapshot = snapshot.clone().on_progress(move |_| match begun.elapsed() < UNINTERRUPTED {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    });
    let found = py.detach(|| snapshot.query_batch(fingerprints, within).map(Columns::from));
    match found {
        Err(error) if error.kind() == ErrorKind::Cancelled => Ok(None),
        found => found.or_raise().map(Some),
    }
}

fn answer_on_a_thread<F: Bits>(
    py: Python<'_>,
    snapshot: &Snapshot<F>,
    fingerprints: &[F],
    within: Within,
) -> PyResult<Columns> {
    cancellable(py, snapshot, |snapshot| {
        snapshot.query_batch(fingerprints, within).map(Columns::from)
    })
}

/// The answers to a batch: where those of each query begin, and the ids and distances of all.
struct Columns {
    offsets: Vec<i64>,
    ids: Vec<u64>,
    distances: Vec<u8>,
}

impl<F: Bits> From<Answers<F>> for Columns {
    fn from(answers: Answers<F>) -> Self {
        let matches = answers.matches();
        Self {
            offsets: answers.offsets().iter().map(|&offset| offset as i64).collect(),
            ids: matches.iter().map(|found| found.id.0).collect(),
            distances: matches.iter().map(|found| byte(found.distance)).collect(),
        }
    }
}

impl Columns {
    /// Adds the queries without a fingerprint, which have no answers.
    fn spread<F>(mut self, queries: Documents<'_, F>) -> Self {
        if self.offsets.len() <= queries.len() {
            let mut found = self.offsets.iter().copied();
            let mut end = found.next().unwrap_or(0);
            let ends = (0..queries.len()).map(|query| {
                if queries.has_one(query) {
                    end = found.next().unwrap_or(end);
                }
                end
            });
            self.offsets = std::iter::once(0).chain(ends).collect();
        }
        self
    }

    /// Adds the answers to more queries.
    fn append(&mut self, mut more: Self) {
        let before = self.ids.len() as i64;
        self.offsets.extend(more.offsets.iter().skip(1).map(|offset| offset + before));
        self.ids.append(&mut more.ids);
        self.distances.append(&mut more.distances);
    }
}

pub(crate) fn ids<'py, F: Bits>(
    snapshot: &Snapshot<F>,
    fingerprint: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = fingerprint.py();
    let fingerprint = F::from_object(fingerprint)?;
    let ids = py.detach(|| snapshot.ids(fingerprint)).or_raise()?;
    Ok(array(py, ids.into_iter().map(|DocId(id)| id).collect()))
}

pub(crate) fn contains<F: Bits>(
    snapshot: &Snapshot<F>,
    fingerprint: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    let py = fingerprint.py();
    let fingerprint = F::from_object(fingerprint)?;
    py.detach(|| snapshot.contains(fingerprint)).or_raise()
}
