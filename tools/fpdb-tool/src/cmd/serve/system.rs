//! What the system has to be asked for.

use std::io;
use std::net::TcpStream;

/// Files that the process needs besides its connections: those of the database.
const RESERVED_FILES: u64 = 512;

/// Returns how many of the requested connections the limit of open files allows. Raises that limit as
/// far as possible if it is too low.
#[cfg(unix)]
pub(super) fn allowed_connections(requested: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let needed = requested as u64 + RESERVED_FILES;
    let Rlimit { current: Some(current), maximum } = getrlimit(Resource::Nofile) else {
        return requested;
    };
    if current >= needed {
        return requested;
    }
    let raised = maximum.map_or(needed, |maximum| maximum.min(needed));
    let raise = Rlimit { current: Some(raised), maximum };
    let limit = if setrlimit(Resource::Nofile, raise).is_ok() { raised } else { current };
    let allowed = limit.saturating_sub(RESERVED_FILES).max(1);
    usize::try_from(allowed).unwrap_or(requested)
}

#[cfg(not(unix))]
pub(super) fn allowed_connections(requested: usize) -> usize {
    let _ = RESERVED_FILES;
    requested
}

/// Lets the system find out when a client is gone without having closed its connection.
#[cfg(unix)]
pub(super) fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;

    sockopt::set_socket_keepalive(stream, true)?;
    #[cfg(not(target_os = "openbsd"))]
    sockopt::set_tcp_keepidle(stream, std::time::Duration::from_secs(300))?;
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn keep_alive(_: &TcpStream) -> io::Result<()> {
    Ok(())
}

/// Sends as many bytes as the system accepts without waiting for the client.
#[cfg(unix)]
pub(super) fn send_at_once(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    use rustix::net::{SendFlags, send};

    Ok(send(stream, bytes, SendFlags::DONTWAIT)?)
}

#[cfg(not(unix))]
pub(super) fn send_at_once(_: &TcpStream, _: &[u8]) -> io::Result<usize> {
    Err(io::ErrorKind::WouldBlock.into())
}
