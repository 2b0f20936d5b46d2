//! Collects what a report shows, while rows are decided.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use super::measured::{Measure, Measured};
use super::report::{CLUSTERS, Pair, Report};
use super::texts::excerpts;
use crate::error::{Error, Result};

/// Pairs that are shown.
const PAIRS: usize = 20;

/// Collects what a [`Report`] shows, while rows are decided one after the other: the similarities
/// of dropped rows, the least similar pairs with their texts, and the largest clusters.
///
/// The texts of kept rows are in a temporary file. In memory, each kept row takes up to 40 bytes,
/// and each row that others are like up to 80 and its name.
///
/// # Examples
///
/// ```
/// use fpdb_dedup::html::{Collector, Measure};
///
/// let mut collector = Collector::new(Measure::Similarity, 0.8, &std::env::temp_dir())?;
/// collector.kept("a", "One two three.")?;
/// collector.dropped("b", "One two four.", "a", Some((0.85, "similarity 0.85".into())))?;
/// let report = collector.report("May", vec![("read".into(), "2".into())]);
/// assert_eq!((report.rows, report.kept, &*report.pairs[0].row), (2, 1, "b"));
/// assert_eq!(report.pairs[0].other.as_deref(), Some("One two three."));
/// # Ok::<(), fpdb_dedup::Error>(())
/// ```
#[derive(Debug)]
pub struct Collector {
    measured: Measured,
    folder: PathBuf,
    texts: BufWriter<File>,
    end: u64,
    /// Where the text of each kept row begins, by the hash of its name.
    begins: HashMap<u64, u64>,
    /// The number of rows that are like each, and its name.
    clusters: HashMap<u64, (u64, Box<str>)>,
    /// The least similar ones come first, each with a distance.
    pairs: Vec<(f64, Pair)>,
    kept: u64,
    dropped: u64,
}

impl Collector {
    /// Begins to collect. The texts of kept rows are in a temporary file in the folder.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    ///
    /// See the example of [`Collector`].
    pub fn new(measure: Measure, threshold: f64, folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(Error::file(folder))?;
        Ok(Self {
            measured: Measured::new(measure, threshold),
            folder: folder.to_owned(),
            texts: BufWriter::with_capacity(1 << 16, file),
            end: 0,
            begins: HashMap::new(),
            clusters: HashMap::new(),
            pairs: Vec::new(),
            kept: 0,
            dropped: 0,
        })
    }

    /// Takes a row that is kept. A later one of the same name replaces its text.
    ///
    /// # Errors
    ///
    /// [`Error::File`], such as for a full disk.
    ///
    /// See the example of [`Collector`].
    pub fn kept(&mut self, name: &str, text: &str) -> Result<()> {
        self.kept += 1;
        self.begins.insert(hash_of(name), self.end);
        let length = text.len() as u64;
        self.texts.write_all(&length.to_le_bytes()).map_err(Error::file(&self.folder))?;
        self.texts.write_all(text.as_bytes()).map_err(Error::file(&self.folder))?;
        self.end += 8 + length;
        Ok(())
    }

    /// Takes a row that is dropped, because it is like another one; and how similar it is, as a
    /// number and in words, unless it was dropped for its name.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    ///
    /// See the example of [`Collector`].
    pub fn dropped(
        &mut self,
        name: &str,
        text: &str,
        of: &str,
        measured: Option<(f64, String)>,
    ) -> Result<()> {
        self.dropped += 1;
        self.clusters.entry(hash_of(of)).or_insert_with(|| (0, of.into())).0 += 1;
        let Some((value, words)) = measured else { return Ok(()) };
        self.measured.add(value);
        let distance = match self.measured.measure() {
            Measure::Similarity | Measure::Share => -value,
            Measure::Distance => value,
        };
        let place = self.pairs.partition_point(|it| it.0 >= distance);
        if place < PAIRS {
            let other = self.text_of(of)?;
            let (text, other) = excerpts(Some(text), other.as_deref());
            let (row, of) = (name.to_owned(), of.to_owned());
            self.pairs.insert(place, (distance, Pair { row, of, measured: words, text, other }));
            self.pairs.truncate(PAIRS);
        }
        Ok(())
    }

    /// Returns the text of a kept row, if it is one.
    fn text_of(&mut self, name: &str) -> Result<Option<String>> {
        let Some(&begin) = self.begins.get(&hash_of(name)) else { return Ok(None) };
        let mut read = || {
            self.texts.flush()?;
            let file = self.texts.get_mut();
            file.seek(SeekFrom::Start(begin))?;
            let mut length = [0; 8];
            file.read_exact(&mut length)?;
            let mut text =
                vec![0; usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX)];
            file.read_exact(&mut text)?;
            file.seek(SeekFrom::End(0))?;
            Ok(text)
        };
        let text = read().map_err(Error::file(&self.folder))?;
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }

    /// Returns the report.
    ///
    /// See the example of [`Collector`].
    #[must_use]
    pub fn report(self, title: &str, figures: Vec<(String, String)>) -> Report {
        let Self { measured, clusters, pairs, kept, dropped, .. } = self;
        let mut clusters: Vec<(u64, Box<str>)> = clusters.into_values().collect();
        clusters.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        clusters.truncate(CLUSTERS);
        Report {
            title: title.to_owned(),
            figures,
            rows: kept + dropped,
            kept,
            measured: Some(measured),
            clusters: clusters.into_iter().map(|(count, name)| (name.into(), count)).collect(),
            pairs: pairs.into_iter().map(|it| it.1).collect(),
            repeated: Vec::new(),
        }
    }
}

fn hash_of(name: &str) -> u64 {
    XxHash3_64::oneshot(name.as_bytes())
}
