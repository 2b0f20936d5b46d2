//! Reads lists of fingerprints: one per line in hex or decimal, with or without an id, or binary.

use std::fs::{self, File};
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use fpdb::Fingerprint;
use indicatif::ProgressBar;

use super::csv::{Quote, Rows};
use super::decompress::{Compression, Input, is_gzip, is_zstd, read_error};
use super::kind::check_list;
use super::lines::{Line, Lines};
use crate::args::choice::choice;
use crate::args::database::SKETCH_BITS;

/// Size in bytes of the longest line, which has room for a fingerprint and the longest id.
const MAX_LINE: usize = 1 << 20;

/// Bytes of a file that show how long its lines are.
const HEAD: u64 = 1 << 16;

/// `--fp-format`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FingerprintFormat {
    /// Hex or decimal, as the first line of each file shows: hex if it starts with 0x or has all
    /// digits of the width, else decimal, with or without a sign
    Auto,
    /// Hex digits, with or without 0x
    Hex,
    /// Decimal without a sign. Not for sketches
    Dec,
    /// Decimal with a sign: two's complement, as in SQL columns. Not for sketches
    I64,
    /// Binary, little-endian
    BinLe,
    /// Binary, big-endian
    BinBe,
}

/// The options for reading lists.
#[derive(clap::Args, Debug, Clone)]
#[command(next_help_heading = "Reading lists of fingerprints")]
pub(crate) struct ListArgs {
    /// Notation of the fingerprints
    #[arg(long, value_parser = choice::<FingerprintFormat>(), default_value = "auto")]
    pub(crate) fp_format: FingerprintFormat,
}

/// A fingerprint and, if the list has ids, its id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed<F> {
    pub(crate) fingerprint: F,
    pub(crate) id: Option<String>,
}

/// A reader of lists.
pub(crate) struct Lists<'a> {
    pub(crate) args: &'a ListArgs,
    /// The column with the ids, counted from 1. The fingerprint is in the first other column.
    pub(crate) id_column: Option<usize>,
    pub(crate) max_ratio: u64,
    pub(crate) bar: &'a ProgressBar,
}

/// The fingerprints of one file.
type OfFile<'a, F> = Box<dyn Iterator<Item = Result<Listed<F>>> + 'a>;

/// The fingerprints of some files, one file after the other. With `flat_map`, all that uses this
/// iterator would be compiled to several times as much code.
pub(crate) struct OfFiles<'a, F> {
    lists: &'a Lists<'a>,
    files: std::slice::Iter<'a, PathBuf>,
    current: Option<OfFile<'a, F>>,
}

impl<F: Fingerprint> Iterator for OfFiles<'_, F> {
    type Item = Result<Listed<F>>;

    #[inline]
    fn next(&mut self) -> Option<Result<Listed<F>>> {
        loop {
            if let Some(next) = self.current.as_mut().and_then(Iterator::next) {
                return Some(next);
            }
            let path = self.files.next()?;
            match self.lists.read_file(path) {
                Ok(file) => self.current = Some(file),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Lists<'_> {
    /// Returns the fingerprints of these files, one file after the other, without blank lines. The
    /// caller must stop at the first error.
    pub(crate) fn read<'a, F: Fingerprint>(&'a self, files: &'a [PathBuf]) -> OfFiles<'a, F> {
        OfFiles { lists: self, files: files.iter(), current: None }
    }

    /// Returns about how many fingerprints these files hold, if their sizes and first lines show
    /// it.
    pub(crate) fn estimate<F: Fingerprint>(&self, files: &[PathBuf]) -> Option<u64> {
        self.estimate_width(files, F::BYTES as u64)
    }

    fn estimate_width(&self, files: &[PathBuf], width: u64) -> Option<u64> {
        files.iter().map(|path| self.estimate_file(path, width)).sum()
    }

    fn estimate_file(&self, path: &Path, width: u64) -> Option<u64> {
        let size = path.metadata().ok().filter(fs::Metadata::is_file)?.len();
        let mut head = Vec::new();
        File::open(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
        let binary =
            matches!(self.args.fp_format, FingerprintFormat::BinLe | FingerprintFormat::BinBe);
        if !binary && !is_gzip(&head) && !is_zstd(&head) {
            let lines = head.iter().filter(|&&byte| byte == b'\n').count() as u64;
            let end = head.iter().rposition(|&byte| byte == b'\n').map_or(head.len(), |at| at + 1);
            return Some(size * lines.max(1) / (end as u64).max(1));
        }
        let is_compressed = path.extension().is_some_and(|end| end == "gz" || end == "zst");
        (binary && !is_compressed).then_some(size / width)
    }

    fn read_file<'a, F: Fingerprint>(&self, path: &'a Path) -> Result<OfFile<'a, F>> {
        let label = super::label(path);
        Ok(match self.open(path, &label)? {
            List::Binary { input, big_endian } => {
                let mut list = Binary::new(input, big_endian);
                Box::new(std::iter::from_fn(move || {
                    let next = list.next().with_context(|| format!("cannot read {label}"));
                    next.map(|next| next.map(|fingerprint| Listed { fingerprint, id: None }))
                        .transpose()
                }))
            }
            List::Text(mut texts) => {
                let mut notation = Notation::given(self.args.fp_format);
                Box::new(std::iter::from_fn(move || {
                    let text = texts.next(&label).transpose()?;
                    Some(text.and_then(|text| text.parse(&mut notation, &label)))
                }))
            }
        })
    }

    fn open(&self, path: &Path, label: &str) -> Result<List> {
        let format = self.args.fp_format;
        let open = |compression| Input::open(path, compression, self.max_ratio, self.bar);
        if path.is_dir() {
            bail!(
                "{label} is a folder, and lists of fingerprints are files: import reads a folder \
                 of documents if you give --from auto"
            );
        }
        if matches!(format, FingerprintFormat::BinLe | FingerprintFormat::BinBe) {
            if self.id_column.is_some() {
                bail!("binary lists have no columns, so --id-column does not apply to them");
            }
            let big_endian = format == FingerprintFormat::BinBe;
            return Ok(List::Binary { input: open(Compression::ByName)?, big_endian });
        }
        let input = open(Compression::ByContent)?;
        check_list(input.head()).with_context(|| label.to_owned())?;
        Ok(List::Text(match self.id_column {
            Some(id_column) => Texts::Columns(Box::new(Columns::new(input, id_column))),
            None => Texts::Lines(Lines::new(input, MAX_LINE)),
        }))
    }
}

/// An open file. What is read of it as text is compiled once for all widths.
enum List {
    Binary { input: Input, big_endian: bool },
    Text(Texts),
}

enum Texts {
    Lines(Lines),
    Columns(Box<Columns>),
}

impl Texts {
    /// Returns the next fingerprint as it is written.
    fn next(&mut self, label: &str) -> Result<Option<Text>> {
        match self {
            Self::Lines(lines) => next_line(lines, label),
            Self::Columns(columns) => columns.next(label),
        }
    }
}

/// A fingerprint as it is written, and where.
struct Text {
    fingerprint: Vec<u8>,
    id: Option<String>,
    line: u64,
}

impl Text {
    fn parse<F: Fingerprint>(
        self,
        notation: &mut Option<Notation>,
        label: &str,
    ) -> Result<Listed<F>> {
        let Self { fingerprint, id, line } = self;
        let fingerprint = std::str::from_utf8(fingerprint.trim_ascii())
            .context("not UTF-8")
            .and_then(|text| {
                notation.get_or_insert_with(|| Notation::of(text, F::BYTES)).parse(text)
            })
            .with_context(|| format!("{label}, line {line}"))?;
        Ok(Listed { fingerprint, id })
    }
}

/// A binary list. It is read a buffer at a time, because one by one a fingerprint takes longer to
/// read than to sort and write.
struct Binary<F> {
    input: Input,
    big_endian: bool,
    /// The fingerprints of the last buffer, and how many of them have been returned.
    buffered: (Vec<F>, usize),
}

impl<F: Fingerprint> Binary<F> {
    fn new(input: Input, big_endian: bool) -> Self {
        Self { input, big_endian, buffered: (Vec::new(), 0) }
    }

    #[inline]
    fn next(&mut self) -> Result<Option<F>> {
        let (buffered, returned) = &mut self.buffered;
        if *returned == buffered.len() && !self.fill()? {
            return Ok(None);
        }
        let (buffered, returned) = &mut self.buffered;
        *returned += 1;
        Ok(buffered.get(*returned - 1).copied())
    }

    /// Reads the next fingerprints. Returns false if there are none.
    fn fill(&mut self) -> Result<bool> {
        let (buffered, returned) = &mut self.buffered;
        buffered.clear();
        *returned = 0;
        let read = if self.big_endian { F::read_be } else { F::read_le };
        let bytes = self.input.fill_buf().map_err(read_error)?;
        buffered.extend(bytes.chunks_exact(F::BYTES).filter_map(read));
        let used = buffered.len() * F::BYTES;
        self.input.consume(used);
        if used > 0 {
            return Ok(true);
        }
        // The end of the list, or a fingerprint in two buffers.
        let mut bytes = Vec::with_capacity(F::BYTES);
        self.input.by_ref().take(F::BYTES as u64).read_to_end(&mut bytes).map_err(read_error)?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let Some(fingerprint) = read(&bytes) else {
            bail!("its length is not a multiple of {} bytes", F::BYTES);
        };
        buffered.push(fingerprint);
        Ok(true)
    }
}

fn next_line(lines: &mut Lines, label: &str) -> Result<Option<Text>> {
    let line = lines.next_line().map_err(read_error);
    let line = line.with_context(|| format!("cannot read {label}, line {}", lines.number()))?;
    let Some(Line { bytes, number, too_long }) = line else { return Ok(None) };
    if too_long {
        bail!("{label}, line {number}: a line of more than {MAX_LINE} bytes is not a fingerprint");
    }
    Ok(Some(Text { fingerprint: bytes, id: None, line: number }))
}

/// A list with ids: rows as in CSV. The separator is a tab, a comma or a space, whichever of them
/// the first line contains, in this order.
struct Columns {
    rows: Rows,
    /// Counted from 0.
    id: usize,
    /// No row has been read yet. The first may be a header.
    at_first: bool,
}

impl Columns {
    fn new(input: Input, id_column: usize) -> Self {
        let first = input.head().split(|&byte| byte == b'\n').next().unwrap_or_default();
        let delimiters = [b'\t', b',', b' '];
        let delimiter = delimiters.into_iter().find(|d| first.contains(d)).unwrap_or(b',');
        let rows = Rows::new(input, delimiter, Quote::Double, MAX_LINE);
        Self { rows, id: id_column - 1, at_first: true }
    }

    fn next(&mut self, label: &str) -> Result<Option<Text>> {
        loop {
            let row = self.rows.next_row();
            let place = || format!("cannot read {label}, line {}", self.rows.line());
            let Some(row) = row.with_context(place)? else { return Ok(None) };
            let place = || format!("{label}, line {}", row.line);
            let fingerprint = row.value(usize::from(self.id == 0)).unwrap_or_default();
            if std::mem::take(&mut self.at_first) && is_title(fingerprint) {
                continue;
            }
            let id = row.value(self.id).ok_or_else(|| anyhow!("no column {}", self.id + 1));
            let id = id.and_then(|id| std::str::from_utf8(id).context("an id not in UTF-8"));
            let id = Some(id.with_context(place)?.to_owned());
            return Ok(Some(Text { fingerprint: fingerprint.to_vec(), id, line: row.line }));
        }
    }
}

/// Returns whether a value is a word and not a number, as the title of a column is.
fn is_title(value: &[u8]) -> bool {
    value.iter().all(|b| b.is_ascii_alphabetic() || *b == b'_')
        && value.iter().any(|b| !b.is_ascii_hexdigit())
}

/// Parses a single fingerprint. Unlike in a file, letters among its digits mean hex. Binary formats
/// count as [`FingerprintFormat::Auto`].
pub(crate) fn parse<F: Fingerprint>(text: &str, format: FingerprintFormat) -> Result<F> {
    let has_letters =
        text.bytes().all(|b| b.is_ascii_hexdigit()) && !text.bytes().all(|b| b.is_ascii_digit());
    let notation = Notation::given(format).unwrap_or_else(|| match has_letters {
        true => Notation::Hex,
        false => Notation::of(text, F::BYTES),
    });
    notation.parse(text)
}

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    Hex,
    Unsigned,
    Signed,
    /// Unsigned, or signed if there is a minus sign.
    Decimal,
}

impl Notation {
    /// Returns the notation that a format names, if any.
    fn given(format: FingerprintFormat) -> Option<Self> {
        match format {
            FingerprintFormat::Hex => Some(Self::Hex),
            FingerprintFormat::Dec => Some(Self::Unsigned),
            FingerprintFormat::I64 => Some(Self::Signed),
            FingerprintFormat::Auto | FingerprintFormat::BinLe | FingerprintFormat::BinBe => None,
        }
    }

    /// Returns the notation that a number seems to be in. This is decided once per file and not per
    /// line, because about one in some thousands of random decimals has as many digits as a
    /// hexadecimal.
    fn of(text: &str, width: usize) -> Self {
        let prefixed = text.starts_with("0x") || text.starts_with("0X");
        let all_digits = text.len() == width * 2 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if prefixed || all_digits { Self::Hex } else { Self::Decimal }
    }

    fn parse<F: Fingerprint>(self, text: &str) -> Result<F> {
        if self == Self::Hex {
            return F::parse(text).map_err(|e| anyhow!("{e}"));
        }
        let number = self.number(text, F::BITS).and_then(F::of_number);
        number.ok_or_else(|| self.not_a_fingerprint(text, F::BITS))
    }

    /// Returns a decimal, as two's complement of this width if it has a sign.
    fn number(self, text: &str, bits: u32) -> Option<u128> {
        match self {
            Self::Unsigned => text.parse().ok(),
            Self::Decimal if !text.starts_with('-') => text.parse().ok(),
            Self::Hex | Self::Signed | Self::Decimal => twos_complement(text, bits),
        }
    }

    fn not_a_fingerprint(self, text: &str, bits: u32) -> anyhow::Error {
        let kind = match self {
            Self::Signed => "signed decimal",
            _ => "decimal",
        };
        if bits == SKETCH_BITS {
            return anyhow!("not a sketch, which is 0x and 456 hex digits: {text:?}");
        }
        anyhow!("not a {bits}-bit fingerprint in {kind}: {text:?}")
    }
}

fn twos_complement(text: &str, bits: u32) -> Option<u128> {
    let value: i128 = text.parse().ok()?;
    let unused = 128u32.checked_sub(bits)?;
    let limit = i128::MAX >> unused;
    let is_allowed = (-limit - 1..=limit).contains(&value);
    is_allowed.then_some(value.cast_unsigned() << unused >> unused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse<F: Fingerprint>(notation: Notation, text: &str) -> Option<F> {
        notation.parse(text).ok()
    }

    #[test]
    fn decimals_must_fit_the_width() {
        assert_eq!(parse(Notation::Unsigned, "18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse::<u64>(Notation::Unsigned, "18446744073709551616"), None);
        assert_eq!(parse(Notation::Unsigned, "18446744073709551616"), Some(1u128 << 64));
        assert_eq!(parse(Notation::Signed, "-9223372036854775808"), Some(1u64 << 63));
        assert_eq!(parse::<u64>(Notation::Signed, "9223372036854775808"), None);
        assert_eq!(parse(Notation::Signed, "-1"), Some(u128::MAX));
        assert_eq!(parse::<u64>(Notation::Unsigned, "-1"), None);
    }

    #[test]
    fn the_first_number_decides_the_notation() {
        for hex in ["0x1", "0X1", "1234567890123456", "08b73006b558c876"] {
            assert_eq!(Notation::of(hex, 8), Notation::Hex, "{hex}");
        }
        for decimal in ["1", "-5", "12345678901234567", "deadbeef"] {
            assert_eq!(Notation::of(decimal, 8), Notation::Decimal, "{decimal}");
        }
        assert_eq!(parse(Notation::Decimal, "-2"), Some(u64::MAX - 1));
        assert_eq!(parse(Notation::Decimal, "18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse::<u64>(Notation::Decimal, "deadbeef"), None);
    }
}
