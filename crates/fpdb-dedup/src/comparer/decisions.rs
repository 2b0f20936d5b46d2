//! The decisions of a deduplication: which rows of a chunk are like a row that is kept.

use std::cell::OnceCell;
use std::collections::HashSet;

use fpdb::Sketch;
use fpdb::text::jaccard::{Mixed, Shingles};

use super::{Comparer, MOST_CANDIDATES, Verdict};
use crate::by_band::{ByBand, RowSet};
use crate::candidates::{Candidate, Earlier, Like};
use crate::error::{Error, Result};
use crate::kept;
use crate::parallel;
use crate::rows::{Kind, Row};

/// Standard errors of an estimate beyond which it is sure: one pair in 700 is beyond, if its
/// similarity is on the other side.
const ERRORS: f64 = 3.0;

/// What is known of the documents of earlier runs.
struct Known<'a> {
    documents: &'a [Earlier<'a>],
    /// The features of those whose texts are known.
    features: Vec<Option<Shingles>>,
}

/// A row that is compared. Its features in other forms are made once something is compared with
/// them.
struct Own<'a> {
    row: &'a Row,
    /// As those of kept rows of earlier chunks.
    cut: OnceCell<Shingles>,
    /// As those of documents.
    mixed: OnceCell<Mixed>,
}

/// How similar a row is to a candidate.
struct Similarity {
    value: f64,
    /// Whether it is estimated from the sketches.
    is_estimated: bool,
}

impl Comparer {
    /// Returns whether the sketches do not tell on which side of the threshold the similarity of a
    /// row of the chunk and another document is: their estimate is within three standard errors of
    /// it, or exact similarities are of other features.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::text::Recipe;
    /// use fpdb::{Jaccard, MatchRule};
    /// use fpdb_dedup::{Comparer, Dedup};
    ///
    /// let similar = Jaccard::at_least(0.8);
    /// let options = Dedup::options(Recipe::for_sketches("pairs/1")?, similar);
    /// let rule = MatchRule::for_similarity(similar, 1_000_000)?;
    /// let mut comparer = Comparer::beside(options, rule, None)?;
    /// let same = comparer.read(&[("To be, or not to be?", None)])?[0].sketch;
    /// assert!(!comparer.is_unsure(0, same));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_unsure(&self, row: usize, sketch: Sketch) -> bool {
        let own = self.chunk.get(row).filter(|row| row.kind == Kind::Sketch);
        own.is_some_and(|own| {
            let estimate = self.rows.recipe.similarity_of(own.sketch, sketch);
            self.rows.words.is_some()
                || estimate.is_none_or(|(similarity, error)| {
                    (similarity - self.similarity).abs() <= ERRORS * error
                })
        })
    }

    pub(super) fn decisions(
        &mut self,
        near: &[Vec<Candidate>],
        earlier: &[Earlier<'_>],
    ) -> Result<Vec<Verdict>> {
        let (rows, until) = (&self.rows, self.until.clone());
        let features = |it: &Earlier<'_>| it.text.map(|text| rows.sketch_and_features(text).1);
        let features = parallel::map(earlier, self.threads, &|| until.is_reached(), features)?;
        let known = Known { documents: earlier, features };
        // Given back when all is decided.
        let chunk = std::mem::take(&mut self.chunk);
        let decided = self.decide_rows(&chunk, near, &known);
        self.chunk = chunk;
        decided
    }

    fn decide_rows(
        &mut self,
        chunk: &[Row],
        near: &[Vec<Candidate>],
        earlier: &Known<'_>,
    ) -> Result<Vec<Verdict>> {
        let (by_band, of_crowd) = (self.by_band(chunk), self.of_crowd(chunk)?);
        let mut verdicts = Vec::with_capacity(chunk.len());
        // Documents that have given way to a row of the chunk.
        let mut gone = HashSet::new();
        for (row, (own, near)) in chunk.iter().zip(near).enumerate() {
            if self.until.is_reached() {
                return Err(Error::Cancelled);
            }
            let mut near = near.clone();
            near.extend(self.near(chunk, &by_band, row));
            let mut has_more = false;
            if let Some((sets, are_some)) = of_crowd.get(row) {
                let looked_at_all = self.add_near_sets(own, sets, &mut near);
                has_more = !looked_at_all.map_err(Error::file(&self.scratch))? || *are_some;
            }
            near.retain(|it| !gone.contains(&it.of));
            near.sort_unstable();
            let is_crowded = has_more || near.len() > MOST_CANDIDATES;
            near.truncate(MOST_CANDIDATES);
            let mut verdict =
                Verdict { is_crowded, ..self.decide_row(chunk, own, &near, earlier)? };
            self.is_kept.get_mut(row).into_iter().for_each(|it| *it = verdict.is_kept());
            if let Some(crowds) = &mut self.crowds
                && verdict.is_kept()
                && own.kind == Kind::Sketch
            {
                verdict.is_in_crowd = crowds.add(own.sketch, &own.features);
                self.in_crowd.extend(verdict.is_in_crowd.then_some(row));
            }
            gone.extend(verdict.replaced.iter().map(|&place| Like::Earlier(place)));
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }

    fn decide_row(
        &mut self,
        chunk: &[Row],
        own: &Row,
        near: &[Candidate],
        earlier: &Known<'_>,
    ) -> Result<Verdict> {
        let mut verdict = Verdict {
            kind: own.kind,
            like: None,
            similarity: None,
            is_estimated: false,
            replaced: Vec::new(),
            is_crowded: false,
            is_in_crowd: false,
        };
        let own = Own { row: own, cut: OnceCell::new(), mixed: OnceCell::new() };
        for candidate in near {
            let similarity = self.similarity_of(chunk, &own, candidate, earlier)?;
            let Some(Similarity { value, is_estimated }) = similarity else { continue };
            match candidate.of {
                Like::Earlier(place) if candidate.gives_way => verdict.replaced.push(place),
                // Of equally similar ones the nearest, and the first of these.
                like if verdict.similarity.is_none_or(|most| value > most) => {
                    verdict.like = Some(like);
                    verdict.similarity = Some(value);
                    verdict.is_estimated = is_estimated;
                    // No other one can be more similar.
                    if value >= 1.0 {
                        break;
                    }
                }
                _ => {}
            }
        }
        if !verdict.is_kept() {
            verdict.replaced.clear();
        }
        Ok(verdict)
    }

    /// Returns how similar a row is to a candidate, if it is similar enough.
    fn similarity_of(
        &mut self,
        chunk: &[Row],
        own: &Own<'_>,
        candidate: &Candidate,
        earlier: &Known<'_>,
    ) -> Result<Option<Similarity>> {
        let Own { row: own, cut, mixed } = own;
        if own.kind == Kind::Equality {
            let exactly = Similarity { value: 1.0, is_estimated: false };
            return Ok((candidate.distance == 0).then_some(exactly));
        }
        let Some(kept) = &mut self.kept else {
            return Ok(Some(self.estimate(own, candidate, earlier)));
        };
        let value = match candidate.of {
            Like::Row(other) => {
                match other.checked_sub(self.before).map(|place| chunk.get(place)) {
                    Some(other) => other.map(|other| own.features.jaccard(&other.features)),
                    None => {
                        let other = kept.of(other).map_err(Error::file(&self.scratch))?;
                        Some(cut.get_or_init(|| kept::cut(&own.features)).jaccard(other))
                    }
                }
            }
            Like::Earlier(place) => {
                let features = earlier.features.get(place).and_then(Option::as_ref);
                match (features, earlier.documents.get(place), &mut self.stored) {
                    (Some(features), ..) => Some(own.features.jaccard(features)),
                    (None, Some(document), Some(stored)) => {
                        let mixed = mixed.get_or_init(|| stored.mixed(&own.features));
                        let list = stored.get(document.name, document.sketch)?;
                        list.map(|list| list.jaccard(mixed))
                    }
                    (None, ..) => None,
                }
            }
        };
        Ok(match value {
            Some(value) => {
                (value >= self.similarity).then_some(Similarity { value, is_estimated: false })
            }
            None => Some(self.estimate(own, candidate, earlier)),
        })
    }

    /// Returns how similar the sketches of a row and of a candidate are. They match.
    fn estimate(&self, own: &Row, candidate: &Candidate, earlier: &Known<'_>) -> Similarity {
        let recipe = &self.rows.recipe;
        let estimate = match candidate.of {
            Like::Earlier(place) => {
                let document = earlier.documents.get(place);
                document.and_then(|it| recipe.similarity_of(own.sketch, it.sketch))
            }
            // The sketches of earlier chunks are not at hand, and how rows are divided must not
            // matter.
            Like::Row(_) => recipe.similarity(candidate.distance),
        };
        Similarity { value: estimate.map_or(0.0, |it| it.0), is_estimated: true }
    }

    /// Returns, for each row of the chunk, the sets of the crowd that may be similar, and whether
    /// they are only some of these.
    fn of_crowd(&self, chunk: &[Row]) -> Result<Vec<(Vec<usize>, bool)>> {
        let Some(crowds) = &self.crowds else { return Ok(Vec::new()) };
        let find = |row: &Row| match row.kind {
            Kind::Sketch => crowds.candidates(row.sketch, &row.features),
            Kind::Nothing | Kind::Equality => (Vec::new(), false),
        };
        parallel::map(chunk, self.threads, &|| self.until.is_reached(), find)
    }

    /// Adds those of these sets of the crowd whose sketches match, as a search by sketches would
    /// find them, at most as many as a row is compared with. Returns whether it looked at all.
    fn add_near_sets(
        &mut self,
        own: &Row,
        sets: &[usize],
        near: &mut Vec<Candidate>,
    ) -> std::io::Result<bool> {
        let Some(crowds) = &mut self.crowds else { return Ok(true) };
        let most = near.len() + MOST_CANDIDATES;
        for &number in sets {
            if near.len() == most {
                return Ok(false);
            }
            let (other, sketch) = crowds.of(number)?;
            let distance = self.matcher.distance(own.sketch, sketch);
            let distance = distance.filter(|_| crowds.share_band(own.sketch, sketch));
            near.extend(distance.map(|distance| of_run(distance, other)));
        }
        Ok(true)
    }

    /// Returns the rows of the chunk by their band of each number.
    fn by_band(&self, chunk: &[Row]) -> Vec<ByBand> {
        let (bands, _) = self.rule.bands().unwrap_or_default();
        let mut of_number = vec![Vec::with_capacity(chunk.len()); bands as usize];
        for (row, it) in chunk.iter().enumerate().filter(|it| it.1.kind != Kind::Nothing) {
            let bands = of_number.iter_mut().zip(self.rule.bands_of(it.sketch));
            bands.for_each(|(rows, band)| rows.push((band, row)));
        }
        of_number.into_iter().map(|rows| ByBand::of(rows, chunk.len())).collect()
    }

    /// Returns the kept rows of the chunk before this one whose sketches match.
    fn near(
        &self,
        chunk: &[Row],
        by_band: &[ByBand],
        row: usize,
    ) -> impl Iterator<Item = Candidate> {
        let own = chunk.get(row).filter(|own| own.kind != Kind::Nothing);
        let by_band = if own.is_none() { &[] } else { by_band };
        let share_band = by_band.iter().flat_map(|rows| rows.before(row));
        let is_kept = |other: &usize| self.is_kept.get(*other) == Some(&true);
        let mut others = RowSet::below(row);
        share_band.filter(is_kept).for_each(|other| others.insert(other));
        others.into_rows().filter_map(move |other| {
            let distance = self.matcher.distance(own?.sketch, chunk.get(other)?.sketch)?;
            Some(of_run(distance, self.before + other))
        })
    }
}

/// Returns a row of this run as a candidate.
fn of_run(distance: u32, row: usize) -> Candidate {
    Candidate { distance, of: Like::Row(row), gives_way: false }
}
