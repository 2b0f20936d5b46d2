//! The encoding of a page, found as the WHATWG standards define it: by the byte order mark, else by
//! the Content-Type header, else by what the page says of itself, else by the bytes. But bytes that
//! are surely UTF-8 are that, whatever the page says of itself.
//!
//! (HTML standard, "Determining the character encoding"; Encoding standard for the labels, which
//! read ISO-8859-1 as windows-1252 and decode GBK as its superset gb18030.)

use std::borrow::Cow;
use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::prescan::{in_content_type, of_label, prescan};

/// Bytes at the beginning of a page whose declaration of an encoding counts, if the bytes are not
/// surely UTF-8. A later one counts unless they are UTF-8 at all.
const PRESCAN: usize = 1024;

/// The number of characters other than ASCII from which bytes that are UTF-8 are not so by chance.
/// A program that saves or converts a page often leaves its declaration as it was.
const SURE: usize = 12;

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
    let all = content_type.trim_start();
    // Some servers leave out the semicolon.
    all.split([';', ',', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase()
}

fn find(bytes: &[u8], hints: Hints<'_>) -> (&'static Encoding, CharsetSource) {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return (encoding, CharsetSource::Bom);
    }
    // Servers and templates often say UTF-8 whatever the bytes are.
    let is_wrong = |encoding| encoding == UTF_8 && is_not_utf8(bytes);
    if let Some(encoding) = in_content_type(hints.content_type.as_bytes()).and_then(of_label)
        && !is_wrong(encoding)
    {
        return (encoding, CharsetSource::Header);
    }
    if let Some(declared) = hints.html.then(|| prescan(bytes)).flatten()
        && !is_wrong(declared.encoding)
        && (declared.encoding == UTF_8
            || !is_utf8(bytes, if declared.at < PRESCAN { SURE } else { 1 }))
    {
        return (declared.encoding, CharsetSource::Meta);
    }
    let detected = utf_16(bytes).unwrap_or_else(|| detect(bytes, hints.url));
    (detected, CharsetSource::Detected)
}

/// Returns whether the bytes are surely not UTF-8. If a page was cut off, its last
/// character may be incomplete.
fn is_not_utf8(bytes: &[u8]) -> bool {
    let is_wrong = |e: std::str::Utf8Error| e.error_len().is_some();
    std::str::from_utf8(bytes).is_err_and(is_wrong) && !is_nearly_utf8(bytes)
}

/// Returns whether the bytes are UTF-8 with at least this number of characters other than ASCII.
fn is_utf8(bytes: &[u8], least: usize) -> bool {
    std::str::from_utf8(bytes)
        .is_ok_and(|text| text.chars().filter(|c| !c.is_ascii()).take(least).count() == least)
}

/// Returns the kind of UTF-16 that bytes without a mark are in. They begin with a tag. Or all zeros
/// at their beginning are high bytes, and there are as many as in text with spaces, digits and
/// Latin letters; or fewer, if nearly all high bytes are those of letters.
pub(crate) fn utf_16(bytes: &[u8]) -> Option<&'static Encoding> {
    match bytes {
        [b'<', 0, ..] => return Some(UTF_16LE),
        [0, b'<', ..] => return Some(UTF_16BE),
        _ => {}
    }
    let start = bytes.get(..PRESCAN).unwrap_or(bytes);
    let zeros = |offset: usize| start.iter().skip(offset).step_by(2).filter(|b| **b == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let is_big = even > odd;
    let (few, many, encoding) = if is_big { (odd, even, UTF_16BE) } else { (even, odd, UTF_16LE) };
    let is_text = || {
        let units = start.as_chunks().0;
        let is_letter = |unit: &&[u8; 2]| {
            let unit = if is_big { u16::from_be_bytes(**unit) } else { u16::from_le_bytes(**unit) };
            is_letter(unit)
        };
        units.iter().filter(is_letter).count() * 20 >= units.len() * 19
            && (is_not_utf8(start) || has_controls(start))
    };
    let is_utf_16 = few == 0 && many > start.len() / 5
        || many > start.len() / 64 && many > 4 * few && is_text();
    is_utf_16.then_some(encoding)
}

/// Returns whether at least one of 32 bytes is a control character that text does not have. Zeros
/// do not count, because broken pages have them.
pub(crate) fn has_controls(bytes: &[u8]) -> bool {
    let is_control = |b: &&u8| matches!(b, 1..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    bytes.iter().filter(is_control).count() * 32 > bytes.len()
}

/// Returns whether a unit of UTF-16 is a character of many pages: Latin, Greek, Cyrillic, Hebrew,
/// Arabic, from India to Burma, punctuation, kana, Chinese or Korean.
fn is_letter(unit: u16) -> bool {
    match unit {
        ..0x20 => matches!(unit, 9 | 0xa | 0xc | 0xd),
        0x20..0x700 | 0x900..0x1100 | 0x1e00..0x1f00 | 0x2000..0x2100 => true,
        0x3000..0x3100 | 0x4e00..0xa000 | 0xac00..0xd800 | 0xff00.. => true,
        _ => false,
    }
}

/// Returns the text of bytes that are UTF-8 but for few places, with U+FFFD there; or `None` if
/// other bytes than few are wrong, as in text of another encoding.
///
/// # Examples
///
/// ```
/// use fpdb_web::nearly_utf8;
///
/// let cut_off = &"中文中文".as_bytes()[..11];
/// assert_eq!(nearly_utf8(cut_off).as_deref(), Some("中文中\u{fffd}"));
/// assert_eq!(nearly_utf8(b"caf\xe9"), None);
/// ```
#[must_use]
pub fn nearly_utf8(bytes: &[u8]) -> Option<Cow<'_, str>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(Cow::Borrowed(text)),
        Err(_) => is_nearly_utf8(bytes).then(|| String::from_utf8_lossy(bytes)),
    }
}

/// Returns whether the bytes are UTF-8 but for few places, such as bytes of another encoding or a
/// character that is cut off. The longer a valid sequence is, the less likely it is by chance.
fn is_nearly_utf8(bytes: &[u8]) -> bool {
    let (mut valid, mut invalid) = (0, 0);
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        let wide = chunk.valid().chars().filter(|c| !c.is_ascii());
        valid += wide.map(|c| c.len_utf8() - 1).sum::<usize>();
        let is_cut_off = chunks.peek().is_none()
            && std::str::from_utf8(chunk.invalid()).is_err_and(|e| e.error_len().is_none());
        invalid += usize::from(!chunk.invalid().is_empty() && !is_cut_off);
    }
    valid > 0 && 4 * invalid <= valid
}

fn detect(bytes: &[u8], url: &str) -> &'static Encoding {
    if is_nearly_utf8(bytes) {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
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

#[cfg(test)]
mod tests {
    use std::io::Write;

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
            "<metal charset=gbk><meta name=x><meta a=/> <meta charset=\"Big5\">",
            "<?xml version='1.0' encoding='big5'?><html>",
            "<?xml version='1.0' encoding='utf-8'?><meta charset=big5>",
        ] {
            assert_eq!(found(page.as_bytes(), ""), ("Big5", CharsetSource::Meta), "{page}");
        }
        assert_eq!(found(b"<meta charset=utf-16>", ""), ("UTF-8", CharsetSource::Meta));
        let content_only = b"<meta name=x content='charset=big5'>";
        assert_eq!(found(content_only, "").1, CharsetSource::Detected);
        let late = |page: &str| [&[b' '; PRESCAN], page.as_bytes()].concat();
        assert_eq!(found(&late("<meta charset=big5>"), ""), ("Big5", CharsetSource::Meta));
        let utf8 = late("中<meta charset=big5>");
        assert_eq!(found(&utf8, ""), ("UTF-8", CharsetSource::Detected));
    }

    /// The tests of html5lib for the encoding, which cannot be part of this repository. Where
    /// nothing declares an encoding, they expect the default of browsers, windows-1252, even for
    /// ASCII, which is UTF-8 here. Text in it is the same in both. Bytes that are surely UTF-8 are
    /// not what they declare.
    #[test]
    fn html5lib_agrees_on_declared_encodings() {
        let Some(data) = std::env::var_os("FPDB_DATA") else {
            // Not with a macro, whose output the test harness captures.
            let _ =
                writeln!(std::io::stderr(), "left out: html5lib of FPDB_DATA, which is not set");
            return;
        };
        let files = std::path::Path::new(&data).join("edge/html5lib-encoding").read_dir().unwrap();
        let (mut equal, mut undeclared) = (0, 0);
        for file in files {
            let tests = std::fs::read(file.unwrap().path()).unwrap();
            for test in memchr::memmem::find_iter(&tests, b"#data\n") {
                let test = &tests[test + 6..];
                let end = memchr::memmem::find(test, b"\n#encoding\n").unwrap();
                let expected = test[end + 11..].split(|b| *b == b'\n').next().unwrap();
                let expected = of_label(expected).unwrap().name();
                let hints = Hints { content_type: "", url: "", html: true };
                let (encoding, source) = find(&test[..end], hints);
                let page = String::from_utf8_lossy(&test[..end]);
                if is_utf8(&test[..end], SURE) {
                    assert_eq!(encoding.name(), "UTF-8", "{page}");
                } else if encoding.name() == expected {
                    equal += 1;
                } else {
                    let found = (encoding.name(), source, test[..end].is_ascii());
                    let ascii = ("UTF-8", CharsetSource::Detected, true);
                    assert_eq!((expected, found), ("windows-1252", ascii), "{page}");
                    undeclared += 1;
                }
            }
        }
        assert_eq!((equal, undeclared), (49, 32));
    }

    #[test]
    fn few_wrong_bytes_do_not_make_utf_8_another_encoding() {
        let text = "Eine Größe für alle – und „Zitate“ dazu. 中文也一样。";
        let bytes = text.as_bytes();
        let cut: Vec<_> = (20..bytes.len()).map(|end| bytes[..end].to_vec()).collect();
        let wrong = (0..=text.len()).filter(|at| text.is_char_boundary(*at));
        let wrong = wrong.map(|at| [&bytes[..at], b"\xff", &bytes[at..]].concat());
        for bytes in cut.into_iter().chain(wrong) {
            let expected = ("UTF-8", CharsetSource::Detected);
            assert_eq!(
                found(&bytes, "text/plain"),
                expected,
                "{}",
                String::from_utf8_lossy(&bytes)
            );
        }
        let (latin, ..) = encoding_rs::WINDOWS_1252.encode("Größe und Öl für alle");
        assert_eq!(found(&latin, "").0, "windows-1252");
    }

    #[test]
    fn undeclared_utf_16_and_iso_2022_jp_are_recognised() {
        let text = "Some text, 12 words long, and more.";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(found(&little, "text/plain").0, "UTF-16LE");
        assert_eq!(found(&big, "text/plain").0, "UTF-16BE");
        assert_eq!(found(b"a\0b c d e f g h i j k", "text/plain").0, "UTF-8");
        let (japanese, ..) = encoding_rs::ISO_2022_JP.encode("日本語の文章です。");
        assert_eq!(found(&japanese, "text/html").0, "ISO-2022-JP");
    }

    #[test]
    fn an_undeclared_encoding_is_detected_from_the_bytes() {
        let text = "文本的编码没有人说，所以要从字节里看出来。";
        let (gbk, ..) = encoding_rs::GBK.encode(text);
        assert_eq!(found(&gbk, "text/html"), ("GBK", CharsetSource::Detected));
        assert_eq!(found(text.as_bytes(), "text/html"), ("UTF-8", CharsetSource::Detected));
    }

    /// Texts in the encodings that pages of their languages have.
    const TEXTS: [(&str, &Encoding); 8] = [
        (
            "图书馆的灯塔看守人在山谷里发现了钟楼变慢的原因，燕子把稻草留在齿轮之间。",
            encoding_rs::GBK,
        ),
        (
            "圖書館的燈塔看守人在山谷裡發現了鐘樓變慢的原因，燕子把稻草留在齒輪之間。",
            encoding_rs::BIG5,
        ),
        (
            "港の近くの古い灯台で、三十年ぶりに灯台守が住み込みで働くことになった。",
            encoding_rs::SHIFT_JIS,
        ),
        (
            "港の近くの古い灯台で、三十年ぶりに灯台守が住み込みで働くことになった。",
            encoding_rs::EUC_JP,
        ),
        ("항구 근처의 오래된 등대에서 삼십 년 만에 등대지기가 일하게 되었다.", encoding_rs::EUC_KR),
        (
            "Паром через озеро снова ходит по старому расписанию с понедельника.",
            encoding_rs::WINDOWS_1251,
        ),
        (
            "Το πλοίο στη λίμνη ταξιδεύει ξανά με το παλιό πρόγραμμα από τη Δευτέρα.",
            encoding_rs::WINDOWS_1253,
        ),
        (
            "Die Fähre über den See fährt wieder nach dem alten Plan, für alle Gäste.",
            encoding_rs::WINDOWS_1252,
        ),
    ];

    #[test]
    fn a_page_that_says_utf_8_and_is_not_is_decided_by_its_bytes() {
        for (text, encoding) in TEXTS {
            let page = format!("<meta charset=utf-8><title>x</title><p>{text}");
            let (bytes, ..) = encoding.encode(&page);
            for content_type in ["text/html", "text/html; charset=utf-8"] {
                let decoded = decode(&bytes, content_type, "http://a.example/");
                assert!(decoded.text.contains(text), "{content_type}: {}", decoded.text);
                assert_eq!(decoded.source, CharsetSource::Detected);
            }
            // A page that names its encoding beside a header that says UTF-8.
            let page = page.replace("utf-8", encoding.name());
            let (bytes, ..) = encoding.encode(&page);
            let decoded = decode(&bytes, "text/html; charset=utf-8", "");
            assert!(decoded.text.contains(text) && decoded.source == CharsetSource::Meta, "{page}");
        }
        // Few bytes that are wrong, or a character that is cut off, do not matter.
        let page = "<meta charset=utf-8><p>Die Fähre über den See fährt für alle Gäste".as_bytes();
        for wrong in [&b"\xff"[..], b"\xc3"] {
            assert_eq!(found(&[page, wrong].concat(), "").1, CharsetSource::Meta);
        }
        for page in [&b"<meta charset=utf-8><p>a"[..], b"<meta charset=utf-8><p>a\xe2\x80"] {
            assert_eq!(found(page, "").1, CharsetSource::Meta);
        }
    }

    #[test]
    fn short_utf_16_without_a_mark_is_recognised() {
        for (text, _) in TEXTS {
            for text in [
                format!("<html><p>{text}"),
                format!("\n <p>{text}</p>\n"),
                format!("{text}\r\n\r\n1. {text}\r\n"),
            ] {
                let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
                let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
                assert_eq!(found(&little, "text/html").0, "UTF-16LE", "{text}");
                assert_eq!(found(&big, "text/html").0, "UTF-16BE", "{text}");
            }
            // Zeros that a program left in a page do not make it UTF-16.
            let thirds = text.chars().enumerate().map(|(index, c)| match index % 3 {
                2 => format!("{c}\0"),
                _ => c.to_string(),
            });
            let broken = format!("<p>{}", thirds.collect::<String>());
            assert!(!found(broken.as_bytes(), "text/html").0.starts_with("UTF-16"), "{text}");
        }
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
