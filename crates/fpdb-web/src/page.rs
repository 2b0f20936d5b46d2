//! From a record, a response or a document to a page.

use std::fmt;

use crate::archive::{Record, RecordKind};
use crate::charset::{CharsetSource, Hints, decode_with, essence, has_controls, utf_16};
use crate::error::Result;
use crate::extraction::Extraction;
use crate::html::plain_text;
use crate::http::{self, Response};
use crate::limits::Limits;

/// A web page as text.
///
/// # Examples
///
/// ```
/// use fpdb_web::{CharsetSource, Extractor};
///
/// let body = b"<meta charset=big5><p>\xa4\xa4\xa4\xe5";
/// let outcome = Extractor::default().document("http://a.example/", "text/html", body);
/// let page = outcome.page().unwrap();
/// assert_eq!(page.url, "http://a.example/");
/// assert_eq!(page.text, "中文");
/// assert_eq!((page.charset, page.charset_source), ("Big5", CharsetSource::Meta));
/// assert_eq!(page.extraction.name(), "main/1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The URL as it was given.
    pub url: String,
    /// The text: lines without white space at their ends.
    pub text: String,
    /// The name of the page's encoding in the Encoding standard: `UTF-8`, `gb18030`, `Big5`.
    pub charset: &'static str,
    /// What determined the encoding.
    pub charset_source: CharsetSource,
    /// The extraction that made the text.
    pub extraction: Extraction,
}

/// The result of reading a record: a page, or the reason why it holds none.
///
/// # Examples
///
/// ```
/// use fpdb_web::{Extractor, Extracted, SkipReason};
///
/// let outcome = Extractor::default().response("u", b"HTTP/1.1 404 Not Found\r\n\r\n")?;
/// assert_eq!(outcome, Extracted::Skipped(SkipReason::Status(404)));
/// assert!(outcome.page().is_none());
/// # Ok::<(), fpdb_web::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extracted {
    /// A page.
    Page(Page),
    /// Nothing is wrong with the record, but it holds no page, or a page beyond the size limit.
    Skipped(SkipReason),
}

impl Extracted {
    /// Returns the page, if there is one.
    pub fn page(self) -> Option<Page> {
        match self {
            Self::Page(page) => Some(page),
            Self::Skipped(_) => None,
        }
    }
}

/// Why a record yields no page.
///
/// The [`Display`](fmt::Display) form is one word, by which records can be counted: `request`,
/// `status_404`, `media_type`.
///
/// # Examples
///
/// ```
/// use fpdb_web::{RecordKind, SkipReason};
/// assert_eq!(SkipReason::Record(RecordKind::Warcinfo).to_string(), "warcinfo");
/// assert_eq!(SkipReason::Status(301).to_string(), "status_301");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// A record of a kind that holds no page.
    Record(RecordKind),
    /// A part of a record that was divided, which is not a whole page.
    Segment,
    /// A response with a status other than 200.
    Status(u16),
    /// Neither HTML nor plain text.
    MediaType,
    /// HTML or plain text by its header, but compressed or other binary data by its bytes.
    Binary,
    /// More bytes than the [limit](Limits::max_record).
    TooLarge,
    /// A page without main content, for an extraction that keeps nothing else: it shows only menus,
    /// footers and the like, as a page does before scripts fill it.
    NoText,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Record(RecordKind::Warcinfo) => "warcinfo",
            Self::Record(RecordKind::Request) => "request",
            Self::Record(RecordKind::Metadata) => "metadata",
            Self::Record(RecordKind::Revisit) => "revisit",
            Self::Record(_) => "other_record",
            Self::Segment => "segment",
            Self::Status(status) => return write!(f, "status_{status}"),
            Self::MediaType => "media_type",
            Self::Binary => "binary",
            Self::TooLarge => "too_large",
            Self::NoText => "no_text",
        })
    }
}

/// What a document is, as far as it has text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Plain,
}

/// Returns what a document is by its media type. The outer option is None if it has to be found out
/// from the bytes, as browsers do for media types that say nothing.
#[expect(clippy::option_option, reason = "unknown, and known not to be text")]
fn declared_kind(content_type: &str) -> Option<Option<Kind>> {
    match essence(content_type).as_str() {
        "text/html" | "application/xhtml+xml" => Some(Some(Kind::Html)),
        "text/plain" => Some(Some(Kind::Plain)),
        "unknown/unknown" | "application/unknown" | "*/*" => None,
        media_type if media_type.contains('/') => Some(None),
        _ => None,
    }
}

/// Returns what a document without a media type is. It is not binary.
fn sniffed_kind(bytes: &[u8]) -> Kind {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let bytes = bytes.strip_prefix(b"\xff\xfe").unwrap_or(bytes);
    let bytes = bytes.strip_prefix(b"\xfe\xff").unwrap_or(bytes);
    match bytes.trim_ascii_start() {
        [b'<', ..] | [0, b'<', ..] => Kind::Html,
        _ => Kind::Plain,
    }
}

/// Bytes at the beginning of a document that show whether it is binary.
const SAMPLE: usize = 1024;

/// Returns whether the bytes are compressed or other binary data.
fn is_binary(bytes: &[u8]) -> bool {
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    let compressed: [&[u8]; 2] = [&[0x1f, 0x8b, 8], &[0x28, 0xb5, 0x2f, 0xfd]];
    let start = sample.trim_ascii_start();
    compressed.iter().any(|magic| start.starts_with(magic))
        || has_controls(sample)
            && utf_16(sample).is_none()
            && !matches!(sample, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
}

/// Makes text of pages, whichever way they arrive: as records of an archive, as HTTP responses or
/// as documents. The same page gives the same text on each of these paths.
///
/// # Examples
///
/// ```
/// use fpdb_web::{Extraction, Extractor, Limits};
///
/// assert_eq!(Extractor::default().extraction(), Extraction::MAIN_1);
/// let limits = Limits::default().max_record(1 << 20);
/// let extractor = Extractor::new(Extraction::STRIP_1).limits(limits);
/// let html = b"<nav>menu</nav><p>text";
/// let document = extractor.document("http://a.example/", "text/html", html);
/// assert_eq!(document.page().unwrap().text, "menu\ntext");
/// let response = [b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", &html[..]].concat();
/// let response = extractor.response("http://a.example/", &response)?;
/// assert_eq!(response.page().unwrap().text, "menu\ntext");
/// # Ok::<(), fpdb_web::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extractor {
    extraction: Extraction,
    limits: Limits,
}

impl Extractor {
    /// Makes an extractor with the default [`Limits`].
    pub fn new(extraction: Extraction) -> Self {
        Self { extraction, limits: Limits::default() }
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the extraction that makes the texts.
    pub fn extraction(&self) -> Extraction {
        self.extraction
    }

    /// Makes a page of a record of an archive. This is most of the work of reading an archive, and
    /// can be done on any thread.
    ///
    /// Pages are responses with status 200, resources and conversions, if they are HTML or plain
    /// text and in one piece.
    ///
    /// # Errors
    ///
    /// An error of kind [`Response`](crate::ErrorKind::Response),
    /// [`Coding`](crate::ErrorKind::Coding) or [`Limit`](crate::ErrorKind::Limit) if the record's
    /// response cannot be read. The error has the record's offset, and its message begins with the
    /// URL.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use fpdb_web::{Archive, Extractor, Extracted};
    ///
    /// let extractor = Extractor::default();
    /// for record in Archive::new(std::fs::File::open("crawl.warc.gz")?)? {
    ///     if let Extracted::Page(page) = extractor.record(&record?)? {
    ///         println!("{}: {} bytes of text", page.url, page.text.len());
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record(&self, record: &Record) -> Result<Extracted> {
        let is_capture = matches!(
            record.kind(),
            RecordKind::Response | RecordKind::Resource | RecordKind::Conversion
        );
        if record.header("WARC-Segment-Number").is_some() {
            return Ok(Extracted::Skipped(SkipReason::Segment));
        }
        if !is_capture {
            return Ok(Extracted::Skipped(SkipReason::Record(record.kind())));
        }
        if record.is_truncated() {
            return Ok(Extracted::Skipped(SkipReason::TooLarge));
        }
        let is_response = record.kind() == RecordKind::Response;
        if essence(record.content_type()) == "application/http"
            || is_response && http::status(record.block()).is_some()
        {
            let outcome = self.response(record.url(), record.block());
            return outcome.map_err(|error| error.about(record.url()).at(record.offset()));
        }
        Ok(self.document(record.url(), record.content_type(), record.block()))
    }

    /// Makes a page of an HTTP response, with its header. It is a page if the status is 200 and
    /// the body is HTML or plain text.
    ///
    /// # Errors
    ///
    /// An error of kind [`Response`](crate::ErrorKind::Response),
    /// [`Coding`](crate::ErrorKind::Coding) or [`Limit`](crate::ErrorKind::Limit) if the response
    /// cannot be read.
    pub fn response(&self, url: &str, bytes: &[u8]) -> Result<Extracted> {
        let response = Response::with_limits(bytes, &self.limits)?;
        if response.status() != 200 {
            return Ok(Extracted::Skipped(SkipReason::Status(response.status())));
        }
        let content_type = response.header("Content-Type").unwrap_or_default();
        // Checked before the body is decoded, which takes time.
        if declared_kind(content_type) == Some(None) {
            return Ok(Extracted::Skipped(SkipReason::MediaType));
        }
        Ok(match response.decode_body(&self.limits)? {
            Some(body) => self.document(url, content_type, &body),
            None => Extracted::Skipped(SkipReason::TooLarge),
        })
    }

    /// Makes a page of a document, given its URL and the value of its Content-Type header. It is a
    /// page if it is HTML or plain text. If the value says nothing, as an empty one does, a
    /// document that begins with `<` is HTML, and any other is plain text unless it is binary. A
    /// page without main content is skipped if the extraction keeps nothing else, unless it shows
    /// nothing at all: then it is a page with an empty text.
    ///
    /// This is the function for a crawler whose HTTP client has decoded the body already.
    ///
    /// # Examples
    ///
    /// ```
    /// let extractor = fpdb_web::Extractor::default();
    /// let kind = "text/html; charset=gbk";
    /// let outcome = extractor.document("http://a.example/", kind, b"\xd6\xd0");
    /// assert_eq!(outcome.page().unwrap().text, "中");
    /// ```
    pub fn document(&self, url: &str, content_type: &str, bytes: &[u8]) -> Extracted {
        if bytes.len() > self.limits.record {
            return Extracted::Skipped(SkipReason::TooLarge);
        }
        let kind = match declared_kind(content_type) {
            Some(Some(kind)) => Some(kind),
            Some(None) => return Extracted::Skipped(SkipReason::MediaType),
            None => None,
        };
        if is_binary(bytes) {
            return Extracted::Skipped(SkipReason::Binary);
        }
        let kind = kind.unwrap_or_else(|| sniffed_kind(bytes));
        let decoded = decode_with(bytes, Hints { content_type, url, html: kind == Kind::Html });
        let text = match kind {
            Kind::Html => self.extraction.text(&decoded.text),
            Kind::Plain => plain_text(&decoded.text),
        };
        let shows_text = || !Extraction::STRIP_1.text(&decoded.text).is_empty();
        if text.is_empty() && kind == Kind::Html && shows_text() {
            return Extracted::Skipped(SkipReason::NoText);
        }
        Extracted::Page(Page {
            url: url.to_owned(),
            text,
            charset: decoded.charset,
            charset_source: decoded.source,
            extraction: self.extraction,
        })
    }
}
