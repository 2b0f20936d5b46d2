//! Limits on what hostile input may cost.

/// Limits on the memory and time that one record may take.
///
/// Records that exceed the size limit are skipped, not errors; everything else that exceeds a
/// limit is an error of kind [`Limit`](crate::ErrorKind::Limit), and reading continues with the
/// next record.
///
/// # Examples
///
/// ```
/// use fpdb_web::{Archive, Limits};
///
/// let limits = Limits::default().max_record(1 << 20).max_codings(2);
/// let archive = Archive::with_limits(&b""[..], limits)?;
/// assert_eq!(archive.count(), 0);
/// # Ok::<(), fpdb_web::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Limits {
    pub(crate) record: usize,
    pub(crate) header: usize,
    pub(crate) codings: usize,
}

impl Limits {
    /// The default limits: records of 64 MiB, headers of 1 MiB, 8 codings.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_web::Limits;
    /// assert_eq!(Limits::default(), Limits::DEFAULT);
    /// ```
    pub const DEFAULT: Self = Self { record: 64 << 20, header: 1 << 20, codings: 8 };

    /// Sets the largest number of bytes of a record's block, and of a page, both as stored and
    /// after each step of decoding. Larger ones are skipped. The default is 64 MiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_web::{Extractor, Limits, Outcome, SkipReason};
    ///
    /// let extractor = Extractor::default().limits(Limits::default().max_record(10));
    /// let outcome = extractor.document("http://a.example/", "text/html", b"<p>twelve bytes");
    /// assert_eq!(outcome, Outcome::Skipped(SkipReason::TooLarge));
    /// ```
    pub const fn max_record(self, bytes: usize) -> Self {
        Self { record: bytes, ..self }
    }

    /// Sets the largest number of bytes of a record's header, and of an HTTP response's header.
    /// The default is 1 MiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_web::{ErrorKind, Extractor, Limits};
    ///
    /// let extractor = Extractor::default().limits(Limits::default().max_header(20));
    /// let response = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>text";
    /// let error = extractor.response("http://a.example/", response).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Limit);
    /// ```
    pub const fn max_header(self, bytes: usize) -> Self {
        Self { header: bytes, ..self }
    }

    /// Sets the largest number of transfer and content codings, counted together, that a response
    /// may name. Each costs one pass over the body, so without this limit the time would be
    /// quadratic in the size of the response. The default is 8; real responses have at most 2 or 3.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_web::{ErrorKind, Extractor};
    ///
    /// let codings = ["chunked"; 9].join(", ");
    /// let response = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {codings}\r\n\r\n<p>text");
    /// let error = Extractor::default().response("u", response.as_bytes()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Limit);
    /// ```
    pub const fn max_codings(self, count: usize) -> Self {
        Self { codings: count, ..self }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
