//! What a text repeats of itself.

use std::collections::HashSet;

use fpdb::text::Result;
use fpdb::text::units::Unit;
use fpdb::text::windows::Words;
use pyo3::prelude::*;

use crate::base::arrays::array;
use crate::base::errors::OrRaise;
use crate::base::interrupt::interruptible;
use crate::base::numbers::Number;
use crate::base::parallel;
use crate::dedup::passages::strings;

/// Does the work for each text, in several threads.
fn map<T: Send>(
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

/// Returns the hashes of the units of a text that have words, and their lengths in bytes.
fn units_of(text: &str, unit: Unit, seed: u64) -> Result<Vec<(u64, usize)>> {
    let (mut words, mut units) = (Words::new(seed), Vec::new());
    for place in unit.places(text) {
        words.read(&text[place.clone()])?;
        if !words.is_empty() {
            units.push((words.hash(0..words.len()), place.len()));
        }
    }
    Ok(units)
}

/// Returns 13 shares for each text: of lines that are equal to an earlier one, of the bytes in
/// these, the same two of paragraphs, of the bytes in the most frequent run of 2, 3 and 4 words,
/// and of the bytes in runs of 5 to 10 words that occurred before.
#[pyfunction]
pub(crate) fn repetitions<'py>(
    texts: &Bound<'py, PyAny>,
    seed: Number,
    threads: Option<Number>,
) -> PyResult<Bound<'py, PyAny>> {
    let found = map(texts, threads, |text| {
        let words = Words::of(text, seed.0)?;
        let mut shares = Vec::with_capacity(13);
        for unit in [Unit::Line, Unit::Paragraph] {
            let units = units_of(text, unit, seed.0)?;
            let mut seen = HashSet::new();
            let again: Vec<_> = units.iter().filter(|(hash, _)| !seen.insert(*hash)).collect();
            shares.push(share(again.len(), units.len()));
            shares.push(share(again.iter().map(|(_, len)| len).sum(), text.len()));
        }
        shares.extend([2, 3, 4].map(|n| share(top(&words, n), text.len())));
        shares.extend([5, 6, 7, 8, 9, 10].map(|n| share(repeated(&words, n), text.len())));
        Ok(shares)
    })?;
    Ok(array(texts.py(), found.concat()))
}

#[expect(clippy::cast_precision_loss, reason = "texts are short")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn hashes(words: &Words, n: usize) -> impl Iterator<Item = u64> {
    (0..(words.len() + 1).saturating_sub(n)).map(move |word| words.hash(word..word + n))
}

/// Returns how many bytes are in some runs of so many words, each byte once.
fn covered(words: &Words, n: usize, runs: impl Iterator<Item = usize>) -> usize {
    let (mut sum, mut end) = (0, 0);
    for run in runs {
        let place = words.place(run..run + n);
        sum += place.end - place.start.max(end).min(place.end);
        end = place.end;
    }
    sum
}

/// Returns the bytes in the run of so many words that takes most of them, of those that occur most
/// often.
fn top(words: &Words, n: usize) -> usize {
    let mut runs: Vec<_> = hashes(words, n).zip(0..).collect();
    runs.sort_unstable();
    let same = || runs.chunk_by(|a, b| a.0 == b.0);
    let most = same().map(<[_]>::len).max().filter(|&most| most > 1);
    let of = |runs: &[(u64, usize)]| covered(words, n, runs.iter().map(|run| run.1));
    same().filter(|runs| Some(runs.len()) == most).map(of).max().unwrap_or(0)
}

/// Returns the bytes in runs of so many words that occurred before.
fn repeated(words: &Words, n: usize) -> usize {
    let mut seen = HashSet::new();
    let again = hashes(words, n).zip(0..).filter(|&(hash, _)| !seen.insert(hash));
    covered(words, n, again.map(|(_, word)| word))
}
