//! One record of an archive, as it is stored.

use crate::fields::Fields;

/// What a record of an archive holds.
///
/// # Examples
///
/// ```
/// use fpdb_web::{Archive, RecordKind};
///
/// let archive = b"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n";
/// let record = Archive::new(&archive[..])?.next().unwrap()?;
/// assert_eq!(record.kind(), RecordKind::Metadata);
/// # Ok::<(), fpdb_web::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// A description of the archive.
    Warcinfo,
    /// What the crawler sent.
    Request,
    /// What the server answered.
    Response,
    /// A document by itself, without the response that it came in.
    Resource,
    /// A document that was made of another one.
    Conversion,
    /// Notes of the crawler. Wget stores them as resources whose URLs begin with `metadata:`.
    Metadata,
    /// A response that equals one captured earlier, and does not repeat its body.
    Revisit,
    /// Any other type, such as `continuation`.
    Other,
}

/// What the header of a record says, in either format.
#[derive(Debug)]
pub(super) struct Header {
    /// Bytes of the block that follows.
    pub(super) length: u64,
    pub(super) kind: RecordKind,
    /// Empty if there is none.
    pub(super) url: String,
    /// The media type of the block. Empty if it is unknown.
    pub(super) content_type: String,
    pub(super) fields: Fields,
    /// What is wrong with the record, if its end can still be found.
    pub(super) fault: Option<&'static str>,
}

/// One record of an archive: its header and its block, which is not decoded yet.
///
/// # Examples
///
/// ```
/// use fpdb_web::{Archive, Limits, RecordKind};
///
/// let archive = b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a.example/\r\n\
///     Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n".repeat(2);
/// let record = Archive::new(&archive[..])?.nth(1).unwrap()?;
/// assert_eq!((record.offset(), record.url()), (archive.len() as u64 / 2, "http://a.example/"));
/// assert_eq!((record.content_type(), record.block()), ("text/plain", &b"hello"[..]));
/// assert_eq!((record.kind(), record.header("content-length")), (RecordKind::Resource, Some("5")));
/// assert!(record.size() > 5);
///
/// let limits = Limits::default().max_record(4);
/// let record = Archive::with_limits(&archive[..], limits)?.next().unwrap()?;
/// assert!(record.is_truncated() && record.block().is_empty());
/// # Ok::<(), fpdb_web::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub(super) offset: u64,
    pub(super) kind: RecordKind,
    pub(super) url: String,
    pub(super) content_type: String,
    pub(super) fields: Fields,
    pub(super) block: Vec<u8>,
    pub(super) truncated: bool,
}

impl Record {
    /// Makes a record of a document that is not in an archive, so that it can be processed as
    /// those are. Its offset is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_web::{Extractor, Record};
    ///
    /// let record = Record::resource("a.html", "text/html", b"<p>Hello".to_vec());
    /// let page = Extractor::default().record(&record)?.page().unwrap();
    /// assert_eq!((page.url.as_str(), page.text.as_str()), ("a.html", "Hello"));
    /// # Ok::<(), fpdb_web::Error>(())
    /// ```
    pub fn resource(
        url: impl Into<String>,
        content_type: impl Into<String>,
        block: Vec<u8>,
    ) -> Self {
        Self {
            offset: 0,
            kind: RecordKind::Resource,
            url: url.into(),
            content_type: content_type.into(),
            fields: Fields::default(),
            block,
            truncated: false,
        }
    }

    /// Returns where the record begins in the file as it is stored, or where the gzip member
    /// that holds it begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns what the record holds. In ARC files, records of `http` and `https` are responses,
    /// the first record is `warcinfo`, and all others are resources.
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// Returns the URL that was captured. It is empty in records that name none, such as
    /// `warcinfo`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the media type of the block: `application/http` for an HTTP message, and otherwise
    /// the document's media type. It is empty if the record does not say it.
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// Returns the value of the first header field of this name, ignoring case. Records of ARC
    /// files have no such fields.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.fields.get(name)
    }

    /// Returns the block: an HTTP message with its header, or a document. It is empty if the
    /// record is [truncated](Self::is_truncated).
    pub fn block(&self) -> &[u8] {
        &self.block
    }

    /// Returns whether the block exceeded the [limit](crate::Limits::max_record) and was skipped.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Returns about how many bytes of memory the record takes, by which a queue of records can
    /// be bounded.
    pub fn size(&self) -> usize {
        self.block.len() + self.url.len() + self.content_type.len() + self.fields.size()
    }
}
