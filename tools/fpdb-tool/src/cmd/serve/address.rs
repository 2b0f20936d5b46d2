//! The addresses that the server listens on.

use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};

use anyhow::{Context, Result, bail};

/// Returns the addresses that an argument means: an address and a port, or a name and a port.
pub(super) fn resolve(text: &str) -> Result<Vec<SocketAddr>> {
    let found = text.to_socket_addrs();
    let found = found.with_context(|| {
        format!("{text:?} is not an address and a port, such as 127.0.0.1:6380")
    })?;
    let found: Vec<SocketAddr> = found.collect();
    if found.is_empty() {
        bail!("{text:?} has no address");
    }
    Ok(found)
}

/// Refuses addresses that other machines can reach.
pub(super) fn expect_loopback(text: &str, addresses: &[SocketAddr]) -> Result<()> {
    if addresses.iter().all(|address| is_loopback(address.ip())) {
        return Ok(());
    }
    bail!(
        "other machines can reach {text}: give --password-file, or listen on 127.0.0.1, which only \
         this machine can reach"
    )
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Listens on the first of these addresses that is free.
pub(super) fn listen(text: &str, addresses: &[SocketAddr]) -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(addresses);
    let listener = listener.with_context(|| format!("cannot listen on {text}"))?;
    let address = listener.local_addr()?;
    Ok((listener, address))
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
            assert!(error.to_string().contains("--password-file"), "{error}");
        }
        for text in ["", "127.0.0.1", "6380", "127.0.0.1:99999"] {
            assert!(resolve(text).is_err(), "{text}");
        }
    }
}
