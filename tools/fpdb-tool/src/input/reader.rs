//! Reads files and cuts them into pieces.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use fpdb_web::Record;
use indicatif::ProgressBar;

use super::csv::{Header, Quote, Row, Rows};
use super::decompress::{Compression, Input, read_error};
use super::kind::{DocumentFormat, Kind, is_list};
use super::lines::{Line, Lines};
use super::piece::{At, Content, Piece, Place};
use super::pool::Emit;
use super::{is_stdin, label, walk, web};

/// Pieces per batch. Threads pass each other batches.
const BATCH_PIECES: usize = 128;
/// Bytes that fill a batch, whatever the number of its pieces.
const BATCH_BYTES: usize = 1 << 20;

/// The options for reading files.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) from: DocumentFormat,
    pub(super) id_field: String,
    pub(super) text_field: String,
    pub(super) stamp_field: Option<String>,
    pub(super) quote: Quote,
    pub(super) max_line: usize,
    pub(super) max_document: usize,
    pub(super) max_ratio: u64,
    /// Turns a fault in a piece, or in the rest of a file, into a bad piece instead of an error.
    pub(super) skip_bad: bool,
    pub(super) bar: ProgressBar,
}

/// Returns what is skipped of a file because of an error, and why. Messages name the file already.
fn the_rest(error: &anyhow::Error, file: &str) -> String {
    let sentence = crate::output::failure::sentence(error);
    let why = sentence.strip_prefix("cannot read ").unwrap_or(&sentence);
    match why.strip_prefix(file) {
        Some(why) if why.starts_with(", ") => format!("the rest, from {}", &why[2..]),
        Some(why) => why.trim_start_matches(": ").to_owned(),
        None => sentence,
    }
}

/// Collects the pieces of one file in batches.
struct Sink<'e> {
    emit: Emit<'e, Vec<Piece>>,
    batch: Vec<Piece>,
    bytes: usize,
    file: Arc<str>,
    stop_at_bad: bool,
}

impl Sink<'_> {
    /// Adds a piece. Returns false if no more are wanted.
    fn put(&mut self, at: At, content: Content) -> bool {
        // The rest is not needed, and standard input may never end.
        let last = self.stop_at_bad && matches!(content, Content::Bad(_));
        self.bytes += content.len();
        self.batch.push(Piece { place: Place { file: Arc::clone(&self.file), at }, content });
        let full = self.batch.len() >= BATCH_PIECES || self.bytes >= BATCH_BYTES;
        if full || last { self.emit_batch() && !last } else { true }
    }

    fn emit_batch(&mut self) -> bool {
        let bytes = std::mem::take(&mut self.bytes);
        self.batch.is_empty() || (self.emit)(std::mem::take(&mut self.batch), bytes)
    }
}

impl Reading {
    /// Reads a file into batches of pieces. If it fails, the pieces before the failure are emitted.
    pub(super) fn read(&self, path: Result<PathBuf>, emit: Emit<'_, Vec<Piece>>) -> Result<()> {
        let path = match path {
            Ok(path) => path,
            Err(error) if !self.skip_bad => return Err(error),
            // A path that cannot be read has no pieces; the error names it.
            Err(error) => {
                let mut sink = self.sink(emit, "");
                sink.put(At::File, Content::Bad(crate::output::failure::sentence(&error)));
                sink.emit_batch();
                return Ok(());
            }
        };
        let file = label(&path);
        let mut sink = self.sink(emit, &file);
        let mut read = self.read_kind(&path, &mut sink);
        if let Err(error) = &read
            && self.skip_bad
        {
            sink.put(At::File, Content::Bad(the_rest(error, &file)));
            read = Ok(());
        }
        sink.emit_batch();
        read
    }

    fn sink<'e>(&self, emit: Emit<'e, Vec<Piece>>, file: &str) -> Sink<'e> {
        let file = Arc::from(file);
        Sink { emit, batch: Vec::new(), bytes: 0, file, stop_at_bad: !self.skip_bad }
    }

    fn read_kind(&self, path: &Path, sink: &mut Sink<'_>) -> Result<()> {
        let kind = self.from.kind().or_else(|| {
            let named = self.from == DocumentFormat::Auto;
            Kind::of_name(path).filter(|_| named)
        });
        if let Some(kind) = kind {
            self.check_stamp(kind, &sink.file)?;
        }
        // Its reader opens the file itself.
        if kind == Some(Kind::Warc) {
            return self.archive(path, sink);
        }
        let mut input = Input::open(path, Compression::ByContent, self.max_ratio, &self.bar)?;
        let known = match kind {
            _ if self.from == DocumentFormat::Auto && is_list(input.head()) => Err(anyhow!(
                "it seems to be a list of fingerprints: give --from text if it is a document"
            )),
            Some(kind) => kind.check(input.head(), self.from.is_explicit()).map(|()| kind),
            None => Kind::of_content(path, input.head()),
        };
        let kind = known.with_context(|| sink.file.to_string())?;
        self.check_stamp(kind, &sink.file)?;
        match kind {
            Kind::Ndjson => self.lines(input, sink, |_, bytes| Content::Json(bytes)),
            Kind::Lines => {
                let id = walk::id_of(path);
                self.lines(input, sink, |number, bytes| Content::Line {
                    id: format!("{id}:{number}"),
                    bytes,
                })
            }
            Kind::Table(delimiter) => self.table(input, delimiter, sink),
            Kind::Text => {
                self.whole(path, &mut input, sink, |id, bytes| Content::Text { id, bytes })
            }
            Kind::Html => self.whole(path, &mut input, sink, |id, bytes| {
                Content::Web(Ok(Record::resource(id, "text/html", bytes)))
            }),
            Kind::Warc if is_stdin(path) => {
                bail!("{}: give its format with --from, because it cannot be read twice", sink.file)
            }
            Kind::Warc => self.archive(path, sink),
        }
    }

    /// Refuses a file whose records have no fields, if one of them is to be the stamp.
    fn check_stamp(&self, kind: Kind, file: &str) -> Result<()> {
        let has_fields = matches!(kind, Kind::Ndjson | Kind::Table(_));
        if let Some(field) = self.stamp_field.as_ref().filter(|_| !has_fields) {
            bail!(
                "{file}: a field {field:?} with a stamp is in NDJSON and tables only: give --stamp now"
            );
        }
        Ok(())
    }

    fn lines(
        &self,
        mut input: Input,
        sink: &mut Sink<'_>,
        content: impl Fn(u64, Vec<u8>) -> Content,
    ) -> Result<()> {
        if input.head().starts_with(b"\xef\xbb\xbf") {
            input.skip(3);
        }
        let mut lines = Lines::new(input, self.max_line);
        loop {
            let line = lines.next_line().map_err(read_error);
            let place = || format!("cannot read {}, line {}", sink.file, lines.number());
            let Some(Line { bytes, number, too_long }) = line.with_context(place)? else {
                return Ok(());
            };
            let content = if too_long {
                Content::Bad(format!("a line of more than {} bytes (--max-line)", self.max_line))
            } else {
                content(number, bytes)
            };
            if !sink.put(At::Line(number), content) {
                return Ok(());
            }
        }
    }

    fn table(&self, input: Input, delimiter: u8, sink: &mut Sink<'_>) -> Result<()> {
        let mut rows = Rows::new(input, delimiter, self.quote, self.max_line);
        let mut next = |file: &str| -> Result<Option<Row>> {
            let row = rows.next_row();
            row.with_context(|| format!("cannot read {file}, line {}", rows.line()))
        };
        let Some(row) = next(&sink.file)? else { return Ok(()) };
        let stamp = self.stamp_field.as_deref();
        let header = Header::new(&row, &self.id_field, &self.text_field, stamp);
        let header = header.with_context(|| format!("{}, line {}", sink.file, row.line))?;
        let mut wanted = sink.put(At::Line(row.line), Content::Header(row.raw));
        while wanted {
            let Some(row) = next(&sink.file)? else { break };
            let document = match self.quote {
                Quote::Auto => header.check_lines(&row, delimiter),
                Quote::Double | Quote::None => Ok(()),
            };
            let document = document.and_then(|()| header.document(&row));
            wanted = sink.put(At::Line(row.line), Content::Row(row.raw, document));
        }
        Ok(())
    }

    /// Reads a file that is one document.
    fn whole(
        &self,
        path: &Path,
        input: &mut Input,
        sink: &mut Sink<'_>,
        content: impl Fn(String, Vec<u8>) -> Content,
    ) -> Result<()> {
        let limit = self.max_document;
        let bytes = web::read_whole(path, input, limit)?;
        let content = if bytes.len() > limit {
            Content::Bad(format!("a document of more than {limit} bytes (--max-document)"))
        } else {
            content(walk::id_of(path), bytes)
        };
        sink.put(At::File, content);
        Ok(())
    }

    fn archive(&self, path: &Path, sink: &mut Sink<'_>) -> Result<()> {
        let limits = web::limits(self.max_document);
        for archive in web::archives(path, limits, &self.bar)? {
            let (name, archive) = archive?;
            sink.file = Arc::from(name);
            for record in archive {
                let offset = record.as_ref().map_or_else(fpdb_web::Error::offset, |r| r.offset());
                if !sink.put(At::Offset(offset), Content::Web(record)) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
