//! Reads Apache Parquet: one document per row, with its id, its text and, if it is requested, its
//! stamp in columns.
//!
//! Row groups are read one after the other, and only these columns of them, page by page. Files may
//! be damaged on purpose: `pages` checks what the `parquet` crate would take memory for, and `guard`
//! turns its panics into errors.

mod columns;
mod guard;
mod pages;
mod thrift;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use self::columns::{Cell, Column, Role};
use self::guard::guarded;
use self::pages::Pages;
use self::thrift::Walk;
use super::decompress::{is_gzip, is_zstd};
use super::document::Document;
use super::piece::Content;

/// The rows of a file as records. Ends after the first error.
pub(super) struct Rows {
    file: Arc<File>,
    /// `None` for a file without rows.
    table: Option<Table>,
    has_encryption: bool,
    max_document: usize,
    max_ratio: u64,
    /// The next row group.
    next_group: usize,
    /// The columns of the current row group.
    group: Option<Group>,
}

/// What a file says about its rows.
struct Table {
    metadata: ParquetMetaData,
    id: Column,
    text: Column,
    stamp: Option<Column>,
}

/// The columns of a row group.
struct Group {
    ids: ColumnReader,
    texts: ColumnReader,
    stamps: Option<ColumnReader>,
    /// The rows that follow.
    left: i64,
}

/// Columns and limits.
pub(super) struct Wanted<'a> {
    pub(super) id: &'a str,
    pub(super) text: &'a str,
    pub(super) stamp: Option<&'a str>,
    pub(super) max_document: usize,
    pub(super) max_ratio: u64,
}

impl Rows {
    /// Opens a file. Columns are named like fields of NDJSON: `a`, or `/a/b` in groups.
    pub(super) fn open(path: &Path, wanted: &Wanted<'_>) -> Result<Self> {
        if super::is_stdin(path) || !path.is_file() {
            bail!("Parquet is read from its end: write it to a file first, and give its name");
        }
        let mut file = super::open_file(path)?;
        check_magic(&mut file, path)?;
        let Footer { has_row_groups, has_encryption } = Footer::read(&mut file)?;
        let table =
            if has_row_groups { Some(guarded(|| Table::open(&file, wanted))?) } else { None };
        let &Wanted { max_document, max_ratio, .. } = wanted;
        let file = Arc::new(file);
        let (next_group, group) = (0, None);
        Ok(Self { file, table, has_encryption, max_document, max_ratio, next_group, group })
    }

    /// Reads the next row. Returns `None` at the end of the file.
    fn read(&mut self) -> Result<Option<Content>> {
        let Some(table) = &self.table else { return Ok(None) };
        loop {
            let Some(group) = &mut self.group else {
                if self.next_group == table.metadata.num_row_groups() {
                    return Ok(None);
                }
                self.group = Some(table.group(self.next_group, &self.file, self.max_ratio)?);
                self.next_group += 1;
                continue;
            };
            let id = table.id.id(&mut group.ids)?;
            let text = table.text.text(&mut group.texts, self.max_document)?;
            let stamp = match (&table.stamp, &mut group.stamps) {
                (Some(column), Some(stamps)) => column.stamp(stamps)?,
                _ => id.as_ref().map(|_| Ok(None)),
            };
            match (id, text, stamp) {
                (Some(id), Some(text), Some(stamp)) if group.left > 0 => {
                    group.left -= 1;
                    return Ok(Some(content(id, text, stamp)));
                }
                (None, None, None) if group.left == 0 => self.group = None,
                _ => bail!("it is damaged: the columns of a row group differ in length"),
            }
        }
    }
}

impl Iterator for Rows {
    type Item = Result<Content>;

    fn next(&mut self) -> Option<Result<Content>> {
        let mut row = guarded(|| self.read());
        if self.has_encryption {
            row = row.context("columns of it are encrypted: write it again without encryption");
        }
        row.transpose()
    }
}

impl Table {
    fn open(file: &File, wanted: &Wanted<'_>) -> Result<Self> {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(file)?;
        let columns = metadata.file_metadata().schema_descr().columns();
        let stamp = wanted.stamp.map(|name| Column::find(columns, name, Role::Stamp));
        Ok(Self {
            id: Column::find(columns, wanted.id, Role::Id)?,
            text: Column::find(columns, wanted.text, Role::Text)?,
            stamp: stamp.transpose()?,
            metadata,
        })
    }

    fn group(&self, index: usize, file: &Arc<File>, max_ratio: u64) -> Result<Group> {
        let group = self.metadata.row_group(index);
        let reader = |column: &Column| -> Result<ColumnReader> {
            let pages = Pages::new(file, group, column.index, max_ratio)?;
            let descriptor = group.column(column.index).column_descr_ptr();
            Ok(get_column_reader(descriptor, Box::new(pages)))
        };
        Ok(Group {
            ids: reader(&self.id)?,
            texts: reader(&self.text)?,
            stamps: self.stamp.as_ref().map(reader).transpose()?,
            left: group.num_rows(),
        })
    }
}

/// Refuses a file that is not Parquet, or that is compressed or encrypted as a whole.
fn check_magic(file: &mut File, path: &Path) -> Result<()> {
    let mut magic = Vec::new();
    file.take(4).read_to_end(&mut magic)?;
    let path = path.display();
    if is_gzip(&magic) {
        bail!("it is compressed with gzip: unpack it first with `gunzip {path}`");
    }
    if is_zstd(&magic) {
        bail!("it is compressed with zstd: unpack it first with `unzstd {path}`");
    }
    if magic == b"PARE" {
        bail!("it is encrypted: write it again without encryption");
    }
    if magic != b"PAR1" {
        bail!("it is not a Parquet file, or its beginning is missing");
    }
    Ok(())
}

/// What is read from the footer before the crate reads it.
struct Footer {
    /// The crate refuses the empty lists of some programs.
    has_row_groups: bool,
    has_encryption: bool,
}

impl Footer {
    fn read(file: &mut File) -> Result<Self> {
        let size = file.seek(SeekFrom::End(0))?;
        let mut end = [0; 8];
        file.seek(SeekFrom::Start(size.saturating_sub(8)))?;
        file.read_exact(&mut end).context("it is not a Parquet file")?;
        let [a, b, c, d, magic @ ..] = end;
        if magic == *b"PARE" {
            bail!("it is encrypted: write it again without encryption");
        }
        let length = u64::from(u32::from_le_bytes([a, b, c, d]));
        let start = size.saturating_sub(8).checked_sub(length).filter(|_| magic == *b"PAR1");
        let start = start.context("its end is missing or damaged: it may not be complete")?;
        file.seek(SeekFrom::Start(start))?;
        let mut footer = Self { has_row_groups: true, has_encryption: false };
        let mut walk = Walk::new(io::BufReader::new(file.take(length)));
        let walked = walk.fields(|walk, id, kind| {
            footer.has_encryption |= id == 8;
            if id != 4 || kind != thrift::LIST {
                return Ok(false);
            }
            let (length, kind) = walk.list()?;
            footer.has_row_groups = length > 0;
            if length > 0 {
                walk.skip_elements(length, kind, 0)?;
            }
            Ok(true)
        });
        walked.context("its end is damaged")?;
        Ok(footer)
    }
}

fn content(id: Cell<String>, text: Cell<String>, stamp: Cell<u64>) -> Content {
    let document = || -> Result<Document, String> {
        let id = id?.ok_or("no id")?;
        let text = text?.ok_or("no text")?;
        Ok(Document::new(id, text, stamp?))
    };
    match document() {
        Ok(document) => Content::Document(document),
        Err(message) => Content::Bad(message),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Reads all rows, or as many as there are before an error.
    fn read(bytes: &[u8], folder: &Path) -> Result<usize> {
        let path = folder.join("damaged.parquet");
        std::fs::write(&path, bytes)?;
        let (id, text) = ("id", "text");
        let limits = Wanted { id, text, stamp: None, max_document: 1 << 20, max_ratio: 10 };
        Rows::open(&path, &limits)?.try_fold(0, |rows, row| row.map(|_| rows + 1))
    }

    /// A panic or a huge allocation would end the test.
    #[test]
    fn damage_anywhere_is_an_error_or_harmless() {
        let folder = tempfile::tempdir().unwrap();
        let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let rounds = std::env::var("FPDB_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap());
        let mut errors = 0;
        for name in ["plain", "dictionary", "brotli", "checksums", "types"] {
            let whole = std::fs::read(data.join(name).with_extension("parquet")).unwrap();
            assert!(read(&whole, folder.path()).unwrap() >= 3);
            for seed in 0..rounds * 100 {
                let mut random = fastrand::Rng::with_seed(seed);
                let mut bytes = whole.clone();
                // Half of the damage is in the footer, which is small in a large file.
                let from = if seed % 2 == 0 { 0 } else { bytes.len().saturating_sub(600) };
                for _ in 0..random.usize(1..4) {
                    let at = random.usize(from..bytes.len());
                    bytes[at] = if random.bool() { random.u8(..) } else { bytes[at] ^ 128 };
                }
                errors += u64::from(read(&bytes, folder.path()).is_err());
            }
        }
        assert!(errors > rounds * 100, "{errors}");
    }
}
