//! The headers of WARC records, versions 0.17 to 1.1.

use super::record::{Header, RecordKind};
use crate::error::{Error, ErrorKind, Result};
use crate::fields::Fields;

/// The bytes that every record begins with.
pub(super) const MAGIC: &[u8] = b"WARC/";

/// Returns whether a record begins here: with `WARC/` and a version.
pub(super) fn is_header(bytes: &[u8]) -> bool {
    let version = bytes.strip_prefix(MAGIC);
    version
        .is_some_and(|v| matches!(v, [a, b'.', c, ..] if a.is_ascii_digit() && c.is_ascii_digit()))
}

/// Parses the lines of a header. The first line is the version.
pub(super) fn parse(lines: &[u8]) -> Result<Header> {
    let version = lines.split(|&b| b == b'\n').next().unwrap_or_default().trim_ascii();
    if !version.starts_with(b"WARC/0.") && !version.starts_with(b"WARC/1.") {
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
