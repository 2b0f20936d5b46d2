//! Searches for pairs and clusters.

use std::collections::HashMap;
use std::ops::ControlFlow;

use fpdb::{ClusterMethod, DocId, Entry, Found, Pair, Snapshot, Within};
use pyo3::prelude::*;

use crate::base::arrays::{array, byte};
use crate::base::errors::OrRaise;
use crate::base::interrupt::{Cancellable, cancellable, interruptible};
use crate::base::numbers::{Distance, Number, within};
use crate::base::width::Bits;
use crate::db::chunks::{PairChunk, PairIterator, ROWS, Sink};
use crate::db::options::one_of;
use crate::db::results::named_tuple;

/// What a search is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    pub(crate) within: Within,
    pub(crate) memory: Option<u64>,
    pub(crate) threads: Option<usize>,
}

impl Search {
    /// Takes what the caller gave.
    pub(crate) fn new(
        distance: Option<Distance>,
        memory: Option<Number>,
        threads: Option<Number>,
    ) -> Self {
        let memory = memory.map(|Number(bytes)| bytes);
        Self { within: within(distance), memory, threads: threads.map(Number::count) }
    }
}

/// Sets the memory and the threads of a search, if the caller gave them.
macro_rules! tuned {
    ($search:expr, $tuning:expr) => {{
        let mut search = $search;
        if let Some(bytes) = $tuning.memory {
            search = search.memory(bytes);
        }
        if let Some(threads) = $tuning.threads {
            search = search.threads(threads);
        }
        search
    }};
}

/// Collects pairs into chunks.
struct Collector<'a> {
    chunk: PairChunk,
    send: Sink<'a, PairChunk>,
    is_stopped: bool,
}

impl<'a> Collector<'a> {
    fn new(send: Sink<'a, PairChunk>) -> Self {
        Self { chunk: PairChunk::default(), send, is_stopped: false }
    }

    fn push(&mut self, a: DocId, b: DocId, distance: u32) {
        self.chunk.a.push(a.0);
        self.chunk.b.push(b.0);
        self.chunk.distances.push(byte(distance));
        if self.chunk.a.len() == ROWS {
            self.pass_on();
        }
    }

    fn push_all<F: Bits>(&mut self, pairs: &[Pair<F>]) -> ControlFlow<()> {
        for Pair { a, b, distance } in pairs {
            self.push(a.id, b.id, *distance);
        }
        self.flow()
    }

    fn pass_on(&mut self) {
        let chunk = std::mem::take(&mut self.chunk);
        self.is_stopped |= self.is_stopped || !chunk.a.is_empty() && !(self.send)(chunk);
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The lowest ids of the groups that come in several parts.
struct Groups<F>(HashMap<F, DocId>);

impl<F> Default for Groups<F> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<F: Bits> Groups<F> {
    /// Only a group that is longer comes in several parts, and the first part is at least as long.
    const PART: usize = 1 << 16;

    /// Returns the lowest id of a group, of which these ids are a part. The part with the lowest id
    /// comes first.
    fn first(&mut self, fingerprint: F, ids: &[DocId]) -> Option<DocId> {
        let lowest = *ids.first()?;
        if ids.len() >= Self::PART {
            return Some(*self.0.entry(fingerprint).or_insert(lowest));
        }
        Some(self.0.get(&fingerprint).copied().unwrap_or(lowest))
    }
}

/// Begins a search for all pairs of one database.
pub(crate) fn pairs<F: Bits>(
    snapshot: Snapshot<F>,
    tuning: Search,
    expand: bool,
) -> PyResult<PairIterator> {
    PairIterator::start(move |cancel, send| {
        let mut collector = Collector::new(send);
        let mut groups = Groups::default();
        let snapshot = snapshot.on_progress(cancel.progress());
        let search = tuned!(snapshot.pairs(tuning.within), tuning).expand(expand);
        search.visit(|found| {
            match found {
                Found::Pairs(pairs) => return collector.push_all(pairs),
                Found::Group { fingerprint, ids } => {
                    let Some(first) = groups.first(fingerprint, ids) else {
                        return collector.flow();
                    };
                    let others = ids.iter().filter(|&&id| id != first);
                    others.for_each(|&id| collector.push(first, id, 0));
                }
            }
            collector.flow()
        })?;
        collector.pass_on();
        Ok(())
    })
}

/// What a database is joined with.
pub(crate) enum Other<F: Bits> {
    Database(Snapshot<F>),
    List(Vec<Entry<F>>),
}

impl<F: Bits> Other<F> {
    /// Returns the fingerprints of an array, with their positions as ids.
    pub(crate) fn list(fingerprints: &Bound<'_, PyAny>) -> PyResult<Self> {
        F::with_batch(fingerprints, |some| {
            let entry = |(id, &fingerprint)| Entry { fingerprint, id: DocId(id) };
            Ok(Self::List((0..).zip(some).map(entry).collect()))
        })
    }
}

/// Begins a search for all pairs of a database and another one, or a list.
pub(crate) fn join<F: Bits>(
    snapshot: Snapshot<F>,
    other: Other<F>,
    tuning: Search,
    nearest: bool,
) -> PyResult<PairIterator> {
    PairIterator::start(move |cancel, send| {
        let mut collector = Collector::new(send);
        let snapshot = snapshot.on_progress(cancel.progress());
        let join = match other {
            Other::Database(ref other) => snapshot.join(other, tuning.within),
            Other::List(entries) => snapshot.join_list(entries, tuning.within),
        };
        let join = tuned!(join, tuning);
        let visit = |pairs: &[Pair<F>]| collector.push_all(pairs);
        if nearest {
            join.nearest(visit)?
        } else {
            join.visit(visit)?
        };
        collector.pass_on();
        Ok(())
    })
}

/// Counts the pairs of one database by distance.
pub(crate) fn count<F: Bits>(
    py: Python<'_>,
    snapshot: &Snapshot<F>,
    tuning: &Search,
) -> PyResult<Vec<u64>> {
    cancellable(py, snapshot, |snapshot| tuned!(snapshot.pairs(tuning.within), tuning).count())
}

/// Returns the method with this name.
pub(crate) fn cluster_method(name: Option<&Bound<'_, PyAny>>) -> PyResult<ClusterMethod> {
    const METHODS: [(&str, ClusterMethod); 2] =
        [("keep-first", ClusterMethod::KeepFirst), ("components", ClusterMethod::Components)];
    name.map_or(Ok(ClusterMethod::default()), |name| one_of("method", name, &METHODS))
}

/// Finds all clusters.
pub(crate) fn clusters<'py, F: Bits>(
    py: Python<'py>,
    snapshot: &Snapshot<F>,
    tuning: &Search,
    method: ClusterMethod,
) -> PyResult<Bound<'py, PyAny>> {
    let (offsets, ids, radii) = interruptible(py, |cancel| {
        let (mut offsets, mut ids, mut radii) = (vec![0i64], Vec::new(), Vec::new());
        let snapshot = snapshot.until(cancel);
        let search = tuned!(snapshot.clusters(tuning.within), tuning).method(method);
        search.visit(|cluster| {
            ids.extend(cluster.members.iter().map(|member| member.id.0));
            offsets.push(ids.len() as i64);
            radii.push(byte(cluster.radius));
            if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok::<_, fpdb::Error>((offsets, ids, radii))
    })?
    .or_raise()?;
    named_tuple(py, "Clusters", (array(py, offsets), array(py, ids), array(py, radii)))
}
