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
use super::lines::Lines;
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
    #[arg(long, value_enum, default_value = "auto")]
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

type Fingerprints<'a, F> = Box<dyn Iterator<Item = Result<Listed<F>>> + 'a>;

impl Lists<'_> {
    /// Returns the fingerprints of these files, one file after the other, without blank lines. The
    /// caller must stop at the first error.
    pub(crate) fn read<'a, F: Fingerprint>(
        &'a self,
        files: &'a [PathBuf],
    ) -> impl Iterator<Item = Result<Listed<F>>> + 'a {
        files.iter().flat_map(move |path| {
            self.read_file(path).unwrap_or_else(|e| Box::new(std::iter::once(Err(e))))
        })
    }

    /// Returns about how many fingerprints these files hold, if their sizes and first lines show
    /// it.
    pub(crate) fn estimate<F: Fingerprint>(&self, files: &[PathBuf]) -> Option<u64> {
        files.iter().map(|path| self.estimate_file::<F>(path)).sum()
    }

    fn estimate_file<F: Fingerprint>(&self, path: &Path) -> Option<u64> {
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
        (binary && !is_compressed).then_some(size / F::BYTES as u64)
    }

    fn read_file<'a, F: Fingerprint>(&self, path: &'a Path) -> Result<Fingerprints<'a, F>> {
        let format = self.args.fp_format;
        let open = |compression| Input::open(path, compression, self.max_ratio, self.bar);
        let label = super::label(path);
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
            let mut list = Binary::new(open(Compression::ByName)?, big_endian);
            return Ok(Box::new(std::iter::from_fn(move || {
                let next = list.next().with_context(|| format!("cannot read {label}"));
                next.map(|next| next.map(|fingerprint| Listed { fingerprint, id: None }))
                    .transpose()
            })));
        }
        let input = open(Compression::ByContent)?;
        check_list(input.head()).with_context(|| label.clone())?;
        let mut notation = Notation::given(format);
        let Some(id_column) = self.id_column else {
            let mut lines = Lines::new(input, MAX_LINE);
            return Ok(Box::new(std::iter::from_fn(move || {
                read_line(&mut lines, &label, &mut notation).transpose()
            })));
        };
        let mut columns = Columns::new(input, id_column, label);
        Ok(Box::new(std::iter::from_fn(move || columns.next(&mut notation).transpose())))
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

fn read_line<F: Fingerprint>(
    lines: &mut Lines,
    label: &str,
    notation: &mut Option<Notation>,
) -> Result<Option<Listed<F>>> {
    let line = lines.next_line().map_err(read_error);
    let line = line.with_context(|| format!("cannot read {label}, line {}", lines.number()))?;
    let Some(line) = line else { return Ok(None) };
    let fingerprint = if line.too_long {
        Err(anyhow!("a line of more than {MAX_LINE} bytes is not a fingerprint"))
    } else {
        parse_bytes(&line.bytes, notation)
    };
    let fingerprint = fingerprint.with_context(|| format!("{label}, line {}", line.number))?;
    Ok(Some(Listed { fingerprint, id: None }))
}

fn parse_bytes<F: Fingerprint>(bytes: &[u8], notation: &mut Option<Notation>) -> Result<F> {
    let text = std::str::from_utf8(bytes.trim_ascii()).context("not UTF-8")?;
    notation.get_or_insert_with(|| Notation::of::<F>(text)).parse(text)
}

/// A list with ids: rows as in CSV. The separator is a tab, a comma or a space, whichever of them
/// the first line contains, in this order.
struct Columns {
    rows: Rows,
    /// Counted from 0.
    id: usize,
    label: String,
    /// No row has been read yet. The first may be a header.
    at_first: bool,
}

impl Columns {
    fn new(input: Input, id_column: usize, label: String) -> Self {
        let first = input.head().split(|&byte| byte == b'\n').next().unwrap_or_default();
        let delimiters = [b'\t', b',', b' '];
        let delimiter = delimiters.into_iter().find(|d| first.contains(d)).unwrap_or(b',');
        let rows = Rows::new(input, delimiter, Quote::Double, MAX_LINE);
        Self { rows, id: id_column - 1, label, at_first: true }
    }

    fn next<F: Fingerprint>(
        &mut self,
        notation: &mut Option<Notation>,
    ) -> Result<Option<Listed<F>>> {
        loop {
            let row = self.rows.next_row();
            let place = || format!("cannot read {}, line {}", self.label, self.rows.line());
            let Some(row) = row.with_context(place)? else { return Ok(None) };
            let place = || format!("{}, line {}", self.label, row.line);
            let fingerprint = row.value(usize::from(self.id == 0)).unwrap_or_default();
            if std::mem::take(&mut self.at_first) && is_title(fingerprint) {
                continue;
            }
            let id = row.value(self.id).ok_or_else(|| anyhow!("no column {}", self.id + 1));
            let id = id.and_then(|id| std::str::from_utf8(id).context("an id not in UTF-8"));
            let id = Some(id.with_context(place)?.to_owned());
            return Ok(Some(Listed {
                fingerprint: parse_bytes(fingerprint, notation).with_context(place)?,
                id,
            }));
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
        false => Notation::of::<F>(text),
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
    fn of<F: Fingerprint>(text: &str) -> Self {
        let prefixed = text.starts_with("0x") || text.starts_with("0X");
        let all_digits = text.len() == F::BYTES * 2 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if prefixed || all_digits { Self::Hex } else { Self::Decimal }
    }

    fn parse<F: Fingerprint>(self, text: &str) -> Result<F> {
        let signed = text.starts_with('-');
        let value = match self {
            Self::Hex => return F::parse(text).map_err(|e| anyhow!("{e}")),
            Self::Unsigned => unsigned::<F>(text),
            Self::Decimal if !signed => unsigned::<F>(text),
            Self::Signed | Self::Decimal => twos_complement::<F>(text),
        };
        value.with_context(|| {
            let kind = match self {
                Self::Signed => "signed decimal",
                _ => "decimal",
            };
            if F::BITS == SKETCH_BITS {
                return format!("not a sketch, which is 0x and 456 hex digits: {text:?}");
            }
            format!("not a {}-bit fingerprint in {kind}: {text:?}", F::BITS)
        })
    }
}

fn unsigned<F: Fingerprint>(text: &str) -> Option<F> {
    F::of_number(text.parse().ok()?)
}

fn twos_complement<F: Fingerprint>(text: &str) -> Option<F> {
    let value: i128 = text.parse().ok()?;
    let unused = 128u32.checked_sub(F::BITS)?;
    let limit = i128::MAX >> unused;
    let is_allowed = (-limit - 1..=limit).contains(&value);
    if is_allowed { F::of_number(value.cast_unsigned() << unused >> unused) } else { None }
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
            assert_eq!(Notation::of::<u64>(hex), Notation::Hex, "{hex}");
        }
        for decimal in ["1", "-5", "12345678901234567", "deadbeef"] {
            assert_eq!(Notation::of::<u64>(decimal), Notation::Decimal, "{decimal}");
        }
        assert_eq!(parse(Notation::Decimal, "-2"), Some(u64::MAX - 1));
        assert_eq!(parse(Notation::Decimal, "18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse::<u64>(Notation::Decimal, "deadbeef"), None);
    }
}
