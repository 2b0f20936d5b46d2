//! HTTP answers as crawls store them: heads, and bodies in whatever encodings they were sent.
//!
//! Archives are not always true to what was sent: some crawlers undo an encoding and leave the
//! header that announced it. So an encoding that a body does not have is taken as undone. A body
//! that ends too early, as where the connection broke, is taken as far as it goes.

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

use super::fields::Fields;

/// What comes of decoding.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// More bytes than the limit.
    TooLarge,
    Broken(String),
}

/// An answer, its body as it was stored.
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    pub(super) fields: Fields,
    body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// Reads the head. A head without an end is all of the answer.
    pub(super) fn parse(block: &'a [u8]) -> Result<Self, String> {
        let (head, body) = split_head(block);
        let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
        let status = status(line).ok_or_else(|| {
            let line = line.get(..40).unwrap_or(line).trim_ascii();
            format!("expected an HTTP status line, found {:?}", String::from_utf8_lossy(line))
        })?;
        Ok(Self { status, fields: Fields::parse(head.get(line.len()..).unwrap_or_default()), body })
    }

    /// The body with all encodings undone: of more than `limit` bytes it fails.
    pub(super) fn body(&self, limit: usize) -> Result<Vec<u8>, Fault> {
        let mut body = self.body.to_vec();
        // The order of headers is the order of encoding; transfer encodings came last.
        for name in ["Transfer-Encoding", "Content-Encoding"] {
            for value in self.fields.all(name).rev() {
                for coding in value.rsplit(',') {
                    body = decode(coding.trim(), body, limit)?;
                }
            }
        }
        Ok(body)
    }
}

/// The head with its last line end, and what follows the blank line after it.
fn split_head(block: &[u8]) -> (&[u8], &[u8]) {
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

fn status(line: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(line.get(..line.len().min(64))?).ok()?;
    let mut words = line.split_ascii_whitespace();
    let version = words.next()?;
    version.get(..5)?.eq_ignore_ascii_case("HTTP/").then_some(())?;
    words.next()?.parse().ok().filter(|status| (100..1000).contains(status))
}

fn decode(coding: &str, body: Vec<u8>, limit: usize) -> Result<Vec<u8>, Fault> {
    let bytes = body.as_slice();
    match coding.to_ascii_lowercase().as_str() {
        "chunked" => Ok(unchunk(bytes).unwrap_or(body)),
        "gzip" | "x-gzip" if bytes.starts_with(&[0x1f, 0x8b]) => {
            read("gzip", GzDecoder::new(bytes), limit)
        }
        "deflate" if is_zlib(bytes) => read("deflate", ZlibDecoder::new(bytes), limit),
        // As the name says, and as some servers send it, against the standard.
        "deflate" if !is_text(bytes) => read("deflate", DeflateDecoder::new(bytes), limit),
        "br" if !is_text(bytes) => read("br", Decompressor::new(bytes, 1 << 12), limit),
        #[cfg(feature = "zstd")]
        "zstd" if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => {
            let decoder = zstd::stream::read::Decoder::with_buffer(bytes);
            read("zstd", decoder.map_err(|e| Fault::Broken(format!("zstd body: {e}")))?, limit)
        }
        #[cfg(not(feature = "zstd"))]
        "zstd" => Err(Fault::Broken("zstd body: this build lacks the feature \"zstd\"".to_owned())),
        _ => Ok(body),
    }
}

fn is_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [a, b, ..] if a & 15 == 8 && (u16::from(*a) << 8 | u16::from(*b)) % 31 == 0)
}

/// Whether this is most likely text that is not encoded any more.
fn is_text(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    bytes.is_empty() || bytes.starts_with(b"<")
}

fn read(name: &str, decoder: impl Read, limit: usize) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    let read = decoder.take(limit as u64 + 1).read_to_end(&mut body);
    if body.len() > limit {
        return Err(Fault::TooLarge);
    }
    match read {
        Ok(_) => Ok(body),
        // The body is cut: what there is of it is the page.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !body.is_empty() => Ok(body),
        Err(error) => Err(Fault::Broken(format!("{name} body: {error}"))),
    }
}

/// The content of chunks; None if the body does not begin with a whole chunk, and so is none.
fn unchunk(body: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::with_capacity(body.len());
    let mut rest = body;
    let mut first = true;
    loop {
        let chunk = chunk(rest);
        let Some((data, after)) = chunk else {
            // The rest of a body that is cut, or damaged: a browser shows what came before.
            return if first { None } else { Some(content) };
        };
        if data.is_empty() {
            return Some(content);
        }
        content.extend_from_slice(data);
        (rest, first) = (after, false);
    }
}

/// The data of the chunk at the beginning, and what follows it. Of the last chunk of a body that
/// is cut, the data that there is.
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

    fn body(head: &str, body: &[u8]) -> Result<Vec<u8>, Fault> {
        let block = [b"HTTP/1.1 200 OK\r\n", head.as_bytes(), b"\r\n\r\n", body].concat();
        Answer::parse(&block).unwrap().body(1000)
    }

    #[test]
    fn encodings_are_undone_the_last_first() {
        let head = "content-ENCODING: gzip\r\ntransfer-encoding:\r\n\tChunked";
        assert_eq!(body(head, &chunked(&gzip(PAGE))).unwrap(), PAGE);
        assert_eq!(body("Transfer-Encoding: gzip, chunked", &chunked(&gzip(PAGE))).unwrap(), PAGE);
        let twice = "Content-Encoding: gzip\r\nContent-Encoding: x-gzip";
        assert_eq!(body(twice, &gzip(&gzip(PAGE))).unwrap(), PAGE);
        assert_eq!(body("Content-Encoding: identity", PAGE).unwrap(), PAGE);
    }

    #[test]
    fn deflate_is_read_with_and_without_its_wrapper() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(PAGE).unwrap();
        assert_eq!(body("Content-Encoding: deflate", &zlib.finish().unwrap()).unwrap(), PAGE);
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        raw.write_all(PAGE).unwrap();
        assert_eq!(body("Content-Encoding: deflate", &raw.finish().unwrap()).unwrap(), PAGE);
    }

    #[test]
    #[cfg(feature = "zstd")]
    fn zstd_is_read() {
        let frame = zstd::encode_all(PAGE, 3).unwrap();
        assert_eq!(body("Content-Encoding: zstd", &frame).unwrap(), PAGE);
    }

    #[test]
    fn brotli_is_read() {
        // What a brotli encoder makes of a short text: uncompressed, in a stream of one block.
        let stream = b"\x0b\x02\x80hello\x03";
        assert_eq!(body("Content-Encoding: br", stream).unwrap(), b"hello");
    }

    #[test]
    fn an_encoding_that_is_undone_already_is_let_be() {
        for head in ["Transfer-Encoding: chunked", "Content-Encoding: gzip", "Content-Encoding: br"]
        {
            assert_eq!(body(head, PAGE).unwrap(), PAGE, "{head}");
        }
        // Begins with what could be the size of a chunk, but none follows.
        let numbers = b"10\nbottles of milk, and then 9";
        assert_eq!(body("Transfer-Encoding: chunked", numbers).unwrap(), numbers);
    }

    #[test]
    fn a_body_that_is_cut_is_taken_as_far_as_it_goes() {
        let chunks = chunked(PAGE);
        let cut = body("Transfer-Encoding: chunked", &chunks[..36]).unwrap();
        assert!(cut.len() > 7 && PAGE.starts_with(&cut));
        let long: Vec<u8> = (0..900u32).map(|i| (i * i % 251) as u8).collect();
        let zipped = gzip(&long);
        let cut = body("Content-Encoding: gzip", &zipped[..zipped.len() - 9]).unwrap();
        assert!(cut.len() > 100 && long.starts_with(&cut), "{}", cut.len());
    }

    #[test]
    fn bombs_and_damage_are_told() {
        let bomb = gzip(&vec![b' '; 1 << 20]);
        assert_eq!(body("Content-Encoding: gzip", &bomb), Err(Fault::TooLarge));
        let mut damaged = gzip(PAGE);
        damaged[12] ^= 0xff;
        let told = body("Content-Encoding: gzip", &damaged).unwrap_err();
        assert!(
            matches!(&told, Fault::Broken(told) if told.starts_with("gzip body: ")),
            "{told:?}"
        );
    }

    #[test]
    fn heads_are_read_with_any_line_ends() {
        for block in ["HTTP/1.0 404 Not Found\nA: b\n\nbody", "http/2 404\r\na:b\r\n\r\nbody"] {
            let answer = Answer::parse(block.as_bytes()).unwrap();
            assert_eq!(
                (answer.status, answer.fields.get("A"), answer.body),
                (404, Some("b"), &b"body"[..])
            );
        }
        assert_eq!(Answer::parse(b"HTTP/1.1 200").unwrap().body, b"");
        for block in ["", "<html>", "HTTP/1.1", "HTTP/1.1 2", "HTTP/1.1 x\r\n\r\n"] {
            assert!(Answer::parse(block.as_bytes()).is_err(), "{block}");
        }
    }
}
