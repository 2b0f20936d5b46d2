//! The encoding that a page or its header declares: in a Content-Type, a `<meta>` or an XML
//! declaration.
//!
//! (HTML standard, "Prescan a byte stream to determine its encoding".)

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use memchr::{memchr, memmem};

/// An encoding that a page declares, and where the declaration begins.
pub(crate) struct Declared {
    pub(crate) encoding: &'static Encoding,
    pub(crate) at: usize,
}

/// Returns the encoding that a page declares in a `<meta>`, or else in an XML declaration.
pub(crate) fn prescan(page: &[u8]) -> Option<Declared> {
    let xml = || {
        let encoding = xml_encoding(page).and_then(of_label).map(not_utf_16)?;
        Some(Declared { encoding, at: 0 })
    };
    in_meta(page).or_else(xml)
}

/// Looks for a `<meta>` outside of comments and other tags. A tag that does not end declares
/// nothing.
fn in_meta(page: &[u8]) -> Option<Declared> {
    let mut at = 0;
    loop {
        at += memchr(b'<', page.get(at..)?)?;
        let rest = page.get(at..)?;
        let skipped = match rest {
            // `<!-->` is a complete comment.
            [b'<', b'!', b'-', b'-', ..] => 2 + memmem::find(rest.get(2..)?, b"-->")? + 3,
            [b'<', b'!' | b'?', ..] => memchr(b'>', rest)?,
            [b'<', b'/', next, ..] if !next.is_ascii_alphabetic() => memchr(b'>', rest)?,
            [b'<', b'/', ..] => tag(rest.get(2..)?)?.1 + 2,
            [b'<', next, ..] if next.is_ascii_alphabetic() => {
                let (attributes, length) = tag(rest.get(1..)?)?;
                if let Some(encoding) = attributes.and_then(|attributes| of_meta(&attributes)) {
                    return Some(Declared { encoding, at });
                }
                length + 1
            }
            _ => 1,
        };
        at += skipped;
    }
}

type Attributes<'a> = Vec<(Vec<u8>, &'a [u8])>;

/// Reads a tag from its name on. Returns its attributes if it is a `<meta>`, and its length without
/// the `>`. Returns None if it does not end.
fn tag(rest: &[u8]) -> Option<(Option<Attributes<'_>>, usize)> {
    let length = rest.iter().position(|b| b.is_ascii_whitespace() || *b == b'>' || *b == b'/')?;
    let (name, mut left) = rest.split_at(length);
    let mut attributes = name.eq_ignore_ascii_case(b"meta").then(Vec::new);
    while let Some((name, value)) = attribute(&mut left)? {
        if let Some(attributes) = &mut attributes {
            attributes.push((name.to_ascii_lowercase(), value));
        }
    }
    Some((attributes, rest.len() - left.len()))
}

/// Reads an attribute: its name and its value. The outer option is None if the bytes end before the
/// attribute does, the inner one if the tag ends.
#[expect(clippy::option_option, reason = "two different ends")]
fn attribute<'a>(rest: &mut &'a [u8]) -> Option<Option<(&'a [u8], &'a [u8])>> {
    let start = rest.iter().position(|b| !b.is_ascii_whitespace() && *b != b'/')?;
    *rest = rest.get(start..)?;
    if rest.starts_with(b">") {
        return Some(None);
    }
    let all = *rest;
    let is_end = |b: &u8| b.is_ascii_whitespace() || b"=/>".contains(b);
    let length = all.iter().skip(1).position(is_end)? + 1;
    let (name, after) = all.split_at(length);
    let space = after.iter().position(|b| !b.is_ascii_whitespace())?;
    let Some(value) = after.get(space..)?.strip_prefix(b"=") else {
        *rest = after;
        return Some(Some((name, b"")));
    };
    let space = value.iter().position(|b| !b.is_ascii_whitespace())?;
    let value = value.get(space..)?;
    let (value, after) = match value.first()? {
        quote @ (b'"' | b'\'') => {
            let value = value.get(1..)?;
            let length = memchr(*quote, value)?;
            (value.get(..length)?, value.get(length + 1..)?)
        }
        _ => value.split_at(value.iter().position(|b| b.is_ascii_whitespace() || *b == b'>')?),
    };
    *rest = after;
    Some(Some((name, value)))
}

/// Returns the value of `encoding` in an XML declaration.
fn xml_encoding(start: &[u8]) -> Option<&[u8]> {
    let declaration = start.strip_prefix(b"<?xml")?;
    let declaration = declaration.get(..memchr(b'>', declaration)?)?;
    let at = memmem::find(declaration, b"encoding")?;
    let after = declaration.get(at + b"encoding".len()..)?.trim_ascii_start();
    let after = after.strip_prefix(b"=")?.trim_ascii_start();
    let quote = *after.first()?;
    let after = after.get(1..)?;
    after.get(..memchr(quote, after)?)
}

fn of_meta(attributes: &[(Vec<u8>, &[u8])]) -> Option<&'static Encoding> {
    let get = |name: &[u8]| attributes.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
    let is_pragma = || get(b"http-equiv").is_some_and(|v| v.eq_ignore_ascii_case(b"content-type"));
    let label = match get(b"charset") {
        Some(label) => label,
        None => get(b"content").filter(|_| is_pragma()).and_then(in_content_type)?,
    };
    if label.trim_ascii().eq_ignore_ascii_case(b"x-user-defined") {
        return Some(WINDOWS_1252);
    }
    of_label(label).map(not_utf_16)
}

/// Replaces UTF-16, since a declaration that can be read as ASCII is not in UTF-16.
fn not_utf_16(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding }
}

/// Returns the encoding of a label. The labels that the standard maps to the replacement encoding,
/// such as ISO-2022-KR, count as unknown: browsers refuse them for security reasons.
pub(crate) fn of_label(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label)
}

/// Returns the value of the parameter `charset` of a Content-Type header, or of a `<meta>` that is
/// equivalent to one.
pub(crate) fn in_content_type(value: &[u8]) -> Option<&[u8]> {
    let mut rest = value;
    loop {
        let at = find_ignoring_case(rest, b"charset")?;
        rest = rest.get(at + b"charset".len()..)?;
        let Some(after) = rest.trim_ascii_start().strip_prefix(b"=") else { continue };
        let after = after.trim_ascii_start();
        return match after.first()? {
            quote @ (b'"' | b'\'') => {
                let after = after.get(1..)?;
                after.get(..memchr::memchr(*quote, after)?)
            }
            _ => after.split(|b| b.is_ascii_whitespace() || *b == b';' || *b == b',').next(),
        };
    }
}

fn find_ignoring_case(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window.eq_ignore_ascii_case(needle))
}
