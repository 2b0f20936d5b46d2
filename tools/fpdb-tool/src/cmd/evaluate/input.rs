//! The input of an evaluation: documents, and labelled pairs of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use csv::StringRecord;
use indicatif::ProgressBar;

use crate::input::{self, Compression, Document, Input, Intake, Item, MAX_RATIO};
use crate::output::Context;

/// The number of documents read at once.
const BATCH: usize = 1024;

/// The least Jaccard similarity of a strong duplicate.
pub(super) const STRONG: f64 = 0.9;

/// Documents, numbered in the order in which they are read.
pub(super) struct Documents {
    pub(super) texts: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Documents {
    /// Reads all documents.
    pub(super) fn read(mut intake: Intake<Document>, context: &mut Context<'_>) -> Result<Self> {
        let mut documents = Self { texts: Vec::new(), numbers: HashMap::new() };
        let mut batch = Vec::new();
        let mut more = true;
        while more {
            more = intake.fill(&mut batch, BATCH, usize::MAX, context)?;
            for Item { value: Document { id, text, .. }, place, .. } in batch.drain(..) {
                let number = documents.texts.len();
                match documents.numbers.entry(id) {
                    Entry::Vacant(entry) => entry.insert(number),
                    Entry::Occupied(entry) => {
                        bail!("{place}: there is another document {:?}", entry.key())
                    }
                };
                documents.texts.push(text);
            }
        }
        intake.counts.report_ignored(context);
        intake.verdict()?;
        Ok(documents)
    }

    fn number(&self, id: &str) -> Result<usize> {
        let number = self.numbers.get(id).copied();
        number.with_context(|| format!("no document {id:?} in the input"))
    }
}

/// The label of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    Duplicate,
    /// Neither clearly a duplicate nor clearly different: not counted.
    Between,
    Different,
}

/// The similarities at which the label changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The least Jaccard similarity of a duplicate.
    pub(super) duplicate: f64,
    /// Pairs below this Jaccard similarity are different.
    pub(super) different: f64,
}

impl Bounds {
    fn label(self, jaccard: f64) -> Truth {
        if jaccard >= self.duplicate {
            Truth::Duplicate
        } else if jaccard < self.different {
            Truth::Different
        } else {
            Truth::Between
        }
    }
}

/// Two documents by number, the smaller first, and what is known about them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pair {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) truth: Truth,
    /// Whether the similarity is at least [`STRONG`].
    pub(super) strong: bool,
    pub(super) kind: Option<String>,
}

/// Reads lists of pairs. A pair that is listed twice with the same label counts once.
pub(super) fn pairs(files: &[PathBuf], documents: &Documents, bounds: Bounds) -> Result<Vec<Pair>> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut listed: HashMap<(usize, usize), Truth> = HashMap::new();
    for file in files {
        read_file(file, |columns, record| {
            let pair = columns.pair(record, documents, bounds)?;
            match listed.insert((pair.a, pair.b), pair.truth) {
                None => pairs.push(pair),
                Some(before) => {
                    ensure!(before == pair.truth, "the pair has another label in an earlier line");
                }
            }
            Ok(())
        })?;
    }
    Ok(pairs)
}

fn read_file(
    path: &Path,
    mut take: impl FnMut(&Columns, &StringRecord) -> Result<()>,
) -> Result<()> {
    let file = Input::open(path, Compression::ByContent, MAX_RATIO, &ProgressBar::hidden())?;
    let mut reader = csv::ReaderBuilder::new().delimiter(b'\t').quoting(false).from_reader(file);
    let label = input::label(path);
    let unreadable = || format!("cannot read {label}");
    let columns = Columns::find(reader.headers().with_context(unreadable)?);
    let columns = columns.with_context(|| format!("{label}, line 1"))?;
    for record in reader.records() {
        let record = record.with_context(unreadable)?;
        let line = record.position().map_or(0, csv::Position::line);
        take(&columns, &record).with_context(|| format!("{label}, line {line}"))?;
    }
    Ok(())
}

/// The indices of the columns, found by the names in the first line.
struct Columns {
    a: usize,
    b: usize,
    jaccard: Option<usize>,
    label: Option<usize>,
    kind: Option<usize>,
}

impl Columns {
    fn find(header: &StringRecord) -> Result<Self> {
        let column = |name: &str| header.iter().position(|title| title.trim() == name);
        let ids = |a, b| Some((column(a)?, column(b)?));
        let (a, b) = ids("id_a", "id_b")
            .or_else(|| ids("base_id", "variant_id"))
            .context("no columns id_a and id_b, or base_id and variant_id")?;
        let (jaccard, label) = (column("jaccard"), column("label"));
        ensure!(jaccard.or(label).is_some(), "no column jaccard or label");
        Ok(Self { a, b, jaccard, label, kind: column("kind") })
    }

    fn pair(&self, record: &StringRecord, documents: &Documents, bounds: Bounds) -> Result<Pair> {
        let field = |column: usize| record.get(column).unwrap_or_default().trim();
        let (a, b) = (documents.number(field(self.a))?, documents.number(field(self.b))?);
        ensure!(a != b, "the document is paired with itself");
        let jaccard = self.jaccard.map(|column| jaccard(field(column))).transpose()?;
        let truth = match (self.label, jaccard) {
            (Some(column), _) => label(field(column))?,
            (None, Some(jaccard)) => bounds.label(jaccard),
            (None, None) => Truth::Between,
        };
        let kind = self.kind.map(field).filter(|kind| !kind.is_empty()).map(str::to_owned);
        let strong = jaccard.is_some_and(|jaccard| jaccard >= STRONG);
        Ok(Pair { a: a.min(b), b: a.max(b), truth, strong, kind })
    }
}

fn jaccard(text: &str) -> Result<f64> {
    let value = text.parse().ok().filter(|value| (0.0..=1.0).contains(value));
    value.with_context(|| format!("not a similarity from 0 to 1: {text:?}"))
}

fn label(text: &str) -> Result<Truth> {
    match text {
        "1" | "duplicate" => Ok(Truth::Duplicate),
        "0" | "different" => Ok(Truth::Different),
        _ => bail!("not a label: {text:?} (expected duplicate or 1, different or 0)"),
    }
}
