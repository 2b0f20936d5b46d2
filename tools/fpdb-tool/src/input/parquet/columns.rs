//! The columns of a file: their names, the types that are read, and single values.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::schema::types::ColumnDescriptor;

use super::super::ndjson::{no_stamp, path};

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Id,
    Text,
    Stamp,
}

/// The position of a column, and how to read it.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) index: usize,
    name: String,
    /// The definition level of a value that is present. On a lower level there is no value.
    present: i16,
    values: Values,
}

/// How the values of a column become ids, texts and stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    Strings,
    Uuids,
    Signed,
    Unsigned,
    /// Times since the beginning of 1970: values times the first number, divided by the second, are
    /// seconds.
    Times(i64, i64),
    /// The type of a column in which every value is absent.
    Absent,
}

/// A value, if it is present, or what is wrong with it.
pub(super) type Cell<T> = Result<Option<T>, String>;

impl Column {
    /// Returns the column with this name: `a`, or `/a/b` for the field `b` of the group `a`.
    pub(super) fn find(columns: &[Arc<ColumnDescriptor>], name: &str, role: Role) -> Result<Self> {
        let named = |wanted: &[String]| {
            let fits = move |column: &Arc<ColumnDescriptor>| column.path().parts() == wanted;
            columns.iter().enumerate().filter(|(_, column)| fits(column)).collect::<Vec<_>>()
        };
        let mut found = named(&[name.to_owned()]);
        if found.is_empty() {
            found = named(&path(name));
        }
        let (index, column) = match *found {
            [(index, column)] => (index, column),
            [] => {
                let all = columns.iter().map(|column| column.path().parts().join("/"));
                let all = all.collect::<Vec<_>>().join(", ");
                bail!("there is no column {name:?}; the columns are {all}")
            }
            _ => bail!("there are {} columns {name:?}", found.len()),
        };
        let values = Values::of(column, role).with_context(|| {
            let needed = match role {
                Role::Id => "ids must be strings, whole numbers or UUIDs",
                Role::Text => "texts must be strings",
                Role::Stamp => "stamps must be whole numbers, dates or times with a date",
            };
            format!("column {name:?} is of type {}; {needed}: convert it first", describe(column))
        })?;
        Ok(Self { index, name: name.to_owned(), present: column.max_def_level(), values })
    }

    /// Returns the next id. `None` is the end of the row group.
    pub(super) fn id(&self, column: &mut ColumnReader) -> Result<Option<Cell<String>>> {
        if let (Values::Signed | Values::Unsigned, _) = (self.values, &column) {
            let number = self.number(column)?;
            return Ok(number.map(|number| Ok(number.map(|number| number.to_string()))));
        }
        let bytes = self.bytes(column)?;
        Ok(bytes.map(|bytes| match bytes {
            Some(bytes) if self.values == Values::Uuids => uuid(bytes.data()).map(Some),
            Some(bytes) => utf8(&bytes, "the id").map(Some),
            None => Ok(None),
        }))
    }

    /// Returns the next text of at most `most` bytes. `None` is the end of the row group.
    pub(super) fn text(
        &self,
        column: &mut ColumnReader,
        most: usize,
    ) -> Result<Option<Cell<String>>> {
        let bytes = self.bytes(column)?;
        Ok(bytes.map(|bytes| match bytes {
            Some(bytes) if bytes.len() > most => {
                Err(format!("a text of {} bytes, more than {most} (--max-document)", bytes.len()))
            }
            Some(bytes) => utf8(&bytes, "the text").map(Some),
            None => Ok(None),
        }))
    }

    /// Returns the next stamp. `None` is the end of the row group.
    pub(super) fn stamp(&self, column: &mut ColumnReader) -> Result<Option<Cell<u64>>> {
        let name = &self.name;
        Ok(self.number(column)?.map(|number| {
            let number = number.ok_or_else(|| format!("no stamp in column {name:?}"))?;
            match self.values {
                Values::Times(times, parts) => {
                    let seconds = number.saturating_mul(times.into()).div_euclid(parts.into());
                    let before = |_| format!("a time before 1970 in column {name:?}");
                    u64::try_from(seconds).map(Some).map_err(before)
                }
                _ => u64::try_from(number).map(Some).map_err(|_| no_stamp(name)),
            }
        }))
    }

    fn number(&self, column: &mut ColumnReader) -> Result<Option<Option<i128>>> {
        let unsigned = self.values == Values::Unsigned;
        Ok(match column {
            ColumnReader::Int32ColumnReader(column) => self.next(column)?.map(|number| {
                number.map(|n| if unsigned { n.cast_unsigned().into() } else { n.into() })
            }),
            ColumnReader::Int64ColumnReader(column) => self.next(column)?.map(|number| {
                number.map(|n| if unsigned { n.cast_unsigned().into() } else { n.into() })
            }),
            ColumnReader::Int96ColumnReader(column) => {
                self.next(column)?.map(|time| time.map(|time| time.to_seconds().into()))
            }
            _ => bail!("column {:?} changes its type", self.name),
        })
    }

    fn bytes(&self, column: &mut ColumnReader) -> Result<Option<Option<ByteArray>>> {
        Ok(match column {
            ColumnReader::ByteArrayColumnReader(column) => self.next(column)?,
            ColumnReader::FixedLenByteArrayColumnReader(column) => {
                self.next(column)?.map(|bytes| bytes.map(ByteArray::from))
            }
            ColumnReader::Int32ColumnReader(column) if self.values == Values::Absent => {
                self.next(column)?.map(|_| None)
            }
            _ => bail!("column {:?} changes its type", self.name),
        })
    }

    /// Returns the next value, if it is present. `None` is the end of the row group.
    fn next<T: DataType>(&self, column: &mut ColumnReaderImpl<T>) -> Result<Option<Option<T::T>>> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        // One by one, because each may be large, whatever its size in the file.
        let (read, ..) = column.read_records(1, Some(&mut levels), None, &mut values)?;
        let absent = levels.first().is_some_and(|&level| level < self.present);
        Ok((read > 0).then(|| values.pop().filter(|_| !absent)))
    }
}

impl Values {
    /// Returns how to read a column, unless its type does not suit the role.
    fn of(column: &ColumnDescriptor, role: Role) -> Option<Self> {
        use ConvertedType as Old;
        use LogicalType as New;

        if column.max_rep_level() > 0 {
            return None;
        }
        let physical = column.physical_type();
        let (is_number, is_string) =
            (matches!(physical, Type::INT32 | Type::INT64), physical == Type::BYTE_ARRAY);
        let values = match (column.logical_type_ref(), column.converted_type()) {
            (Some(New::Unknown), _) if physical == Type::INT32 => return Some(Self::Absent),
            (Some(New::Uuid), _) => Self::Uuids,
            (Some(New::Date), _) | (None, Old::DATE) => Self::Times(86_400, 1),
            (Some(New::Timestamp(time)), _) => match time.unit {
                TimeUnit::MILLIS => Self::Times(1, 1000),
                TimeUnit::MICROS => Self::Times(1, 1_000_000),
                TimeUnit::NANOS => Self::Times(1, 1_000_000_000),
            },
            (None, Old::TIMESTAMP_MILLIS) => Self::Times(1, 1000),
            (None, Old::TIMESTAMP_MICROS) => Self::Times(1, 1_000_000),
            // The crate converts it to seconds.
            (None, Old::NONE) if physical == Type::INT96 => Self::Times(1, 1),
            (None, Old::NONE) if is_string => Self::Strings,
            (None, Old::UTF8 | Old::ENUM | Old::JSON) if is_string => Self::Strings,
            (Some(New::String | New::Enum | New::Json), _) if is_string => Self::Strings,
            (Some(New::Integer(number)), _) if is_number && !number.is_signed => Self::Unsigned,
            (Some(New::Integer(_)), _) | (None, Old::NONE) if is_number => Self::Signed,
            (None, Old::UINT_8 | Old::UINT_16 | Old::UINT_32 | Old::UINT_64) if is_number => {
                Self::Unsigned
            }
            (None, Old::INT_8 | Old::INT_16 | Old::INT_32 | Old::INT_64) if is_number => {
                Self::Signed
            }
            _ => return None,
        };
        let suits = match role {
            Role::Id => !matches!(values, Self::Times(..)),
            Role::Text => values == Self::Strings,
            Role::Stamp => matches!(values, Self::Times(..) | Self::Signed | Self::Unsigned),
        };
        suits.then_some(values)
    }
}

/// Returns the name of a column's type for messages.
fn describe(column: &ColumnDescriptor) -> String {
    if column.max_rep_level() > 0 {
        return "LIST".to_owned();
    }
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Decimal(_)), _) | (None, ConvertedType::DECIMAL) => {
            format!("DECIMAL({}, {})", column.type_precision(), column.type_scale())
        }
        (Some(LogicalType::Date), _) => "DATE".to_owned(),
        (Some(LogicalType::Time(_)), _) => "TIME".to_owned(),
        (Some(LogicalType::Timestamp(_)), _) => "TIMESTAMP".to_owned(),
        (Some(LogicalType::String), _) => "STRING".to_owned(),
        (Some(LogicalType::Uuid), _) => "UUID".to_owned(),
        (None, ConvertedType::NONE) => column.physical_type().to_string(),
        (None, old) => old.to_string(),
        (Some(LogicalType::Integer(_)), _) => column.physical_type().to_string(),
        (Some(new), _) => format!("{new:?}"),
    }
}

fn utf8(bytes: &ByteArray, of: &str) -> Result<String, String> {
    match std::str::from_utf8(bytes.data()) {
        Ok(text) => Ok(text.to_owned()),
        Err(e) => Err(format!("invalid UTF-8 after {} bytes of {of}", e.valid_up_to())),
    }
}

fn uuid(bytes: &[u8]) -> Result<String, String> {
    let bytes = <[u8; 16]>::try_from(bytes).map_err(|_| "a UUID that has not 16 bytes")?;
    let mut text = format!("{:032x}", u128::from_be_bytes(bytes));
    for at in [20, 16, 12, 8] {
        text.insert(at, '-');
    }
    Ok(text)
}
