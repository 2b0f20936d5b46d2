//! `lines`

use anyhow::Result;
use fpdb::passages::Lines;
use fpdb::text::units::Unit;
use serde::Serialize;

use super::reread::Counts;
use super::spans::{SpanArgs, Spans};
use crate::output::Context;
use crate::output::failure::Exit;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool lines pages.warc.gz --most 5 --cut > pages.ndjson
  fpdb-tool lines posts.ndjson --paragraphs --min-words 5";

/// Finds the lines that many documents have, such as menus and notices
///
/// Lines are equal if their words are, without case, white space and punctuation. Lines without
/// words are left alone. Of a line that more than --most documents have, the first one stays, in
/// the order read, and there is a line of output for each later one. A line that occurs often in
/// one document only is left alone. Signs are no words, so `return ok;` is equal to `return !ok;`:
/// this is not for program code, or for tables of numbers.
///
/// Prints one line per line that was found: the document's id, the first byte of the line, the byte
/// after its end, and the same of the first one, in columns divided by tabs. Bytes are those of the
/// text in UTF-8. With --json, prints one record each, {"type":"line","i":1,"id":"...","begin":0,
/// "end":13,"source_i":0,"source":"...","source_begin":0,"source_end":13}, and a summary record
/// last. With --cut, prints the documents without these lines.
///
/// The files are read twice, with --cut three times. No database is read or written.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    #[command(flatten)]
    spans: SpanArgs,

    /// Find paragraphs, which end with an empty line, instead of lines
    #[arg(long)]
    paragraphs: bool,

    /// How many documents may have a line
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..))]
    most: u64,

    /// The least number of words in a line
    #[arg(long, value_name = "N", default_value = "1")]
    min_words: usize,
}

#[derive(Serialize)]
struct Summary {
    most: u64,
    min_words: usize,
    documents: u64,
    /// Bytes of all texts.
    bytes: u64,
    /// The lines or paragraphs that were found.
    lines: u64,
    /// Documents that have one of these.
    with_lines: u64,
    /// Bytes in these.
    repeated_bytes: u64,
    /// Lines, rows, files and records that should be documents but are not.
    bad: u64,
    /// Records of archives that hold no page.
    ignored: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let (unit, name) = match self.paragraphs {
            true => (Unit::Paragraph, "paragraphs"),
            false => (Unit::Line, "lines"),
        };
        let (most, min_words) = (self.most, self.min_words);
        let mut search = Lines::default().unit(unit).most(most).min_words(min_words);
        search = search.threads(self.spans.files.threads());
        if let Some(memory) = self.spans.files.memory() {
            search = search.memory(memory);
        }
        if let Some(folder) = self.spans.files.temporary() {
            search = search.scratch_folder(folder);
        }
        let (counts, found) =
            self.spans.run(("line", name), &[], |read| search.find(read), context)?;
        let Counts { documents, bytes, bad, ignored } = counts;
        let percent = found.percent(bytes);
        let Spans { spans, with_spans, repeated_bytes } = found;
        if context.json {
            let summary = Summary {
                most,
                min_words,
                documents,
                bytes,
                lines: spans,
                with_lines: with_spans,
                repeated_bytes,
                bad,
                ignored,
            };
            context.summary("fpdb.lines/1", &summary)?;
        } else {
            context.say(format_args!(
                "{spans} {name} in {with_spans} of {documents} documents, {percent:.1} % of the text"
            ));
        }
        Ok(Exit::Done)
    }
}
