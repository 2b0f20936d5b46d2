//! The addresses that the server listens on.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::net::stream::{Address, Listener};

/// What an address of a Unix socket begins with.
const UNIX: &str = "unix:";

/// Listens on an address. Refuses one that other machines can reach, unless clients need a
/// password.
pub(crate) fn listen(text: &str, needs_password: bool) -> Result<(Listener, Address)> {
    if let Some(path) = text.strip_prefix(UNIX) {
        return listen_on_unix(path).map_err(|source| failed(text, source));
    }
    let addresses = resolve(text)?;
    if !needs_password {
        expect_loopback(text, &addresses)?;
    }
    let (listener, address) = listen_on_tcp(text, &addresses)?;
    Ok((Listener::Tcp(listener), Address::Tcp(address)))
}

/// Listens on an address on the network, for everybody who can reach it.
pub(crate) fn listen_to_all(text: &str) -> Result<(TcpListener, SocketAddr)> {
    listen_on_tcp(text, &resolve(text)?)
}

fn listen_on_tcp(text: &str, addresses: &[SocketAddr]) -> Result<(TcpListener, SocketAddr)> {
    let listening = TcpListener::bind(addresses).and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    listening.map_err(|source| failed(text, source))
}

#[cfg(unix)]
fn listen_on_unix(path: &str) -> io::Result<(Listener, Address)> {
    let (socket, file) = crate::net::unix_socket::listen(path)?;
    Ok((Listener::Unix(socket), Address::Unix(file)))
}

#[cfg(not(unix))]
fn listen_on_unix(_: &str) -> io::Result<(Listener, Address)> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no Unix sockets"))
}

fn failed(text: &str, source: io::Error) -> Error {
    Error::Listen { address: text.to_owned(), source }
}

/// Returns the addresses that a text means: an address and a port, or a name and a port.
fn resolve(text: &str) -> Result<Vec<SocketAddr>> {
    let error = |source| Error::Address { address: text.to_owned(), source };
    let found: Vec<SocketAddr> = text.to_socket_addrs().map_err(error)?.collect();
    if found.is_empty() {
        return Err(error(io::Error::new(io::ErrorKind::NotFound, "it has no address")));
    }
    Ok(found)
}

/// Refuses addresses that other machines can reach.
fn expect_loopback(text: &str, addresses: &[SocketAddr]) -> Result<()> {
    if addresses.iter().all(|address| is_loopback(address.ip())) {
        return Ok(());
    }
    Err(Error::NeedsPassword { address: text.to_owned() })
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Makes a thread that waits for a connection at an address notice that the server stops. Returns
/// whether it does.
pub(crate) fn wake(address: &Address) -> bool {
    let connected = match address {
        Address::Tcp(address) => wake_tcp(*address),
        Address::Unix(socket) => socket.connect(),
    };
    match connected {
        Ok(()) => true,
        // The thread has ended because of another connection, or waits for the next one.
        Err(error) => error.kind() == io::ErrorKind::ConnectionRefused,
    }
}

fn wake_tcp(mut address: SocketAddr) -> io::Result<()> {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_need_no_password() {
        for text in ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            expect_loopback(text, &resolve(text).unwrap()).unwrap();
        }
        for text in ["0.0.0.0:1", "[::]:1", "192.168.0.1:1", "[::ffff:10.0.0.1]:1"] {
            let error = expect_loopback(text, &resolve(text).unwrap()).unwrap_err();
            assert!(
                matches!(&error, Error::NeedsPassword { address } if address == text),
                "{error}"
            );
        }
        for text in ["", "127.0.0.1", "6380", "127.0.0.1:99999"] {
            assert!(resolve(text).is_err(), "{text}");
        }
    }
}
