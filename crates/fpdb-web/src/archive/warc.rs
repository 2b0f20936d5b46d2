//! The headers of WARC records, versions 0.17 to 1.1.

use super::record::{Header, RecordKind};
use crate::error::{Error, ErrorKind, Result};
use crate::fields::Fields;

/// The bytes that every record begins with, in either case.
pub(super) const MAGIC: &[u8] = b"WARC/";

/// Returns whether these bytes begin with [`MAGIC`], as far as they go.
pub(super) fn may_begin(bytes: &[u8]) -> bool {
    bytes.iter().zip(MAGIC).all(|(byte, magic)| byte.eq_ignore_ascii_case(magic))
}

/// Returns whether a record begins here: with `WARC/` and a version.
pub(super) fn is_header(bytes: &[u8]) -> bool {
    let version = bytes.get(MAGIC.len()..).filter(|_| may_begin(bytes));
    version
        .is_some_and(|v| matches!(v, [a, b'.', c, ..] if a.is_ascii_digit() && c.is_ascii_digit()))
}

/// Parses the lines of a header. The first line is the version.
pub(super) fn parse(lines: &[u8]) -> Result<Header> {
    let version = lines.split(|&b| b == b'\n').next().unwrap_or_default().trim_ascii();
    if !is_header(version) || !matches!(version.get(MAGIC.len()), Some(b'0' | b'1')) {
        let version = String::from_utf8_lossy(version);
        return Err(error(format!("{version} is not supported, only versions 0.17 to 1.1")));
    }
    let fields = Fields::parse(lines.get(version.len()..).unwrap_or_default());
    let length = fields.get("Content-Length");
    let length = length.ok_or_else(|| error("the record has no Content-Length"))?;
    let length = length.parse().map_err(|_| {
        error(format!("the record's Content-Length is not a number of bytes: {length:?}"))
    })?;
    // Some writers put the URL between angle brackets, as the grammar of version 1.0 has it.
    let url = fields.get("WARC-Target-URI").unwrap_or_default();
    let bare = url.strip_prefix('<').and_then(|url| url.strip_suffix('>'));
    let url = bare.unwrap_or(url).to_owned();
    let content_type = fields.get("Content-Type").unwrap_or_default().to_owned();
    let kind = match kind(fields.get("WARC-Type").unwrap_or_default()) {
        RecordKind::Resource if url.starts_with("metadata:") => RecordKind::Metadata,
        kind => kind,
    };
    let fault = if fields.get("WARC-Type").is_none() {
        Some("the record has no WARC-Type")
    } else if is_capture(kind) && url.is_empty() {
        Some("the record has no WARC-Target-URI")
    } else {
        None
    };
    Ok(Header { length, kind, url, content_type, fields, fault })
}

fn error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Record, message)
}

fn kind(name: &str) -> RecordKind {
    match name.to_ascii_lowercase().as_str() {
        "warcinfo" => RecordKind::Warcinfo,
        "request" => RecordKind::Request,
        "response" => RecordKind::Response,
        "resource" => RecordKind::Resource,
        "conversion" => RecordKind::Conversion,
        "metadata" => RecordKind::Metadata,
        "revisit" => RecordKind::Revisit,
        _ => RecordKind::Other,
    }
}

fn is_capture(kind: RecordKind) -> bool {
    matches!(kind, RecordKind::Response | RecordKind::Resource | RecordKind::Conversion)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [(&str, &str); 5] = [
        ("WARC-Type", "response"),
        ("WARC-Target-URI", "http://a.example/1"),
        ("WARC-Record-ID", "<urn:uuid:1>"),
        ("Content-Type", "application/http; msgtype=response"),
        ("Content-Length", "132"),
    ];

    /// Returns a header in which these fields begin in this way.
    fn header(version: &str, is_folded: impl Fn(&str) -> bool, fold: &str) -> Header {
        let line = |(name, value): &(&str, &str)| {
            let between = if is_folded(name) { fold } else { " " };
            format!("{name}:{between}{value}\r\n")
        };
        let lines = FIELDS.iter().map(line).collect::<String>();
        parse(format!("{version}\r\n{lines}\r\n").as_bytes()).unwrap()
    }

    #[test]
    fn a_value_may_begin_on_a_later_line() {
        let plain = header("WARC/1.0", |_| false, " ");
        assert_eq!((plain.length, plain.kind), (132, RecordKind::Response));
        for fold in ["\r\n ", "\r\n\t", " \r\n  ", "\n \n\t", "\r\n \r\n "] {
            for (field, _) in FIELDS {
                let folded = header("WARC/1.0", |name| name == field, fold);
                assert_eq!(folded.fields, plain.fields, "{field} {fold:?}");
            }
            let all = header("WARC/1.0", |_| true, fold);
            assert_eq!((all.length, all.kind, &all.url), (132, plain.kind, &plain.url));
        }
    }

    #[test]
    fn the_version_may_be_in_lower_case() {
        for version in ["warc/1.0", "Warc/1.1", "WARC/0.17"] {
            let header = header(version, |_| false, " ");
            assert_eq!(header.url, "http://a.example/1", "{version}");
        }
        for version in ["warc/2.0", "warc 1.0", "warcs/1.0"] {
            assert!(parse(format!("{version}\r\nContent-Length: 0\r\n\r\n").as_bytes()).is_err());
        }
    }
}
