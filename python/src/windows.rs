//! What texts have in common with others.

use fpdb::text::Result;
use fpdb::text::windows::{Same, Text, Windows, Words};
use pyo3::prelude::*;

use crate::arrays::{array, with_numbers};
use crate::errors::{self, OrRaise};
use crate::interrupt::interruptible;
use crate::numbers::Number;
use crate::parallel;
use crate::passages::strings;

pub(crate) type Columns<'py> = Vec<Bound<'py, PyAny>>;

pub(crate) fn columns<'py, const N: usize>(py: Python<'py>, rows: &[[u64; N]]) -> Columns<'py> {
    let column = |at: usize| array(py, rows.iter().map(|row| row[at]).collect());
    (0..N).map(column).collect()
}

/// Does the work for each text, in several threads.
pub(crate) fn map<T: Send>(
    texts: &Bound<'_, PyAny>,
    threads: Option<Number>,
    work: impl Fn(&str) -> Result<T> + Sync + Send,
) -> PyResult<Vec<T>> {
    let (py, threads) = (texts.py(), parallel::threads(threads));
    let texts = strings(texts)?;
    let all = texts.all()?;
    let work = |text: &Option<&str>| work(text.unwrap_or_default());
    let done = interruptible(py, |cancel| parallel::map(&all, threads, cancel, work))?;
    done.into_iter().collect::<Result<Vec<T>>>().or_raise()
}

/// Calls `work` with pairs of positions in a list of this length.
fn with_pairs<T>(
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    len: usize,
    work: impl FnOnce(&[(usize, usize)]) -> PyResult<T>,
) -> PyResult<T> {
    with_numbers(a, "position", |a| {
        with_numbers(b, "position", |b| {
            let place = |&place: &u64| Number(place).count();
            let pairs: Vec<_> = a.iter().map(place).zip(b.iter().map(place)).collect();
            if a.len() != b.len() || pairs.iter().any(|&(a, b)| a.max(b) >= len) {
                return Err(errors::invalid("the pairs are not pairs of texts"));
            }
            work(&pairs)
        })
    })
}

/// Returns the number of windows that are kept of each text, and their hashes.
#[pyfunction]
pub(crate) fn kept_windows<'py>(
    texts: &Bound<'py, PyAny>,
    min_words: Number,
    seed: Number,
    threads: Option<Number>,
) -> PyResult<Columns<'py>> {
    let windows = Windows::new(min_words.count(), seed.0).or_raise()?;
    let found = map(texts, threads, |text| {
        let mut hashes = Vec::new();
        windows.keep(&Words::of(text, seed.0)?, |hash, _| hashes.push(hash));
        Ok(hashes)
    })?;
    let counts = found.iter().map(|hashes| hashes.len() as u64).collect();
    Ok(vec![array(texts.py(), counts), array(texts.py(), found.concat())])
}

/// The quotes of a text, and what is between their runs.
#[derive(Default)]
struct Quoted {
    /// The text, the begin, the end, the source, its begin and its end.
    quotes: Vec<[u64; 6]>,
    /// The text, the begin and the end.
    changes: Vec<[u64; 3]>,
}

impl Quoted {
    fn push(&mut self, (row, text): (usize, &Text), (of, source): (usize, &Text), runs: &[Same]) {
        let place = |text: &Text, word: usize, len: usize| {
            let place = text.words().place(word..word + len);
            [place.start as u64, place.end as u64]
        };
        let row = row as u64;
        for pair in runs.windows(2) {
            let [_, begin] = place(text, pair[0].word, pair[0].len);
            let [end, _] = place(text, pair[1].word, pair[1].len);
            self.changes.push([row, begin, end]);
        }
        if let [first, ..] = runs {
            let last = &runs[runs.len() - 1];
            let [begin, end] = place(text, first.word, last.word + last.len - first.word);
            let [from, to] = place(source, first.source, last.source + last.len - first.source);
            self.quotes.push([row, begin, end, of as u64, from, to]);
        }
    }
}

/// Finds quotes in texts: pairs are positions of a text, in ascending order, and of a source of it.
///
/// Returns the columns of the quotes, and those of what is between their runs.
#[pyfunction]
pub(crate) fn find_quotes<'py>(
    texts: &Bound<'py, PyAny>,
    rows: &Bound<'py, PyAny>,
    sources: &Bound<'py, PyAny>,
    min_words: Number,
    gaps: u16,
    seed: Number,
    threads: Option<Number>,
) -> PyResult<(Columns<'py>, Columns<'py>)> {
    let py = texts.py();
    let windows = Windows::new(min_words.count(), seed.0).or_raise()?;
    let read = map(texts, threads, |text| windows.text(text))?;
    let found = with_pairs(rows, sources, read.len(), |pairs| {
        let rows: Vec<_> = pairs.chunk_by(|a, b| a.0 == b.0).collect();
        let of_row = |pairs: &&[(usize, usize)]| {
            let (row, mut found) = (pairs[0].0, Quoted::default());
            let mut quotes = windows.quotes(&read[row], gaps);
            for &(_, source) in *pairs {
                for runs in quotes.from(&read[source]) {
                    found.push((row, &read[row]), (source, &read[source]), &runs);
                }
            }
            found
        };
        let threads = parallel::threads(threads);
        interruptible(py, |cancel| parallel::map(&rows, threads, cancel, of_row))
    })?;
    let quotes: Vec<_> = found.iter().flat_map(|it| it.quotes.iter().copied()).collect();
    let changes: Vec<_> = found.iter().flat_map(|it| it.changes.iter().copied()).collect();
    Ok((columns(py, &quotes), columns(py, &changes)))
}
