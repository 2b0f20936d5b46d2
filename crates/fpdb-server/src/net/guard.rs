//! Slows down those who try passwords.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::net::clients::lock;
use crate::net::stream::Peer;

/// For how long wrong passwords are counted together.
const WINDOW: Duration = Duration::from_secs(60);

/// The most origins that are remembered. More of them in a minute forget the earlier ones.
const MAX_ORIGINS: usize = 4096;

/// Counts wrong passwords by where they come from.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The most wrong passwords of an origin in a window. 0 means any number.
    most: u32,
    origins: Mutex<HashMap<Option<IpAddr>, Attempts>>,
}

/// Wrong passwords of an origin.
#[derive(Debug)]
struct Attempts {
    first: Instant,
    count: u32,
    /// Whether a password was refused because of them.
    has_refused: bool,
}

/// Why a password is refused without a look at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refusal {
    /// For how long.
    pub(crate) wait: Duration,
    /// Whether the ones before it were not.
    pub(crate) is_first: bool,
}

impl Guard {
    pub(crate) fn new(most: u32) -> Self {
        Self { most, origins: Mutex::default() }
    }

    /// Refuses a password from this peer without a look at it, if there were too many wrong ones.
    pub(crate) fn refuse(&self, peer: Peer) -> Option<Refusal> {
        let mut origins = lock(&self.origins);
        let attempts = origins.get_mut(&origin(peer))?;
        if attempts.count < self.most {
            return None;
        }
        let wait = WINDOW.checked_sub(attempts.first.elapsed())?;
        let is_first = !std::mem::replace(&mut attempts.has_refused, true);
        Some(Refusal { wait, is_first })
    }

    /// Counts a wrong password.
    pub(crate) fn wrong_password(&self, peer: Peer) {
        if self.most == 0 {
            return;
        }
        let mut origins = lock(&self.origins);
        if origins.len() >= MAX_ORIGINS {
            origins.retain(|_, attempts| attempts.first.elapsed() < WINDOW);
        }
        if origins.len() >= MAX_ORIGINS {
            origins.clear();
        }
        let fresh = || Attempts { first: Instant::now(), count: 0, has_refused: false };
        let attempts = origins.entry(origin(peer)).or_insert_with(fresh);
        if attempts.first.elapsed() >= WINDOW {
            *attempts = fresh();
        }
        attempts.count += 1;
    }
}

/// Returns what one person has: an address, or in IPv6 a network of 64 bits. Processes of this
/// machine that use a Unix socket are one origin.
fn origin(peer: Peer) -> Option<IpAddr> {
    let Peer::Tcp(address) = peer else { return None };
    Some(match address.ip().to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            Ipv6Addr::from(network).into()
        }
        address => address,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer::Tcp(address.parse().unwrap())
    }

    #[test]
    fn wrong_passwords_of_an_origin_are_counted_together_and_no_others() {
        let guard = Guard::new(2);
        guard.wrong_password(peer("10.0.0.1:1"));
        assert!(guard.refuse(peer("10.0.0.1:1")).is_none());
        guard.wrong_password(peer("[::ffff:10.0.0.1]:2"));
        let refused = guard.refuse(peer("10.0.0.1:3")).unwrap();
        assert!(refused.wait > WINDOW / 2 && refused.is_first);
        assert!(!guard.refuse(peer("10.0.0.1:4")).unwrap().is_first);
        assert!(guard.refuse(peer("10.0.0.2:1")).is_none());
        guard.wrong_password(peer("[2001:db8::1]:1"));
        guard.wrong_password(peer("[2001:db8::2]:1"));
        assert!(guard.refuse(peer("[2001:db8::3]:1")).is_some());
        assert!(guard.refuse(peer("[2001:db8:0:1::1]:1")).is_none());
        assert!(guard.refuse(Peer::Unix).is_none());
    }

    #[test]
    fn attempts_are_allowed_again_after_the_window() {
        let guard = Guard::new(1);
        guard.wrong_password(Peer::Unix);
        let long_ago = Instant::now().checked_sub(WINDOW).unwrap();
        lock(&guard.origins).get_mut(&None).unwrap().first = long_ago;
        assert!(guard.refuse(Peer::Unix).is_none());
        guard.wrong_password(Peer::Unix);
        assert!(guard.refuse(Peer::Unix).is_some());
    }

    #[test]
    fn zero_means_any_number_and_memory_is_bounded() {
        let guard = Guard::new(0);
        (0..9).for_each(|_| guard.wrong_password(Peer::Unix));
        assert!(guard.refuse(Peer::Unix).is_none());
        let guard = Guard::new(1);
        for host in (0_u32..).take(2 * MAX_ORIGINS) {
            guard.wrong_password(Peer::Tcp((std::net::Ipv4Addr::from(host), 1).into()));
        }
        assert!(lock(&guard.origins).len() <= MAX_ORIGINS);
    }
}
