//! The decisions of a deduplication: which rows of a chunk are like a row that is kept.

use std::cell::OnceCell;
use std::collections::HashSet;

use fpdb::Sketch;
use fpdb::text::jaccard::Mixed;

use super::{Comparer, Decision, MOST_CANDIDATES};
use crate::by_band::{ByBand, RowSet};
use crate::candidates::{Candidate, Candidates, Like};
use crate::interrupt::Cancel;
use crate::parallel;
use crate::rows::{Kind, Row};

/// Standard errors of an estimate beyond which it is sure: one pair in 700 is beyond, if its
/// similarity is on the other side.
const ERRORS: f64 = 3.0;

/// How similar a row is to a candidate.
struct Similarity {
    value: f64,
    /// Whether it is estimated from the sketches.
    is_estimated: bool,
}

impl Comparer {
    pub(super) fn is_unsure(&self, row: &Row, sketch: Sketch) -> bool {
        if row.kind != Kind::Sketch {
            return false;
        }
        let estimate = self.rows.recipe.similarity_of(row.sketch, sketch);
        self.rows.ngram.is_some()
            || estimate.is_none_or(|(similarity, error)| {
                (similarity - self.similarity).abs() <= ERRORS * error
            })
    }

    /// Decides about each row of the chunk. `None` if the candidates are not consistent.
    pub(super) fn decisions(
        &mut self,
        candidates: &Candidates<'_>,
        cancel: &Cancel,
    ) -> fpdb_dedup::Result<Option<Vec<Decision>>> {
        if !candidates.are_consistent(self.chunk.len(), self.before) {
            return Ok(None);
        }
        let (by_band, of_crowd) = (self.by_band(), self.of_crowd(cancel));
        let mut decided = Vec::with_capacity(self.chunk.len());
        // Documents that have given way to a row of the chunk.
        let mut gone = HashSet::new();
        for row in 0..self.chunk.len() {
            if cancel.is_cancelled() {
                break;
            }
            let mut near: Vec<_> = candidates.of(row).chain(self.near(&by_band, row)).collect();
            let mut has_more = false;
            if let Some((sets, are_some)) = of_crowd.get(row) {
                let looked_at_all = self.add_near_sets(row, sets, &mut near).map_err(Self::file)?;
                has_more = !looked_at_all || *are_some;
            }
            near.retain(|(_, like, _)| !gone.contains(like));
            near.sort_unstable();
            let is_crowded = has_more || near.len() > MOST_CANDIDATES;
            near.truncate(MOST_CANDIDATES);
            let mut decision = Decision { is_crowded, ..self.decide_row(row, &near, candidates)? };
            self.is_kept[row] = decision.like.is_none();
            if let Some(crowds) = &mut self.crowds
                && self.is_kept[row]
                && self.chunk[row].kind == Kind::Sketch
            {
                decision.is_in_crowd =
                    crowds.add(self.chunk[row].sketch, &self.chunk[row].features);
                self.in_crowd.extend(decision.is_in_crowd.then_some(row));
            }
            gone.extend(decision.replaced.iter().map(|&place| Like::Earlier(place)));
            decided.push(decision);
        }
        Ok(Some(decided))
    }

    fn decide_row(
        &mut self,
        row: usize,
        near: &[Candidate],
        candidates: &Candidates<'_>,
    ) -> fpdb_dedup::Result<Decision> {
        let mut decision = Decision::default();
        // Made once something is compared with it.
        let mixed = OnceCell::new();
        for &(distance, like, gives_way) in near {
            let similarity = self.similarity_of((row, &mixed), (distance, like), candidates)?;
            let Some(Similarity { value: similarity, is_estimated }) = similarity else { continue };
            match like {
                Like::Earlier(place) if gives_way => decision.replaced.push(place),
                // Of equally similar ones the nearest, and the first of these.
                _ if decision.like.is_none_or(|(_, most)| similarity > most) => {
                    decision.like = Some((like, similarity));
                    decision.is_estimated = is_estimated;
                    // No other one can be more similar.
                    if similarity >= 1.0 {
                        break;
                    }
                }
                _ => {}
            }
        }
        if decision.like.is_some() {
            decision.replaced.clear();
        }
        Ok(decision)
    }

    /// Returns how similar a row is to a candidate, if it is similar enough.
    fn similarity_of(
        &mut self,
        (row, mixed): (usize, &OnceCell<Mixed>),
        (distance, like): (u32, Like),
        candidates: &Candidates<'_>,
    ) -> fpdb_dedup::Result<Option<Similarity>> {
        let own = &self.chunk[row];
        if own.kind == Kind::Equality {
            return Ok((distance == 0).then_some(Similarity { value: 1.0, is_estimated: false }));
        }
        let Some(kept) = &mut self.kept else {
            return Ok(self.estimate(row, distance, like, candidates));
        };
        let value = match like {
            Like::Row(other) if other >= self.before => {
                own.features.jaccard(&self.chunk[other - self.before].features)
            }
            Like::Row(other) => own.features.jaccard(kept.of(other).map_err(Self::file)?),
            Like::Earlier(place) => match (&candidates.earlier[place], &mut self.stored) {
                (Some(features), _) => own.features.jaccard(features),
                (None, Some(stored)) => {
                    let mixed = mixed.get_or_init(|| stored.mixed(&own.features));
                    match stored.get(&candidates.names[place], candidates.sketches[place])? {
                        Some(list) => list.jaccard(mixed),
                        None => return Ok(self.estimate(row, distance, like, candidates)),
                    }
                }
                (None, None) => return Ok(self.estimate(row, distance, like, candidates)),
            },
        };
        Ok((value >= self.similarity).then_some(Similarity { value, is_estimated: false }))
    }

    /// Returns how similar the sketches of a row and of a candidate are. They match.
    fn estimate(
        &self,
        row: usize,
        distance: u32,
        like: Like,
        candidates: &Candidates<'_>,
    ) -> Option<Similarity> {
        let estimate = match like {
            Like::Earlier(place) => {
                self.rows.recipe.similarity_of(self.chunk[row].sketch, candidates.sketches[place])
            }
            // The sketches of earlier chunks are not at hand, and how rows are divided must not
            // matter.
            Like::Row(_) => self.rows.recipe.similarity(distance),
        };
        let value = estimate.map_or(0.0, |(similarity, _)| similarity);
        Some(Similarity { value, is_estimated: true })
    }

    /// Makes the error of a temporary file.
    fn file(source: std::io::Error) -> fpdb_dedup::Error {
        fpdb_dedup::Error::File { path: std::env::temp_dir(), source }
    }

    /// Returns, for each row of the chunk, the sets of the crowd that may be similar, and whether
    /// they are only some of these.
    fn of_crowd(&self, cancel: &Cancel) -> Vec<(Vec<usize>, bool)> {
        let Some(crowds) = &self.crowds else { return Vec::new() };
        let find = |row: &Row| match row.kind {
            Kind::Sketch => crowds.candidates(row.sketch, &row.features),
            Kind::Nothing | Kind::Equality => (Vec::new(), false),
        };
        parallel::map(&self.chunk, self.threads, cancel, find)
    }

    /// Adds those of these sets of the crowd whose sketches match, as a search by sketches would
    /// find them, at most as many as a row is compared with. Returns whether it looked at all.
    fn add_near_sets(
        &mut self,
        row: usize,
        sets: &[usize],
        near: &mut Vec<Candidate>,
    ) -> std::io::Result<bool> {
        let (Some(crowds), own) = (&mut self.crowds, self.chunk[row].sketch) else {
            return Ok(true);
        };
        let most = near.len() + MOST_CANDIDATES;
        for &number in sets {
            if near.len() == most {
                return Ok(false);
            }
            let (other, sketch) = crowds.of(number)?;
            let distance = self.matcher.distance(own, sketch);
            let distance = distance.filter(|_| crowds.share_band(own, sketch));
            near.extend(distance.map(|distance| (distance, Like::Row(other), false)));
        }
        Ok(true)
    }

    /// Returns the rows of the chunk by their band of each number.
    fn by_band(&self) -> Vec<ByBand> {
        let (bands, _) = self.rule.bands().unwrap_or_default();
        let mut of_number = vec![Vec::with_capacity(self.chunk.len()); bands as usize];
        for (row, it) in self.chunk.iter().enumerate().filter(|it| it.1.kind != Kind::Nothing) {
            let bands = of_number.iter_mut().zip(self.rule.bands_of(it.sketch));
            bands.for_each(|(rows, band)| rows.push((band, row)));
        }
        of_number.into_iter().map(|rows| ByBand::of(rows, self.chunk.len())).collect()
    }

    /// Returns the kept rows of the chunk before this one whose sketches match.
    fn near(&self, by_band: &[ByBand], row: usize) -> impl Iterator<Item = Candidate> {
        let own = &self.chunk[row];
        let by_band = if own.kind == Kind::Nothing { &[] } else { by_band };
        let share_band = by_band.iter().flat_map(|rows| rows.before(row));
        let mut others = RowSet::below(row);
        share_band.filter(|&other| self.is_kept[other]).for_each(|other| others.insert(other));
        others.into_rows().filter_map(move |other| {
            let distance = self.matcher.distance(own.sketch, self.chunk[other].sketch)?;
            Some((distance, Like::Row(self.before + other), false))
        })
    }
}
