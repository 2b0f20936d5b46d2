//! Quotes of which a few words were changed, in two more passes over the texts.
//!
//! The first pass sorts the windows of all texts. Each text is compared with the first text that
//! has one of its windows, and with the sources of its exact passages. These texts are kept in a
//! scratch file in the second pass.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::result;

use fpdb_text::windows::{Same, Text, Windows, Words};

use super::bits::Bits;
use super::pair::{numbers, pair};
use super::reading::{Found, Texts, changed, in_parts};
use super::shared::for_each_shared;
use super::spans::{Change, Span};
use super::stored::{Stored, Storing};
use super::work::Working;
use crate::base::error::{Error, Result};
use crate::base::parallel;
use crate::base::progress::Phase;
use crate::file::sorter::{Sorted, Sorter};
use crate::fingerprint::{DocId, Entry};

/// How many earlier texts a text is compared with, beside the sources of its exact passages.
const MOST: usize = 64;
/// Bytes of texts that are compared together.
const BATCH: usize = if cfg!(test) { 1 << 12 } else { 32 << 20 };

/// Adds the quotes to exact spans, and leaves out the spans that are in quotes.
pub(super) fn add<E: From<Error>>(
    exact: Found,
    windows: &Windows,
    gaps: u16,
    work: &Working<'_>,
    mut read: impl FnMut(&mut Texts<'_>) -> result::Result<(), E>,
) -> result::Result<Found, E> {
    let (mut sorter, mut row) = (work.sorter(2), 0);
    work.meter.begin(Phase::Read, exact.rows)?;
    read(&mut |texts| {
        in_parts(texts, &mut |part| {
            for hashes in parallel::map(work.threads, part, |text| kept(windows, text, work.seed))?
            {
                for window in hashes {
                    sorter.push(pair(window, row))?;
                }
                row += 1;
            }
            work.meter.advance(part.len() as u64)
        })
    })?;
    if row != exact.rows {
        return Err(changed(row.min(exact.rows)).into());
    }
    let candidates = Candidates { pairs: pairs(sorter, work)?, exact: sources(&exact.spans) };

    let mut wanted = Bits::zeros(exact.rows);
    candidates.for_each(|row, sources| {
        wanted.set(row);
        sources.iter().for_each(|&source| wanted.set(source));
        work.meter.check()
    })?;
    let mut storing = Storing::new(work.files, wanted)?;
    work.meter.begin(Phase::Read, exact.rows)?;
    read(&mut |texts| {
        storing.add(texts)?;
        work.meter.advance(texts.len() as u64)
    })?;
    if storing.len() != exact.rows {
        return Err(changed(storing.len().min(exact.rows)).into());
    }
    let texts = storing.finish()?;
    work.meter.begin(Phase::Search, exact.rows)?;
    let mut comparing = Comparing {
        windows,
        gaps,
        work,
        texts,
        waiting: Vec::new(),
        wanted: BTreeSet::new(),
        bytes: 0,
        done: 0,
        found: Quoted::default(),
    };
    candidates.for_each(|row, sources| comparing.add(row, sources))?;
    comparing.compare()?;
    work.meter.advance(exact.rows - comparing.done)?;
    Ok(joined(exact, comparing.found))
}

/// Returns the hashes of the windows of a text.
fn kept(windows: &Windows, text: &str, seed: u64) -> Result<Vec<u64>> {
    let (words, mut hashes) = (Words::of(text, seed)?, Vec::new());
    windows.keep(&words, |hash, _| hashes.push(hash));
    Ok(hashes)
}

/// Pairs each text with the first one that has one of its windows, once for each window.
fn pairs<'a>(windows: Sorter<'a, u128>, work: &Working<'a>) -> Result<Sorted<'a, Entry<u128>>> {
    let windows = work.sorted(windows, 1)?;
    let mut sorter = work.sorter(2);
    for_each_shared(work, &windows, |number, rows| {
        let [first, later @ ..] = rows else { return Ok(()) };
        for &row in later {
            sorter.push(Entry { fingerprint: pair(row, *first), id: DocId(number) })?;
        }
        Ok(())
    })?;
    work.sorted(sorter, 2)
}

/// Returns the sources of the spans of each row.
fn sources(spans: &[Span]) -> BTreeMap<u64, BTreeSet<u64>> {
    let mut sources: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for span in spans {
        sources.entry(span.row).or_default().insert(span.source);
    }
    sources
}

/// What texts are compared with.
struct Candidates<'a> {
    /// A row and a source, and a window that they share.
    pairs: Sorted<'a, Entry<u128>>,
    exact: BTreeMap<u64, BTreeSet<u64>>,
}

impl Candidates<'_> {
    /// Calls `each` with each row that has sources, in ascending order, and with these: those of
    /// exact passages first, and then those that share most windows.
    fn for_each(&self, mut each: impl FnMut(u64, &[u64]) -> Result<()>) -> Result<()> {
        let mut exact = self.exact.iter().peekable();
        // The sources of the current row, and how many windows each shares.
        let (mut current, mut shared): (u64, Vec<(u64, u64)>) = (0, Vec::new());
        let mut end = |row: u64, shared: &mut Vec<(u64, u64)>| {
            while let Some((&other, sources)) = exact.next_if(|it| *it.0 < row) {
                each(other, &sources.iter().copied().collect::<Vec<_>>())?;
            }
            let own = exact.next_if(|it| *it.0 == row).map(|it| it.1);
            let mut sources: Vec<u64> = own.into_iter().flatten().copied().collect();
            shared.sort_by_key(|&(source, windows)| (Reverse(windows), source));
            shared.truncate(MOST);
            let is_new = |source: &u64| own.is_none_or(|own| !own.contains(source));
            sources.extend(shared.drain(..).map(|it| it.0).filter(is_new));
            if sources.is_empty() { Ok(()) } else { each(row, &sources) }
        };
        self.pairs.for_each(&mut |pairs| {
            for found in pairs {
                let (row, source) = numbers(found.fingerprint);
                if row != current {
                    end(current, &mut shared)?;
                    current = row;
                }
                match shared.last_mut() {
                    Some(last) if last.0 == source => last.1 += 1,
                    _ => shared.push((source, 1)),
                }
            }
            Ok(())
        })?;
        end(current, &mut shared)?;
        end(u64::MAX, &mut Vec::new())
    }
}

/// Quotes, and what is between their runs.
#[derive(Default)]
struct Quoted {
    quotes: Vec<Span>,
    changes: Vec<Change>,
}

impl Quoted {
    fn push(&mut self, (row, text): (u64, &Text), (source, other): (u64, &Text), runs: &[Same]) {
        // A text has fewer bytes.
        let byte = |at| u32::try_from(at).unwrap_or(u32::MAX);
        let place = |text: &Text, word: usize, len: usize| {
            let place = text.words().place(word..word + len);
            (byte(place.start), byte(place.end))
        };
        for pair in runs.windows(2) {
            if let [before, after] = pair {
                let (_, begin) = place(text, before.word, before.len);
                let (end, _) = place(text, after.word, after.len);
                self.changes.push(Change { row, begin, end });
            }
        }
        let ([first, ..], [.., last]) = (runs, runs) else { return };
        let (begin, end) = place(text, first.word, last.word + last.len - first.word);
        let (source_begin, source_end) =
            place(other, first.source, last.source + last.len - first.source);
        self.quotes.push(Span { row, source, begin, end, source_begin, source_end });
    }
}

/// Compares texts with their candidates, many at once.
struct Comparing<'w, 'a> {
    windows: &'w Windows,
    gaps: u16,
    work: &'w Working<'a>,
    texts: Stored<'a>,
    /// Rows and what they are compared with.
    waiting: Vec<(u64, Vec<u64>)>,
    /// All of these.
    wanted: BTreeSet<u64>,
    /// Their bytes.
    bytes: usize,
    /// The rows before this one were compared.
    done: u64,
    found: Quoted,
}

impl Comparing<'_, '_> {
    fn add(&mut self, row: u64, sources: &[u64]) -> Result<()> {
        if self.bytes > BATCH {
            self.compare()?;
        }
        for &text in [row].iter().chain(sources) {
            if self.wanted.insert(text) {
                self.bytes += self.texts.size(text);
            }
        }
        self.waiting.push((row, sources.to_vec()));
        Ok(())
    }

    fn compare(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let wanted: Vec<u64> = std::mem::take(&mut self.wanted).into_iter().collect();
        self.bytes = 0;
        let read = parallel::map(self.work.threads, &wanted, |&row| {
            self.work.meter.check()?;
            Ok(Some(self.windows.text(&self.texts.text(row)?)?))
        })?;
        let text_of = |row: u64| read.get(wanted.binary_search(&row).ok()?)?.as_ref();
        let found = parallel::map(self.work.threads, &waiting, |(row, sources)| {
            let mut found = Quoted::default();
            let Some(text) = text_of(*row) else { return Ok(found) };
            let mut quotes = self.windows.quotes(text, self.gaps);
            for &source in sources {
                self.work.meter.check()?;
                let Some(other) = text_of(source) else { continue };
                for runs in quotes.from(other) {
                    found.push((*row, text), (source, other), &runs);
                }
            }
            Ok(found)
        })?;
        for Quoted { quotes, changes } in found {
            self.found.quotes.extend(quotes);
            self.found.changes.extend(changes);
        }
        let done = waiting.last().map_or(self.done, |it| it.0 + 1);
        self.work.meter.advance(done - self.done)?;
        self.done = done;
        Ok(())
    }
}

/// Returns the quotes, and the exact spans that are not in one.
fn joined(exact: Found, quoted: Quoted) -> Found {
    let Quoted { quotes: mut spans, mut changes } = quoted;
    let place = |span: &Span| (span.row, span.begin, span.end);
    spans.sort_by_key(place);
    // The greatest end so far in its row, for each quote.
    let mut ends: Vec<(u64, u32, u32)> = Vec::with_capacity(spans.len());
    for span in &spans {
        let before = ends.last().filter(|last| last.0 == span.row).map_or(0, |last| last.2);
        ends.push((span.row, span.begin, span.end.max(before)));
    }
    let is_in_quote = |span: &Span| {
        let before = ends.partition_point(|it| (it.0, it.1) <= (span.row, span.begin));
        let last = before.checked_sub(1).and_then(|at| ends.get(at));
        last.is_some_and(|last| last.0 == span.row && last.2 >= span.end)
    };
    spans.extend(exact.spans.iter().filter(|span| !is_in_quote(span)));
    spans.sort_by_key(place);
    changes.sort_unstable();
    Found { spans, changes, ..exact }
}

#[cfg(test)]
mod tests;
