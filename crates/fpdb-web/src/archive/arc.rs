//! The headers of ARC records, version 1: a line with five fields, which are URL, IP address,
//! date, media type and length.

use super::header::Header;
use super::record::RecordKind;
use crate::error::{Error, ErrorKind, Result};
use crate::fields::{Fields, escaped};

/// The bytes that a file begins with: the scheme of its first record's URL.
pub(super) const MAGIC: &[u8] = b"filedesc:";

/// Returns whether a record begins here. If the line is cut off, the part that is there decides.
pub(super) fn is_header(bytes: &[u8]) -> bool {
    match memchr::memchr(b'\n', bytes) {
        Some(end) => parse_line(bytes.get(..end).unwrap_or_default()).is_some(),
        None => bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.contains(&b':'),
    }
}

/// Parses the line that is a header.
pub(super) fn parse(line: &[u8]) -> Result<Header> {
    parse_line(line).ok_or_else(|| {
        let start = line.get(..60).unwrap_or(line).trim_ascii();
        let start = String::from_utf8_lossy(start);
        Error::new(ErrorKind::Record, format!("expected an ARC record, found {start:?}"))
    })
}

fn parse_line(line: &[u8]) -> Option<Header> {
    let line = escaped(line.trim_ascii_end());
    // From the right, because URLs may contain spaces.
    let mut fields = line.rsplitn(5, ' ');
    let length = fields.next()?.parse().ok()?;
    let media_type = fields.next()?;
    let date = fields.next()?;
    let url = fields.nth(1)?;
    let scheme = url.split_once(':')?.0;
    let is_date = (8..=14).contains(&date.len()) && date.bytes().all(|b| b.is_ascii_digit());
    if !is_date || !scheme.bytes().all(|b| b.is_ascii_alphanumeric()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_contain_spaces() {
        let header = parse(b"http://a/b c 1.2.3.4 20140216050221 text/html 1591\r").unwrap();
        assert_eq!((header.url.as_str(), header.length), ("http://a/b c", 1591));
    }

    #[test]
    fn prose_is_not_a_header() {
        for line in ["", "see http://a/ for more 12", "URL IP-address Archive-date", "a b c d 5"] {
            assert!(parse(line.as_bytes()).is_err(), "{line}");
        }
    }
}
