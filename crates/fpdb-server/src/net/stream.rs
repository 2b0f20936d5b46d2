//! Connections over TCP and over Unix sockets, which differ only in how they begin.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::net::unix_socket::SocketFile;
#[cfg(unix)]
use crate::net::unix_socket::UnixSocket;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    Tcp(SocketAddr),
    /// The file of a Unix socket.
    #[cfg_attr(not(unix), expect(dead_code, reason = "the system has no Unix sockets"))]
    Unix(SocketFile),
}

impl Address {
    /// Returns the address on the network, if it is one.
    pub(crate) fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(socket) => write!(f, "unix:{socket}"),
        }
    }
}

/// Where a client comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    Tcp(SocketAddr),
    /// A process on this machine that may open the socket's file.
    #[cfg_attr(not(unix), expect(dead_code, reason = "the system has no Unix sockets"))]
    Unix,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix => f.write_str("unix"),
        }
    }
}

/// What accepts connections.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixSocket),
}

impl Listener {
    pub(crate) fn accept(&self) -> io::Result<(Stream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept()?;
                Ok((Stream::Tcp(stream), Peer::Tcp(address)))
            }
            #[cfg(unix)]
            Self::Unix(socket) => Ok((Stream::Unix(socket.accept()?), Peer::Unix)),
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// Calls a method that streams of all kinds have.
macro_rules! on_stream {
    ($self:expr, $stream:ident => $call:expr) => {
        match $self {
            Stream::Tcp($stream) => $call,
            #[cfg(unix)]
            Stream::Unix($stream) => $call,
        }
    };
}

impl Stream {
    /// Lets small replies leave at once, and the system notice when a client is gone without having
    /// closed its connection. On a Unix socket, both are always so.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                keep_alive(stream)
            }
            #[cfg(unix)]
            Self::Unix(_) => Ok(()),
        }
    }

    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        on_stream!(self, stream => stream.set_read_timeout(timeout))
    }

    pub(crate) fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        on_stream!(self, stream => stream.set_write_timeout(timeout))
    }

    pub(crate) fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        on_stream!(self, stream => stream.set_nonblocking(nonblocking))
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        on_stream!(self, stream => stream.shutdown(how))
    }

    /// Sends as many bytes as the system accepts without waiting for the client.
    #[cfg(unix)]
    pub(crate) fn send_at_once(&self, bytes: &[u8]) -> io::Result<usize> {
        use rustix::net::{SendFlags, send};

        Ok(send(self, bytes, SendFlags::DONTWAIT)?)
    }

    #[cfg(not(unix))]
    pub(crate) fn send_at_once(&self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Receives what has arrived, without waiting for the client.
    #[cfg(unix)]
    pub(crate) fn receive_at_once(&self, bytes: &mut [u8]) -> io::Result<usize> {
        use rustix::net::{RecvFlags, recv};

        Ok(recv(self, bytes, RecvFlags::DONTWAIT)?.0)
    }

    #[cfg(not(unix))]
    pub(crate) fn receive_at_once(&self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

#[cfg(unix)]
impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        on_stream!(self, stream => stream.as_fd())
    }
}

impl Read for &Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        on_stream!(self, stream => (&mut &*stream).read(bytes))
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        on_stream!(self, stream => (&mut &*stream).write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;

    sockopt::set_socket_keepalive(stream, true)?;
    #[cfg(not(target_os = "openbsd"))]
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(300))?;
    Ok(())
}

#[cfg(not(unix))]
fn keep_alive(_: &TcpStream) -> io::Result<()> {
    Ok(())
}

/// A connection for tests, and the client's end of it.
#[cfg(test)]
pub(crate) fn pair() -> (Stream, Peer, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, peer) = Listener::Tcp(listener).accept().unwrap();
    (stream, peer, client)
}
