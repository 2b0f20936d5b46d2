//! The report of a run: one record per duplicate, then the summary.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::cmd::html::figures;
use crate::output::json_line;
use crate::output::provenance::{Provenance, write_traced};

/// The schema of the report.
pub(super) const SCHEMA: &str = "fpdb.dedup/1";

/// Numbers of documents. Each document that was read is novel, a duplicate or skipped or, with
/// `--recrawl`, unchanged. Only `--recrawl` counts the documents that are inserted, unchanged and
/// updated; the novel ones are those that are inserted or updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Summary {
    pub(super) read: u64,
    #[serde(flatten)]
    recrawl: Option<RecrawlCounts>,
    pub(super) novel: u64,
    pub(super) duplicates: u64,
    /// The duplicates that may be less similar than the database asks for: their estimated
    /// similarity is less than two standard errors above that. Only in databases of sketches.
    #[serde(skip_serializing_if = "Option::is_none")]
    uncertain: Option<u64>,
    #[serde(flatten)]
    exact: Option<ExactCounts>,
    /// Documents without a fingerprint: too short or bad.
    skipped: u64,
    /// The skipped lines, rows, files and records that should be documents but are not.
    bad: u64,
    /// Records of archives that hold no page. They do not count as read.
    ignored: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct RecrawlCounts {
    inserted: u64,
    unchanged: u64,
    updated: u64,
}

/// What `--exact` counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct ExactCounts {
    /// The duplicates whose similarity is estimated, because the features of the other document are
    /// not known.
    estimated: u64,
    /// The novel documents that are near as many documents as one is compared with, or more.
    crowded: u64,
}

impl Summary {
    /// Returns the numbers with their names, for a report that a person looks at.
    pub(super) fn figures(&self) -> Vec<(String, String)> {
        let Self { read, novel, duplicates, skipped, bad, ignored, recrawl, exact, uncertain } =
            *self;
        let recrawl = recrawl.unwrap_or_default();
        let exact = exact.unwrap_or_default();
        let numbers = [
            ("documents read", read),
            ("novel", novel),
            ("duplicates", duplicates),
            ("inserted", recrawl.inserted),
            ("updated", recrawl.updated),
            ("unchanged", recrawl.unchanged),
            ("duplicates that may be less similar", uncertain.unwrap_or(0)),
            ("duplicates by an estimate", exact.estimated),
            ("novel, but more documents are near than were compared", exact.crowded),
            ("too short or bad, so skipped", skipped),
            ("bad lines, rows, files and records", bad),
            ("records that hold no page", ignored),
        ];
        figures(&numbers, 3)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { read, novel, duplicates, uncertain, skipped, bad, .. } = self;
        write!(f, "read {read}: {novel} novel")?;
        if let Some(RecrawlCounts { inserted, unchanged, updated }) = self.recrawl {
            write!(f, " ({inserted} inserted, {updated} updated), {unchanged} unchanged")?;
        }
        write!(f, ", {duplicates} duplicates")?;
        if let Some(uncertain) = uncertain {
            write!(f, " ({uncertain} of them uncertain)")?;
        }
        if let Some(ExactCounts { estimated, crowded }) = self.exact
            && estimated + crowded > 0
        {
            write!(f, " ({estimated} of them estimated, {crowded} novel ones in a crowd)")?;
        }
        write!(f, ", {skipped} skipped")?;
        if *bad > 0 {
            write!(f, " ({bad} of them bad)")?;
        }
        Ok(())
    }
}

/// A duplicate, and what it is one of.
#[derive(Serialize)]
#[serde(tag = "type", rename = "duplicate")]
pub(super) struct Duplicate<'a> {
    pub(super) id: &'a str,
    pub(super) duplicate_of: &'a str,
    pub(super) distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) similarity: Option<Similarity>,
}

/// The Jaccard similarity of two documents.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(into = "f64")]
pub(super) struct Similarity {
    pub(super) value: f64,
    /// The standard error of an estimate.
    pub(super) error: Option<f64>,
}

impl From<Similarity> for f64 {
    fn from(similarity: Similarity) -> Self {
        // Estimates have no more digits.
        (similarity.value * 1e4).round() / 1e4
    }
}

/// Counts documents and writes a record per duplicate to a file, if one was requested.
pub(super) struct Report {
    file: Option<BufWriter<File>>,
    label: String,
    is_recrawl: bool,
    pub(super) inserted: u64,
    pub(super) unchanged: u64,
    pub(super) updated: u64,
    duplicates: u64,
    /// The least similarity of duplicates, if they are found by similarity.
    least: Option<f64>,
    is_exact: bool,
    uncertain: u64,
    estimated: u64,
    pub(super) crowded: u64,
    pub(super) too_short: u64,
    bad: u64,
    ignored: u64,
}

impl Report {
    /// Creates a report that is written to a file, which is replaced, or to none.
    pub(super) fn create(
        path: Option<&Path>,
        is_recrawl: bool,
        least: Option<f64>,
        is_exact: bool,
    ) -> Result<Self> {
        let label = path.map(|path| path.display().to_string()).unwrap_or_default();
        let file = path.map(File::create).transpose();
        let file = file.with_context(|| format!("cannot create {label}"))?;
        Ok(Self {
            file: file.map(BufWriter::new),
            label,
            is_recrawl,
            inserted: 0,
            unchanged: 0,
            updated: 0,
            duplicates: 0,
            least,
            is_exact,
            uncertain: 0,
            estimated: 0,
            crowded: 0,
            too_short: 0,
            bad: 0,
            ignored: 0,
        })
    }

    /// Sets the numbers of bad and ignored records so far.
    pub(super) fn set_skipped(&mut self, bad: u64, ignored: u64) {
        (self.bad, self.ignored) = (bad, ignored);
    }

    pub(super) fn duplicate(&mut self, duplicate: &Duplicate<'_>) -> Result<()> {
        self.duplicates += 1;
        if let Some(Similarity { value, error: Some(error) }) = duplicate.similarity {
            self.estimated += 1;
            self.uncertain +=
                u64::from(self.least.is_some_and(|least| value - 2.0 * error < least));
        }
        self.write(|file| json_line(file, duplicate))
    }

    /// Passes what is written so far to the system.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.write(Write::flush)
    }

    /// Returns the counts so far.
    pub(super) fn summary(&self) -> Summary {
        let &Self { is_recrawl, inserted, unchanged, updated, duplicates, bad, ignored, .. } = self;
        let &Self { estimated, crowded, .. } = self;
        let novel = inserted + updated;
        let skipped = self.too_short + bad;
        Summary {
            read: novel + unchanged + duplicates + skipped,
            recrawl: is_recrawl.then_some(RecrawlCounts { inserted, unchanged, updated }),
            novel,
            duplicates,
            uncertain: self.least.map(|_| self.uncertain),
            exact: self.is_exact.then_some(ExactCounts { estimated, crowded }),
            skipped,
            bad,
            ignored,
        }
    }

    /// Writes the summary, which shows that the run is complete.
    pub(super) fn finish(mut self, provenance: &Provenance) -> Result<Summary> {
        let summary = self.summary();
        self.write(|file| write_traced(file, (SCHEMA, true), &summary, provenance))?;
        self.flush()?;
        Ok(summary)
    }

    fn write(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        write(file).with_context(|| format!("cannot write {}", self.label))
    }
}
