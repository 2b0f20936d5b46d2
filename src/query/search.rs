//! How databases of each type of fingerprint are searched.

use super::batch::{Answers, Batch};
use super::explain::PlannedSegment;
use super::options::{NewMatch, QueryOptions, Within};
use super::planner::Planner;
use super::view::View;
use super::{bands, tables};
use crate::base::error::Result;
use crate::fingerprint::{Entry, Fingerprint, Match, PerWidth, Sketch, Word};
use crate::store::memtable::Memtable;

/// Answers a query.
type Query<F> = fn(&View<'_, F>, F, QueryOptions) -> Result<Vec<Match<F>>>;
/// Appends the answers to several queries, until there are more than so many matches.
type QueryEach<F> = fn(&View<'_, F>, &[F], QueryOptions, usize, &mut Answers<F>) -> Result<bool>;
/// Finds the nearest match.
type Nearest<F> = fn(&View<'_, F>, F, Within) -> Result<Option<Match<F>>>;
/// Finds the nearest match among the entries of a memtable that are new, and its commit.
type NearestNew<F> = fn(&Planner, &Memtable<F>, &NewMatch<'_, F>) -> Option<(Match<F>, u64)>;
/// Answers a batch of queries in one pass.
type Sweep<F> = fn(&View<'_, F>, &Batch<'_, F>) -> Result<Option<Answers<F>>>;
/// Appends the ids of some fingerprints.
type Ids<F> = fn(&View<'_, F>, &[F], usize, &mut Vec<Entry<F>>) -> Result<()>;

/// How databases of one type of fingerprint are searched.
struct Search<F: Fingerprint> {
    query: Query<F>,
    query_each: QueryEach<F>,
    nearest: Nearest<F>,
    nearest_new: NearestNew<F>,
    matches: fn(&View<'_, F>, F, F) -> bool,
    sweep_pays: fn(&View<'_, F>, usize, Within) -> bool,
    sweep: Sweep<F>,
    ids_of_each: Ids<F>,
    plan: fn(&View<'_, F>, Within) -> Vec<PlannedSegment>,
}

struct Searches;

impl PerWidth for Searches {
    type At<F: Fingerprint> = Search<F>;
}

/// Searches tables of fingerprints.
const fn of_words<W: Word>() -> Search<W> {
    Search {
        query: tables::query,
        query_each: tables::query_each,
        nearest: tables::nearest,
        nearest_new: tables::nearest_new,
        matches: tables::are_near,
        sweep_pays: tables::sweep_pays,
        sweep: tables::sweep,
        ids_of_each: tables::ids_of_each,
        plan: tables::plan,
    }
}

/// Searches tables of bands.
const OF_SKETCHES: Search<Sketch> = Search {
    query: bands::query,
    query_each: bands::query_each,
    nearest: bands::nearest,
    nearest_new: bands::nearest_new,
    matches: bands::are_similar,
    sweep_pays: |_, _, _| false,
    sweep: |_, _| Ok(None),
    ids_of_each: bands::ids_of_each,
    plan: bands::plan,
};

impl Planner {
    /// Returns the nearest match of a memtable that a write looks for, and its commit.
    pub(crate) fn nearest_new<F: Fingerprint>(
        &self,
        memtable: &Memtable<F>,
        wanted: &NewMatch<'_, F>,
    ) -> Option<(Match<F>, u64)> {
        (search::<F>().nearest_new)(self, memtable, wanted)
    }
}

#[inline(always)]
fn search<F: Fingerprint>() -> Search<F> {
    F::choose::<Searches>(of_words(), of_words(), OF_SKETCHES)
}

impl<F: Fingerprint> View<'_, F> {
    /// Returns all matches, each once, sorted by distance, fingerprint, id.
    pub(crate) fn query(&self, fingerprint: F, options: QueryOptions) -> Result<Vec<Match<F>>> {
        (search::<F>().query)(self, fingerprint, options)
    }

    /// Appends the answers to several queries. Returns whether `answers` has at most `most` matches
    /// then; if not, the last ones are missing.
    pub(crate) fn query_each(
        &self,
        fingerprints: &[F],
        options: QueryOptions,
        most: usize,
        answers: &mut Answers<F>,
    ) -> Result<bool> {
        (search::<F>().query_each)(self, fingerprints, options, most, answers)
    }

    /// Says how each segment is searched.
    pub(super) fn plan(&self, within: Within) -> Vec<PlannedSegment> {
        (search::<F>().plan)(self, within)
    }

    /// Returns the nearest match. Of several, it is the one with the lowest fingerprint and id.
    pub(crate) fn nearest(&self, fingerprint: F, within: Within) -> Result<Option<Match<F>>> {
        (search::<F>().nearest)(self, fingerprint, within)
    }

    /// Returns whether two fingerprints match by the rule.
    pub(crate) fn is_match(&self, a: F, b: F) -> bool {
        (search::<F>().matches)(self, a, b)
    }

    /// Returns whether this many queries are answered faster in a [sweep](Self::sweep) than one by
    /// one.
    pub(crate) fn sweep_pays(&self, queries: usize, within: Within) -> bool {
        (search::<F>().sweep_pays)(self, queries, within)
    }

    /// Answers the queries of a batch in one sweep. Returns `None` if more is found than the batch
    /// allows.
    pub(crate) fn sweep(&self, batch: &Batch<'_, F>) -> Result<Option<Answers<F>>> {
        (search::<F>().sweep)(self, batch)
    }

    /// Appends the live ids of each of these fingerprints, which ascend: at most `limit` each,
    /// ascending.
    pub(crate) fn ids_of_each(
        &self,
        fingerprints: &[F],
        limit: usize,
        out: &mut Vec<Entry<F>>,
    ) -> Result<()> {
        (search::<F>().ids_of_each)(self, fingerprints, limit, out)
    }
}
