//! The addresses that the server listens on.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};

use crate::error::{Error, Result};

/// Returns the addresses that a text means: an address and a port, or a name and a port.
pub(crate) fn resolve(text: &str) -> Result<Vec<SocketAddr>> {
    let error = |source| Error::Address { address: text.to_owned(), source };
    let found: Vec<SocketAddr> = text.to_socket_addrs().map_err(error)?.collect();
    if found.is_empty() {
        return Err(error(io::Error::new(io::ErrorKind::NotFound, "it has no address")));
    }
    Ok(found)
}

/// Refuses addresses that other machines can reach.
pub(crate) fn expect_loopback(text: &str, addresses: &[SocketAddr]) -> Result<()> {
    if addresses.iter().all(|address| is_loopback(address.ip())) {
        return Ok(());
    }
    Err(Error::NeedsPassword { address: text.to_owned() })
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Listens on the first of these addresses that is free.
pub(crate) fn listen(text: &str, addresses: &[SocketAddr]) -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(addresses);
    let listening = listener.and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    listening.map_err(|source| Error::Listen { address: text.to_owned(), source })
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
