//! Lists of fingerprints: a line each in hex or decimal, or binary.

use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use fpdb::Fingerprint;
use indicatif::ProgressBar;

use super::Gzip;
use super::lines::Lines;

/// `--fp-format`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Hex or decimal, as the first line of each file is: hex if it begins with 0x or has all
    /// digits of the width, else decimal, with or without sign
    Auto,
    /// Hex digits, with or without 0x
    Hex,
    /// Decimal without sign
    Dec,
    /// Decimal with sign: two's complement, as SQL columns have it
    I64,
    /// Binary, the low byte first
    BinLe,
    /// Binary, the high byte first
    BinBe,
}

type Fingerprints<'a, F> = Box<dyn Iterator<Item = Result<F>> + 'a>;

/// The fingerprints of these files, one file after the other. Blank lines count for nothing. The
/// first error is the last that is to be asked for.
pub(crate) fn read<'a, F: Fingerprint>(
    files: &'a [PathBuf],
    format: Format,
    bar: &'a ProgressBar,
) -> impl Iterator<Item = Result<F>> + 'a {
    files.iter().flat_map(move |path| {
        read_file(path, format, bar).unwrap_or_else(|e| Box::new(std::iter::once(Err(e))))
    })
}

fn read_file<'a, F: Fingerprint>(
    path: &'a Path,
    format: Format,
    bar: &ProgressBar,
) -> Result<Fingerprints<'a, F>> {
    match format {
        Format::BinLe | Format::BinBe => {
            let mut reader = super::open(path, Gzip::ByName, bar)?;
            let big_endian = format == Format::BinBe;
            Ok(Box::new(std::iter::from_fn(move || {
                let next = read_binary(&mut reader, big_endian);
                next.with_context(|| format!("cannot read {}", super::label(path))).transpose()
            })))
        }
        _ => {
            let mut lines = Lines::open(path, bar)?;
            let mut notation = Notation::given(format);
            Ok(Box::new(std::iter::from_fn(move || {
                read_line(&mut lines, &mut notation).transpose()
            })))
        }
    }
}

fn read_binary<F: Fingerprint>(reader: &mut dyn BufRead, big_endian: bool) -> Result<Option<F>> {
    let mut bytes = Vec::with_capacity(F::BYTES);
    reader.take(F::BYTES as u64).read_to_end(&mut bytes).map_err(truncated_gzip)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if big_endian && bytes.len() == F::BYTES {
        bytes.reverse();
    }
    match F::read_le(&bytes) {
        Some(fingerprint) => Ok(Some(fingerprint)),
        None => bail!("its length is no multiple of {} bytes", F::BYTES),
    }
}

/// Says of an input that ends too early what that most likely means.
fn truncated_gzip(error: io::Error) -> anyhow::Error {
    let early = error.kind() == io::ErrorKind::UnexpectedEof;
    let error = anyhow::Error::new(error);
    if early { error.context("the compressed data is cut off") } else { error }
}

fn read_line<F: Fingerprint>(
    lines: &mut Lines,
    notation: &mut Option<Notation>,
) -> Result<Option<F>> {
    let Some(line) = lines.next_line()? else { return Ok(None) };
    let mut parse = || {
        let text = std::str::from_utf8(line.bytes.trim_ascii()).context("not UTF-8")?;
        notation.get_or_insert_with(|| Notation::of::<F>(text)).parse(text)
    };
    parse().map(Some).with_context(|| lines.place(line.number))
}

/// A fingerprint by itself, rather than in a file of them: in hex also if there is a letter among
/// its digits. Binary formats count as [`Format::Auto`].
pub(crate) fn parse<F: Fingerprint>(text: &str, format: Format) -> Result<F> {
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
    /// Unsigned, or signed if it has a minus.
    Decimal,
}

impl Notation {
    /// The one that a format names, if it names one.
    fn given(format: Format) -> Option<Self> {
        match format {
            Format::Hex => Some(Self::Hex),
            Format::Dec => Some(Self::Unsigned),
            Format::I64 => Some(Self::Signed),
            Format::Auto | Format::BinLe | Format::BinBe => None,
        }
    }

    /// The one that a number seems to be in. It is settled once a file, not line by line: of
    /// random decimals, one in some thousands has just as many digits as a hexadecimal.
    fn of<F: Fingerprint>(text: &str) -> Self {
        let prefixed = text.starts_with("0x") || text.starts_with("0X");
        let whole = text.len() == F::BYTES * 2 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if prefixed || whole { Self::Hex } else { Self::Decimal }
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
            format!("not a {}-bit fingerprint in {kind}: {text:?}", F::BITS)
        })
    }
}

fn unsigned<F: Fingerprint>(text: &str) -> Option<F> {
    let value: u128 = text.parse().ok()?;
    (value <= F::MAX.to_u128()).then(|| F::from_u128(value))
}

fn twos_complement<F: Fingerprint>(text: &str) -> Option<F> {
    let value: i128 = text.parse().ok()?;
    let limit = i128::MAX >> (128 - F::BITS);
    (-limit - 1..=limit).contains(&value).then(|| F::from_u128(value.cast_unsigned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse<F: Fingerprint>(notation: Notation, text: &str) -> Option<F> {
        notation.parse(text).ok()
    }

    #[test]
    fn decimals_cover_the_width_and_no_more() {
        assert_eq!(parse(Notation::Unsigned, "18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse::<u64>(Notation::Unsigned, "18446744073709551616"), None);
        assert_eq!(parse(Notation::Unsigned, "18446744073709551616"), Some(1u128 << 64));
        assert_eq!(parse(Notation::Signed, "-9223372036854775808"), Some(1u64 << 63));
        assert_eq!(parse::<u64>(Notation::Signed, "9223372036854775808"), None);
        assert_eq!(parse(Notation::Signed, "-1"), Some(u128::MAX));
        assert_eq!(parse::<u64>(Notation::Unsigned, "-1"), None);
    }

    #[test]
    fn the_notation_is_told_by_the_first_number() {
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
