//! A client that speaks the Redis protocol. The tests of `fpdb-tool serve` use it, too.

#![allow(dead_code, reason = "two test programs include this file, and neither uses all of it")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// So that a server that hangs makes the test fail instead of hanging it. No test waits this long.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    Simple(String),
    Error(String),
    Integer(i64),
    Double(f64),
    Boolean(bool),
    Bulk(String),
    Null,
    Array(Vec<Reply>),
    Map(Vec<(Reply, Reply)>),
}

impl Reply {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Simple(text) | Self::Error(text) | Self::Bulk(text) => text,
            other => panic!("not a text: {other:?}"),
        }
    }

    pub(crate) fn items(&self) -> &[Reply] {
        match self {
            Self::Array(items) => items,
            other => panic!("not an array: {other:?}"),
        }
    }

    /// Returns the first word of a reply to `FP.ADDNX` or `FP.UPSERT`.
    pub(crate) fn word(&self) -> &str {
        self.items()[0].text()
    }
}

pub(crate) fn bulk(text: &str) -> Reply {
    Reply::Bulk(text.to_owned())
}

/// A connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Self { stream, reader }
    }

    /// Sends a command and returns its reply.
    pub(crate) fn call(&mut self, words: &[&str]) -> Reply {
        self.send(&request(words));
        self.read()
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Ends the sending half.
    pub(crate) fn half_close(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    pub(crate) fn read(&mut self) -> Reply {
        self.try_read().expect("a reply")
    }

    /// Returns the next reply; `None` at the end of the connection.
    pub(crate) fn try_read(&mut self) -> Option<Reply> {
        let mut line = String::new();
        self.reader.read_line(&mut line).ok()?;
        let line = line.strip_suffix("\r\n")?;
        let (kind, rest) = line.split_at(1);
        let count = || rest.parse::<usize>().unwrap();
        Some(match kind {
            "+" => Reply::Simple(rest.to_owned()),
            "-" => Reply::Error(rest.to_owned()),
            ":" => Reply::Integer(rest.parse().unwrap()),
            "," => Reply::Double(rest.parse().unwrap()),
            "#" => Reply::Boolean(rest == "t"),
            "_" => Reply::Null,
            "$" if rest == "-1" => Reply::Null,
            "$" => {
                let mut text = vec![0; count() + 2];
                self.reader.read_exact(&mut text).ok()?;
                text.truncate(count());
                Reply::Bulk(String::from_utf8(text).unwrap())
            }
            "*" | "~" => {
                Reply::Array((0..count()).map(|_| self.try_read()).collect::<Option<_>>()?)
            }
            "%" => {
                let pair = |_| Some((self.try_read()?, self.try_read()?));
                Reply::Map((0..count()).map(pair).collect::<Option<_>>()?)
            }
            _ => panic!("unknown kind of reply: {line}"),
        })
    }

    /// Expects that the server has nothing more to say and closes the connection.
    pub(crate) fn expect_end(&mut self) {
        let mut rest = String::new();
        // The system may reset a connection that is closed. A timeout is no end.
        let end = self.reader.read_to_string(&mut rest).map_err(|error| error.kind());
        assert!(end.is_ok() || end == Err(ErrorKind::ConnectionReset), "{end:?}");
        assert_eq!(rest, "");
    }
}

/// Returns a request as an array of bulk strings.
pub(crate) fn request(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words {
        bytes += &format!("${}\r\n{word}\r\n", word.len());
    }
    bytes.into_bytes()
}

/// Returns a fingerprint in the notation of commands.
pub(crate) fn hex(fingerprint: u64) -> String {
    format!("0x{fingerprint:016x}")
}
