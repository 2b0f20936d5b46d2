//! The format of a file: as the user says, as its name says, or as its first bytes show.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use indicatif::ProgressBar;

use super::decompress::{Compression, Input, MAX_RATIO, is_gzip, is_zip, is_zstd};
use super::{is_stdin, label};

/// `--from`: the format of documents
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentFormat {
    /// By the end of the file's name, before .gz or .zst: .ndjson, .jsonl, .csv, .tsv, .txt, .text,
    /// .md, .html, .htm, .warc, .arc, .wacz; otherwise by its first bytes, if they identify the
    /// format
    Auto,
    /// One JSON object per line. The id is a string or a number; other fields are ignored
    Ndjson,
    /// Comma-separated values below a header row
    Csv,
    /// Tab-separated values below a header row
    Tsv,
    /// Plain text, one document per file. The id is the path
    Text,
    /// Plain text, one document per line. The id is the path, a colon and the line number
    Lines,
    /// A web archive: WARC, ARC, or a zip file of them, such as WACZ. The ids are the URLs
    Warc,
    /// Web pages, one document per file. The id is the path
    Html,
}

/// `--from`, for commands that also read lists of fingerprints
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputFormat {
    Fingerprints,
    Documents(DocumentFormat),
}

impl ValueEnum for InputFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Fingerprints,
            Self::Documents(DocumentFormat::Auto),
            Self::Documents(DocumentFormat::Ndjson),
            Self::Documents(DocumentFormat::Csv),
            Self::Documents(DocumentFormat::Tsv),
            Self::Documents(DocumentFormat::Text),
            Self::Documents(DocumentFormat::Lines),
            Self::Documents(DocumentFormat::Warc),
            Self::Documents(DocumentFormat::Html),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Fingerprints => Some(PossibleValue::new("fp").help("Lists of fingerprints")),
            Self::Documents(from) => from.to_possible_value(),
        }
    }
}

impl InputFormat {
    /// Returns the format of these files. For `auto`, lists of fingerprints count as such, whatever
    /// their names say: read as texts, they would be stored as documents that nobody has.
    pub(crate) fn resolve(self, files: &[PathBuf]) -> Result<Self> {
        let is_auto = self == Self::Documents(DocumentFormat::Auto);
        Ok(if is_auto && all_begin(files, is_list)? { Self::Fingerprints } else { self })
    }
}

/// Returns whether the first bytes of all files fit `is_wanted`. Fails if only some do. Files that
/// can be read only once, such as pipes, do not fit.
pub(crate) fn all_begin(files: &[PathBuf], is_wanted: fn(&[u8]) -> bool) -> Result<bool> {
    let fits = |path: &PathBuf| -> Result<bool> {
        if is_stdin(path) || !path.is_file() {
            return Ok(false);
        }
        let hidden = ProgressBar::hidden();
        let input = Input::open(path, Compression::ByContent, MAX_RATIO, &hidden)?;
        Ok(is_wanted(input.head()))
    };
    let fit = files.iter().map(fits).collect::<Result<Vec<_>>>()?;
    let first = |wanted| files.iter().zip(&fit).find(|(_, fits)| **fits == wanted);
    match (first(true), first(false)) {
        (Some((list, _)), Some((other, _))) => bail!(
            "{} seems to be a list of fingerprints, and {} something else: read them one after \
             the other",
            list.display(),
            label(other)
        ),
        (list, _) => Ok(list.is_some()),
    }
}

/// Returns whether a file with these first bytes is a list of fingerprints: on each line, perhaps
/// after a header that names the column, the first or second column is 0x and all digits of a
/// width. Other lists are too much like text.
pub(crate) fn is_list(head: &[u8]) -> bool {
    let mut lines: Vec<&[u8]> = head.split(|&byte| byte == b'\n').collect();
    if lines.len() > 1 {
        // The head ends in the middle of this line, or with a line feed.
        lines.pop();
    }
    lines.retain(|line| !line.trim_ascii().is_empty());
    if lines.first().is_some_and(|line| has_column(line, |value| value == b"fingerprint")) {
        lines.remove(0);
    }
    !lines.is_empty() && lines.iter().all(|line| has_column(line, is_fingerprint))
}

/// Returns whether a file with these first bytes is a list of fingerprints with ids.
pub(crate) fn is_list_of_entries(head: &[u8]) -> bool {
    let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
    is_list(head) && first.iter().any(|byte| SEPARATORS.contains(byte))
}

/// What separates the columns of a list.
const SEPARATORS: &[u8] = b"\t, ";

fn has_column(line: &[u8], is_wanted: fn(&[u8]) -> bool) -> bool {
    let mut columns = line.split(|byte| SEPARATORS.contains(byte)).take(2);
    columns.any(|value| is_wanted(value.trim_ascii()))
}

fn is_fingerprint(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"0x").unwrap_or_default();
    matches!(digits.len(), 16 | 32 | 456) && digits.iter().all(u8::is_ascii_hexdigit)
}

/// The format in which a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ndjson,
    /// A table with this separator.
    Table(u8),
    Text,
    Lines,
    Warc,
    Html,
}

impl DocumentFormat {
    /// Returns whether the user says what the format is.
    pub(super) fn is_explicit(self) -> bool {
        self != Self::Auto
    }

    /// Returns the requested kind, or `None` for `auto`.
    pub(super) fn kind(self) -> Option<Kind> {
        Some(match self {
            Self::Auto => return None,
            Self::Ndjson => Kind::Ndjson,
            Self::Csv => Kind::Table(b','),
            Self::Tsv => Kind::Table(b'\t'),
            Self::Text => Kind::Text,
            Self::Lines => Kind::Lines,
            Self::Warc => Kind::Warc,
            Self::Html => Kind::Html,
        })
    }
}

impl Kind {
    /// Returns the kind that a file's name shows.
    pub(super) fn of_name(path: &Path) -> Option<Self> {
        Some(match extension(path)?.as_str() {
            "ndjson" | "jsonl" => Self::Ndjson,
            "csv" => Self::Table(b','),
            "tsv" => Self::Table(b'\t'),
            "txt" | "text" | "md" => Self::Text,
            "html" | "htm" => Self::Html,
            "warc" | "arc" | "wacz" => Self::Warc,
            _ => return None,
        })
    }

    /// Returns the kind of a file by its first bytes, if its name does not show it.
    pub(super) fn of_content(path: &Path, head: &[u8]) -> Result<Self> {
        let is_named_parquet = extension(path).is_some_and(|extension| extension == "parquet");
        match Look::of(head) {
            Some(Look::Parquet) => bail!("it seems to be {}", Look::Parquet.description()),
            _ if is_named_parquet => {
                bail!("its name says that it is {}", Look::Parquet.description())
            }
            // An empty file has no documents in any format.
            Some(Look::Json | Look::Empty) => Ok(Self::Ndjson),
            Some(Look::Warc | Look::Zip) => Ok(Self::Warc),
            Some(Look::Html) => Ok(Self::Html),
            Some(Look::JsonArray) => {
                bail!("it seems to be a JSON array; one object per line is needed")
            }
            _ => bail!("neither its name nor its first bytes show its format: give --from"),
        }
    }

    /// Refuses a file whose first bytes show another kind. It would be fingerprinted by accident,
    /// or be an error on every line. If the kind is believed because the user says so, only
    /// encodings that it cannot have are refused.
    pub(super) fn check(self, head: &[u8], believed: bool) -> Result<()> {
        self.check_encoding(head)?;
        let Some(look) = Look::of(head) else { return Ok(()) };
        let text = matches!(self, Self::Text | Self::Lines);
        let believed = believed && (text || matches!(self, Self::Table(_) | Self::Html));
        let fits = match look {
            Look::Empty => true,
            Look::Compressed => false,
            _ if believed => true,
            Look::Json => text || self == Self::Ndjson,
            Look::JsonArray => text || self == Self::Ndjson || matches!(self, Self::Table(_)),
            Look::Html => text || self == Self::Html,
            Look::Warc => self == Self::Warc,
            // Pages may have zeros by mistake, or be in UTF-16.
            Look::Zeros => self == Self::Html || text && is_undeclared_utf16(head),
            Look::Zip | Look::Parquet | Look::Binary => false,
        };
        if !fits {
            bail!("it seems to be {}", look.description());
        }
        Ok(())
    }

    /// Refuses UTF-16 and UTF-32, which only files that are one document each may have.
    fn check_encoding(self, head: &[u8]) -> Result<()> {
        let by_line = matches!(self, Self::Ndjson | Self::Table(_) | Self::Lines);
        let encoding = if is_utf32(head) {
            "UTF-32"
        } else if by_line && (is_utf16(head) || head.contains(&0) && is_undeclared_utf16(head)) {
            "UTF-16"
        } else {
            return Ok(());
        };
        bail!("it is in {encoding}: convert it to UTF-8 first, with `iconv -f {encoding} -t UTF-8`")
    }
}

/// Refuses a file that is not a list of fingerprints. JSON and HTML are none either.
pub(super) fn check_list(head: &[u8]) -> Result<()> {
    let checked = Kind::Table(b',').check(head, false);
    match Look::of(head).map(|look| (look.name(), look.option())) {
        Some((name, Some(option))) if checked.is_err() => bail!(
            "it seems to be {name}, not a list of fingerprints: to import or query documents, \
             give {option}"
        ),
        _ => checked,
    }
}

/// Returns whether the name of a file says that it holds HTML.
pub(crate) fn is_html(path: &Path) -> bool {
    Kind::of_name(path) == Some(Kind::Html)
}

/// Returns the extension of a file's name in lower case, without a final `.gz` or `.zst`.
fn extension(path: &Path) -> Option<String> {
    let compressed = |e: &&OsStr| *e == "gz" || *e == "zst";
    let name = match path.extension().filter(compressed) {
        Some(_) => Path::new(path.file_stem()?),
        None => path,
    };
    Some(name.extension()?.to_str()?.to_ascii_lowercase())
}

/// What to do with a Parquet file.
const PARQUET: &str = "use fpdb_engine.dedup_files(sources, target, column=\"text\") in Python";

/// What the first bytes of a file clearly are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Empty,
    Json,
    JsonArray,
    Html,
    Warc,
    Zip,
    Parquet,
    Compressed,
    Binary,
    /// Text has no zero bytes, except in UTF-16.
    Zeros,
}

impl Look {
    fn of(head: &[u8]) -> Option<Self> {
        let begins = |magic: &[&[u8]]| magic.iter().any(|magic| head.starts_with(magic));
        if head.is_empty() {
            return Some(Self::Empty);
        }
        if is_gzip(head) || is_zstd(head) {
            return Some(Self::Compressed);
        }
        if begins(&[b"WARC/", b"warc/", b"filedesc://"]) {
            return Some(Self::Warc);
        }
        if begins(&[b"PAR1"]) {
            return Some(Self::Parquet);
        }
        if is_zip(head) {
            return Some(Self::Zip);
        }
        if begins(&[b"%PDF-", b"\x7fELF", b"\x89PNG", b"\xff\xd8\xff", b"GIF8"]) {
            return Some(Self::Binary);
        }
        if head.contains(&0) && !is_utf16(head) {
            return Some(Self::Zeros);
        }
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let begins = |word: &[u8]| {
            text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        match text.first() {
            Some(b'{') => Some(Self::Json),
            Some(b'[') => Some(Self::JsonArray),
            _ if begins(b"<!doctype html") || begins(b"<html") => Some(Self::Html),
            _ => None,
        }
    }

    fn description(self) -> String {
        match self.option() {
            Some(option) => format!("{}: give {option}", self.name()),
            None if self == Self::Parquet => format!("{}: {PARQUET}", self.name()),
            None => self.name().to_owned(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Json => "NDJSON",
            Self::JsonArray => "a JSON array",
            Self::Html => "HTML",
            Self::Warc => "a web archive",
            Self::Zip => "a zip file",
            Self::Parquet => "Parquet",
            Self::Compressed => "compressed twice",
            Self::Binary | Self::Zeros => "binary data",
        }
    }

    /// Returns what makes a command read such a file.
    fn option(self) -> Option<&'static str> {
        Some(match self {
            Self::Json => "--from ndjson",
            Self::Html => "--from html",
            Self::Warc => "--from warc",
            _ => return None,
        })
    }
}

/// Returns whether the bytes start with the byte order mark of UTF-16, in whose text every other
/// byte may be zero.
pub(super) fn is_utf16(head: &[u8]) -> bool {
    head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff")
}

/// Returns whether the bytes start with the byte order mark of UTF-32. In little-endian order, it
/// begins like the one of UTF-16.
fn is_utf32(head: &[u8]) -> bool {
    head.starts_with(b"\xff\xfe\0\0") || head.starts_with(b"\0\0\xfe\xff")
}

/// Returns whether the bytes are UTF-16 without a byte order mark.
pub(super) fn is_undeclared_utf16(head: &[u8]) -> bool {
    fpdb_web::decode(head, "text/plain", "").charset.starts_with("UTF-16")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_show_the_kind_with_and_without_compression() {
        for (name, kind) in [
            ("a.ndjson", Some(Kind::Ndjson)),
            ("a.b/c.jsonl.zst", Some(Kind::Ndjson)),
            ("x.CSV.gz", Some(Kind::Table(b','))),
            ("x.tsv", Some(Kind::Table(b'\t'))),
            ("CC-MAIN-1.warc.gz", Some(Kind::Warc)),
            ("index.html", Some(Kind::Html)),
            ("README.md", Some(Kind::Text)),
            ("a.gz", None),
            ("a.txt.bz2", None),
            ("csv", None),
            (".csv", None),
            ("-", None),
        ] {
            assert_eq!(Kind::of_name(Path::new(name)), kind, "{name}");
        }
    }

    #[test]
    fn first_bytes_show_the_kind_or_are_refused() {
        for (head, kind) in [
            (&b" \n{\"id\""[..], Kind::Ndjson),
            (b"\xef\xbb\xbf{", Kind::Ndjson),
            (b"", Kind::Ndjson),
            (b"WARC/1.0\r\n", Kind::Warc),
            (b"warc/1.0\r\n", Kind::Warc),
            (b"filedesc://x", Kind::Warc),
            (b"\n<!DOCTYPE HTML>", Kind::Html),
        ] {
            assert_eq!(Kind::of_content(Path::new("a"), head).unwrap(), kind);
        }
        for head in [&b"some text"[..], b"id,text\n", b"[{}]", b"\x1f\x8b\x08", b"a\0b"] {
            assert!(Kind::of_content(Path::new("a"), head).is_err(), "{head:?}");
        }
    }

    #[test]
    fn first_bytes_of_another_kind_are_refused() {
        let table = Kind::Table(b',');
        for (kind, head) in [
            (Kind::Ndjson, &b"WARC/1.0\r\n"[..]),
            (Kind::Ndjson, b"<html>"),
            (Kind::Text, b"\x1f\x8b\x08\0"),
            (Kind::Lines, b"\x28\xb5\x2f\xfd\0"),
            (Kind::Text, b"%PDF-1.4"),
            (table, b"{\"id\":1}"),
            (table, b"a\0b"),
            (Kind::Html, b"PAR1"),
        ] {
            assert!(kind.check(head, false).is_err(), "{kind:?} {head:?}");
        }
        for (kind, head) in [
            (Kind::Text, &b"{ not json"[..]),
            (Kind::Text, b"<html>"),
            (Kind::Text, b"\xff\xfeh\0i\0"),
            (Kind::Ndjson, b"["),
            (table, b"[id],text"),
            (Kind::Html, b"plain"),
            (Kind::Html, b"<p>a\0b"),
            (Kind::Html, b"<\0p\0>\0a\0"),
            (Kind::Text, b"w\0o\0r\0d\0s\0"),
            (Kind::Lines, b""),
        ] {
            assert!(kind.check(head, false).is_ok(), "{kind:?} {head:?}");
        }
    }

    #[test]
    fn lists_of_fingerprints_are_recognized_by_every_line() {
        for list in [
            "0x0123456789abcdef",
            "0x0123456789abcdef\n0x0123456789ABCDEF\n\n0x01",
            "0x0123456789abcdef 7\r\n0x0123456789abcdef 8\r\n",
            "https://a.example/,0x0123456789abcdef0123456789abcdef\n",
            &format!("0x{}\n", "0f".repeat(228)),
            "fingerprint,id\n0x0123456789abcdef,1\n",
        ] {
            assert!(is_list(list.as_bytes()), "{list:?}");
        }
        for other in [
            "",
            "\n\n",
            "0x01\n",
            "0x0123456789abcdeg\n",
            "0x0123456789abcdef\nand so on\n",
            "the hash is 0x0123456789abcdef\n",
            "id,text\n1,0x0123456789abcdef\n",
            "fingerprint,id\n",
        ] {
            assert!(!is_list(other.as_bytes()), "{other:?}");
        }
    }
}
