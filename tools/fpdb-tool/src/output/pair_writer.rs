//! Writes pairs of documents, and groups with equal fingerprints, while others are searched.

use std::collections::HashMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::mpsc;

use anyhow::{Result, bail};
use fpdb::{DocId, Fingerprint, Pair};
use serde::Serialize;

use crate::output::{json_line, printable};

/// What the search passes to the thread that writes. It has fingerprints of no particular width, so
/// that the writer is compiled once.
pub(crate) enum Batch {
    /// The documents of pairs, and the distances.
    Pairs(Vec<(DocId, DocId, u32)>),
    /// A fingerprint in hex, and the documents that have it.
    Group(String, Vec<DocId>),
}

impl Batch {
    pub(crate) fn pairs<F: Fingerprint>(pairs: &[Pair<F>]) -> Self {
        Self::Pairs(pairs.iter().map(|pair| (pair.a.id, pair.b.id, pair.distance)).collect())
    }
}

/// How pairs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Csv,
    /// Columns for people: distance and the two documents.
    Text,
}

impl Form {
    /// Returns the form that `--json` and `--csv` select.
    pub(crate) fn new(json: bool, csv: bool) -> Result<Self> {
        match (json, csv) {
            (true, true) => bail!("--csv and --json are two formats: choose one"),
            (true, false) => Ok(Self::Json),
            (false, true) => Ok(Self::Csv),
            (false, false) => Ok(Self::Text),
        }
    }
}

#[derive(Serialize)]
struct PairRecord<'a> {
    r#type: &'static str,
    a: u64,
    b: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    a_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b_name: Option<&'a str>,
    distance: u32,
}

#[derive(Serialize)]
struct GroupRecord<'a> {
    r#type: &'static str,
    fingerprint: &'a str,
    ids: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<Vec<&'a str>>,
}

/// Returns the names of documents.
pub(crate) type NamesOf<'a> = &'a dyn Fn(&[DocId]) -> fpdb::Result<Vec<Option<String>>>;

/// Searches, and passes what it finds to its argument.
pub(crate) type Search<'a, T> =
    Box<dyn FnOnce(&(dyn Fn(Batch) -> ControlFlow<()> + Sync)) -> fpdb::Result<T> + Send + 'a>;

pub(crate) struct Writer<'a> {
    form: Form,
    /// The names of the first documents of pairs and of the second ones, if their databases have
    /// names.
    names: [Option<NamesOf<'a>>; 2],
    out: &'a mut dyn Write,
}

/// The names of some documents. Empty in a database without names.
type Names = HashMap<DocId, String>;

impl<'a> Writer<'a> {
    pub(crate) fn new(form: Form, names: [Option<NamesOf<'a>>; 2], out: &'a mut dyn Write) -> Self {
        Self { form, names, out }
    }

    /// Writes what `search` passes to its argument, in this thread, while another thread searches.
    /// The search is stopped if writing fails.
    pub(crate) fn write_all<T: Send>(mut self, search: Search<'_, T>) -> Result<T> {
        let (sender, receiver) = mpsc::sync_channel(4);
        std::thread::scope(|scope| {
            let search = scope.spawn(move || {
                search(&|batch| match sender.send(batch) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                })
            });
            let write = || {
                self.begin()?;
                // The receiver is dropped at the end, or at the first error.
                receiver.into_iter().try_for_each(|batch| self.write(&batch))?;
                Ok(self.out.flush()?)
            };
            let written: Result<()> = write();
            let report = search.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            written?;
            Ok(report?)
        })
    }

    /// Writes what comes before all pairs.
    fn begin(&mut self) -> Result<()> {
        match (self.form, self.has_names()) {
            (Form::Csv, true) => writeln!(self.out, "a,b,distance,a_name,b_name")?,
            (Form::Csv, false) => writeln!(self.out, "a,b,distance")?,
            (Form::Json | Form::Text, _) => {}
        }
        Ok(())
    }

    fn has_names(&self) -> bool {
        self.names.iter().any(Option::is_some)
    }

    fn write(&mut self, batch: &Batch) -> Result<()> {
        match batch {
            Batch::Pairs(pairs) => {
                let [of_a, of_b] = self.names;
                let a_names = names(of_a, pairs.iter().map(|&(a, ..)| a))?;
                let b_names = names(of_b, pairs.iter().map(|&(_, b, _)| b))?;
                pairs.iter().try_for_each(|&pair| self.write_pair(pair, &a_names, &b_names))
            }
            Batch::Group(fingerprint, ids) => {
                let names = names(self.names[0], ids.iter().copied())?;
                if self.form == Form::Json {
                    return self.write_group(fingerprint, ids, &names);
                }
                let Some((&first, others)) = ids.split_first() else { return Ok(()) };
                others
                    .iter()
                    .try_for_each(|&other| self.write_pair((first, other, 0), &names, &names))
            }
        }
    }

    fn write_pair(
        &mut self,
        (a, b, distance): (DocId, DocId, u32),
        a_names: &Names,
        b_names: &Names,
    ) -> Result<()> {
        let a_name = a_names.get(&a).map(String::as_str);
        let b_name = b_names.get(&b).map(String::as_str);
        let (DocId(a), DocId(b)) = (a, b);
        match self.form {
            Form::Json => {
                let record = PairRecord { r#type: "pair", a, b, a_name, b_name, distance };
                json_line(self.out, &record)?;
            }
            Form::Csv if self.has_names() => {
                let mut csv = csv::Writer::from_writer(&mut *self.out);
                let cells = [a.to_string(), b.to_string(), distance.to_string()];
                let cells = cells.iter().map(String::as_str);
                csv.write_record(cells.chain([a_name, b_name].map(Option::unwrap_or_default)))?;
            }
            Form::Csv => writeln!(self.out, "{a},{b},{distance}")?,
            Form::Text => {
                let shown =
                    |id: u64, name: Option<&str>| name.map_or_else(|| id.to_string(), printable);
                writeln!(self.out, "{distance}  {}  {}", shown(a, a_name), shown(b, b_name))?;
            }
        }
        Ok(())
    }

    fn write_group(&mut self, fingerprint: &str, ids: &[DocId], names: &Names) -> Result<()> {
        let name = |id| names.get(id).map_or("", String::as_str);
        let names = self.names[0].map(|_| ids.iter().map(name).collect());
        let ids = ids.iter().map(|id| id.0).collect();
        json_line(self.out, &GroupRecord { r#type: "group", fingerprint, ids, names })?;
        Ok(())
    }
}

fn names(of: Option<NamesOf<'_>>, ids: impl Iterator<Item = DocId>) -> Result<Names> {
    let Some(names_of) = of else { return Ok(Names::new()) };
    let mut ids: Vec<DocId> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    let names = names_of(&ids)?;
    Ok(ids.into_iter().zip(names).filter_map(|(id, name)| Some((id, name?))).collect())
}
