//! `ping`

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use crate::cmd::serve::passwords;
use crate::output::Context;
use crate::output::failure::Exit;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool ping
  fpdb-tool ping unix:/run/fpdb/fpdb.sock --timeout 2";

/// The most bytes of a reply that is an error.
const MAX_REPLY: usize = 1024;

/// Asks a server whether it answers
///
/// Connects to a server that `serve` has started, and sends PING. The exit code is 0 if the server
/// answers, and 1 if it does not, so this is what a health check of a container calls.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The address of the server, or `unix:` and the path of a Unix socket
    #[arg(value_name = "ADDRESS", default_value = "127.0.0.1:6380")]
    address: String,

    /// The file with the passwords of the server. The one on its first line is given
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,

    /// The most seconds to wait for each step
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let password = self.password_file.as_deref().map(passwords::first).transpose()?;
        match self.ping(password.as_deref()) {
            Ok(()) => Ok(Exit::Done),
            Err(error) => {
                context.say(format_args!("{} does not answer: {error}", self.address));
                Ok(Exit::CheckFailed)
            }
        }
    }

    fn ping(&self, password: Option<&[u8]>) -> io::Result<()> {
        let mut stream = self.connect()?;
        if let Some(password) = password {
            expect(&mut stream, &[b"AUTH", password], b"+OK\r\n")?;
        }
        expect(&mut stream, &[b"PING"], b"+PONG\r\n")
    }

    fn connect(&self) -> io::Result<Box<dyn Stream>> {
        let timeout = Some(Duration::from_secs(self.timeout));
        #[cfg(unix)]
        if let Some(path) = self.address.strip_prefix("unix:") {
            let stream = std::os::unix::net::UnixStream::connect(path)?;
            stream.set_read_timeout(timeout)?;
            return Ok(Box::new(stream));
        }
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "it has no address");
        for address in self.address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, Duration::from_secs(self.timeout)) {
                Ok(stream) => {
                    stream.set_read_timeout(timeout)?;
                    return Ok(Box::new(stream));
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

/// Sends a command, and expects this reply.
fn expect(stream: &mut dyn Stream, words: &[&[u8]], expected: &[u8]) -> io::Result<()> {
    let mut request = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
    stream.write_all(&request)?;
    let mut reply = Vec::new();
    while !reply.ends_with(b"\n") && reply.len() < MAX_REPLY {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        reply.extend_from_slice(&byte);
    }
    if reply == expected {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&reply).trim_end().to_owned()))
}
