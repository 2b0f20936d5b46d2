//! The heads of ARC records, version 1: a line of five fields, which are URL, IP address, date,
//! media type and length.

use super::Reason;
use super::record::{Form, Meaning};
use super::warc::Head;

/// What a file begins with: the URL of its first record.
pub(super) const MAGIC: &[u8] = b"filedesc:";

/// Whether a record begins here. Of a line that is cut, what there is of it counts.
pub(super) fn is_head(bytes: &[u8]) -> bool {
    match memchr::memchr(b'\n', bytes) {
        Some(end) => parse(bytes.get(..end).unwrap_or_default()).is_some(),
        None => bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.contains(&b':'),
    }
}

/// Reads the line that is a head.
pub(super) fn head(line: &[u8]) -> Result<Head, String> {
    parse(line).ok_or_else(|| {
        let start = line.get(..60).unwrap_or(line).trim_ascii();
        format!("expected an ARC record, found {:?}", String::from_utf8_lossy(start))
    })
}

fn parse(line: &[u8]) -> Option<Head> {
    let line = std::str::from_utf8(line).ok()?.trim_ascii_end();
    // From the right: a URL may have spaces in it.
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
    let meaning = match scheme.to_ascii_lowercase().as_str() {
        "filedesc" => Meaning::Skipped(Reason::Warcinfo),
        "http" | "https" => Meaning::Captured(Form::Http),
        _ => Meaning::Captured(Form::Bare(media_type.to_owned())),
    };
    Some(Head { length, url: Some(url.to_owned()), meaning })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_have_spaces() {
        let head = parse(b"http://a/b c 1.2.3.4 20140216050221 text/html 1591\r").unwrap();
        assert_eq!((head.url.as_deref(), head.length), (Some("http://a/b c"), 1591));
    }

    #[test]
    fn prose_is_no_head() {
        for line in ["", "see http://a/ for more 12", "URL IP-address Archive-date", "a b c d 5"] {
            assert!(parse(line.as_bytes()).is_none(), "{line}");
        }
    }
}
