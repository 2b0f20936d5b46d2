//! `contained`

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use fpdb::passages::{Contained, ContainedText, ContainedTexts};
use fpdb_dedup::html;
use serde::Serialize;

use super::html::{HtmlFile, figures};
use super::reread::{Counts, Reread, RereadArgs, Whole, ended};
use crate::args::choice::choice;
use crate::input;
use crate::output::failure::Exit;
use crate::output::provenance::write_traced;
use crate::output::{Context, json_line, printable};

const EXAMPLE: &str = "\
Examples:
  fpdb-tool contained pages.ndjson > kept.ndjson
  fpdb-tool contained pages.ndjson --share 0.9 --report contained.ndjson > kept.ndjson";

/// Pairs, and documents in which others stand, that a page shows.
const SHOWN: usize = 20;

/// The schema of the report.
const SCHEMA: &str = "fpdb.contained/1";

/// Prints the documents that do not stand in another one
///
/// A document stands in another one if all its runs of three words do, in any order, or at least
/// --share of them. Of two such documents the one with more words is printed, and of equal ones the
/// first. A document whose runs repeat themselves, more than a tenth of them, must stand there word
/// for word, and one of fewer than three words is compared as a whole. Words are compared without
/// case, white space and punctuation. Similar documents that do not stand in each other are for
/// dedup.
///
/// A document is compared with the longer ones that have one of its two rarest runs of 13 words. If
/// more than 128 have it, only the longest 128 are compared, and the document is counted as crowded
/// if it is printed. Not all documents with fewer than 20 words are found, and with a --share below
/// 1, not all that have changes in these runs.
///
/// The files are read three times. No database is read or written.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    #[command(flatten)]
    files: RereadArgs,

    /// The least share of a document that stands in another one, from 0.5 to 1
    #[arg(long, value_name = "SHARE", default_value = "1")]
    share: f64,

    /// What to print of a document
    #[arg(long, value_parser = choice::<Print>(), default_value = "document")]
    print: Print,

    /// Write a report of the documents that are left out to this file, replacing it, as NDJSON with
    /// a summary record last
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Write what was found to this file, replacing it, as a page to look at: the counts, the
    /// shares, and the pairs with the least shares side by side. The page loads nothing. The files
    /// are read once more for it
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// `--print`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Print {
    /// The document: its line or row, or else NDJSON
    Document,
    /// The id on one line, with control characters escaped
    Id,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "contained")]
struct Record<'a> {
    i: u64,
    id: &'a str,
    source_i: u64,
    source: &'a str,
    share: f64,
}

#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct Summary {
    least_share: f64,
    documents: u64,
    /// Bytes of all texts.
    bytes: u64,
    /// Documents that are printed.
    kept: u64,
    /// Documents that stand in another one.
    contained: u64,
    /// Documents that are printed, and were compared with some of those with their runs only.
    crowded: u64,
    /// Lines, rows, files and records that should be documents but are not.
    bad: u64,
    /// Records of archives that hold no page.
    ignored: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let mut search = Contained::new(self.share)?.threads(self.files.threads());
        if let Some(memory) = self.files.memory() {
            search = search.memory(memory);
        }
        if let Some(folder) = self.files.temporary() {
            search = search.scratch_folder(folder);
        }
        HtmlFile::check(self.html.as_deref(), &self.files.files, self.report.as_deref())?;
        let mut report = self.report()?;
        let mut files = self.files.start(context)?;
        let html = HtmlFile::create(self.html.as_deref())?;
        let found = search.find(|each| files.texts(each, context))?;
        self.print(&files, &found.texts, context)?;
        let Counts { documents, bytes, bad, ignored } = files.counts;
        let contained = found.texts.len() as u64;
        let summary = Summary {
            least_share: self.share,
            documents,
            bytes,
            kept: documents - contained,
            contained,
            crowded: found.crowded,
            bad,
            ignored,
        };
        if let Some(report) = &mut report {
            write_report(report, &files.ids, &found.texts)?;
            write_traced(report, (SCHEMA, true), &summary, &context.provenance)?;
            report.flush()?;
        }
        if let Some(html) = html {
            html.write(&self.shown(&files, &found, &summary, context)?)?;
        }
        drop(files);
        if context.json {
            context.summary(SCHEMA, &summary)?;
        } else {
            let Summary { kept, crowded, .. } = summary;
            context.say(format_args!(
                "read {documents}: {kept} kept, {contained} contained in another one, {crowded} in a crowd"
            ));
        }
        Ok(Exit::Done)
    }

    /// Returns what a person is shown.
    fn shown(
        &self,
        files: &Reread<'_>,
        found: &ContainedTexts,
        summary: &Summary,
        context: &mut Context<'_>,
    ) -> Result<html::Report> {
        let mut measured = html::Measured::new(html::Measure::Share, self.share);
        found.texts.iter().for_each(|text| measured.add(text.share));
        let mut least: Vec<&ContainedText> = found.texts.iter().collect();
        least.sort_by(|a, b| a.share.total_cmp(&b.share));
        least.truncate(SHOWN);
        let rows = least.iter().flat_map(|text| [text.row, text.source]).collect();
        let texts = files.texts_of(&rows, context)?;
        let id_of = |row| usize::try_from(row).ok().and_then(|row: usize| files.ids.get(row));
        let name_of = |row| id_of(row).cloned().unwrap_or_default();
        let pair = |text: &&ContainedText| {
            let own = texts.get(&text.row).map(String::as_str);
            let (text_of, other) = html::excerpts(own, texts.get(&text.source).map(String::as_str));
            html::Pair {
                row: name_of(text.row),
                of: name_of(text.source),
                measured: format!("share {:.2}", text.share),
                text: text_of,
                other,
            }
        };
        let mut clusters: BTreeMap<u64, u64> = BTreeMap::new();
        found.texts.iter().for_each(|text| *clusters.entry(text.source).or_default() += 1);
        let mut largest: Vec<(u64, u64)> = clusters.into_iter().collect();
        largest.sort_by_key(|it| std::cmp::Reverse(it.1));
        largest.truncate(SHOWN);
        let &Summary { documents, kept, contained, crowded, bad, ignored, .. } = summary;
        let numbers = [
            ("documents read", documents),
            ("kept", kept),
            ("contained in another one", contained),
            ("kept, but more documents have their words than were compared", crowded),
            ("bad lines, rows, files and records", bad),
            ("records that hold no page", ignored),
        ];
        Ok(html::Report {
            title: "contained".to_owned(),
            figures: figures(&numbers, 3),
            rows: documents,
            kept,
            measured: Some(measured),
            clusters: largest.into_iter().map(|(row, count)| (name_of(row), count)).collect(),
            pairs: least.iter().map(pair).collect(),
            repeated: Vec::new(),
        })
    }

    /// Creates the file of the report.
    fn report(&self) -> Result<Option<BufWriter<File>>> {
        let Some(path) = &self.report else { return Ok(None) };
        if path.as_os_str() == "-" {
            bail!("standard output is for documents: give --report a file");
        }
        input::check_apart("--report", path, &self.files.files)?;
        let file =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Some(BufWriter::new(file)))
    }

    /// Prints the documents that are not left out.
    fn print(
        &self,
        files: &Reread<'_>,
        left_out: &[ContainedText],
        context: &mut Context<'_>,
    ) -> Result<()> {
        let mut left_out = left_out.iter().map(|text| text.row).peekable();
        if self.print == Print::Id {
            for (row, id) in (0..).zip(&files.ids) {
                if left_out.next_if_eq(&row).is_none() {
                    writeln!(context.out, "{}", printable(id))?;
                }
            }
            return Ok(());
        }
        files.print(true, context, |row, item, out| {
            if left_out.next_if_eq(&row).is_some() {
                return Ok(());
            }
            let Whole { id, text, raw } = item.value;
            let line = match raw {
                Some(raw) => raw,
                None => serde_json::to_vec(&Line { id: &id, text: &text })?,
            };
            Ok(out.write_all(&ended(line))?)
        })
    }
}

fn write_report(report: &mut impl Write, ids: &[String], texts: &[ContainedText]) -> Result<()> {
    let id_of = |row| usize::try_from(row).ok().and_then(|row: usize| ids.get(row));
    for &ContainedText { row, source, share, .. } in texts {
        let [id, of] = [row, source].map(|row| id_of(row).map_or("", |id| id));
        json_line(report, &Record { i: row, id, source_i: source, source: of, share })?;
    }
    Ok(())
}
