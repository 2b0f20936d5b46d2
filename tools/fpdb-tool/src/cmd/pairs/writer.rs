//! Writes pairs and groups.

use std::collections::HashMap;
use std::io::Write;

use anyhow::Result;
use fpdb::{DocId, Fingerprint, Pair, Snapshot};
use serde::Serialize;

use crate::output::{json_line, printable};

/// What the search passes to the thread that writes.
pub(super) enum Batch<F> {
    Pairs(Vec<Pair<F>>),
    Group(F, Vec<DocId>),
}

/// How pairs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Csv,
    /// Columns for people: distance and the two documents.
    Text,
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
    fingerprint: String,
    ids: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<Vec<&'a str>>,
}

pub(super) struct Writer<'a, F> {
    form: Form,
    /// The names of documents, if the database has names.
    names: Option<&'a Snapshot<F>>,
    out: &'a mut dyn Write,
}

/// The names of some documents. Empty in a database without names.
type Names = HashMap<DocId, String>;

impl<'a, F: Fingerprint> Writer<'a, F> {
    pub(super) fn new(form: Form, names: Option<&'a Snapshot<F>>, out: &'a mut dyn Write) -> Self {
        Self { form, names, out }
    }

    /// Writes what comes before all pairs.
    pub(super) fn begin(&mut self) -> Result<()> {
        match (self.form, self.names) {
            (Form::Csv, Some(_)) => writeln!(self.out, "a,b,distance,a_name,b_name")?,
            (Form::Csv, None) => writeln!(self.out, "a,b,distance")?,
            (Form::Json | Form::Text, _) => {}
        }
        Ok(())
    }

    pub(super) fn write(&mut self, batch: &Batch<F>) -> Result<()> {
        match batch {
            Batch::Pairs(pairs) => {
                let names = self.names(pairs.iter().flat_map(|pair| [pair.a.id, pair.b.id]))?;
                pairs.iter().try_for_each(|pair| self.write_pair(pair, &names))
            }
            Batch::Group(fingerprint, ids) => {
                let names = self.names(ids.iter().copied())?;
                if self.form == Form::Json {
                    return self.write_group(*fingerprint, ids, &names);
                }
                let entry = |&id| fpdb::Entry { fingerprint: *fingerprint, id };
                let Some((first, others)) = ids.split_first() else { return Ok(()) };
                others.iter().try_for_each(|other| {
                    let pair = Pair { a: entry(first), b: entry(other), distance: 0 };
                    self.write_pair(&pair, &names)
                })
            }
        }
    }

    pub(super) fn end(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }

    fn names(&self, ids: impl Iterator<Item = DocId>) -> Result<Names> {
        let Some(snapshot) = self.names else { return Ok(Names::new()) };
        let mut ids: Vec<DocId> = ids.collect();
        ids.sort_unstable();
        ids.dedup();
        let names = snapshot.names(&ids)?;
        Ok(ids.into_iter().zip(names).filter_map(|(id, name)| Some((id, name?))).collect())
    }

    fn write_pair(&mut self, pair: &Pair<F>, names: &Names) -> Result<()> {
        let Pair { a, b, distance } = pair;
        let name = |id| names.get(id).map(String::as_str);
        let (a_name, b_name) = (name(&a.id), name(&b.id));
        let (a, b, distance) = (a.id.0, b.id.0, *distance);
        match self.form {
            Form::Json => {
                let record = PairRecord { r#type: "pair", a, b, a_name, b_name, distance };
                json_line(self.out, &record)?;
            }
            Form::Csv if self.names.is_some() => {
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

    fn write_group(&mut self, fingerprint: F, ids: &[DocId], names: &Names) -> Result<()> {
        let name = |id| names.get(id).map_or("", String::as_str);
        let names = self.names.map(|_| ids.iter().map(name).collect());
        let ids = ids.iter().map(|id| id.0).collect();
        let fingerprint = fingerprint.to_hex();
        json_line(self.out, &GroupRecord { r#type: "group", fingerprint, ids, names })?;
        Ok(())
    }
}
