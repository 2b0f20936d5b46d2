//! The headers of ARC records, version 1: a line with five fields, which are URL, IP address,
//! date, media type and length.

use super::record::{Header, RecordKind};
use crate::error::{Error, ErrorKind, Result};
use crate::fields::{Fields, escaped};

/// The bytes that nearly every file begins with: the scheme of its first record's URL.
const MAGIC: &[u8] = b"filedesc:";

/// Returns whether a record begins here. If the line is cut off, the part that is there decides.
pub(super) fn is_header(bytes: &[u8]) -> bool {
    match memchr::memchr(b'\n', bytes) {
        Some(end) => parse_line(bytes.get(..end).unwrap_or_default()).is_some(),
        None => {
            let url = bytes.split(|&b| b == b' ').next().unwrap_or_default();
            url.first().is_some_and(u8::is_ascii_alphabetic)
                && memchr::memmem::find(url, b"://").is_some()
        }
    }
}

/// Returns whether a file that begins with these bytes is an ARC file: with the description of the
/// file or, in parts of files, with any record.
pub(super) fn is_file(bytes: &[u8]) -> bool {
    let line = || bytes.get(..memchr::memchr(b'\n', bytes)?);
    bytes.starts_with(MAGIC) || line().is_some_and(|line| parse_line(line).is_some())
}

pub(super) fn parse(line: &[u8]) -> Result<Header> {
    parse_line(line).ok_or_else(|| {
        let start = line.get(..60).unwrap_or(line).trim_ascii();
        let start = String::from_utf8_lossy(start);
        Error::new(ErrorKind::Record, format!("expected an ARC record, found {start:?}"))
    })
}

fn parse_line(line: &[u8]) -> Option<Header> {
    let line = escaped(line.trim_ascii_end());
    let (rest, length) = line.rsplit_once(' ')?;
    let length = length.parse().ok()?;
    // The last field that is a date, because URLs and media types may contain spaces.
    let mut ends = rest.rmatch_indices(' ').map(|(at, _)| at);
    let (url, media_type) = ends.find_map(|at| {
        let (before, media_type) = rest.split_at(at);
        let (before, date) = before.rsplit_once(' ')?;
        let (url, _ip) = before.rsplit_once(' ')?;
        is_date(date).then_some((url, media_type.trim_ascii_start()))
    })?;
    let scheme = url.split_once(':')?.0;
    if !scheme.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let (kind, content_type) = match scheme.to_ascii_lowercase().as_str() {
        "filedesc" => (RecordKind::Warcinfo, media_type),
        // The media type describes the body, whose own header says it too.
        "http" | "https" => (RecordKind::Response, "application/http"),
        _ => (RecordKind::Resource, media_type),
    };
    Some(Header {
        length,
        kind,
        url: url.to_owned(),
        content_type: content_type.to_owned(),
        fields: Fields::default(),
        fault: None,
    })
}

fn is_date(field: &str) -> bool {
    (8..=14).contains(&field.len()) && field.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_contain_spaces() {
        let header = parse(b"http://a/b c 1.2.3.4 20140216050221 text/html 1591\r").unwrap();
        assert_eq!((header.url.as_str(), header.length), ("http://a/b c", 1591));
    }

    #[test]
    fn a_media_type_may_be_missing_or_have_parameters() {
        for (media_type, kept) in [
            ("", ""),
            ("no-type", "no-type"),
            ("text/plain; charset=utf-8", "text/plain; charset=utf-8"),
            ("text/plain ;charset=\"a b\"", "text/plain ;charset=\"a b\""),
            ("\u{e4}", "\u{e4}"),
        ] {
            let line = format!("ftp://a/ 1.2.3.4 20140216050221 {media_type} 1591");
            let header = parse(line.as_bytes()).unwrap();
            assert_eq!((header.url.as_str(), header.content_type.as_str()), ("ftp://a/", kept));
            assert_eq!(header.length, 1591);
        }
    }

    #[test]
    fn prose_is_not_a_header() {
        for line in ["", "see http://a/ for more 12", "URL IP-address Archive-date", "a b c d 5"] {
            assert!(parse(line.as_bytes()).is_err(), "{line}");
        }
    }
}
