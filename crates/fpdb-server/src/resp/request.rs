//! Parses requests: arrays of bulk strings, or lines such as a person types them.
//!
//! A request may arrive in any number of pieces. The parser remembers how far it came, so that a
//! client that sends single bytes does not make it start over each time. It allocates nothing for
//! what was only announced.

use std::fmt;
use std::ops::Range;

use memchr::{memchr, memchr2};

/// The most bytes of the line that announces a count or a length.
const MAX_HEADER: usize = 32;

/// The most bytes of a request that is a line.
const MAX_LINE: usize = 64 << 10;

/// What a request may consist of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) arguments: usize,
    /// Bytes of an argument.
    pub(crate) bulk: usize,
    /// Bytes of the request as it is sent.
    pub(crate) request: usize,
    /// Whether these are the limits of a client that has not given the password.
    pub(crate) unauthenticated: bool,
}

/// A complete request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// Its bytes, with all line ends.
    pub(crate) length: usize,
    /// Where its arguments are, counted from its first byte. Empty for a request that gets no
    /// reply.
    pub(crate) arguments: Vec<Range<usize>>,
}

/// Why bytes are not a request. There is no way to find the next request after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Protocol error: {}", self.0)
    }
}

/// Parses one request after the other.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// How many bytes of the request were parsed.
    at: usize,
    arguments: Vec<Range<usize>>,
    next: Next,
}

/// What the bytes after the parsed ones should be.
#[derive(Debug, Default, Clone, Copy)]
enum Next {
    #[default]
    Start,
    Line,
    /// The length of the next argument, of which this many are missing.
    Length {
        missing: usize,
    },
    Argument {
        missing: usize,
        length: usize,
    },
}

impl Parser {
    /// Parses the request at the beginning of `bytes`. Returns `None` if it is incomplete: then the
    /// next call must have the same bytes and more. In a complete line, escapes are replaced by
    /// what they mean.
    pub(crate) fn parse(
        &mut self,
        bytes: &mut [u8],
        limits: Limits,
    ) -> Result<Option<Request>, Malformed> {
        loop {
            match self.next {
                Next::Start => match bytes.first() {
                    None => return Ok(None),
                    Some(b'*') => {
                        let invalid = || limits.invalid("multibulk length");
                        let Some(count) = self.header(bytes, invalid)? else {
                            return Ok(None);
                        };
                        // Less than none is none.
                        let count = usize::try_from(count).unwrap_or_default();
                        if count > limits.arguments {
                            let most = limits.arguments;
                            let invalid = invalid();
                            return malformed(format!("{invalid}: {count}, more than {most}"));
                        }
                        self.next = Next::Length { missing: count };
                    }
                    Some(_) => self.next = Next::Line,
                },
                Next::Line => return self.line(bytes, limits),
                Next::Length { missing: 0 } => return Ok(Some(self.finish(self.at))),
                Next::Length { missing } => {
                    let Some(&first) = bytes.get(self.at) else { return Ok(None) };
                    if first != b'$' {
                        let found = first.escape_ascii();
                        return malformed(format!("expected '$', got '{found}'"));
                    }
                    let invalid = || limits.invalid("bulk length");
                    let Some(length) = self.header(bytes, invalid)? else {
                        return Ok(None);
                    };
                    let Ok(length) = usize::try_from(length) else { return malformed(invalid()) };
                    if length > limits.bulk {
                        let most = limits.bulk;
                        let invalid = invalid();
                        return malformed(format!("{invalid}: {length}, more than {most}"));
                    }
                    if self.at + length + 2 > limits.request {
                        let most = limits.request;
                        return malformed(format!("a request of more than {most} bytes"));
                    }
                    self.next = Next::Argument { missing, length };
                }
                Next::Argument { missing, length } => {
                    let end = self.at + length;
                    let Some(line_end) = bytes.get(end..end + 2) else { return Ok(None) };
                    if line_end != b"\r\n" {
                        return malformed("an argument does not end with CR LF".to_owned());
                    }
                    self.arguments.push(self.at..end);
                    self.at = end + 2;
                    self.next = Next::Length { missing: missing - 1 };
                }
            }
        }
    }

    /// Parses the line that announces a number, after its first byte. Returns `None` if it is
    /// incomplete.
    fn header(
        &mut self,
        bytes: &[u8],
        invalid: impl Fn() -> String,
    ) -> Result<Option<i64>, Malformed> {
        let rest = bytes.get(self.at + 1..).unwrap_or_default();
        let line = &rest[..rest.len().min(MAX_HEADER)];
        let Some(length) = memchr(b'\n', line) else {
            if line.len() == MAX_HEADER || line.contains(&0) {
                return malformed(invalid());
            }
            return Ok(None);
        };
        let number = line[..length].strip_suffix(b"\r").filter(|digits| is_number(digits));
        let number = number.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        let Some(number) = number else { return malformed(invalid()) };
        self.at += 1 + length + 1;
        Ok(Some(number))
    }

    fn line(&mut self, bytes: &mut [u8], limits: Limits) -> Result<Option<Request>, Malformed> {
        let most = MAX_LINE.min(limits.request);
        let end = bytes.len().min(most);
        let line = &mut bytes[..end];
        let found = memchr2(b'\n', 0, line.get(self.at..).unwrap_or_default());
        let Some(length) = found.map(|found| self.at + found) else {
            if end == most {
                return malformed(format!("too big inline request: more than {most} bytes"));
            }
            self.at = end;
            return Ok(None);
        };
        if line[length] == 0 {
            return malformed("a zero byte in a line".to_owned());
        }
        let text = length - usize::from(line[..length].ends_with(b"\r"));
        let line = &mut line[..text];
        self.arguments = words(line)?;
        if self.arguments.len() > limits.arguments {
            return malformed(format!("more than {} arguments", limits.arguments));
        }
        let words: Vec<&[u8]> = self.arguments.iter().map(|word| &line[word.clone()]).collect();
        if is_http(&words) {
            return malformed("this is not an HTTP server".to_owned());
        }
        Ok(Some(self.finish(length + 1)))
    }

    fn finish(&mut self, length: usize) -> Request {
        let Self { arguments, .. } = std::mem::take(self);
        Request { length, arguments }
    }
}

fn malformed<T>(reason: String) -> Result<T, Malformed> {
    Err(Malformed(reason))
}

impl Limits {
    /// Returns how clients know an error in a length.
    fn invalid(&self, what: &str) -> String {
        format!("{} {what}", if self.unauthenticated { "unauthenticated" } else { "invalid" })
    }
}

fn is_number(digits: &[u8]) -> bool {
    let digits = digits.strip_prefix(b"-").unwrap_or(digits);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Returns whether a line is one of an HTTP request. A web page can make a browser send such a
/// request to a local address, with commands in its body.
fn is_http(words: &[&[u8]]) -> bool {
    match words {
        // Whatever the method, such as `HEAD / HTTP/1.1` or `PRI * HTTP/2.0`.
        [_, _, .., version]
            if version.len() >= 5 && version[..5].eq_ignore_ascii_case(b"HTTP/") =>
        {
            true
        }
        [first, ..] => first.eq_ignore_ascii_case(b"post") || first.eq_ignore_ascii_case(b"host:"),
        [] => false,
    }
}

/// Splits a line at white space, and replaces quotes and escapes in it by what they mean. Words do
/// not become longer by that, so each remains where it was.
///
/// In double quotes, `\xHH` is a byte, `\n`, `\r`, `\t`, `\b` and `\a` are control characters, and
/// `\` before anything else is left out. In single quotes, `\'` is a quote.
fn words(line: &mut [u8]) -> Result<Vec<Range<usize>>, Malformed> {
    let mut words = Vec::new();
    let mut at = 0;
    while at < line.len() {
        if line[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let start = at;
        let mut end = at;
        while let Some(&byte) = line.get(at).filter(|byte| !byte.is_ascii_whitespace()) {
            at += 1;
            if byte == b'"' || byte == b'\'' {
                at = unquote(line, byte, at, &mut end)?;
            } else {
                line[end] = byte;
                end += 1;
            }
        }
        words.push(start..end);
    }
    Ok(words)
}

/// Moves what follows a quote to `end`. Returns the place after the closing quote.
fn unquote(line: &mut [u8], quote: u8, mut at: usize, end: &mut usize) -> Result<usize, Malformed> {
    loop {
        let (byte, length) = match line[at..] {
            [byte, ref rest @ ..] if byte == quote => {
                if rest.first().is_some_and(|byte| !byte.is_ascii_whitespace()) {
                    return malformed("unbalanced quotes in request".to_owned());
                }
                return Ok(at + 1);
            }
            [b'\\', b'\'', ..] if quote == b'\'' => (b'\'', 2),
            [b'\\', b'x', high, low, ..] if quote == b'"' => match (digit(high), digit(low)) {
                (Some(high), Some(low)) => (high * 16 + low, 4),
                _ => (b'x', 2),
            },
            [b'\\', byte, ..] if quote == b'"' => (control(byte), 2),
            [byte, ..] => (byte, 1),
            [] => return malformed("unbalanced quotes in request".to_owned()),
        };
        line[*end] = byte;
        *end += 1;
        at += length;
    }
}

/// Returns the value of a hexadecimal digit.
fn digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Returns what a letter means after `\`.
fn control(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { arguments: 4, bulk: 16, request: 64, unauthenticated: false };

    fn arguments<'a>(bytes: &'a [u8], request: &Request) -> Vec<&'a [u8]> {
        request.arguments.iter().map(|range| &bytes[range.clone()]).collect()
    }

    fn parse(bytes: &[u8]) -> Result<Option<Request>, Malformed> {
        Parser::default().parse(&mut bytes.to_vec(), LIMITS)
    }

    const REQUESTS: [&[u8]; 6] = [
        b"*1\r\n$4\r\nPING\r\n",
        b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n",
        b"*3\r\n$3\r\na\r\n\r\n$2\r\n$1\r\n$4\r\n\0\xff*1\r\n",
        b"*0\r\n",
        b"ECHO \"a b\" c\r\n",
        b"\r\n",
    ];

    #[test]
    fn requests_are_split_into_arguments() {
        let expected: [&[&[u8]]; 6] = [
            &[b"PING"],
            &[b"ECHO", b""],
            &[b"a\r\n", b"$1", b"\0\xff*1"],
            &[],
            &[b"ECHO", b"a b", b"c"],
            &[],
        ];
        for (bytes, expected) in REQUESTS.iter().zip(expected) {
            // What follows is not touched.
            let mut longer = [bytes, &b"*1\r\nrest"[..]].concat();
            let request = Parser::default().parse(&mut longer, LIMITS).unwrap().unwrap();
            assert_eq!(arguments(&longer, &request), expected, "{bytes:?}");
            assert_eq!(request.length, bytes.len(), "{bytes:?}");
        }
    }

    #[test]
    fn every_truncation_is_incomplete_and_can_be_continued() {
        for bytes in REQUESTS {
            let whole = parse(bytes).unwrap();
            for end in 0..bytes.len() {
                assert_eq!(parse(&bytes[..end]), Ok(None), "{end} of {bytes:?}");
                // The same parser continues, however the rest arrives.
                let mut parser = Parser::default();
                assert_eq!(parser.parse(&mut bytes[..end].to_vec(), LIMITS), Ok(None));
                assert_eq!(parser.parse(&mut bytes.to_vec(), LIMITS).unwrap(), whole);
            }
            let mut parser = Parser::default();
            let pieces = (0..=bytes.len())
                .map(|end| parser.parse(&mut bytes[..end].to_vec(), LIMITS).unwrap());
            assert_eq!(pieces.flatten().collect::<Vec<_>>(), [whole.unwrap()]);
        }
    }

    #[test]
    fn malformed_requests_are_refused() {
        let long_line = vec![b'x'; 64];
        let long_header = [b"*".as_slice(), &[b'1'; MAX_HEADER]].concat();
        let cases: [(&[u8], &str); 31] = [
            (b"*-\r\n", "invalid multibulk length"),
            (b"*+1\r\n", "invalid multibulk length"),
            (b"*\r\n", "invalid multibulk length"),
            (b"*1x\r\n", "invalid multibulk length"),
            (b"*1\n$4\r\nPING\r\n", "invalid multibulk length"),
            (b"*99999999999999999999999\r\n", "invalid multibulk length"),
            (&long_header, "invalid multibulk length"),
            (b"*5\r\n", "invalid multibulk length: 5, more than 4"),
            (b"*18446744073709551615\r\n", "invalid multibulk length"),
            (b"*1\r\n:4\r\n", "expected '$', got ':'"),
            (b"*1\r\n\xff", "expected '$', got '\\xff'"),
            (b"*1\r\n$-1\r\n", "invalid bulk length"),
            (b"*1\r\n$17\r\n", "invalid bulk length: 17, more than 16"),
            (b"*1\r\n$18446744073709551615\r\n", "invalid bulk length"),
            (b"*1\r\n$4\r\nPINGPI", "an argument does not end with CR LF"),
            (b"*1\r\n$4\r\nPING\n\n", "an argument does not end with CR LF"),
            (&long_line, "too big inline request: more than 64 bytes"),
            (b"ECHO \"a\r\n", "unbalanced quotes in request"),
            (b"ECHO 'a\r\n", "unbalanced quotes in request"),
            (b"ECHO \"\"a\"\" b\r\n", "unbalanced quotes in request"),
            // A client that has lost its place.
            (b"*2\r\n$1\r\nx\r\nfooz\r\n", "expected '$', got 'f'"),
            (b"\0", "a zero byte in a line"),
            (b"PING\0\r\n", "a zero byte in a line"),
            (b"$\0", "a zero byte in a line"),
            (b"*\0\r\n", "invalid multibulk length"),
            (b"POST / HTTP/1.1\r\n", "this is not an HTTP server"),
            (b"HEAD / HTTP/1.1\r\nQUIT\r\n", "this is not an HTTP server"),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n", "this is not an HTTP server"),
            (b"get /x http/1.0\r\n", "this is not an HTTP server"),
            (b"HEAD /a b HTTP/1.1\r\n", "this is not an HTTP server"),
            (b"Host: localhost\r\n", "this is not an HTTP server"),
        ];
        for (bytes, reason) in cases {
            assert_eq!(parse(bytes).unwrap_err().0, reason, "{bytes:?}");
        }
        let most = b"*4\r\n$16\r\n0123456789abcdef\r\n$16\r\n0123456789abcdef\r\n$16\r\n";
        assert_eq!(parse(most).unwrap_err().0, "a request of more than 64 bytes");
    }

    #[test]
    fn nothing_is_allocated_for_what_was_announced() {
        let limits = Limits {
            arguments: usize::MAX,
            bulk: usize::MAX / 4,
            request: usize::MAX / 2,
            unauthenticated: false,
        };
        let mut parser = Parser::default();
        assert_eq!(
            parser.parse(&mut b"*1000000000\r\n$1000000000\r\nx".to_vec(), limits),
            Ok(None)
        );
        assert_eq!(parser.arguments.capacity(), 0);
    }

    #[test]
    fn no_bytes_make_the_parser_panic() {
        let mut state = 7_u64;
        for _ in 0..20_000 {
            let mut bytes = Vec::new();
            for _ in 0..24 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let alphabet = b"*$0123\r\n-\"'\\x P\xff";
                bytes.push(alphabet[(state >> 33) as usize % alphabet.len()]);
            }
            let mut parser = Parser::default();
            for end in 0..bytes.len() {
                match parser.parse(&mut bytes[..end], LIMITS) {
                    Ok(None) => {}
                    Ok(Some(request)) => {
                        assert!(request.length <= end);
                        break;
                    }
                    Err(_) => break,
                }
            }
        }
    }
}
