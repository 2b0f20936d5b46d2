//! The encoding of a page, found as the WHATWG standards have it: a byte order mark before the
//! Content-Type header, that before what the page says of itself, and the bytes last.
//!
//! (HTML standard, "Determining the character encoding"; Encoding standard for the labels, which
//! make windows-1252 of ISO-8859-1 and decode GBK as the gb18030 that contains it.)

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::page::CharsetSource;

/// The part of a page where it may say its encoding.
const PRESCAN: usize = 1024;

/// What is known of a document besides its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    /// The value of its Content-Type header.
    pub(super) content_type: &'a str,
    pub(super) url: &'a str,
    /// It is HTML: it may say its encoding itself.
    pub(super) html: bool,
}

/// Decodes a document. What is no text in its encoding is replaced by U+FFFD.
pub(super) fn decode<'a>(
    bytes: &'a [u8],
    told: Told<'_>,
) -> (Cow<'a, str>, &'static Encoding, CharsetSource) {
    let (encoding, source) = find(bytes, told);
    let (text, encoding, _) = encoding.decode(bytes);
    (text, encoding, source)
}

fn find(bytes: &[u8], told: Told<'_>) -> (&'static Encoding, CharsetSource) {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return (encoding, CharsetSource::Bom);
    }
    if let Some(encoding) = in_content_type(told.content_type.as_bytes()).and_then(of_label) {
        return (encoding, CharsetSource::Header);
    }
    let start = bytes.get(..PRESCAN).unwrap_or(bytes);
    if let Some(encoding) = told.html.then(|| prescan(start)).flatten() {
        return (encoding, CharsetSource::Meta);
    }
    let detected = match start {
        // What is so written without saying so would be read as text between zeros.
        [b'<', 0, ..] if told.html => UTF_16LE,
        [0, b'<', ..] if told.html => UTF_16BE,
        _ => detect(bytes, told.url),
    };
    (detected, CharsetSource::Detected)
}

/// The encoding of a label. Labels of what is decoded to nothing count as unknown: ISO-2022-KR
/// and the like, which are refused to browsers for the safety of scripts.
fn of_label(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label)
}

fn detect(bytes: &[u8], url: &str) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let tld = tld(url);
    detector.guess(tld.as_deref().map(str::as_bytes), Utf8Detection::Allow)
}

/// The last label of the URL's host, in lower case.
fn tld(url: &str) -> Option<String> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let label = host.trim_end_matches('.').rsplit('.').next()?.to_ascii_lowercase();
    // What the detector demands.
    label.bytes().all(|b| b.is_ascii_lowercase() || b == b'-').then_some(label)
}

/// The value of the parameter `charset`: of a Content-Type header, or the content of a `<meta>`
/// that stands for one.
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

/// What a page says of itself among its first bytes: in a `<meta>`, or else as XML.
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

/// The value of `encoding` in an XML declaration.
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

/// Who could read the declaration as ASCII was not reading UTF-16.
fn not_utf_16(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding }
}

/// The attributes of a tag, from behind its name: names in lower case, and values.
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
            find(bytes, Told { content_type, url: "http://a.example/", html: true });
        (encoding.name(), source)
    }

    #[test]
    fn a_mark_goes_before_the_header_and_that_before_the_page() {
        let page = b"<meta charset=big5>";
        let marked = [b"\xef\xbb\xbf", &page[..]].concat();
        assert_eq!(found(&marked, "text/html; charset=gbk"), ("UTF-8", CharsetSource::Bom));
        assert_eq!(found(page, "text/html; charset=gbk"), ("GBK", CharsetSource::Header));
        assert_eq!(found(page, "text/html"), ("Big5", CharsetSource::Meta));
        assert_eq!(found(b"\xff\xfe<\0", ""), ("UTF-16LE", CharsetSource::Bom));
    }

    #[test]
    fn utf_16_is_known_by_its_first_character() {
        for (page, name) in [(b"<\0p\0>\0", "UTF-16LE"), (b"\0<\0p\0>", "UTF-16BE")] {
            assert_eq!(found(page, "text/html"), (name, CharsetSource::Detected));
        }
    }

    #[test]
    fn labels_mean_what_the_standard_says() {
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
        // Unknown ones, and those that a browser refuses, say nothing.
        for label in ["none", "iso-2022-kr", ""] {
            let source = found(b"<meta charset=big5>", &format!("text/html; charset={label}")).1;
            assert_eq!(source, CharsetSource::Meta, "{label}");
        }
    }

    #[test]
    fn pages_say_their_encoding_in_many_ways() {
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
    fn what_nobody_says_is_told_by_the_bytes() {
        let text = "文本的编码没有人说，所以要从字节里看出来。";
        let (gbk, ..) = encoding_rs::GBK.encode(text);
        assert_eq!(found(&gbk, "text/html"), ("GBK", CharsetSource::Detected));
        assert_eq!(found(text.as_bytes(), "text/html"), ("UTF-8", CharsetSource::Detected));
    }

    #[test]
    fn hosts_of_any_form_are_fit_for_the_detector() {
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
