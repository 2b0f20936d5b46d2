//! The decisions of a deduplication: which rows of a chunk are like a row that is kept.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::PathBuf;

use fpdb::text::Recipe;
use fpdb::text::jaccard::Mixed;
use fpdb::{Db, Jaccard, Matcher, Sketch};
use fpdb_dedup::FeatureStore;
use pyo3::prelude::*;

use crate::arrays::{array, with_numbers};
use crate::by_band::{ByBand, RowSet};
use crate::candidates::{Candidate, Candidates, EARLIER, Like};
use crate::crowds::Crowds;
use crate::errors::{self, OrRaise};
use crate::interrupt::{Cancel, interruptible};
use crate::jaccard::words_of;
use crate::kept::Kept;
use crate::names;
use crate::numbers::Number;
use crate::parallel;
use crate::reader::Reader;
use crate::rows::{Kind, Row, Rows, key_of};
use crate::rule::MatchRule;
use crate::strings::Strings;
use crate::width::Bits;

/// Documents with which a row is compared, the nearest first. Without a limit, each text of a crowd
/// whose sketches are near, but whose texts are not alike, would be compared with all others.
pub(crate) const MOST_CANDIDATES: usize = 256;

/// Standard errors of an estimate beyond which it is sure: one pair in 700 is beyond, if its
/// similarity is on the other side.
const ERRORS: f64 = 3.0;

type Array<'py> = Bound<'py, PyAny>;
/// What rows are like, how similar they are, for which rows this is estimated, what gives way to
/// which row, which rows are in the crowd, and how many kept rows have more candidates than they
/// are compared with.
type Decided<'py> = (Array<'py>, Array<'py>, Array<'py>, Vec<(usize, usize)>, Array<'py>, usize);

/// How similar a row is to a candidate.
struct Similarity {
    value: f64,
    /// Whether it is estimated from the sketches.
    is_estimated: bool,
}

/// What was decided of a row.
#[derive(Debug, Default)]
struct Decision {
    like: Option<(Like, f64)>,
    /// Whether its similarity to that is estimated from the sketches.
    is_estimated: bool,
    /// The documents of earlier runs that give way to it, if it is kept.
    replaced: Vec<usize>,
    /// Whether there are more candidates than it was compared with.
    is_crowded: bool,
    /// Whether it is kept, and found by what it shares with others and not by its sketch.
    is_in_crowd: bool,
}

/// Compares the rows of a deduplication with those before them, chunk by chunk.
///
/// A row is like another one if their sketches match by the rule, and if the exact similarity of
/// their texts is at least the threshold. Of several, it is like the most similar one. If exact is
/// false, the sketches decide alone. Where neither the text nor the features of an earlier document
/// are known, the sketches decide, too.
#[pyclass(module = "fpdb_engine._native")]
pub(crate) struct Comparer {
    rows: Rows,
    rule: fpdb::MatchRule,
    matcher: Matcher,
    similarity: f64,
    threads: usize,
    /// `None` if the sketches decide alone.
    kept: Option<Kept>,
    /// `None` if all rows are found by their sketches.
    crowds: Option<Crowds>,
    /// The features of the documents of a database. `None` if there is none.
    stored: Option<FeatureStore>,
    /// The rows of the current chunk, which of them are kept, and which of these are in the crowd.
    chunk: Vec<Row>,
    is_kept: Vec<bool>,
    in_crowd: Vec<usize>,
    /// Number of rows in earlier chunks.
    before: usize,
    /// Hashes of the names of rows.
    names: HashSet<u64>,
}

#[pymethods]
impl Comparer {
    /// rule is the match rule of a database, which has all rows that are kept. Without it, a rule
    /// is chosen, and rows that `decide` says are in the crowd need not be in a database. `features`
    /// is the folder with the features of its documents.
    #[new]
    #[pyo3(signature = (*, similarity, recall, recipe, rule, features, expected, ngram, exact, threads))]
    #[expect(clippy::too_many_arguments, reason = "only called by dedup")]
    fn new(
        similarity: f64,
        recall: f64,
        recipe: &str,
        rule: Option<&MatchRule>,
        features: Option<PathBuf>,
        expected: Number,
        ngram: Option<Number>,
        exact: bool,
        threads: Option<Number>,
    ) -> PyResult<Self> {
        let ngram = words_of(ngram)?;
        let recipe = Recipe::for_sketches(recipe).or_raise()?;
        let jaccard = Jaccard::at_least(similarity).recall(recall);
        let has_crowds = exact && rule.is_none();
        let rule = match rule {
            Some(rule) => rule.rule,
            None => fpdb::MatchRule::for_similarity(jaccard, expected.0).or_raise()?,
        };
        let crowds = has_crowds.then(|| Crowds::new(rule, similarity, expected.0)).transpose()?;
        let stored = features.filter(|_| exact).map(|folder| {
            // With other words, there are other features.
            let of =
                ngram.map_or(recipe.name().to_owned(), |n| format!("{}, {n} words", recipe.name()));
            FeatureStore::open(&folder, &of, Db::options()).or_raise()
        });
        let stored = stored.transpose()?;
        Ok(Self {
            rows: Rows { recipe, ngram, is_exact: exact },
            rule,
            matcher: rule.matcher(),
            similarity,
            threads: parallel::threads(threads),
            kept: exact.then(Kept::new).transpose()?,
            crowds,
            stored,
            chunk: Vec::new(),
            is_kept: Vec::new(),
            in_crowd: Vec::new(),
            before: 0,
            names: HashSet::new(),
        })
    }

    /// Returns the names and aliases of the recipes that make sketches. None is loaded.
    #[staticmethod]
    fn recipes() -> Vec<&'static str> {
        let aliases = Recipe::aliases().map(|(alias, _)| alias);
        Recipe::names_for_sketches().chain(aliases).collect()
    }

    /// Reads the next chunk. Returns the sketches, and what is compared of each row: 0 for nothing,
    /// 1 for the sketch, and 2 for whether the texts are equal.
    /// Rows of different groups are never alike.
    #[pyo3(signature = (texts, groups = None))]
    fn read<'py>(
        &mut self,
        texts: &Bound<'py, PyAny>,
        groups: Option<Vec<Option<String>>>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let py = texts.py();
        // The caller may try again with other texts, so nothing changes before these are accepted.
        let strings = Strings::new(texts, "text")?;
        let texts = strings.all()?;
        let group_of = |row: usize| groups.as_ref()?.get(row)?.as_deref();
        let keys = (0..).map(|row| group_of(row).map_or(0, key_of));
        let texts: Vec<_> = texts.into_iter().zip(keys).collect();
        if let Some(kept) = &mut self.kept {
            let rows = self.chunk.iter().zip(&self.is_kept);
            kept.append(rows.map(|(row, &is_kept)| is_kept.then_some(&row.features)))?;
        }
        if let Some(crowds) = &mut self.crowds {
            let rows = self.in_crowd.drain(..).map(|row| (row, &self.chunk[row]));
            crowds.extend(rows.map(|(row, it)| (self.before + row, it.sketch, &it.features)))?;
        }
        self.before += self.chunk.len();
        let read = |&(text, key): &(Option<&str>, u64)| {
            let text = text.unwrap_or_default();
            let row = self.rows.row(text);
            if key == 0 { row } else { self.rows.in_group(row, text, key) }
        };
        self.chunk = interruptible(py, |cancel| parallel::map(&texts, self.threads, cancel, read))?;
        self.is_kept = vec![false; self.chunk.len()];
        let sketches = self.chunk.iter().map(|row| row.sketch).collect();
        let kinds = self.chunk.iter().map(|row| row.kind as u8).collect();
        Ok((Sketch::into_array(sketches, py)?, array::<u8>(py, kinds)))
    }

    /// Closes a database that is thrown away, without writing what it has in memory.
    #[staticmethod]
    fn throw_away(db: &Bound<'_, Reader>) -> PyResult<()> {
        db.get().handle.throw_away(db.py())
    }

    /// Returns which names have not occurred before.
    fn are_new(&mut self, names: Vec<String>) -> Vec<bool> {
        names.iter().map(|name| self.names.insert(key_of(name))).collect()
    }

    /// Returns the first names of a database that are greater than `after` and begin with a prefix,
    /// at most `most`, and the ids of their documents.
    #[staticmethod]
    fn names_after(
        db: &Bound<'_, Reader>,
        after: &str,
        prefix: &str,
        most: usize,
    ) -> PyResult<Vec<(String, u64)>> {
        names::after(&db.get().handle.snapshot_now()?, db.py(), (after, prefix), most)
    }

    /// Returns, for each pair of a row of the chunk and a sketch, whether the sketches do not tell
    /// on which side of the threshold the similarity is: their estimate is within three standard
    /// errors of it, or exact similarities are of other features.
    fn are_unsure<'py>(
        &self,
        rows: &Bound<'py, PyAny>,
        sketches: &Bound<'py, PyAny>,
    ) -> PyResult<Array<'py>> {
        let py = rows.py();
        let rows = with_numbers(rows, "row", |it| Ok(it.to_vec()))?;
        let sketches = Sketch::with_batch(sketches, |all| Ok(all.to_vec()))?;
        let is_unsure = |(&row, &sketch): (&u64, &Sketch)| {
            let own = self.chunk.get(Number(row).count());
            own.is_some_and(|own| self.is_unsure(own, sketch))
        };
        Ok(array(py, rows.iter().zip(&sketches).map(is_unsure).map(u8::from).collect()))
    }

    /// Keeps the features of these rows of the chunk, which are about to be stored under these
    /// names.
    fn keep_features(&mut self, rows: &Bound<'_, PyAny>, names: Vec<String>) -> PyResult<()> {
        let Some(stored) = &mut self.stored else { return Ok(()) };
        let rows = with_numbers(rows, "row", |it| Ok(it.to_vec()))?;
        let rows = rows.iter().filter_map(|&row| self.chunk.get(Number(row).count()));
        let rows = rows.zip(&names).filter(|(row, _)| row.kind == Kind::Sketch);
        let seed = stored.seed();
        let mixed: Vec<_> = rows
            .map(|(row, name)| (&**name, row.sketch, Mixed::new(&row.features, seed)))
            .collect();
        stored.insert(mixed.iter().map(|(name, sketch, mixed)| (*name, *sketch, mixed))).or_raise()
    }

    /// Makes sure that the features that were kept survive a power failure.
    fn finish(&mut self) -> PyResult<()> {
        self.stored.take().map_or(Ok(()), |stored| stored.close().or_raise())
    }

    /// Decides about the chunk that was read. The candidates of row i are the elements offsets[i]
    /// to offsets[i + 1] of the lists: rows of earlier chunks that are kept, or 2^63 + p for the
    /// text at position p in earlier, whose name and sketch are at p in names and sketches. Rows of
    /// the chunk itself are found here.
    ///
    /// Returns what each row is like, in the same form, or 2^64 - 1 for a row to keep; the
    /// similarities, and whether each is estimated; pairs of a row and a position in earlier that gives way to it; whether each
    /// row is in the crowd, and found without being among the candidates; and how many rows to keep
    /// have more candidates than they are compared with.
    fn decide<'py>(
        &mut self,
        offsets: &Bound<'py, PyAny>,
        of: &Bound<'py, PyAny>,
        distances: &Bound<'py, PyAny>,
        gives_way: &Bound<'py, PyAny>,
        earlier: &Bound<'py, PyAny>,
        names: Vec<String>,
        sketches: &Bound<'py, PyAny>,
    ) -> PyResult<Decided<'py>> {
        let py = of.py();
        let earlier = Strings::new(earlier, "text")?;
        let earlier = earlier.all()?;
        let numbers = |list, what| with_numbers(list, what, |it| Ok(it.to_vec()));
        let (offsets, of) = (numbers(offsets, "offset")?, numbers(of, "row")?);
        let (distances, gives_way) = (numbers(distances, "distance")?, numbers(gives_way, "flag")?);
        let sketches = Sketch::with_batch(sketches, |all| Ok(all.to_vec()))?;
        let decided = interruptible(py, |cancel| {
            let make = |text: &Option<&str>| text.map(|text| self.rows.sketch_and_features(text).1);
            let earlier = parallel::map(&earlier, self.threads, cancel, make);
            let candidates = Candidates {
                offsets: &offsets,
                of: &of,
                distances: &distances,
                gives_way: &gives_way,
                earlier,
                names: &names,
                sketches: &sketches,
            };
            self.decisions(&candidates, cancel)
        })?;
        let decided = decided
            .or_raise()?
            .ok_or_else(|| errors::invalid("the candidates do not fit the texts"))?;
        let of = decided.iter().map(|decision| match decision.like {
            None => u64::MAX,
            Some((Like::Row(row), _)) => row as u64,
            Some((Like::Earlier(place), _)) => EARLIER + place as u64,
        });
        let similarities =
            decided.iter().map(|it| it.like.map_or(f64::NAN, |(_, similarity)| similarity));
        let replaced = (0..).zip(&decided);
        let replaced =
            replaced.flat_map(|(row, it)| it.replaced.iter().map(move |&place| (row, place)));
        let crowded = decided.iter().filter(|it| it.is_crowded && it.like.is_none()).count();
        let (of, similarities) = (array(py, of.collect()), array(py, similarities.collect()));
        let flags = |flag: fn(&Decision) -> bool| {
            array(py, decided.iter().map(|it| u8::from(flag(it))).collect())
        };
        let (estimated, in_crowd) = (flags(|it| it.is_estimated), flags(|it| it.is_in_crowd));
        Ok((of, similarities, estimated, replaced.collect(), in_crowd, crowded))
    }
}

impl Comparer {
    fn is_unsure(&self, row: &Row, sketch: Sketch) -> bool {
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
    fn decisions(
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
