//! Texts that stand in another one as a whole, in two passes over the texts.
//!
//! The first pass sorts the windows of all texts ([`fpdb_text::windows`]). A text that stands in
//! another one shares its windows with it. So each text is compared with those that have one of its
//! rarest windows, and these texts are kept in a scratch file in the second pass.

mod compare;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::result;

use fpdb_text::windows::{Windows, Words};

use compare::{Comparing, ranks};
pub use compare::{ContainedText, ContainedTexts};

use super::bits::Bits;
use super::pair::pair;
use super::reading::{Texts, changed, in_parts};
use super::shared::for_each_shared;
use super::stored::{Storing, index};
use super::work::{Work, Working};
use crate::base::error::{Error, Result};
use crate::base::parallel;
use crate::base::progress::{Phase, Progress, Watch};
use crate::file::scratch::ScratchFiles;
use crate::file::sorter::Sorted;
use crate::file::storage::PageBudget;

/// Texts with at least this number of words share a window with each text that they stand in.
const MIN_WORDS: usize = 20;
/// The rarest windows of a text by which others are found, and how many texts are compared for
/// each.
const WINDOWS: usize = 2;
const MOST: usize = 128;

/// A search for texts that stand in another one.
///
/// A text stands in another one if at least this share of its distinct runs of three words does, in
/// any order. A text whose runs repeat themselves, more than a tenth of them, must stand there word
/// for word, and one of fewer than three words is compared as a whole. Words are compared without
/// case, white space and punctuation. Of two such texts the longer one is kept, in words, or the
/// one with the greater [priority](Self::priorities), and a text is found only if it stands in one
/// that is kept. So with a share of 1, nothing is lost.
///
/// A text is compared with the texts of greater priority that have one of its two rarest runs of 13
/// words. If more than 128 have it, only the 128 of the greatest priority are compared, and the
/// text is counted as crowded if it is kept. Not all texts with fewer than 20 words are found, and
/// with a share below 1, not all that have changes in these runs.
///
/// What does not fit into [`memory`](Self::memory) is sorted on the disk: 16 bytes per window,
/// about one per 13 words, and 16 for each two texts that are compared. Their texts are in a
/// scratch file. In addition, it takes 50 bytes of memory per text.
///
/// # Examples
///
/// ```
/// use fpdb::passages::Contained;
///
/// let quote = "The mills were closed in spring because the new owners had found cheaper coal in the north of the country";
/// let texts = [quote.to_owned(), format!("This is from the archive. {quote}. That was all.")];
/// let found = Contained::new(1.0)?.find(|each| each(&[&texts[0], &texts[1]]))?;
/// assert_eq!((found.texts[0].row, found.texts[0].source, found.texts[0].share), (0, 1, 1.0));
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a search does nothing until find is called"]
pub struct Contained {
    share: f64,
    priorities: Option<Vec<u64>>,
    work: Work,
}

impl Contained {
    /// Prepares a search for texts of which at least this share stands in another one.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` unless it is from 0.5 to 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Contained;
    /// assert!(Contained::new(0.4).unwrap_err().to_string().contains("0.5 to 1"));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn new(share: f64) -> Result<Self> {
        if !(0.5..=1.0).contains(&share) {
            return Err(Error::invalid(format!("share {share}: expected a number from 0.5 to 1")));
        }
        Ok(Self { share, priorities: None, work: Work::default() })
    }

    /// Sets a priority for each text: of two, the one with the greater priority is kept, and of
    /// equal ones the first. The default is the number of words.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Contained;
    ///
    /// let texts = ["one two three four five", "five, four? One, two three four five."];
    /// let found = |search: Contained| search.find(|each| each(&texts)).map(|found| found.texts.len());
    /// assert_eq!(found(Contained::new(1.0)?.priorities(vec![2, 1]))?, 0);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn priorities(self, priorities: Vec<u64>) -> Self {
        Self { priorities: Some(priorities), ..self }
    }

    /// Sets the seed of the hashes, as [`Passages::seed`](super::Passages::seed) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Contained;
    /// assert_eq!(Contained::new(1.0)?.seed(7).find(|each| each(&["A text."]))?.rows, 1);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.work.seed = Some(seed);
        self
    }

    /// Sets how many bytes of memory the sorting may take. The default is 512 MiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Contained;
    /// assert_eq!(Contained::new(1.0)?.memory(1 << 20).find(|each| each(&["A text."]))?.rows, 1);
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
    /// use fpdb::passages::Contained;
    /// assert_eq!(Contained::new(1.0)?.threads(1).find(|each| each(&["A text."]))?.rows, 1);
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
    /// use fpdb::passages::Contained;
    /// let search = Contained::new(1.0)?.scratch_folder(std::env::temp_dir());
    /// assert_eq!(search.find(|each| each(&["A text."]))?.rows, 1);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn scratch_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.work.scratch = Some(folder.into());
        self
    }

    /// Sets a function that gets the progress, and can end the search with an error of kind
    /// `Cancelled`: the number of texts that were read in each pass, and then compared.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use fpdb::passages::Contained;
    /// let search = Contained::new(1.0)?.on_progress(|_| ControlFlow::Break(()));
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
    /// it is called twice.
    ///
    /// # Errors
    ///
    /// Those of `read`. `InvalidArgument` if a text is longer than 512 MiB, if the number of texts
    /// differs the second time, or if it is not that of the priorities. `Io` if a scratch file
    /// cannot be written or read.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Contained;
    ///
    /// let texts = ["Yes.", "No.", "YES"];
    /// let found = Contained::new(1.0)?.find(|each| texts.iter().try_for_each(|text| each(&[text])))?;
    /// assert_eq!((found.rows, found.texts.len(), found.texts[0].row), (3, 1, 2));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn find<E: From<Error>>(
        &self,
        mut read: impl FnMut(&mut Texts<'_>) -> result::Result<(), E>,
    ) -> result::Result<ContainedTexts, E> {
        let folder = self.work.folder();
        let pages = PageBudget::unlimited();
        let work = self.work.begin(ScratchFiles::InFolder(&folder, &pages))?;

        let (mut sorter, mut words) = (work.sorter(2), Vec::new());
        read(&mut |texts| {
            in_parts(texts, &mut |part| {
                for (number, windows) in windows(part, &work)? {
                    let row = words.len() as u64;
                    words.push(number);
                    for window in windows {
                        sorter.push(pair(window, row))?;
                    }
                }
                work.meter.advance(part.len() as u64)
            })
        })?;
        let order = Order::new(self.priorities.as_ref().unwrap_or(&words));
        let rows = words.len() as u64;
        if order.rows.len() != words.len() {
            let number = order.rows.len();
            return Err(
                Error::invalid(format!("there are {number} priorities for {rows} texts")).into()
            );
        }
        drop(words);
        let sorted = work.sorted(sorter, 2)?;
        let (pairs, crowded) = pairs(&sorted, &order, &work)?;
        drop(sorted);

        let mut wanted = Bits::zeros(rows);
        work.for_each(&pairs, &mut |pairs| {
            pairs.iter().copied().flat_map(ranks).for_each(|rank| wanted.set(order.row(rank)));
            Ok(())
        })?;
        let mut storing = Storing::new(work.files, wanted)?;
        work.meter.begin(Phase::Read, rows)?;
        read(&mut |texts| {
            storing.add(texts)?;
            work.meter.advance(texts.len() as u64)
        })?;
        if storing.len() != rows {
            return Err(changed(rows.min(storing.len())).into());
        }
        let row_of = |rank| order.row(rank);
        work.meter.begin(Phase::Search, rows)?;
        let mut comparing = Comparing::new(self.share, &work, &row_of, storing.finish()?);
        pairs.for_each(&mut |pairs| comparing.add(pairs))?;
        comparing.finish(rows, &crowded).map_err(E::from)
    }
}

/// Returns the number of words of texts, and the hashes of their windows.
fn windows(texts: &[&str], work: &Working<'_>) -> Result<Vec<(u64, Vec<u64>)>> {
    let windows = Windows::new(MIN_WORDS, work.seed)?;
    parallel::map(work.threads, texts, |text| {
        let (words, mut hashes) = (Words::of(text, work.seed)?, Vec::new());
        windows.keep(&words, |hash, _| hashes.push(hash));
        Ok((words.len() as u64, hashes))
    })
}

/// The order in which texts are decided: by descending priority, and then by row. The place of a
/// text in it is its rank.
struct Order {
    rows: Vec<u64>,
    ranks: Vec<u64>,
}

impl Order {
    fn new(priorities: &[u64]) -> Self {
        let priority = |row: u64| priorities.get(index(row)).copied().unwrap_or(0);
        let mut rows: Vec<u64> = (0..priorities.len() as u64).collect();
        rows.sort_by_key(|&row| std::cmp::Reverse(priority(row)));
        let mut ranks = vec![0; rows.len()];
        for (rank, &row) in (0..).zip(&rows) {
            if let Some(place) = ranks.get_mut(index(row)) {
                *place = rank;
            }
        }
        Self { rows, ranks }
    }

    fn row(&self, rank: u64) -> u64 {
        self.rows.get(index(rank)).copied().unwrap_or(0)
    }

    fn rank(&self, row: u64) -> u64 {
        self.ranks.get(index(row)).copied().unwrap_or(0)
    }
}

/// The rarest windows of a text: how many texts have each, and its number.
type Rarest = [(u32, u64); WINDOWS];

/// Pairs each text, by its rank, with the first texts before it that have one of its rarest
/// windows. Also returns which rows have more of these.
fn pairs<'a>(
    windows: &Sorted<'_, u128>,
    order: &Order,
    work: &Working<'a>,
) -> Result<(Sorted<'a, u128>, Bits)> {
    let mut sorter = work.sorter(2);
    let mut rarest: Vec<Rarest> = vec![[(u32::MAX, u64::MAX); WINDOWS]; order.rows.len()];
    for_each_shared(work, windows, |number, rows| {
        let count = u32::try_from(rows.len()).unwrap_or(u32::MAX - 1);
        for &row in rows {
            let Some([first, second]) = rarest.get_mut(index(row)) else { continue };
            if (count, number) < *first {
                (*first, *second) = ((count, number), *first);
            } else {
                *second = (*second).min((count, number));
            }
        }
        Ok(())
    })?;
    let mut crowded = Bits::zeros(order.rows.len() as u64);
    let mut ranks = Vec::new();
    for_each_shared(work, windows, |number, rows| {
        ranks.clear();
        ranks.extend(rows.iter().map(|&row| order.rank(row)));
        ranks.sort_unstable();
        for (before, &rank) in ranks.iter().enumerate() {
            let row = order.row(rank);
            let is_rare = |it: &Rarest| it.iter().any(|window| window.1 == number);
            if !rarest.get(index(row)).is_some_and(is_rare) {
                continue;
            }
            if before > MOST {
                crowded.set(row);
            }
            for &other in ranks.iter().take(before.min(MOST)) {
                sorter.push(pair(rank, other))?;
            }
        }
        Ok(())
    })?;
    Ok((work.sorted(sorter, 2)?, crowded))
}

#[cfg(test)]
mod tests;
