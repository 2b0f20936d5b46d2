//! `passages`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::passages::Passages;
use serde::Serialize;

use super::reread::Counts;
use super::spans::{SpanArgs, Spans};
use crate::output::Context;
use crate::output::failure::Exit;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool passages pages.ndjson
  fpdb-tool dedup crawl.fpdb pages.ndjson > novel.ndjson && fpdb-tool passages novel.ndjson --cut";

/// Finds the passages of documents that stand in an earlier document, too
///
/// A passage is a run of at least --min-words words. In scripts that are written without spaces,
/// 1.6 characters count as a word. Words are compared without case, white space and punctuation.
/// All such runs are found, and nothing else. The first document that has a passage keeps it, in
/// the order read; each later one has a line for it. Look for near-duplicates first, and for
/// passages in the documents that are left.
///
/// Prints one line per passage: the document's id, the first byte of its text, the byte after the
/// last one, and the same of the earlier document, in columns divided by tabs. Bytes are those of
/// the text in UTF-8. With --json, prints one record per passage,
/// {"type":"passage","i":1,"id":"...",
/// "begin":9,"end":99,"source_i":0,"source":"...","source_begin":0,"source_end":90}, and a summary
/// record last.
///
/// With --cut, prints the documents without the sentences and lines that are in passages as a
/// whole.
///
/// With --gaps, a line is a whole quote, with what is new in it, from one earlier document. A
/// window of 13 words that was not changed and is kept, about one in twenty, must lead to that
/// document, and a document is compared with at most 64 others for these.
///
/// The files are read twice, with --gaps four times, and once more with --cut. No database is read
/// or written.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    #[command(flatten)]
    spans: SpanArgs,

    /// The least number of words in a passage, from 14 to 1000
    #[arg(long, value_name = "N", default_value = "50")]
    min_words: usize,

    /// Also find quotes of which words were changed: runs of at least 8 words, joined over at most
    /// N other words on each side, such as 5
    #[arg(long, value_name = "N", default_value = "0")]
    gaps: u16,

    /// Files of an earlier collection: passages that stand in one of its documents are found, too.
    /// May be given several times
    #[arg(long, value_name = "FILE")]
    against: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Summary {
    min_words: usize,
    gaps: u16,
    documents: u64,
    /// Bytes of all texts.
    bytes: u64,
    passages: u64,
    /// Documents that have a passage of an earlier one.
    with_passages: u64,
    /// Bytes in passages. Those in several count once.
    repeated_bytes: u64,
    /// Lines, rows, files and records that should be documents but are not.
    bad: u64,
    /// Records of archives that hold no page.
    ignored: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let mut search = Passages::new(self.min_words)?.gaps(self.gaps)?;
        search = search.threads(self.spans.files.threads());
        if let Some(memory) = self.spans.files.memory() {
            search = search.memory(memory);
        }
        if let Some(folder) = self.spans.files.temporary() {
            search = search.scratch_folder(folder);
        }
        let (counts, found) = self.spans.run(
            ("passage", "passages"),
            &self.against,
            |read| search.find(read),
            context,
        )?;
        let Counts { documents, bytes, bad, ignored } = counts;
        let percent = found.percent(bytes);
        let Spans { spans, with_spans, repeated_bytes } = found;
        if context.json {
            let summary = Summary {
                min_words: self.min_words,
                gaps: self.gaps,
                documents,
                bytes,
                passages: spans,
                with_passages: with_spans,
                repeated_bytes,
                bad,
                ignored,
            };
            context.summary("fpdb.passages/1", &summary)?;
        } else {
            context.say(format_args!(
                "{spans} passages in {with_spans} of {documents} documents, {percent:.1} % of the text"
            ));
        }
        Ok(Exit::Done)
    }
}
