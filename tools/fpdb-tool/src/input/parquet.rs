//! Reads Apache Parquet: one document per row, with its id, its text and, if it is requested, its
//! stamp in columns.
//!
//! Row groups are read one after the other, and only these columns of them, page by page.

use std::path::Path;
use std::vec;

use anyhow::{Context, Result, bail};
use parquet::basic::{ConvertedType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::document::Document;
use super::ndjson::no_stamp;
use super::piece::Content;

/// Rows that are read together.
const ROWS: usize = 128;

/// The rows of a file as records. Ends after the first error.
pub(super) struct Rows {
    file: SerializedFileReader<std::fs::File>,
    id: Column,
    text: Column,
    /// The column with the stamps and its name.
    stamp: Option<(Column, String)>,
    max_document: usize,
    /// The next row group.
    next_group: usize,
    /// The columns of the current row group.
    group: Option<Group>,
    rows: vec::IntoIter<Content>,
}

/// The columns of a row group.
struct Group {
    ids: ColumnReader,
    texts: ColumnReader,
    stamps: Option<ColumnReader>,
}

/// The position of a column, and how to read it.
#[derive(Debug, Clone, Copy)]
struct Column {
    index: usize,
    /// The definition level of a value that is present. On a lower level there is no value.
    present: i16,
    /// The column holds numbers without a sign.
    unsigned: bool,
}

impl Rows {
    /// Opens a file. Columns are named like fields of NDJSON: `a`, or `/a/b` in groups.
    pub(super) fn open(
        path: &Path,
        id: &str,
        text: &str,
        stamp: Option<&str>,
        max_document: usize,
    ) -> Result<Self> {
        if super::is_stdin(path) {
            bail!("Parquet must be a file, because it is read from its end");
        }
        let file = SerializedFileReader::new(super::open_file(path)?)?;
        let columns = file.metadata().file_metadata().schema_descr().columns();
        let column = |name: &str, types: &[Type]| {
            let wanted =
                name.strip_prefix('/').map_or(vec![name], |path| path.split('/').collect());
            let is_wanted = |column: &&_| ColumnDescriptor::path(column).parts() == wanted;
            let (index, found) = columns
                .iter()
                .enumerate()
                .find(|(_, column)| is_wanted(&&***column))
                .with_context(|| {
                    format!("there is no column {name:?}; the columns are {}", names(columns))
                })?;
            let strings = [
                ConvertedType::NONE,
                ConvertedType::UTF8,
                ConvertedType::ENUM,
                ConvertedType::JSON,
            ];
            let physical_type = found.physical_type();
            let number = physical_type != Type::BYTE_ARRAY;
            let fits = types.contains(&physical_type)
                && found.max_rep_level() == 0
                && (number || strings.contains(&found.converted_type()));
            if !fits {
                let what =
                    if types.contains(&Type::BYTE_ARRAY) { "strings" } else { "whole numbers" };
                bail!("column {name:?} does not hold {what}");
            }
            let unsigned =
                matches!(found.converted_type(), ConvertedType::UINT_32 | ConvertedType::UINT_64);
            Ok(Column { index, present: found.max_def_level(), unsigned })
        };
        let id = column(id, &[Type::BYTE_ARRAY, Type::INT32, Type::INT64])?;
        let text = column(text, &[Type::BYTE_ARRAY])?;
        let stamp = stamp.map(|name| {
            Ok::<_, anyhow::Error>((column(name, &[Type::INT32, Type::INT64])?, name.to_owned()))
        });
        let stamp = stamp.transpose()?;
        let rows = Vec::new().into_iter();
        Ok(Self { file, id, text, stamp, max_document, next_group: 0, group: None, rows })
    }

    /// Reads the next rows. Returns false at the end of the file.
    fn fill(&mut self) -> Result<bool> {
        loop {
            let Some(Group { ids, texts, stamps }) = &mut self.group else {
                if self.next_group == self.file.num_row_groups() {
                    return Ok(false);
                }
                let group = self.file.get_row_group(self.next_group)?;
                let stamp = self.stamp.as_ref();
                let stamps = stamp.map(|(column, _)| group.get_column_reader(column.index));
                let columns = Group {
                    ids: group.get_column_reader(self.id.index)?,
                    texts: group.get_column_reader(self.text.index)?,
                    stamps: stamps.transpose()?,
                };
                self.next_group += 1;
                self.group = Some(columns);
                continue;
            };
            let ids = self.id.read_ids(ids)?;
            let texts = match texts {
                ColumnReader::ByteArrayColumnReader(texts) => self.text.read(texts)?,
                _ => bail!("the column of texts does not hold strings"),
            };
            let stamps = match (&self.stamp, stamps) {
                (Some((column, name)), Some(stamps)) => column.read_stamps(stamps, name)?,
                _ => vec![Ok(None); ids.len()],
            };
            if ids.len() != texts.len() || ids.len() != stamps.len() {
                bail!(
                    "columns of unequal length: {} ids, {} texts, {} stamps",
                    ids.len(),
                    texts.len(),
                    stamps.len()
                );
            }
            if ids.is_empty() {
                self.group = None;
                continue;
            }
            let limit = self.max_document;
            let rows = ids.into_iter().zip(texts).zip(stamps);
            let rows = rows.map(|((id, text), stamp)| content(id, text, stamp, limit));
            self.rows = rows.collect::<Vec<_>>().into_iter();
            return Ok(true);
        }
    }
}

impl Iterator for Rows {
    type Item = Result<Content>;

    fn next(&mut self) -> Option<Result<Content>> {
        if self.rows.len() == 0 {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        self.rows.next().map(Ok)
    }
}

impl Column {
    /// Returns the next values, `None` for an absent one; empty at the end of the row group.
    fn read<T: DataType>(self, column: &mut ColumnReaderImpl<T>) -> Result<Vec<Option<T::T>>> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        // A page may end before the requested number of rows.
        let mut rows = 0;
        while rows < ROWS {
            let (read, ..) =
                column.read_records(ROWS - rows, Some(&mut levels), None, &mut values)?;
            if read == 0 {
                break;
            }
            rows += read;
        }
        if self.present == 0 {
            return Ok(values.into_iter().map(Some).collect());
        }
        let mut values = values.into_iter();
        let value = |&level: &i16| if level == self.present { values.next() } else { None };
        Ok(levels.iter().map(value).collect())
    }

    /// Returns the next ids as text.
    fn read_ids(self, column: &mut ColumnReader) -> Result<Vec<Option<Result<String, String>>>> {
        Ok(match column {
            ColumnReader::ByteArrayColumnReader(ids) => {
                let ids = self.read(ids)?.into_iter();
                ids.map(|id| id.map(|id| utf8(&id, "the id"))).collect()
            }
            ColumnReader::Int32ColumnReader(ids) => {
                let ids = self.read(ids)?.into_iter();
                ids.map(|id| id.map(|id| Ok(self.number(id.into(), id.cast_unsigned().into()))))
                    .collect()
            }
            ColumnReader::Int64ColumnReader(ids) => {
                let ids = self.read(ids)?.into_iter();
                ids.map(|id| id.map(|id| Ok(self.number(id, id.cast_unsigned())))).collect()
            }
            _ => bail!("the column of ids holds neither strings nor whole numbers"),
        })
    }

    /// Returns the next stamps of the column with this name, or what is wrong with them.
    fn read_stamps(
        self,
        column: &mut ColumnReader,
        name: &str,
    ) -> Result<Vec<Result<Option<u64>, String>>> {
        let stamps = self.read_ids(column)?.into_iter();
        let stamp = |stamp: Option<Result<String, String>>| {
            let stamp = stamp.ok_or_else(|| format!("no stamp in column {name:?}"))??;
            stamp.parse().map(Some).map_err(|_| no_stamp(name))
        };
        Ok(stamps.map(stamp).collect())
    }

    fn number(self, signed: i64, unsigned: u64) -> String {
        if self.unsigned { unsigned.to_string() } else { signed.to_string() }
    }
}

fn names(columns: &[std::sync::Arc<ColumnDescriptor>]) -> String {
    columns.iter().map(|column| column.path().parts().join("/")).collect::<Vec<_>>().join(", ")
}

fn content(
    id: Option<Result<String, String>>,
    text: Option<ByteArray>,
    stamp: Result<Option<u64>, String>,
    max_document: usize,
) -> Content {
    let document = match (id, text) {
        (None, _) => Err("no id".to_owned()),
        (_, None) => Err("no text".to_owned()),
        (Some(_), Some(text)) if text.len() > max_document => Err(format!(
            "a text of {} bytes, more than {max_document} (--max-document)",
            text.len()
        )),
        (Some(id), Some(text)) => {
            id.and_then(|id| Ok(Document::new(id, utf8(&text, "the text")?, stamp?)))
        }
    };
    match document {
        Ok(document) => Content::Document(document),
        Err(message) => Content::Bad(message),
    }
}

fn utf8(bytes: &ByteArray, of: &str) -> Result<String, String> {
    match std::str::from_utf8(bytes.data()) {
        Ok(text) => Ok(text.to_owned()),
        Err(e) => Err(format!("invalid UTF-8 after {} bytes of {of}", e.valid_up_to())),
    }
}
