//! HTTP responses as crawls store them: their headers, and bodies in any coding.
//!
//! Archives do not always store what was sent: some crawlers undo a coding and leave the header
//! that announced it. So if a body does not have the form of a coding, the coding counts as undone.
//! A body that ends too early, as when the connection broke, is decoded as far as it goes.

use std::io::{self, Read};

use brotli_decompressor::{BrotliDecoderParameter, Decompressor};
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

use crate::error::{Error, ErrorKind, Result};
use crate::fields::Fields;
use crate::limits::Limits;

/// The most interim responses before the final one.
const MAX_INTERIM: usize = 8;

/// The binary logarithm of the largest window of the coding `zstd` (RFC 9659).
#[cfg(feature = "zstd")]
const ZSTD_WINDOW: u32 = 23;

/// The first bytes of a gzip member.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// An HTTP response as an archive stores it: its header, and its body as it was sent.
///
/// # Examples
///
/// ```
/// use fpdb_web::{Limits, Response};
///
/// let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
/// let response = Response::parse(bytes)?;
/// assert_eq!((response.status(), response.header("transfer-encoding")), (200, Some("chunked")));
/// assert_eq!(response.body(), b"5\r\nhello\r\n0\r\n\r\n");
/// assert_eq!(response.decode_body(&Limits::default())?.as_deref(), Some(&b"hello"[..]));
/// assert!(Response::with_limits(bytes, &Limits::default().max_header(4)).is_err());
/// # Ok::<(), fpdb_web::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response<'a> {
    status: u16,
    fields: Fields,
    body: &'a [u8],
}

impl<'a> Response<'a> {
    /// Parses a response with the default [`Limits`]. If its header has no end, there is no body.
    ///
    /// # Errors
    ///
    /// An error of kind [`Response`](ErrorKind::Response) if the first line is not a status line,
    /// and of kind [`Limit`](ErrorKind::Limit) if the header is too long or has too many lines.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::with_limits(bytes, &Limits::default())
    }

    /// Parses a response with these limits.
    ///
    /// # Errors
    ///
    /// The same as [`parse`](Self::parse).
    pub fn with_limits(bytes: &'a [u8], limits: &Limits) -> Result<Self> {
        let (mut head, mut body) = split_header(bytes);
        // A final response follows after interim ones, such as `100 Continue`.
        for _ in 0..MAX_INTERIM {
            let is_interim = status(head).is_some_and(|status| (100..200).contains(&status));
            if !is_interim || status(body).is_none() {
                break;
            }
            (head, body) = split_header(body);
        }
        if head.len() > limits.header {
            let message = format!("the header of a response has more than {} bytes", limits.header);
            return Err(Error::new(ErrorKind::Limit, message));
        }
        if memchr::memchr_iter(b'\n', head).nth(limits.header_lines).is_some() {
            let count = limits.header_lines;
            let message = format!("the header of a response has more than {count} lines");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
        let status = status(line).ok_or_else(|| {
            let line = line.get(..40).unwrap_or(line).trim_ascii();
            let line = String::from_utf8_lossy(line);
            let message = format!("expected an HTTP status line, found {line:?}");
            Error::new(ErrorKind::Response, message)
        })?;
        Ok(Self { status, fields: Fields::parse(head.get(line.len()..).unwrap_or_default()), body })
    }

    /// Returns the status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the value of the first header field of this name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.fields.get(name)
    }

    /// Returns the body as it is stored.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Undoes all transfer and content codings of the body: `chunked`, `gzip`, `deflate`, `br` and,
    /// with the feature `zstd`, `zstd`. Returns None if the body exceeds the limits of its
    /// [size](Limits::max_record) or [expansion](Limits::max_expansion) at any step.
    ///
    /// # Errors
    ///
    /// An error of kind [`Coding`](ErrorKind::Coding) if the body is damaged, and of kind
    /// [`Limit`](ErrorKind::Limit) if the header names too many codings.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_web::{Limits, Response};
    ///
    /// let bytes = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n<p>plain";
    /// let response = Response::parse(bytes)?;
    /// // The crawler has undone the coding already.
    /// assert_eq!(response.decode_body(&Limits::default())?.as_deref(), Some(&b"<p>plain"[..]));
    /// assert_eq!(response.decode_body(&Limits::default().max_record(3))?, None);
    /// # Ok::<(), fpdb_web::Error>(())
    /// ```
    pub fn decode_body(&self, limits: &Limits) -> Result<Option<Vec<u8>>> {
        // The order of the fields is the order of encoding. Transfer codings were applied last.
        let names = ["Transfer-Encoding", "Content-Encoding"];
        let values = names.iter().flat_map(|name| self.fields.all(name).rev());
        let codings = values.flat_map(|value| value.rsplit(',').map(str::trim));
        if codings.clone().nth(limits.codings).is_some() {
            let message = format!("the body has more than {} codings", limits.codings);
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let limit = limits.decoded(self.body.len());
        let mut body = self.body.to_vec();
        for coding in codings {
            if body.len() > limit {
                break;
            }
            body = decode(coding, body, limit)?;
        }
        Ok(Some(body).filter(|body| body.len() <= limit))
    }
}

/// Returns the header with its last line end, and what follows the blank line after it.
fn split_header(block: &[u8]) -> (&[u8], &[u8]) {
    let mut line = 0;
    while let Some(end) = memchr::memchr(b'\n', block.get(line..).unwrap_or_default()) {
        let next = line + end + 1;
        let is_blank = matches!(block.get(line..next), Some(b"\n" | b"\r\n"));
        if is_blank && line > 0 {
            return (block.get(..line).unwrap_or_default(), block.get(next..).unwrap_or_default());
        }
        line = next;
    }
    (block, &[])
}

/// Returns the status of a response whose first line this begins with. Some servers send 0. The
/// reason after it can be anything. Old servers leave out the version.
pub(crate) fn status(bytes: &[u8]) -> Option<u16> {
    let line = bytes.get(..bytes.len().min(64))?.split(|&b| b == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let version = words.next()?;
    let (name, rest) = version.split_at_checked(4)?;
    (name.eq_ignore_ascii_case(b"HTTP") && (rest.is_empty() || rest.starts_with(b"/")))
        .then_some(())?;
    let status = std::str::from_utf8(words.next()?).ok()?;
    status.parse().ok().filter(|status| matches!(status, 0 | 100..1000))
}

/// Undoes one coding. Of a result that exceeds the limit, one byte more than the limit is returned.
fn decode(coding: &str, body: Vec<u8>, limit: usize) -> Result<Vec<u8>> {
    let bytes = body.as_slice();
    match coding.to_ascii_lowercase().as_str() {
        "chunked" => Ok(unchunk(bytes).unwrap_or(body)),
        "gzip" | "x-gzip" if bytes.starts_with(&GZIP_MAGIC) => gunzip(bytes, limit),
        "deflate" if is_zlib(bytes) => read("deflate", ZlibDecoder::new(bytes), limit),
        // Without the zlib header: as some servers send it, against the standard.
        "deflate" if !is_text(bytes) => read("deflate", DeflateDecoder::new(bytes), limit),
        "br" if !is_text(bytes) => {
            let mut rest = bytes;
            let mut decoder = Decompressor::new(&mut rest, 1 << 12);
            // Browsers refuse larger windows, of up to 1 GiB.
            decoder.set_parameter(BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
            let mut body = Vec::new();
            let read = decoder.take((limit as u64).saturating_add(1)).read_to_end(&mut body);
            match read {
                Ok(_) => Ok(body),
                // The decoder does not tell a body that is cut off from a damaged one.
                Err(_) if rest.is_empty() && !body.is_empty() => Ok(body),
                Err(error) => Err(damaged("br", &error)),
            }
        }
        #[cfg(feature = "zstd")]
        "zstd" if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => {
            let decoder = zstd::stream::read::Decoder::with_buffer(bytes);
            let mut decoder = decoder.map_err(|e| damaged("zstd", &e))?;
            decoder.window_log_max(ZSTD_WINDOW).map_err(|e| damaged("zstd", &e))?;
            read("zstd", decoder, limit)
        }
        #[cfg(not(feature = "zstd"))]
        "zstd" => {
            let message = "zstd body: this build lacks the feature \"zstd\"";
            Err(Error::new(ErrorKind::Coding, message))
        }
        _ => Ok(body),
    }
}

/// Undoes gzip. A body may have several members (RFC 1952). What follows them is ignored, as
/// browsers do.
fn gunzip(bytes: &[u8], limit: usize) -> Result<Vec<u8>> {
    let mut decoder = GzDecoder::new(bytes);
    let mut body = read("gzip", &mut decoder, limit)?;
    while body.len() <= limit && decoder.get_ref().starts_with(&GZIP_MAGIC) {
        let rest = *decoder.get_ref();
        decoder.reset(rest);
        append("gzip", &mut decoder, limit, &mut body)?;
    }
    Ok(body)
}

fn is_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [a, b, ..] if a & 15 == 8 && (u16::from(*a) << 8 | u16::from(*b)) % 31 == 0)
}

/// Returns whether this is most likely text, so that a coding has been undone already.
fn is_text(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    bytes.is_empty() || bytes.starts_with(b"<")
}

fn read(name: &str, decoder: impl Read, limit: usize) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    append(name, decoder, limit, &mut body)?;
    Ok(body)
}

fn append(name: &str, decoder: impl Read, limit: usize, body: &mut Vec<u8>) -> Result<()> {
    let room = (limit as u64).saturating_add(1).saturating_sub(body.len() as u64);
    match decoder.take(room).read_to_end(body) {
        Ok(_) => Ok(()),
        // The body is cut off: the part that is there is the page.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !body.is_empty() => Ok(()),
        Err(error) => Err(damaged(name, &error)),
    }
}

fn damaged(coding: &str, error: &io::Error) -> Error {
    Error::new(ErrorKind::Coding, format!("{coding} body: {error}"))
}

/// Joins the chunks of a body. Returns None if it does not begin with a chunk, and so is not
/// chunked.
fn unchunk(body: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::with_capacity(body.len());
    let mut rest = body;
    let mut first = true;
    loop {
        let chunk = chunk(rest);
        let Some((data, after)) = chunk else {
            // The rest of the body is cut off or damaged. A browser shows what came before.
            return if first { None } else { Some(content) };
        };
        if data.is_empty() {
            return Some(content);
        }
        content.extend_from_slice(data);
        (rest, first) = (after, false);
    }
}

/// Returns the data of the first chunk, and what follows it. If the body is cut off within the
/// chunk, returns the data that is there.
fn chunk(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'\n', bytes.get(..bytes.len().min(256))?)?;
    let line = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let size = line.split(';').next()?.trim();
    let digits = !size.is_empty() && size.bytes().all(|b| b.is_ascii_hexdigit());
    let size = usize::from_str_radix(size, 16).ok().filter(|_| digits)?;
    let data = bytes.get(end + 1..)?;
    let Some(after) = data.get(size..) else { return Some((data, &[])) };
    let after = match after {
        [b'\r', b'\n', after @ ..] | [b'\n', after @ ..] => after,
        [] | [b'\r'] => &[],
        _ => return None,
    };
    Some((data.get(..size)?, after))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    const PAGE: &[u8] = b"<p>some text, some text, some text</p>";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn chunked(bytes: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        for chunk in bytes.chunks(7) {
            write!(body, "{:03X};ext=1\r\n", chunk.len()).unwrap();
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\nTrailer: x\r\n\r\n");
        body
    }

    fn body(header: &str, body: &[u8]) -> Result<Vec<u8>> {
        let bytes = [b"HTTP/1.1 200 OK\r\n", header.as_bytes(), b"\r\n\r\n", body].concat();
        let limits = Limits::default().max_record(1000);
        Ok(Response::parse(&bytes).unwrap().decode_body(&limits)?.expect("within the limit"))
    }

    #[test]
    fn codings_are_undone_in_reverse_order() {
        let head = "content-ENCODING: gzip\r\ntransfer-encoding:\r\n\tChunked";
        assert_eq!(body(head, &chunked(&gzip(PAGE))).unwrap(), PAGE);
        assert_eq!(body("Transfer-Encoding: gzip, chunked", &chunked(&gzip(PAGE))).unwrap(), PAGE);
        let twice = "Content-Encoding: gzip\r\nContent-Encoding: x-gzip";
        assert_eq!(body(twice, &gzip(&gzip(PAGE))).unwrap(), PAGE);
        let members = [gzip(&PAGE[..9]), gzip(b""), gzip(&PAGE[9..]), vec![0; 9]].concat();
        assert_eq!(body("Content-Encoding: gzip", &members).unwrap(), PAGE);
        assert_eq!(body("Content-Encoding: identity", PAGE).unwrap(), PAGE);
    }

    #[test]
    fn deflate_is_decoded_with_and_without_zlib_header() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(PAGE).unwrap();
        assert_eq!(body("Content-Encoding: deflate", &zlib.finish().unwrap()).unwrap(), PAGE);
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        raw.write_all(PAGE).unwrap();
        assert_eq!(body("Content-Encoding: deflate", &raw.finish().unwrap()).unwrap(), PAGE);
    }

    #[test]
    #[cfg(feature = "zstd")]
    fn zstd_is_decoded() {
        let frame = zstd::encode_all(PAGE, 3).unwrap();
        assert_eq!(body("Content-Encoding: zstd", &frame).unwrap(), PAGE);
    }

    #[test]
    fn brotli_is_decoded() {
        // How a brotli encoder writes a short text: uncompressed, in a stream of one block.
        let stream = b"\x0b\x02\x80hello\x03";
        assert_eq!(body("Content-Encoding: br", stream).unwrap(), b"hello");
    }

    #[test]
    fn the_first_line_may_be_anything_with_a_status() {
        for (line, status) in [
            ("HTTP/1.1 200 D\u{e9}j\u{e0} vu", Some(200)),
            ("http/2 404", Some(404)),
            ("HTTP 200 Document follows", Some(200)),
            ("HTTP/1.1 0 No Content", Some(0)),
            ("HTTP/1.1 2000", None),
            ("HTTPS 200", None),
            ("ICY 200 OK", None),
        ] {
            let latin: Vec<u8> = line.chars().map(|c| c as u8).collect();
            assert_eq!(Response::parse(&latin).ok().map(|r| r.status()), status, "{line}");
            let long = [&latin[..], b" ", "é".repeat(500).as_bytes()].concat();
            assert_eq!(Response::parse(&long).ok().map(|r| r.status()).is_some(), status.is_some());
        }
    }

    #[test]
    fn interim_responses_are_skipped() {
        let last = "HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody";
        for before in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nA: c\r\n\r\n"]
        {
            for count in 0..3 {
                let bytes = before.repeat(count) + last;
                let response = Response::parse(bytes.as_bytes()).unwrap();
                assert_eq!((response.status(), response.header("A")), (200, Some("b")));
                assert_eq!(response.body(), b"body");
            }
            assert!(matches!(Response::parse(before.as_bytes()).unwrap().status(), 100 | 103));
        }
    }

    #[test]
    fn a_coding_that_has_been_undone_already_is_ignored() {
        for head in ["Transfer-Encoding: chunked", "Content-Encoding: gzip", "Content-Encoding: br"]
        {
            assert_eq!(body(head, PAGE).unwrap(), PAGE, "{head}");
        }
        // It begins with what could be the size of a chunk, but no chunk follows.
        let numbers = b"10\nbottles of milk, and then 9";
        assert_eq!(body("Transfer-Encoding: chunked", numbers).unwrap(), numbers);
    }

    #[test]
    fn a_truncated_body_is_decoded_as_far_as_it_goes() {
        let chunks = chunked(PAGE);
        let cut = body("Transfer-Encoding: chunked", &chunks[..36]).unwrap();
        assert!(cut.len() > 7 && PAGE.starts_with(&cut));
        let long: Vec<u8> = (0..900u32).map(|i| (i * i % 251) as u8).collect();
        let zipped = gzip(&long);
        let cut = body("Content-Encoding: gzip", &zipped[..zipped.len() - 9]).unwrap();
        assert!(cut.len() > 100 && long.starts_with(&cut), "{}", cut.len());
    }

    #[test]
    fn a_body_that_grows_beyond_the_limit_is_not_decoded_further() {
        let bomb = gzip(&gzip(&vec![b' '; 1 << 20]));
        for header in ["Content-Encoding: gzip, gzip", "Content-Encoding: gzip,gzip,gzip"] {
            let bytes = [format!("HTTP/1.1 200 OK\n{header}\n\n").as_bytes(), &bomb].concat();
            let response = Response::parse(&bytes).unwrap();
            let limits = Limits::default().max_record(1000);
            assert_eq!(response.decode_body(&limits), Ok(None), "{header}");
        }
    }

    #[test]
    fn a_damaged_body_is_an_error() {
        let mut damaged = gzip(PAGE);
        damaged[12] ^= 0xff;
        let error = body("Content-Encoding: gzip", &damaged).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Coding);
        assert!(error.message().starts_with("gzip body: "), "{error}");
    }

    /// Each coding is a pass over the body, so many of them would take quadratic time.
    #[test]
    fn the_number_of_codings_is_limited_over_all_fields() {
        let many = vec!["chunked"; 100_000].join(", ");
        let mixed = "Transfer-Encoding: a, b, c, d, e\r\nContent-Encoding: f, g\r\n\
                     content-encoding: h, i";
        for header in [&format!("Transfer-Encoding: {many}"), mixed] {
            let error = body(header, PAGE).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
            assert_eq!(error.message(), "the body has more than 8 codings");
        }
        let eight = ["chunked"; 8].join(",");
        assert_eq!(body(&format!("Transfer-Encoding: {eight}"), PAGE).unwrap(), PAGE);
    }

    #[test]
    fn headers_may_have_any_line_ends() {
        for block in ["HTTP/1.0 404 Not Found\nA: b\n\nbody", "http/2 404\r\na:b\r\n\r\nbody"] {
            let response = Response::parse(block.as_bytes()).unwrap();
            assert_eq!(
                (response.status(), response.header("A"), response.body()),
                (404, Some("b"), &b"body"[..])
            );
        }
        assert_eq!(Response::parse(b"HTTP/1.1 200").unwrap().body, b"");
        for block in ["", "<html>", "HTTP/1.1", "HTTP/1.1 2", "HTTP/1.1 x\r\n\r\n"] {
            assert!(Response::parse(block.as_bytes()).is_err(), "{block}");
        }
    }
}
