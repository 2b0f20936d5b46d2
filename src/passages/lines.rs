//! Lines and paragraphs that many texts have, in two passes over the texts.
//!
//! The first pass sorts the hash of each line together with the row of its text. A line of which
//! that gives enough rows is removed from all texts but the first: the second pass finds where it
//! stands.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::result;

use fpdb_text::units::Unit;
use fpdb_text::windows::Words;

use super::pair::{numbers, pair};
use super::reading::{Found, Texts, changed, in_parts};
use super::spans::Span;
use super::work::{Work, Working};
use crate::base::error::{Error, Result};
use crate::base::parallel;
use crate::base::progress::{Phase, Progress, Watch};
use crate::file::scratch::ScratchFiles;
use crate::file::sorter::Sorter;
use crate::file::storage::PageBudget;

/// A search for lines that many texts have, such as menus and notices.
///
/// Lines are equal if their words are, without case, white space and punctuation. Lines without
/// words are left alone. Of a line that enough texts have, the first one stays, and all later ones
/// are spans, with their ends. A line that occurs often in one text only is left alone. Signs are
/// no words, so `return ok;` is equal to `return !ok;`: this is not for program code, or for tables
/// of numbers.
///
/// The time grows linearly with the length of the texts. What does not fit into
/// [`memory`](Self::memory) is sorted on the disk: 16 bytes per line. In addition, it takes 60
/// bytes of memory for each line that is found, and 40 per span.
///
/// # Examples
///
/// ```
/// use fpdb::passages::Lines;
///
/// let pages = ["Home | About\nOnce upon a time", "Home | About\nThe end", "The start\nHOME / ABOUT\n"];
/// let found = Lines::default().find(|each| each(&pages))?;
/// let cut = found.spans.iter().map(|span| (span.row, &pages[span.row as usize][span.bytes()]));
/// assert_eq!(cut.collect::<Vec<_>>(), [(1, "Home | About\n"), (2, "HOME / ABOUT\n")]);
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a search does nothing until find is called"]
pub struct Lines {
    unit: Unit,
    most: u64,
    min_words: usize,
    work: Work,
}

impl Default for Lines {
    fn default() -> Self {
        Self { unit: Unit::Line, most: 1, min_words: 1, work: Work::default() }
    }
}

impl Lines {
    /// Sets whether to search for lines, the default, or for paragraphs, which end with an empty
    /// line.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Lines;
    /// use fpdb::text::units::Unit;
    ///
    /// let texts = ["Dear reader,\nhello.\n\nNews.", "Dear reader,\nhello.\n\nMore."];
    /// let found = Lines::default().unit(Unit::Paragraph).find(|each| each(&texts))?;
    /// assert_eq!(&texts[1][found.spans[0].bytes()], "Dear reader,\nhello.\n\n");
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    /// Sets how many texts may have a line, 1 by default.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Lines;
    /// let texts = ["A line\n", "A line\n", "A line\n"];
    /// assert_eq!(Lines::default().most(2).find(|each| each(&texts))?.spans.len(), 2);
    /// assert_eq!(Lines::default().most(3).find(|each| each(&texts))?.spans.len(), 0);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn most(self, texts: u64) -> Self {
        Self { most: texts.max(1), ..self }
    }

    /// Leaves lines alone that have fewer words than this, 1 by default.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Lines;
    /// let found = Lines::default().min_words(2).find(|each| each(&["Yes.\nOh yes.", "Yes.\nOh yes."]))?;
    /// assert_eq!((found.spans.len(), found.spans[0].bytes()), (1, 5..12));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn min_words(self, words: usize) -> Self {
        Self { min_words: words.max(1), ..self }
    }

    /// Sets the seed of the hashes, as [`Passages::seed`](super::Passages::seed) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Lines;
    /// assert!(Lines::default().seed(7).find(|each| each(&["A text."]))?.spans.is_empty());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.work.seed = Some(seed);
        self
    }

    /// Sets how many bytes of memory the sorting may take. The default is 512 MiB, for about 30
    /// million lines.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Lines;
    /// assert_eq!(Lines::default().memory(1 << 20).find(|each| each(&["A text."]))?.rows, 1);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn memory(mut self, bytes: u64) -> Self {
        self.work.memory = bytes;
        self
    }

    /// Sets the number of threads. The default is the number of processors.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Lines;
    /// assert_eq!(Lines::default().threads(1).find(|each| each(&["A text."]))?.rows, 1);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn threads(mut self, threads: usize) -> Self {
        self.work.threads = threads.max(1);
        self
    }

    /// Sets the folder of scratch files, which have no name. The default is the system's folder for
    /// temporary files.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Lines;
    /// let search = Lines::default().scratch_folder(std::env::temp_dir());
    /// assert_eq!(search.find(|each| each(&["A text."]))?.rows, 1);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn scratch_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.work.scratch = Some(folder.into());
        self
    }

    /// Sets a function that gets the progress, and can end the search with an error of kind
    /// `Cancelled`: the number of texts that were read in each pass.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use fpdb::passages::Lines;
    /// let search = Lines::default().on_progress(|_| ControlFlow::Break(()));
    /// let ended = search.find(|each| each(&["A text."]));
    /// assert_eq!(ended.unwrap_err().kind(), fpdb::ErrorKind::Cancelled);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn on_progress(
        mut self,
        report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.work.watch = Watch::new(report);
        self
    }

    /// Searches the texts that `read` passes on, as [`Passages::find`](super::Passages::find) does:
    /// it is called twice. In the result, `windows` is the number of lines that were compared, and
    /// `runs` that of the lines that were found, each counted once.
    ///
    /// # Errors
    ///
    /// Those of `read`. `InvalidArgument` if a text is longer than 512 MiB, or if the number of
    /// texts differs the second time. `Io` if a scratch file cannot be written or read.
    /// `Cancelled` if [`on_progress`](Self::on_progress) says so.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Lines;
    ///
    /// let texts = ["one\ntwo", "two\nthree"];
    /// let found = Lines::default().find(|each| texts.iter().try_for_each(|text| each(&[text])))?;
    /// assert_eq!((found.rows, found.windows, found.runs, found.spans.len()), (2, 4, 1, 1));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn find<E: From<Error>>(
        &self,
        mut read: impl FnMut(&mut Texts<'_>) -> result::Result<(), E>,
    ) -> result::Result<Found, E> {
        let folder = self.work.folder();
        let pages = PageBudget::unlimited();
        let work = self.work.begin(ScratchFiles::InFolder(&folder, &pages))?;

        let mut sorter = work.sorter(1);
        let (mut rows, mut windows) = (0, 0);
        read(&mut |texts| {
            in_parts(texts, &mut |part| {
                for lines in self.lines(part, &work)? {
                    windows += lines.len() as u64;
                    for Line { hash, .. } in lines {
                        sorter.push(pair(hash, rows))?;
                    }
                    rows += 1;
                }
                work.meter.advance(part.len() as u64)
            })
        })?;
        // Where the first of each line stands.
        let mut firsts = self.often(sorter, &work)?;

        work.meter.begin(Phase::Read, rows)?;
        let (mut row, mut spans) = (0, Vec::new());
        read(&mut |texts| {
            in_parts(texts, &mut |part| {
                for lines in self.lines(part, &work)? {
                    lines.iter().for_each(|line| line.compare(row, &mut firsts, &mut spans));
                    row += 1;
                }
                work.meter.advance(part.len() as u64)
            })
        })?;
        if row != rows {
            return Err(changed(row.min(rows)).into());
        }
        work.meter.finish();
        Ok(Found { spans, rows, windows, runs: firsts.len() as u64, ..Found::default() })
    }

    /// Returns the lines of texts.
    fn lines(&self, texts: &[&str], work: &Working<'_>) -> Result<Vec<Vec<Line>>> {
        let mut all: Vec<Vec<Line>> = texts.iter().map(|_| Vec::new()).collect();
        let tasks = texts.iter().zip(&mut all);
        parallel::for_each(
            work.threads,
            tasks,
            || Words::new(work.seed),
            |words, (text, lines)| {
                for place in self.unit.places(text) {
                    words.read(&text[place.clone()])?;
                    if words.len() >= self.min_words {
                        lines.push(Line { hash: words.hash(0..words.len()), place });
                    }
                }
                Ok(())
            },
        )?;
        Ok(all)
    }

    /// Returns the hashes that more than `most` rows have.
    fn often<'a>(
        &self,
        sorter: Sorter<'a, u128>,
        work: &Working<'a>,
    ) -> Result<HashMap<u64, Option<Place>>> {
        // The hash and the number of its rows so far. Equal records are left out, so each row
        // counts once.
        let (mut firsts, mut last, mut rows) = (HashMap::new(), None, 0);
        work.for_each(&work.sorted(sorter, 1)?, &mut |pairs| {
            for (hash, _) in pairs.iter().copied().map(numbers) {
                rows = if last == Some(hash) { rows + 1 } else { 1 };
                last = Some(hash);
                if rows == self.most + 1 {
                    firsts.insert(hash, None);
                }
            }
            Ok(())
        })?;
        Ok(firsts)
    }
}

/// A line or a paragraph: the hash of its words, and its bytes.
struct Line {
    hash: u64,
    place: Range<usize>,
}

/// The row, and the bytes in it.
type Place = (u64, Range<u32>);

impl Line {
    /// Takes the place of the first of the lines that are found, and makes all others spans.
    fn compare(&self, row: u64, firsts: &mut HashMap<u64, Option<Place>>, spans: &mut Vec<Span>) {
        let Some(first) = firsts.get_mut(&self.hash) else { return };
        // A text has fewer bytes.
        let byte = |at| u32::try_from(at).unwrap_or(u32::MAX);
        let (begin, end) = (byte(self.place.start), byte(self.place.end));
        match first {
            None => *first = Some((row, begin..end)),
            Some((source, Range { start: source_begin, end: source_end })) => {
                let (source, source_begin, source_end) = (*source, *source_begin, *source_end);
                spans.push(Span { row, source, begin, end, source_begin, source_end });
            }
        }
    }
}

#[cfg(test)]
mod tests;
