//! Checks the pages of a column before the `parquet` crate decodes them.
//!
//! The crate trusts the sizes and counts in page headers, and takes memory accordingly. So each
//! header is read here first.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use brotli_decompressor::Decompressor;
use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::super::decompress::RATIO_FREE;
use super::thrift::{self, Walk};

/// Bytes that the crate needs per value of a dictionary, besides the value.
const DICTIONARY_VALUE: u64 = 32;
/// Bytes that the crate needs per value in an encoding with a list of lengths.
const LENGTHS: u64 = 8;

/// The pages of a column of a row group.
pub(super) struct Pages {
    file: Arc<File>,
    /// The crate's reader. It leaves pages compressed that `codec` is for.
    pages: SerializedPageReader<File>,
    codec: Option<Codec>,
    /// Whether a value may be absent.
    optional: bool,
    /// The place of the next page header.
    at: u64,
    /// The end of the column.
    end: u64,
    max_ratio: u64,
}

/// A compression whose decoder in the crate gives back more than the header says.
#[derive(Debug, Clone, Copy)]
enum Codec {
    Gzip,
    Brotli,
}

/// What the header of a page says.
#[derive(Debug, Default)]
struct Header {
    /// [`INDEX`], [`DICTIONARY`], or a type of data page.
    kind: i64,
    uncompressed: i64,
    compressed: i64,
    values: i64,
    encoding: i64,
}

const INDEX: i64 = 1;
const DICTIONARY: i64 = 2;

/// Encodings with lists of lengths.
const DELTA_LENGTH_BYTE_ARRAY: i64 = Encoding::DELTA_LENGTH_BYTE_ARRAY as i64;
const DELTA_BYTE_ARRAY: i64 = Encoding::DELTA_BYTE_ARRAY as i64;

impl Pages {
    /// The pages of the column at this position in a row group.
    pub(super) fn new(
        file: &Arc<File>,
        group: &RowGroupMetaData,
        column: usize,
        max_ratio: u64,
    ) -> Result<Self> {
        let mut column = group.column(column).clone();
        let (at, length) = column.byte_range();
        let end = at.saturating_add(length);
        if end > file.len() {
            return Err(damaged(format!("a column ends at {end}, after the end of the file")));
        }
        let codec = match column.compression() {
            Compression::GZIP(_) => Some(Codec::Gzip),
            Compression::BROTLI(_) => Some(Codec::Brotli),
            _ => None,
        };
        if codec.is_some() {
            let builder = column.into_builder();
            column = builder.set_compression(Compression::UNCOMPRESSED).build()?;
        }
        let optional = column.column_descr().max_def_level() > 0;
        let rows = usize::try_from(group.num_rows())?;
        let pages = SerializedPageReader::new(Arc::clone(file), &column, rows, None)?;
        Ok(Self { file: Arc::clone(file), pages, codec, optional, at, end, max_ratio })
    }

    /// Reads and checks the header of the next page with values, if there is one.
    fn next_header(&mut self) -> Result<Option<Header>> {
        while self.at < self.end {
            let left = self.end - self.at;
            let mut walk = Walk::new(self.file.get_read(self.at)?.take(left));
            let header = Header::read(&mut walk)?;
            let length = u64::try_from(header.compressed).unwrap_or(u64::MAX);
            if length > left - walk.taken() {
                return Err(damaged(format!(
                    "a page of {} bytes, where {} are left of its column",
                    header.compressed,
                    left - walk.taken()
                )));
            }
            header.check(self.max_ratio)?;
            self.at += walk.taken() + length;
            if header.kind != INDEX {
                return Ok(Some(header));
            }
        }
        Ok(None)
    }
}

impl Header {
    fn read<R: Read>(walk: &mut Walk<R>) -> Result<Self> {
        let mut header = Self::default();
        walk.fields(|walk, id, kind| {
            match id {
                1 => header.kind = walk.integer()?,
                2 => header.uncompressed = walk.integer()?,
                3 => header.compressed = walk.integer()?,
                // What is special to data, dictionaries, and data of the second version.
                5 | 7 | 8 if kind == thrift::STRUCT => {
                    let encoding = if id == 8 { 4 } else { 2 };
                    walk.fields(|walk, id, _| {
                        match id {
                            1 => header.values = walk.integer()?,
                            _ if id == encoding => header.encoding = walk.integer()?,
                            _ => return Ok(false),
                        }
                        Ok(true)
                    })?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(header)
    }

    /// Fails if the page would take more memory than is fair for its size in the file.
    fn check(&self, max_ratio: u64) -> Result<()> {
        let number = |number: i64| {
            u64::try_from(number).map_err(|_| damaged(format!("a page header with a {number}")))
        };
        let (size, compressed) = (number(self.uncompressed)?, number(self.compressed)?);
        let values = number(self.values)?;
        if self.kind == DICTIONARY && values > size {
            return Err(damaged(format!("a dictionary of {values} values in {size} bytes")));
        }
        let per_value = match self.encoding {
            _ if self.kind == DICTIONARY => DICTIONARY_VALUE,
            DELTA_LENGTH_BYTE_ARRAY | DELTA_BYTE_ARRAY => LENGTHS,
            _ => 0,
        };
        let need = size.saturating_add(values.saturating_mul(per_value));
        if need > compressed.saturating_mul(max_ratio).max(RATIO_FREE) {
            let what = format!(
                "a page grows to {need} bytes, more than {max_ratio} times its {compressed} bytes \
                 (--max-ratio)"
            );
            return Err(ParquetError::External(what.into()));
        }
        Ok(())
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let Some(header) = self.next_header()? else { return Ok(None) };
        let Some(mut page) = self.pages.get_next_page()? else { return Ok(None) };
        if let Some(codec) = self.codec {
            page = codec.decompress(page, usize::try_from(header.uncompressed)?)?;
        }
        check_lengths(&page, self.optional)?;
        Ok(Some(page))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Err(ParquetError::NYI("looking at pages without reading them".to_owned()))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        Err(ParquetError::NYI("skipping pages".to_owned()))
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl Codec {
    /// Returns the page with uncompressed values. It must have this size.
    fn decompress(self, mut page: Page, size: usize) -> Result<Page> {
        let (buffer, plain) = match &mut page {
            Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => (buf, 0),
            Page::DataPageV2 { is_compressed: false, .. } => return Ok(page),
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                (buf, usize::try_from(levels)?)
            }
        };
        let Some((levels, values)) = buffer.split_at_checked(plain).filter(|_| plain <= size)
        else {
            return Err(damaged("levels that are longer than their page".to_owned()));
        };
        let mut bytes = levels.to_vec();
        // One byte more shows that the page is too long.
        let room = (size - plain) as u64 + 1;
        // A page without values may have no compressed data at all.
        match self {
            _ if size == plain => 0,
            Self::Gzip => MultiGzDecoder::new(values).take(room).read_to_end(&mut bytes)?,
            Self::Brotli => Decompressor::new(values, 4096).take(room).read_to_end(&mut bytes)?,
        };
        if bytes.len() != size {
            return Err(damaged(format!("a page that does not grow to {size} bytes")));
        }
        *buffer = bytes.into();
        Ok(page)
    }
}

/// Fails if the encoding of a page has a list of lengths, and it claims more values than the page.
fn check_lengths(page: &Page, optional: bool) -> Result<()> {
    let lists = match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        // The first list holds the lengths of shared prefixes, and the second those of suffixes.
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return Ok(()),
    };
    let buffer = page.buffer();
    let levels = match page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len)
        }
        // Other levels have no length before them. They are older than these encodings.
        Page::DataPage { def_level_encoding: Encoding::RLE, .. } if optional => buffer
            .first_chunk()
            .map_or(u64::MAX, |length| 4 + u64::from(u32::from_le_bytes(*length))),
        _ if optional => u64::MAX,
        _ => 0,
    };
    let mut at = usize::try_from(levels)?;
    for _ in 0..lists {
        let list = buffer.get(at..).unwrap_or_default();
        at += list_of_lengths(list, page.num_values().into())
            .ok_or_else(|| damaged("a list of lengths that does not fit its page".to_owned()))?;
    }
    Ok(())
}

/// Returns the size in bytes of a list of at most `most` numbers in the encoding
/// `DELTA_BINARY_PACKED`.
fn list_of_lengths(bytes: &[u8], most: u64) -> Option<usize> {
    let mut walk = Walk::new(bytes);
    let (block, parts) = (walk.number().ok()?, walk.number().ok()?);
    let (count, _) = (walk.number().ok()?, walk.integer().ok()?);
    let per_part = block.checked_div(parts).filter(|&values| values > 0)?;
    if count > most {
        return None;
    }
    // The first is in the header.
    let mut left = count.saturating_sub(1);
    let mut at = usize::try_from(walk.taken()).ok()?;
    while left > 0 {
        let mut walk = Walk::new(bytes.get(at..)?);
        walk.integer().ok()?;
        at += usize::try_from(walk.taken()).ok()?;
        let widths = bytes.get(at..)?.get(..usize::try_from(parts).ok()?)?;
        at += widths.len();
        for &width in widths {
            if left > 0 {
                let size = per_part.checked_mul(width.into())? / 8;
                at = at.checked_add(usize::try_from(size).ok()?)?;
            }
            left = left.saturating_sub(per_part);
        }
    }
    (at <= bytes.len()).then_some(at)
}

fn damaged(what: String) -> ParquetError {
    ParquetError::External(format!("it is damaged: {what}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of 64 MiB is always fair, a larger one if it is not much smaller in the file.
    #[test]
    fn pages_are_bounded_by_their_size_in_the_file() {
        let page = |kind, encoding, uncompressed, values, compressed| {
            let header = Header { kind, encoding, uncompressed, values, compressed };
            header.check(10).map_err(|error| error.to_string().replace("External: ", ""))
        };
        let large = 1 << 27;
        assert_eq!(page(0, 0, 1 << 26, i64::MAX, 0), Ok(()));
        assert_eq!(page(0, 0, large, 1, large / 10 + 1), Ok(()));
        for (page, message) in [
            (page(0, 0, large, 1, large / 10), "more than 10 times its 13421772 bytes"),
            (page(DICTIONARY, 0, 1 << 25, 1 << 24, 100), "a page grows to 570425344 bytes"),
            (page(DICTIONARY, 0, 100, 101, 100), "a dictionary of 101 values in 100 bytes"),
            (page(3, DELTA_BYTE_ARRAY, 100, 1 << 24, 100), "a page grows to"),
            (page(0, 0, -1, 1, 100), "a page header with a -1"),
            (page(0, 0, 1, 1, -1), "a page header with a -1"),
        ] {
            assert!(page.clone().unwrap_err().contains(message), "{page:?}");
        }
    }

    #[test]
    fn lists_of_lengths_are_measured() {
        // Blocks of 128 in 4 parts, 5 values: the first is 7, and the rest have 3 bits in one part.
        let list = [128, 1, 4, 5, 14, 2, 3, 0, 0, 0];
        let list = [&list[..], &[0; 12], b"rest"].concat();
        assert_eq!(list_of_lengths(&list, 5), Some(22));
        assert_eq!(list_of_lengths(&list, 4), None, "more values than the page has");
        assert_eq!(list_of_lengths(&list[..21], 5), None);
        assert_eq!(list_of_lengths(&[128, 1, 0, 5, 14], 5), None, "no parts");
        assert_eq!(list_of_lengths(&[128, 1, 4, 0, 0], 5), Some(5), "no values");
    }
}
