//! The options for reading documents, and the start of reading them.

use std::path::PathBuf;
use std::thread;

use anyhow::{Result, bail};
use fpdb_web::Extraction;
use indicatif::ProgressBar;

use super::csv::Quote;
use super::document::Document;
use super::intake::{AnyIntake, AnyValue, Intake, Item, Results};
use super::kind::DocumentFormat;
use super::ndjson::Fields;
use super::piece::{Content, Converted, Piece, Place, Rules};
use super::reader::Reading;
use super::walk::Walk;
use super::{MAX_RATIO, pool, web};
use crate::args::choice::choice;
use crate::args::numbers::parse_size;

/// How documents are read from files.
#[derive(clap::Args, Debug, Clone)]
#[command(next_help_heading = "Reading documents")]
pub(crate) struct DocumentArgs {
    /// Field or column with the document's id. In NDJSON, /a/b is the field b of the object a
    #[arg(long, value_name = "NAME", default_value = "id")]
    id_field: String,

    /// Field or column with the document's text
    #[arg(long, value_name = "NAME", default_value = "text")]
    text_field: String,

    /// The field or column with the document's stamp, for the command that stores stamps.
    #[arg(skip)]
    pub(crate) stamp_field: Option<String>,

    /// Extraction that turns web pages into text: main/1 keeps the main content, strip/1 everything
    /// that a page shows
    /// [default: the database's extraction, else main/1]
    #[arg(long, value_name = "NAME", value_parser = web::parse_extraction)]
    pub(crate) extraction: Option<Extraction>,

    /// How values of tables are quoted
    #[arg(long, value_parser = choice::<Quote>(), default_value = "auto")]
    quote: Quote,

    /// Skip bad lines, files of unknown format, damage in archives, and the rest of a file that
    /// cannot be read on, instead of stopping at the first. Each is reported
    #[arg(long)]
    pub(crate) skip_bad: bool,

    /// Largest size of a line or table row. About four lines or documents per thread can be in
    /// memory at once
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = parse_size)]
    max_line: usize,

    /// Largest size of a document: a text file, a page, or the text on a line
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = parse_size)]
    max_document: usize,

    /// Stop if a compressed file decompresses to more than this many times its size. The first 64
    /// MiB are not counted. Text rarely decompresses to more than 10 times its size
    #[arg(long, value_name = "TIMES", default_value_t = MAX_RATIO)]
    pub(crate) max_ratio: u64,

    /// Number of threads that compute fingerprints; at most the same number read files [default:
    /// one per core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    threads: Option<usize>,
}

pub(crate) fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err("expected a number from 1 to 1024".to_owned()),
    }
}

/// What a command computes from a document.
type Convert = Box<dyn Fn(Document) -> AnyValue + Send + Sync>;

impl DocumentArgs {
    pub(crate) fn threads(&self) -> usize {
        self.threads.unwrap_or_else(all_cores)
    }

    /// Returns a line of NDJSON with another text, or `None` if it is none.
    pub(crate) fn with_text(&self, line: &[u8], text: &str) -> Option<Vec<u8>> {
        Fields::new(&self.id_field, &self.text_field, None).with_text(line, text)
    }

    /// Starts to read the documents of these files and folders, in order, and to apply `convert` to
    /// each, on several threads. Texts of another extraction than the requested one or `stored`,
    /// the extraction of the database they are for, are refused.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        files: &[PathBuf],
        from: DocumentFormat,
        stored: Option<&str>,
        bar: &ProgressBar,
        convert: impl Fn(Document) -> T + Send + Sync + 'static,
    ) -> Result<Intake<T>> {
        let convert = move |document| Box::new(convert(document)) as AnyValue;
        self.start_any(files, from, stored, bar, Box::new(convert)).map(Intake::new)
    }

    fn start_any(
        &self,
        files: &[PathBuf],
        from: DocumentFormat,
        stored: Option<&str>,
        bar: &ProgressBar,
        convert: Convert,
    ) -> Result<AnyIntake> {
        if self.id_field == self.text_field {
            bail!(
                "--id-field and --text-field are both {:?}: give the field with the ids",
                self.id_field
            );
        }
        let known = stored.and_then(|name| Extraction::named(name).ok());
        let extraction = self.extraction.or(known).unwrap_or_default();
        let requested = self.extraction.map(Extraction::name);
        let rules = Rules {
            fields: Fields::new(&self.id_field, &self.text_field, self.stamp_field.as_deref()),
            max_document: self.max_document,
            zeros: from.is_explicit(),
            extractor: web::extractor(extraction, self.max_document),
            extraction: stored.or(requested).map(str::to_owned),
        };
        let reading = Reading {
            from,
            id_field: self.id_field.clone(),
            text_field: self.text_field.clone(),
            stamp_field: self.stamp_field.clone(),
            quote: self.quote,
            max_line: self.max_line,
            max_document: self.max_document,
            max_ratio: self.max_ratio,
            skip_bad: self.skip_bad,
            bar: bar.clone(),
        };
        let threads = self.threads();
        let one_file = matches!(files, [file] if !file.is_dir());
        let work = move |pieces: Vec<Piece>| -> Results {
            pieces.into_iter().map(|piece| convert_piece(piece, &rules, &convert)).collect()
        };
        let results = pool::start(
            Walk::new(files),
            if one_file { 1 } else { threads },
            threads,
            move |path, emit| reading.read(path, emit),
            work,
        )?;
        Ok(AnyIntake::new(results, self.skip_bad))
    }
}

fn convert_piece(
    piece: Piece,
    rules: &Rules,
    convert: &Convert,
) -> (Place, Converted<Item<AnyValue>>) {
    let Piece { place, content } = piece;
    let (bytes, tabular) = (content.len(), matches!(content, Content::Row(..)));
    let outcome = match rules.apply(content) {
        Converted::Document(document) => {
            Converted::Document(Item { value: convert(document), bytes, tabular })
        }
        Converted::Header(raw) => Converted::Header(raw),
        Converted::Bad(message) => Converted::Bad(message),
        Converted::Broken(message) => Converted::Broken(message),
        Converted::Warning(message) => Converted::Warning(message),
        Converted::Ignored(reason) => Converted::Ignored(reason),
    };
    (place, outcome)
}

/// Returns the default number of threads.
pub(crate) fn all_cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
