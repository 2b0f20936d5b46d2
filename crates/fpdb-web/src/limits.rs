//! Limits on what hostile input may cost.

/// Limits on the memory and time that one record may take.
///
/// Records that exceed the limits of size or expansion are skipped, not errors; everything else
/// that exceeds a limit is an error of kind [`Limit`](crate::ErrorKind::Limit), and reading
/// continues with the next record.
///
/// # Examples
///
/// ```
/// use fpdb_web::{Extracted, Extractor, Limits, SkipReason};
///
/// assert_eq!(Limits::default(), Limits::DEFAULT);
/// let extractor = Extractor::default().limits(Limits::DEFAULT.max_record(10).max_expansion(100));
/// let outcome = extractor.document("http://a.example/", "text/html", b"<p>twelve bytes");
/// assert_eq!(outcome, Extracted::Skipped(SkipReason::TooLarge));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Limits {
    pub(crate) record: usize,
    pub(crate) header: usize,
    pub(crate) header_lines: usize,
    pub(crate) codings: usize,
    pub(crate) expansion: usize,
}

/// Bytes that a body may always have, whatever the [expansion](Limits::max_expansion).
const ALWAYS: usize = 1 << 20;

impl Limits {
    /// The default limits: records of 64 MiB, headers of 1 MiB and 4096 lines, 8 codings, and
    /// bodies that become at most 1024 times as large by decoding.
    pub const DEFAULT: Self =
        Self { record: 64 << 20, header: 1 << 20, header_lines: 4096, codings: 8, expansion: 1024 };

    /// Sets the largest number of bytes of a record's block, and of a page, both as stored and
    /// after each step of decoding. Larger ones are skipped. The default is 64 MiB.
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

    /// Sets the largest number of lines of a record's header, and of an HTTP response's header. A
    /// line can be much shorter than what it takes in memory. The default is 4096.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_web::{ErrorKind, Limits, Response};
    ///
    /// let response = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a:b\r\n".repeat(5000));
    /// let error = Response::parse(response.as_bytes()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Limit);
    /// let limits = Limits::default().max_header_lines(10_000);
    /// assert!(Response::with_limits(response.as_bytes(), &limits).is_ok());
    /// ```
    pub const fn max_header_lines(self, count: usize) -> Self {
        Self { header_lines: count, ..self }
    }

    /// Sets how many times as large as it is stored a response's body may be after any step of
    /// decoding. A larger one is skipped, unless it has less than 1 MiB. One step of gzip can reach
    /// 1032, and each further step multiplies that, so without this limit 200 bytes could cost as
    /// much time as the largest record. The default is 1024; real pages have at most about 100.
    pub const fn max_expansion(self, factor: usize) -> Self {
        Self { expansion: factor, ..self }
    }

    /// Returns the largest number of bytes that a body may have after decoding.
    pub(crate) fn decoded(&self, stored: usize) -> usize {
        stored.saturating_mul(self.expansion).max(ALWAYS).min(self.record)
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
