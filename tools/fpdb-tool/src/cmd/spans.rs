//! What `passages` and `lines` have in common: they print or cut the spans that they find.

use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Result, bail};
use fpdb::passages::{Found, Span, Texts};
use fpdb::text::removal::parts_to_remove;
use fpdb_dedup::html::{Repeated, Report};
use serde::Serialize;

use super::html::{HtmlFile, figures};
use super::reread::{Counts, Reread, RereadArgs, Whole, ended};
use crate::output::{Context, json_line, printable};

/// Documents that a page shows.
const SHOWN: usize = 10;

/// What is read, and what becomes of the spans.
#[derive(clap::Args)]
pub(super) struct SpanArgs {
    #[command(flatten)]
    pub(super) files: RereadArgs,

    /// Print the documents, without what was found, instead of where it is. Of lines of NDJSON,
    /// only the text changes; other documents are printed as NDJSON with `id` and `text`. Not for
    /// tables
    #[arg(long)]
    cut: bool,

    /// Write what was found to this file, replacing it, as a page to look at: the counts, and the
    /// documents of which the most was found, with what was found marked. The page
    /// loads nothing. The files are read once more for it
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Serialize)]
struct Record<'a> {
    r#type: &'static str,
    i: u64,
    id: &'a str,
    begin: u32,
    end: u32,
    /// `None` for a document of an earlier collection.
    source_i: Option<u64>,
    source: &'a str,
    source_begin: u32,
    source_end: u32,
}

/// What was found.
#[derive(Default)]
pub(super) struct Spans {
    pub(super) spans: u64,
    /// Documents that have a span.
    pub(super) with_spans: u64,
    /// Bytes in spans. Those in several count once.
    pub(super) repeated_bytes: u64,
}

/// A document as NDJSON.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    text: &'a str,
}

/// Passes the texts on once.
pub(super) type Read<'a> = dyn FnMut(&mut Texts<'_>) -> Result<()> + 'a;

impl SpanArgs {
    /// Searches the texts, and prints the spans as records of this type, several of which have
    /// another name, or what is left of the
    /// documents. What stands in the files of an earlier collection, which are read first, counts,
    /// too.
    pub(super) fn run(
        &self,
        (r#type, names): (&'static str, &'static str),
        against: &[PathBuf],
        search: impl FnOnce(&mut Read<'_>) -> Result<Found>,
        context: &mut Context<'_>,
    ) -> Result<(Counts, Spans)> {
        if self.cut && context.json {
            bail!("--cut prints documents, and --json where spans are: leave one of them out");
        }
        let inputs = [&self.files.files, against].concat();
        HtmlFile::check(self.html.as_deref(), &inputs, None)?;
        let mut files = self.files.start(context)?;
        let mut earlier = match against {
            [] => None,
            against => Some(self.files.start_with(against, context)?),
        };
        let html = HtmlFile::create(self.html.as_deref())?;
        let mut spans = search(&mut |each| {
            earlier.as_mut().map_or(Ok(()), |earlier| earlier.texts(each, context))?;
            files.texts(each, context)
        })?
        .spans;
        let earlier = earlier.map_or_else(Vec::new, |mut earlier| std::mem::take(&mut earlier.ids));
        let before = earlier.len() as u64;
        spans.retain(|span| span.row >= before);
        spans.iter_mut().for_each(|span| span.row -= before);
        if self.cut {
            self.cut(&spans, &files, context)?;
        } else {
            print(&spans, (&earlier, &files.ids), r#type, context)?;
        }
        let counts = Spans::of(&spans);
        if let Some(html) = html {
            html.write(&shown(names, &spans, (&counts, before), &files, context)?)?;
        }
        Ok((files.counts, counts))
    }

    /// Prints the documents without the sentences and lines that are in spans as a whole.
    fn cut(&self, spans: &[Span], files: &Reread<'_>, context: &mut Context<'_>) -> Result<()> {
        let mut spans = spans;
        files.print(false, context, |row, item, out| {
            if item.tabular {
                bail!("--cut is not for tables: convert them to NDJSON");
            }
            let (own, rest) = spans.split_at(spans.partition_point(|span| span.row <= row));
            spans = rest;
            Ok(out.write_all(&self.without(&item.value, own)?)?)
        })
    }

    /// Returns what to print of a document.
    fn without(&self, document: &Whole, spans: &[Span]) -> Result<Vec<u8>> {
        let Whole { id, text, raw } = document;
        let places: Vec<Range<usize>> = spans.iter().map(Span::bytes).collect();
        if places.iter().any(|place| text.get(place.clone()).is_none()) {
            bail!("{id}: the text has changed while it was read");
        }
        let (mut left, mut at) = (String::with_capacity(text.len()), 0);
        for part in parts_to_remove(text, &places) {
            left += &text[at..part.start];
            at = part.end;
        }
        left += &text[at..];
        let is_whole_line =
            |raw: &[u8]| String::from_utf8_lossy(raw).trim_end_matches(['\r', '\n']) == text;
        let documents = &self.files.documents;
        Ok(ended(match raw {
            Some(raw) if left == *text => raw.clone(),
            Some(raw) if is_whole_line(raw) => left.into_bytes(),
            Some(raw) => match documents.with_text(raw, &left) {
                Some(line) => line,
                None if raw.trim_ascii_start().starts_with(b"{") => {
                    bail!("{id}: the text of this line cannot be replaced: a field occurs twice")
                }
                None => left.into_bytes(),
            },
            None => serde_json::to_vec(&Line { id, text: &left })?,
        }))
    }
}

impl Spans {
    fn of(spans: &[Span]) -> Self {
        let (mut counts, mut row, mut end) = (Self::default(), u64::MAX, 0);
        for span in spans {
            if span.row != row {
                (row, end) = (span.row, 0);
                counts.with_spans += 1;
            }
            counts.spans += 1;
            counts.repeated_bytes += u64::from(span.end.saturating_sub(end.max(span.begin)));
            end = end.max(span.end);
        }
        counts
    }

    /// Returns the share of all bytes that are in spans, in percent.
    pub(super) fn percent(&self, bytes: u64) -> f64 {
        100.0 * self.repeated_bytes as f64 / bytes.max(1) as f64
    }
}

/// Returns what a person is shown of what is called so.
fn shown(
    names: &str,
    spans: &[Span],
    (counts, before): (&Spans, u64),
    files: &Reread<'_>,
    context: &mut Context<'_>,
) -> Result<Report> {
    let mut most: Vec<(u64, &[Span])> = spans
        .chunk_by(|a, b| a.row == b.row)
        .map(|own| (Spans::of(own).repeated_bytes, own))
        .collect();
    most.sort_by_key(|it| std::cmp::Reverse(it.0));
    most.truncate(SHOWN);
    let rows = most.iter().flat_map(|it| it.1.first()).map(|span| span.row).collect();
    let texts = files.texts_of(&rows, context)?;
    let id_of = |row: u64| usize::try_from(row).ok().and_then(|row| files.ids.get(row));
    let also = |span: &Span| match span.source.checked_sub(before) {
        None => "in an earlier document".to_owned(),
        Some(source) if source == span.row => "earlier in this document".to_owned(),
        Some(source) => format!("in {}", id_of(source).map_or("", |id| id)),
    };
    let repeated = most.iter().filter_map(|(_, own)| {
        let row = own.first()?.row;
        let parts = own.iter().map(|span| (span.bytes(), also(span))).collect();
        Some(Repeated { row: id_of(row)?.clone(), text: texts.get(&row)?.clone(), parts })
    });
    let Counts { documents, bytes, bad, ignored } = files.counts;
    let numbers = [
        ("documents read", documents),
        ("bytes of their texts", bytes),
        (&*format!("{names} found"), counts.spans),
        ("documents with some", counts.with_spans),
        ("bytes in these", counts.repeated_bytes),
        ("bad lines, rows, files and records", bad),
        ("records that hold no page", ignored),
    ];
    Ok(Report {
        title: names.to_owned(),
        figures: figures(&numbers, 5),
        repeated: repeated.collect(),
        ..Report::default()
    })
}

/// Prints spans, whose sources are documents of an earlier collection or, after these, of this one.
fn print(
    spans: &[Span],
    (earlier, ids): (&[String], &[String]),
    r#type: &'static str,
    context: &mut Context<'_>,
) -> Result<()> {
    fn id_of(ids: &[String], row: u64) -> &str {
        usize::try_from(row).ok().and_then(|row| ids.get(row)).map_or("", |id| id)
    }
    for span in spans {
        let &Span { row: i, source, begin, end, source_begin, source_end, .. } = span;
        let (id, source_i) = (id_of(ids, i), source.checked_sub(earlier.len() as u64));
        let source = source_i.map_or_else(|| id_of(earlier, source), |row| id_of(ids, row));
        if context.json {
            let record =
                Record { r#type, i, id, begin, end, source_i, source, source_begin, source_end };
            json_line(context.out, &record)?;
        } else {
            let (id, source) = (printable(id), printable(source));
            writeln!(context.out, "{id}\t{begin}\t{end}\t{source}\t{source_begin}\t{source_end}")?;
        }
    }
    Ok(())
}
