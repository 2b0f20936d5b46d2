//! How the rows of a deduplication are compared.

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use fpdb::text::Recipe;
use fpdb::{Jaccard, Sketch};

/// How the rows of a deduplication are compared.
///
/// [`Dedup::options`](crate::Dedup::options) makes them, and [`start`](Self::start) begins.
///
/// # Examples
///
/// ```
/// use fpdb::Jaccard;
/// use fpdb::text::Recipe;
/// use fpdb_dedup::Dedup;
///
/// let texts = ["the cat sat on the mat", "the cat sat on the sofa"];
/// let kept = |words| -> Result<usize, Box<dyn std::error::Error>> {
///     let options = Dedup::options(Recipe::for_sketches("pairs/1")?, Jaccard::at_least(0.6));
///     let verdicts = options.words(words).threads(1).start()?.add(&texts)?;
///     Ok(verdicts.iter().filter(|it| it.is_kept()).count())
/// };
/// // Four of six pairs of words are the same, but none of the runs of six words.
/// assert_eq!((kept(2)?, kept(6)?), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) recipe: Recipe<Sketch>,
    pub(crate) jaccard: Jaccard,
    pub(crate) words: Option<usize>,
    pub(crate) is_exact: bool,
    pub(crate) expected: u64,
    pub(crate) memory: u64,
    pub(crate) threads: usize,
    pub(crate) scratch: Option<PathBuf>,
    pub(crate) until: Until,
}

impl Options {
    pub(crate) fn new(recipe: Recipe<Sketch>, jaccard: Jaccard) -> Self {
        Self {
            recipe,
            jaccard,
            words: None,
            is_exact: true,
            expected: 10_000_000,
            memory: 384 << 20,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            scratch: None,
            until: Until::default(),
        }
    }

    /// Compares runs of this number of words instead of the features of the recipe. Sketches are
    /// still made of these.
    ///
    /// See the example of [`Options`].
    #[must_use]
    pub fn words(self, words: usize) -> Self {
        Self { words: Some(words.max(1)), ..self }
    }

    /// Lets the sketches decide alone, in less time: they tell the similarity with a standard error
    /// of about .01, so some rows a little below the threshold are dropped, too. The similarities
    /// of verdicts are then estimates from their minima, with a standard error of about .04.
    ///
    /// # Examples
    ///
    /// ```
    /// # use fpdb::Jaccard;
    /// # use fpdb::text::Recipe;
    /// # use fpdb_dedup::Dedup;
    /// let options = Dedup::options(Recipe::for_sketches("pairs/1")?, Jaccard::at_least(0.8));
    /// let verdicts = options.estimated().start()?.add(&["To be, or not to be?", "to be or not to be"])?;
    /// assert!(verdicts[1].is_estimated);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn estimated(self) -> Self {
        Self { is_exact: false, ..self }
    }

    /// Sets for how many rows bands are chosen. The default is 10 million. Many more rows than this
    /// take more time, but all are found that would be. Bands that many rows share are counted in
    /// up to 1.5 bytes for each expected row.
    ///
    /// # Examples
    ///
    /// ```
    /// # use fpdb::Jaccard;
    /// # use fpdb::text::Recipe;
    /// # use fpdb_dedup::Dedup;
    /// let options = Dedup::options(Recipe::for_sketches("pairs/1")?, Jaccard::at_least(0.8));
    /// assert!(options.expected(100_000).start()?.add(&["A text."])?[0].is_kept());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn expected(self, rows: u64) -> Self {
        Self { expected: rows, ..self }
    }

    /// Sets how many bytes the pages of a database of kept rows may take in memory. The default is
    /// 384 MiB. [`Comparer`](crate::Comparer) has no such database.
    ///
    /// # Examples
    ///
    /// ```
    /// # use fpdb::Jaccard;
    /// # use fpdb::text::Recipe;
    /// # use fpdb_dedup::Dedup;
    /// let options = Dedup::options(Recipe::for_sketches("pairs/1")?, Jaccard::at_least(0.8));
    /// assert!(options.memory(64 << 20).start()?.add(&["A text."])?[0].is_kept());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn memory(self, bytes: u64) -> Self {
        Self { memory: bytes, ..self }
    }

    /// Sets the number of threads. The default is the number of processors.
    ///
    /// See the example of [`Options`].
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// Sets the folder of temporary files. The default is the system's.
    ///
    /// # Examples
    ///
    /// ```
    /// # use fpdb::Jaccard;
    /// # use fpdb::text::Recipe;
    /// # use fpdb_dedup::Dedup;
    /// let options = Dedup::options(Recipe::for_sketches("pairs/1")?, Jaccard::at_least(0.8));
    /// let mut dedup = options.scratch_folder(std::env::temp_dir()).start()?;
    /// assert!(dedup.add(&["A text."])?[0].is_kept());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn scratch_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { scratch: Some(folder.into()), ..self }
    }

    /// Ends the work once this function returns true. It is called every few rows, by several
    /// threads.
    ///
    /// # Examples
    ///
    /// ```
    /// # use fpdb::Jaccard;
    /// # use fpdb::text::Recipe;
    /// # use fpdb_dedup::{Dedup, Error};
    /// let options = Dedup::options(Recipe::for_sketches("pairs/1")?, Jaccard::at_least(0.8));
    /// let ended = options.until(|| true).start()?.add(&["A text."]);
    /// assert!(matches!(ended, Err(Error::Cancelled)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn until(self, is_enough: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { until: Until(Some(Arc::new(is_enough))), ..self }
    }
}

/// Returns whether the caller wants no more.
#[derive(Clone, Default)]
pub(crate) struct Until(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Until {
    pub(crate) fn is_reached(&self) -> bool {
        self.0.as_ref().is_some_and(|is_enough| is_enough())
    }

    /// Returns the same as a progress function does.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        if self.is_reached() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl fmt::Debug for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Until").field(&self.0.is_some()).finish()
    }
}
