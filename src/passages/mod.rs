//! Passages that texts repeat from earlier ones, in two passes over the texts.
//!
//! The first pass sorts the hashes of the windows that are kept ([`fpdb_text::windows`]). A window
//! that occurs in one text only cannot belong to a shared run. So the second pass sorts the hashes
//! of only those runs of `min_words` words whose kept window occurs in several texts. Runs with
//! equal hashes are equal, and the first of them is the source of the others. Neighbouring runs
//! whose first places are neighbours are one span. The hashes have a random seed.
//!
//! [`Lines`] finds the lines that many texts have, and [`Index`] is for documents that come one by
//! one: it keeps the windows, and says which earlier documents have passages of a text.
//!
//! | file | what it does |
//! | --- | --- |
//! | `index` | the index that lasts |
//! | `bits` | bits by number |
//! | `contained` | texts that stand in another one as a whole |
//! | `kept` | the first pass: which kept windows occur in several texts |
//! | `lines` | lines and paragraphs that many texts have |
//! | `pair` | two numbers that are sorted together |
//! | `quotes` | passages of which words were changed |
//! | `reading` | the texts that are read, and what is found |
//! | `runs` | the second pass: the first place of each run |
//! | `shared` | windows that several texts have |
//! | `spans` | from the places of runs to spans, and to bytes |
//! | `stored` | texts that are compared, in a scratch file |
//! | `work` | the settings that all searches have |

mod bits;
mod contained;
mod index;
mod kept;
mod lines;
mod pair;
mod quotes;
mod reading;
mod runs;
mod shared;
mod spans;
mod stored;
mod work;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::result;

use fpdb_text::windows::{Windows, Words};

use crate::base::error::{Error, Result};
use crate::base::parallel;
use crate::base::progress::{Phase, Progress, Watch};
use crate::file::scratch::ScratchFiles;
use crate::file::storage::PageBudget;
pub use contained::{Contained, ContainedText, ContainedTexts};
pub use index::{Index, Novelty, Origin, Origins, Place};
use kept::{Kept, Slots};
pub use lines::Lines;
pub use reading::{Found, Texts};
use reading::{changed, in_parts};
use runs::Runs;
pub use spans::{Change, Span};
use work::{Work, Working};

/// The most words between two runs of a quote.
const MOST_GAPS: u16 = 1000;

/// A search for passages: for runs of at least so many words that stand in an earlier text, too.
///
/// Finds all such runs, and nothing else. Words are compared as the recipe `pairs/1` cuts them, so
/// case, white space and punctuation make no difference. Of several places, a run's source is the
/// first. A [`Span`] is one run in one earlier text. Spans of a text may overlap, and together they
/// cover all words that stand in such a run. Two different runs count as equal if their hashes of
/// 64 bits are: with 10^9 runs that is expected once in 40 searches. The hashes have a
/// [seed](Self::seed), which is random. So whoever writes the texts cannot choose runs that count
/// as equal.
///
/// The time grows linearly with the length of the texts. What does not fit into
/// [`memory`](Self::memory) is sorted on the disk: 16 bytes per kept window, and then 40 bytes per
/// word of repeated passages. In addition, it takes 2 bits of memory per kept window, about 1 byte
/// per 100 words, and 100 bytes per span.
///
/// # Examples
///
/// ```
/// use fpdb::passages::Passages;
///
/// let quote = "The mills were closed in spring, because the new owners had found cheaper coal in the north.";
/// let texts = [quote.to_owned(), format!("“{}” said the mayor.", quote.to_uppercase())];
/// let found = Passages::new(14)?.find(|each| each(&[&texts[0], &texts[1]]))?;
/// let span = &found.spans[0];
/// assert_eq!((found.spans.len(), span.row, span.source), (1, 1, 0));
/// assert_eq!(&texts[1][span.bytes()], &quote.to_uppercase()[..quote.len() - 1]);
/// assert_eq!(&texts[0][span.source_bytes()], &quote[..quote.len() - 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a search does nothing until find is called"]
pub struct Passages {
    min_words: usize,
    gaps: u16,
    work: Work,
}

impl Passages {
    /// Prepares a search for runs of at least `min_words` words, of which 50 are usual: 14 to 1000.
    /// In scripts that are written without spaces, 1.6 times as many characters: 80.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for another number.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Passages;
    /// assert!(Passages::new(13).unwrap_err().to_string().contains("14 to 1000"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(min_words: usize) -> Result<Self> {
        Windows::new(min_words, 0)?;
        Ok(Self { min_words, gaps: 0, work: Work::default() })
    }

    /// Also finds quotes of which words were changed: runs of at least 8 words that stand in the
    /// same order in one earlier text, joined over at most this number of other words on each
    /// side; 5 is usual. Such a span is the whole quote, with what is new in it, which
    /// [`changes`](Found::changes) says; it has at least the number of words of a passage.
    ///
    /// A window of 13 words that was not changed and is kept, about one in twenty, must lead to the
    /// earlier text, and a text is compared with at most 64 others for these, those first that
    /// share most windows with it. So the [seed](Self::seed) decides which quotes are found. The
    /// texts are read twice more, and those that are compared are in a scratch file.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for more than 1000 words.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Passages;
    ///
    /// let news = "Nobody knew why the mills were closed, but the owners had found better coal in the north of the \
    ///             country, then as now.";
    /// let texts = [news.to_owned(), news.replace("but", "but, they say,")];
    /// let found = Passages::new(14)?.gaps(5)?.seed(1).find(|each| each(&[&texts[0], &texts[1]]))?;
    /// let (span, change) = (&found.spans[0], &found.changes[0]);
    /// assert_eq!(&texts[1][span.bytes()], &texts[1][..texts[1].len() - 1]);
    /// assert_eq!(&texts[1][change.bytes()], ", they say, ");
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn gaps(self, words: u16) -> Result<Self> {
        if words > MOST_GAPS {
            let message = format!("gaps {words}: expected a number of words from 0 to {MOST_GAPS}");
            return Err(Error::invalid(message));
        }
        Ok(Self { gaps: words, ..self })
    }

    /// Sets the seed of the hashes. The default is a random one for each search.
    ///
    /// The spans are the same with every seed, unless the hashes of different runs are equal. The
    /// numbers of [windows](Found::windows) and [runs](Found::runs) differ. Whoever knows the seed
    /// of a search can write texts that count as equal although no word is. So do not set it for
    /// texts of strangers.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Passages;
    ///
    /// let texts = ["one text ".repeat(30), "another text ".repeat(30)];
    /// let find = || Passages::new(50)?.seed(7).find(|each| each(&[&texts[0], &texts[1]]));
    /// assert_eq!(find()?, find()?);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.work.seed = Some(seed);
        self
    }

    /// Sets how many bytes of memory the sorting may take. The default is 512 MiB, for about 4 GB
    /// of text.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Passages;
    /// let found = Passages::new(50)?.memory(1 << 20).find(|each| each(&["A text."]))?;
    /// assert_eq!(found.rows, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
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
    /// use fpdb::passages::Passages;
    /// let found = Passages::new(50)?.threads(1).find(|each| each(&["A text."]))?;
    /// assert!(found.spans.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
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
    /// use fpdb::passages::Passages;
    /// let search = Passages::new(50)?.scratch_folder(std::env::temp_dir());
    /// assert_eq!(search.find(|each| each(&["A text."]))?.windows, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scratch_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.work.scratch = Some(folder.into());
        self
    }

    /// Sets a function that gets the progress, and can end the search with an error of kind
    /// `Cancelled`: the number of texts that were read in each pass and, with gaps, compared.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use fpdb::passages::Passages;
    /// let search = Passages::new(50)?.on_progress(|_| ControlFlow::Break(()));
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

    /// Searches the texts that `read` passes on. It is called twice, with [`gaps`](Self::gaps) four
    /// times, and passes the same texts each time in the same order, in slices of any length. Rows
    /// are counted from 0.
    ///
    /// # Errors
    ///
    /// Those of `read`. `InvalidArgument` if a text is longer than 512 MiB, or if the texts differ
    /// the second time. `Io` if a scratch file cannot be written or read.
    /// `Cancelled` if [`on_progress`](Self::on_progress) says so.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Passages;
    ///
    /// let texts = ["one text".repeat(30), "another text".repeat(30)];
    /// let found = Passages::new(50)?.find(|each| texts.iter().try_for_each(|text| each(&[text])))?;
    /// assert_eq!((found.rows, found.spans.len()), (2, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find<E: From<Error>>(
        &self,
        mut read: impl FnMut(&mut Texts<'_>) -> result::Result<(), E>,
    ) -> result::Result<Found, E> {
        let folder = self.work.folder();
        let pages = PageBudget::unlimited();
        let work = self.work.begin(ScratchFiles::InFolder(&folder, &pages))?;
        let windows = Windows::new(self.min_words, work.seed).map_err(Error::from)?;
        let search = Search { windows, work: &work };

        let mut kept = Kept::new(work.sorter(1));
        read(&mut |texts| in_parts(texts, &mut |part| search.keep(part, &mut kept)))?;
        let (rows, windows) = (kept.rows(), kept.windows());
        let slots = kept.finish(&work)?;

        work.meter.begin(Phase::Read, rows)?;
        let mut runs = Runs::new(self.min_words, &work);
        let mut next = Position { row: 0, slot: 0 };
        read(&mut |texts| {
            in_parts(texts, &mut |part| search.compare(part, &slots, &mut next, &mut runs))
        })?;
        if next.row != rows {
            return Err(changed(next.row).into());
        }
        let found = Found { rows, windows, runs: runs.len(), ..Found::default() };
        let sources = runs.finish(&work)?;
        let found = Found { spans: sources.spans(self.min_words, &work)?, ..found };
        let found = match self.gaps {
            0 => found,
            gaps => quotes::add(found, &search.windows, gaps, &work, read)?,
        };
        work.meter.finish();
        Ok(found)
    }
}

/// What both passes do with a part of the texts.
struct Search<'a> {
    windows: Windows,
    work: &'a Working<'a>,
}

impl Search<'_> {
    /// Does the work for each item, in several threads, and returns the results in the order of the
    /// items.
    fn map<I: Send, T: Default + Send>(
        &self,
        items: Vec<I>,
        work: impl Fn(&mut Words, I) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let mut results: Vec<T> = items.iter().map(|_| T::default()).collect();
        let tasks = items.into_iter().zip(&mut results);
        parallel::for_each(
            self.work.threads,
            tasks,
            || Words::new(self.work.seed),
            |words, (item, result)| {
                *result = work(words, item)?;
                Ok(())
            },
        )?;
        Ok(results)
    }

    /// The first pass: adds the windows of texts.
    fn keep(&self, texts: &[&str], kept: &mut Kept<'_>) -> Result<()> {
        let windows = self.map(texts.to_vec(), |words, text| {
            words.read(text)?;
            let mut windows = Vec::new();
            self.windows.keep(words, |hash, _| windows.push(hash));
            Ok(windows)
        })?;
        windows.iter().try_for_each(|windows| kept.add(windows))?;
        self.work.meter.advance(texts.len() as u64)
    }

    /// The second pass: adds the runs of texts that may be in other texts.
    fn compare(
        &self,
        texts: &[&str],
        slots: &Slots,
        next: &mut Position,
        runs: &mut Runs<'_>,
    ) -> Result<()> {
        let first = next.row;
        let mut items = Vec::with_capacity(texts.len());
        for text in texts {
            let of_row = slots.of_row(next.slot).ok_or_else(|| changed(next.row))?;
            *next = Position { row: next.row + 1, slot: of_row.end };
            items.push((next.row - 1, *text, of_row));
        }
        let found = self.map(items, |words, (row, text, of_row)| {
            if !slots.any_repeated(&of_row) {
                return Ok(Vec::new());
            }
            words.read(text)?;
            runs::repeated(&self.windows, words, slots, of_row).ok_or_else(|| changed(row))
        })?;
        (first..).zip(&found).try_for_each(|(row, found)| runs.add(row, found))?;
        self.work.meter.advance(texts.len() as u64)
    }
}

/// The next text of the second pass, and its first slot.
#[derive(Debug)]
struct Position {
    row: u64,
    slot: u64,
}

#[cfg(test)]
mod tests;
