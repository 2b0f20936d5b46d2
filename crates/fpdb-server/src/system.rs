//! What the system has to be asked for.

use std::io;
use std::net::TcpStream;

/// Lets the system find out when a client is gone without having closed its connection.
#[cfg(unix)]
pub(crate) fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;

    sockopt::set_socket_keepalive(stream, true)?;
    #[cfg(not(target_os = "openbsd"))]
    sockopt::set_tcp_keepidle(stream, std::time::Duration::from_secs(300))?;
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn keep_alive(_: &TcpStream) -> io::Result<()> {
    Ok(())
}

/// Sends as many bytes as the system accepts without waiting for the client.
#[cfg(unix)]
pub(crate) fn send_at_once(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    use rustix::net::{SendFlags, send};

    Ok(send(stream, bytes, SendFlags::DONTWAIT)?)
}

#[cfg(not(unix))]
pub(crate) fn send_at_once(_: &TcpStream, _: &[u8]) -> io::Result<usize> {
    Err(io::ErrorKind::WouldBlock.into())
}
