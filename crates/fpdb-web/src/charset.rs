//! The encoding of a page, found as the WHATWG standards define it: by the byte order mark, else
//! by the Content-Type header, else by what the page says of itself, else by the bytes.
//!
//! (HTML standard, "Determining the character encoding"; Encoding standard for the labels, which
//! read ISO-8859-1 as windows-1252 and decode GBK as its superset gb18030.)

use std::borrow::Cow;
use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes at the beginning of a page in which it may declare its encoding.
const PRESCAN: usize = 1024;

/// What determined the encoding of a page.
///
/// # Examples
///
/// ```
/// use fpdb_web::{CharsetSource, decode};
///
/// let source = |content_type| decode(b"<meta charset=big5>", content_type, "").source;
/// assert_eq!(source("text/html; charset=gbk"), CharsetSource::Header);
/// assert_eq!(source("text/html"), CharsetSource::Meta);
/// assert_eq!(source("text/plain"), CharsetSource::Detected);
/// assert_eq!(CharsetSource::Meta.to_string(), "meta");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CharsetSource {
    /// A byte order mark.
    Bom,
    /// The Content-Type header.
    Header,
    /// The page's own `<meta>` element or XML declaration.
    Meta,
    /// The bytes themselves: nothing declares the encoding.
    Detected,
}

impl fmt::Display for CharsetSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bom => "bom",
            Self::Header => "header",
            Self::Meta => "meta",
            Self::Detected => "detected",
        })
    }
}

/// A document as characters.
///
/// # Examples
///
/// ```
/// let decoded = fpdb_web::decode(b"caf\xe9", "text/plain; charset=iso-8859-1", "");
/// assert_eq!((&*decoded.text, decoded.charset), ("café", "windows-1252"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded<'a> {
    /// The characters. Whatever is not valid in the encoding is replaced by U+FFFD.
    pub text: Cow<'a, str>,
    /// The name of the encoding in the Encoding standard: `UTF-8`, `gb18030`, `Big5`.
    pub charset: &'static str,
    /// What determined the encoding.
    pub source: CharsetSource,
}

/// Decodes a document, given the value of its Content-Type header and its URL. Both may be empty.
///
/// An HTML document may declare its encoding itself; it is recognised by the header. Where nothing
/// declares the encoding, it is guessed from the bytes, with the top-level domain of the URL as a
/// hint.
///
/// # Examples
///
/// ```
/// use fpdb_web::{CharsetSource, decode};
///
/// let page = b"<meta charset=gbk><p>\xd6\xd0\xce\xc4";
/// let decoded = decode(page, "text/html", "http://a.example/");
/// assert!(decoded.text.ends_with("中文"));
/// assert_eq!((decoded.charset, decoded.source), ("GBK", CharsetSource::Meta));
/// ```
pub fn decode<'a>(bytes: &'a [u8], content_type: &str, url: &str) -> Decoded<'a> {
    let html = matches!(essence(content_type).as_str(), "text/html" | "application/xhtml+xml");
    decode_with(bytes, Hints { content_type, url, html })
}

/// What is known of a document besides its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hints<'a> {
    /// The value of its Content-Type header.
    pub(crate) content_type: &'a str,
    pub(crate) url: &'a str,
    /// Whether it is HTML, which may declare its encoding itself.
    pub(crate) html: bool,
}

/// Decodes a document.
pub(crate) fn decode_with<'a>(bytes: &'a [u8], hints: Hints<'_>) -> Decoded<'a> {
    let (encoding, source) = find(bytes, hints);
    let (text, encoding, _) = encoding.decode(bytes);
    Decoded { text, charset: encoding.name(), source }
}

/// Returns the media type without its parameters, in lower case.
pub(crate) fn essence(content_type: &str) -> String {
    content_type.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn find(bytes: &[u8], hints: Hints<'_>) -> (&'static Encoding, CharsetSource) {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return (encoding, CharsetSource::Bom);
    }
    if let Some(encoding) = in_content_type(hints.content_type.as_bytes()).and_then(of_label) {
        return (encoding, CharsetSource::Header);
    }
    let start = bytes.get(..PRESCAN).unwrap_or(bytes);
    if let Some(encoding) = hints.html.then(|| prescan(start)).flatten() {
        return (encoding, CharsetSource::Meta);
    }
    let detected = match start {
        // Undeclared UTF-16 would be read as text with zeros in between.
        [b'<', 0, ..] if hints.html => UTF_16LE,
        [0, b'<', ..] if hints.html => UTF_16BE,
        _ => detect(bytes, hints.url),
    };
    (detected, CharsetSource::Detected)
}

/// Returns the encoding of a label. The labels that the standard maps to the replacement encoding,
/// such as ISO-2022-KR, count as unknown: browsers refuse them for security reasons.
fn of_label(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label)
}

fn detect(bytes: &[u8], url: &str) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let tld = tld(url);
    detector.guess(tld.as_deref().map(str::as_bytes), Utf8Detection::Allow)
}

/// Returns the last label of the URL's host, in lower case.
fn tld(url: &str) -> Option<String> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let label = host.trim_end_matches('.').rsplit('.').next()?.to_ascii_lowercase();
    // The detector panics on other characters.
    label.bytes().all(|b| b.is_ascii_lowercase() || b == b'-').then_some(label)
}

/// Returns the value of the parameter `charset` of a Content-Type header, or of a `<meta>` that is
/// equivalent to one.
fn in_content_type(value: &[u8]) -> Option<&[u8]> {
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

/// Returns the encoding that a page declares in its first bytes: in a `<meta>`, or else in an XML
/// declaration.
fn prescan(start: &[u8]) -> Option<&'static Encoding> {
    in_meta(start).or_else(|| xml_encoding(start).and_then(of_label).map(not_utf_16))
}

fn in_meta(start: &[u8]) -> Option<&'static Encoding> {
    let mut rest = start;
    loop {
        rest = rest.get(memchr::memchr(b'<', rest)?..)?;
        if rest.starts_with(b"<!--") {
            rest = rest.get(memchr::memmem::find(rest, b"-->")?..)?;
            continue;
        }
        let is_meta = rest.get(1..5).is_some_and(|name| name.eq_ignore_ascii_case(b"meta"))
            && rest.get(5).is_some_and(|b| b.is_ascii_whitespace() || *b == b'/');
        rest = rest.get(1..)?;
        if is_meta {
            let attributes = attributes(rest.get(4..)?);
            if let Some(encoding) = of_meta(&attributes) {
                return Some(encoding);
            }
        }
    }
}

/// Returns the value of `encoding` in an XML declaration.
fn xml_encoding(start: &[u8]) -> Option<&[u8]> {
    let declaration = start.strip_prefix(b"<?xml")?;
    let declaration = declaration.get(..memchr::memchr(b'>', declaration)?)?;
    let at = memchr::memmem::find(declaration, b"encoding")?;
    let after = declaration.get(at + b"encoding".len()..)?.trim_ascii_start();
    let after = after.strip_prefix(b"=")?.trim_ascii_start();
    let quote = *after.first()?;
    let after = after.get(1..)?;
    after.get(..memchr::memchr(quote, after)?)
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

/// Returns the attributes of a tag, given what follows its name: names in lower case, and values.
fn attributes(mut rest: &[u8]) -> Vec<(Vec<u8>, &[u8])> {
    let mut attributes = Vec::new();
    let take = |rest: &mut &[u8], end: &dyn Fn(u8) -> bool| {
        let length = rest.iter().position(|&b| end(b)).unwrap_or(rest.len());
        let (taken, left) = rest.split_at(length);
        *rest = left;
        taken.len()
    };
    loop {
        take(&mut rest, &|b| !b.is_ascii_whitespace() && b != b'/');
        if rest.is_empty() || rest.starts_with(b">") {
            return attributes;
        }
        let all = rest;
        let length = take(&mut rest, &|b| b.is_ascii_whitespace() || b"=/>".contains(&b)).max(1);
        let name = all.get(..length).unwrap_or_default().to_ascii_lowercase();
        rest = all.get(length..).unwrap_or_default();
        let after = rest.trim_ascii_start().strip_prefix(b"=").map(<[u8]>::trim_ascii_start);
        let Some(after) = after else {
            attributes.push((name, &[]));
            continue;
        };
        let quote = after.first().copied().filter(|q| b"\"'".contains(q));
        let value = after.get(usize::from(quote.is_some())..).unwrap_or_default();
        rest = value;
        let length = match quote {
            Some(quote) => take(&mut rest, &|b| b == quote),
            None => take(&mut rest, &|b| b.is_ascii_whitespace() || b == b'>'),
        };
        rest = rest.get(usize::from(quote.is_some())..).unwrap_or_default();
        attributes.push((name, value.get(..length).unwrap_or_default()));
    }
}

fn find_ignoring_case(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window.eq_ignore_ascii_case(needle))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bytes: &[u8], content_type: &str) -> (&'static str, CharsetSource) {
        let (encoding, source) =
            find(bytes, Hints { content_type, url: "http://a.example/", html: true });
        (encoding.name(), source)
    }

    #[test]
    fn the_byte_order_mark_overrides_the_header_and_the_header_the_page() {
        let page = b"<meta charset=big5>";
        let marked = [b"\xef\xbb\xbf", &page[..]].concat();
        assert_eq!(found(&marked, "text/html; charset=gbk"), ("UTF-8", CharsetSource::Bom));
        assert_eq!(found(page, "text/html; charset=gbk"), ("GBK", CharsetSource::Header));
        assert_eq!(found(page, "text/html"), ("Big5", CharsetSource::Meta));
        assert_eq!(found(b"\xff\xfe<\0", ""), ("UTF-16LE", CharsetSource::Bom));
    }

    #[test]
    fn undeclared_utf_16_is_recognised_by_its_first_character() {
        for (page, name) in [(b"<\0p\0>\0", "UTF-16LE"), (b"\0<\0p\0>", "UTF-16BE")] {
            assert_eq!(found(page, "text/html"), (name, CharsetSource::Detected));
        }
    }

    #[test]
    fn labels_mean_what_the_standard_defines() {
        for (label, name) in [
            ("ISO-8859-1", "windows-1252"),
            ("us-ascii", "windows-1252"),
            ("gb2312", "GBK"),
            ("\"GB18030\"", "gb18030"),
            (" utf8 ;x", "UTF-8"),
        ] {
            let header = format!("text/html; Charset={label}");
            assert_eq!(found(b"", &header), (name, CharsetSource::Header), "{header}");
        }
        // Unknown labels, and those that browsers refuse, are ignored.
        for label in ["none", "iso-2022-kr", ""] {
            let source = found(b"<meta charset=big5>", &format!("text/html; charset={label}")).1;
            assert_eq!(source, CharsetSource::Meta, "{label}");
        }
    }

    #[test]
    fn pages_declare_their_encoding_in_many_ways() {
        for page in [
            "<!doctype html><META CHARSET='big5'/>",
            "<meta content='text/html; charset=big5' http-equiv=\"Content-Type\">",
            "<!-- <meta charset=gbk> --><meta\n charset = big5 >",
            "<metal charset=gbk><meta name=x><meta a=/> <meta charset=\"Big5\"",
            "<?xml version='1.0' encoding='big5'?><html>",
            "<?xml version='1.0' encoding='utf-8'?><meta charset=big5>",
        ] {
            assert_eq!(found(page.as_bytes(), ""), ("Big5", CharsetSource::Meta), "{page}");
        }
        assert_eq!(found(b"<meta charset=utf-16>", ""), ("UTF-8", CharsetSource::Meta));
        let content_only = b"<meta name=x content='charset=big5'>";
        assert_eq!(found(content_only, "").1, CharsetSource::Detected);
        let late = [&[b' '; PRESCAN], &b"<meta charset=big5>"[..]].concat();
        assert_eq!(found(&late, "").1, CharsetSource::Detected);
    }

    #[test]
    fn an_undeclared_encoding_is_detected_from_the_bytes() {
        let text = "文本的编码没有人说，所以要从字节里看出来。";
        let (gbk, ..) = encoding_rs::GBK.encode(text);
        assert_eq!(found(&gbk, "text/html"), ("GBK", CharsetSource::Detected));
        assert_eq!(found(text.as_bytes(), "text/html"), ("UTF-8", CharsetSource::Detected));
    }

    #[test]
    fn hosts_of_any_form_are_accepted_by_the_detector() {
        for (url, label) in [
            ("http://u@A.example.TW.:8080/x.cn", Some("tw")),
            ("http://127.0.0.1/", None),
            ("http://例子.中国/", None),
            ("page.html", None),
            ("http://[::1]/", None),
            ("http://a.example?x", Some("example")),
        ] {
            assert_eq!(tld(url).as_deref(), label, "{url}");
        }
    }
}
