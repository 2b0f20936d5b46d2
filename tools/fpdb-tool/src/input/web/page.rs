//! From a capture to a page.

use encoding_rs::Encoding;
use serde::Serialize;

use super::charset::{self, Told};
use super::http::{Answer, Fault};
use super::record::{Capture, Form};
use super::{Event, Options, Reason, TextMode, content, text};

/// Bytes of a text that its language is guessed by.
const LANGUAGE_SAMPLE: usize = 512;

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// The URL it was captured from, or the path of its file.
    pub(crate) id: String,
    /// Lines without spaces at their ends.
    pub(crate) text: String,
    /// The name of its encoding as the WHATWG standard has it: `UTF-8`, `gb18030`, `Big5`.
    pub(crate) charset: &'static str,
    pub(crate) charset_source: CharsetSource,
    /// Where its record begins in the file, or the gzip member that the record begins in.
    pub(crate) offset: u64,
}

/// What an encoding was known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CharsetSource {
    /// A byte order mark.
    Bom,
    /// The Content-Type header of the answer.
    Header,
    /// The page's own `<meta>`.
    Meta,
    /// Nothing says it: by the bytes.
    Detected,
}

/// What a document is, as far as it has text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Plain,
}

/// Makes a page of a capture, if it holds one.
pub(super) fn extract(capture: Capture, options: &Options) -> Event {
    let offset = capture.offset;
    match try_extract(&capture, options) {
        Ok(page) => Event::Page(page),
        Err(No::Skipped(reason)) => Event::Skipped { offset, reason },
        Err(No::Broken(error)) => {
            let error = format!("{}: {error}", capture.url);
            Event::Broken { offset, error }
        }
    }
}

/// Why a capture gives no page.
enum No {
    Skipped(Reason),
    Broken(String),
}

impl From<Fault> for No {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::TooLarge => Self::Skipped(Reason::TooLarge),
            Fault::Broken(error) => Self::Broken(error),
        }
    }
}

fn try_extract(capture: &Capture, options: &Options) -> Result<Page, No> {
    let page = |bytes: &[u8], content_type: &str| {
        let kind = kind(content_type, bytes).ok_or(No::Skipped(Reason::MediaType))?;
        Ok(page(capture, kind, bytes, content_type, options.text))
    };
    match &capture.form {
        Form::Bare(content_type) => page(&capture.block, content_type),
        Form::Http => {
            let answer = Answer::parse(&capture.block).map_err(No::Broken)?;
            if answer.status != 200 {
                return Err(No::Skipped(Reason::Status(answer.status)));
            }
            let content_type = answer.fields.get("Content-Type").unwrap_or_default();
            // Before the body is decoded, which takes its time.
            if !content_type.is_empty() && kind(content_type, &[]).is_none() {
                return Err(No::Skipped(Reason::MediaType));
            }
            page(&answer.body(options.max_record)?, content_type)
        }
    }
}

/// What a document is. Without a header that says so, by its first byte.
fn kind(content_type: &str, bytes: &[u8]) -> Option<Kind> {
    let essence = content_type.split([';', ',']).next().unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "text/html" | "application/xhtml+xml" => Some(Kind::Html),
        "text/plain" => Some(Kind::Plain),
        "" if bytes.trim_ascii_start().starts_with(b"<") => Some(Kind::Html),
        _ => None,
    }
}

fn page(capture: &Capture, kind: Kind, bytes: &[u8], content_type: &str, mode: TextMode) -> Page {
    let told = Told { content_type, url: &capture.url, html: kind == Kind::Html };
    let (decoded, encoding, charset_source) = charset::decode(bytes, told);
    let text = match (kind, mode) {
        (Kind::Html, TextMode::Main) => content::of(&text::of(&decoded)),
        (Kind::Html, TextMode::Strip) => text::of(&decoded).text,
        (Kind::Plain, _) => text::plain(&decoded),
    };
    let charset = Encoding::name(encoding);
    let (id, offset) = (capture.url.clone(), capture.offset);
    Page { id, text, charset, charset_source, offset }
}

impl Page {
    /// A guess at the language by the beginning of the text, as an ISO 639-3 code: `eng`, `cmn`.
    /// None where there is none to rely on. It takes about as long as the text took to make.
    pub(crate) fn language(&self) -> Option<&'static str> {
        let end = LANGUAGE_SAMPLE.min(self.text.len());
        let end = (0..=end).rev().find(|&at| self.text.is_char_boundary(at))?;
        let sample = self.text.get(..end)?;
        // In a Chinese or Japanese text, the words of other scripts are names and code.
        let wide: String = sample.chars().filter(|&c| text::is_unspaced(c)).collect();
        let info = whatlang::detect(if wide.len() * 4 > sample.len() { &wide } else { sample })?;
        info.is_reliable().then(|| info.lang().code())
    }
}
