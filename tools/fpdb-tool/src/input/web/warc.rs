//! The heads of WARC records, versions 0.17 to 1.1.

use super::Reason;
use super::fields::Fields;
use super::record::{Form, Meaning};

/// What every record begins with.
pub(super) const MAGIC: &[u8] = b"WARC/";

/// Whether a record begins here: `WARC/` and a version.
pub(super) fn is_head(bytes: &[u8]) -> bool {
    let version = bytes.strip_prefix(MAGIC);
    version
        .is_some_and(|v| matches!(v, [a, b'.', c, ..] if a.is_ascii_digit() && c.is_ascii_digit()))
}

/// What the head of a record says.
pub(super) struct Head {
    pub(super) length: u64,
    pub(super) url: Option<String>,
    pub(super) meaning: Meaning,
}

impl Head {
    /// Reads the lines of a head, the one with the version first.
    pub(super) fn parse(lines: &[u8]) -> Result<Self, String> {
        let version = lines.split(|&b| b == b'\n').next().unwrap_or_default().trim_ascii();
        if !version.starts_with(b"WARC/0.") && !version.starts_with(b"WARC/1.") {
            let version = String::from_utf8_lossy(version);
            return Err(format!("{version} is not supported, only versions 0.17 to 1.1"));
        }
        let fields = Fields::parse(lines.get(version.len()..).unwrap_or_default());
        let length = fields.get("Content-Length").ok_or("the record has no Content-Length")?;
        let length = length.parse().map_err(|_| {
            format!("the record's Content-Length is no number of bytes: {length:?}")
        })?;
        // Some writers put the URL between angle brackets, as the grammar of version 1.0 has it.
        let url = fields.get("WARC-Target-URI").map(|url| {
            let bare = url.strip_prefix('<').and_then(|url| url.strip_suffix('>'));
            bare.unwrap_or(url).to_owned()
        });
        Ok(Self { length, url, meaning: meaning(&fields) })
    }
}

fn meaning(fields: &Fields) -> Meaning {
    let Some(kind) = fields.get("WARC-Type") else {
        return Meaning::Broken("the record has no WARC-Type");
    };
    Meaning::Skipped(match kind.to_ascii_lowercase().as_str() {
        "response" | "resource" | "conversion" => return captured(fields),
        "warcinfo" => Reason::Warcinfo,
        "request" => Reason::Request,
        "metadata" => Reason::Metadata,
        "revisit" => Reason::Revisit,
        _ => Reason::OtherRecord,
    })
}

fn captured(fields: &Fields) -> Meaning {
    let media_type = fields.get("Content-Type").unwrap_or_default();
    let http = media_type.to_ascii_lowercase().starts_with("application/http");
    if fields.get("WARC-Target-URI").is_none_or(str::is_empty) {
        return Meaning::Broken("the record has no WARC-Target-URI");
    }
    Meaning::Captured(if http { Form::Http } else { Form::Bare(media_type.to_owned()) })
}
