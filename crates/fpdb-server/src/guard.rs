//! Slows down those who try passwords.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::clients::lock;
use crate::stream::Peer;

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
}

impl Guard {
    pub(crate) fn new(most: u32) -> Self {
        Self { most, origins: Mutex::default() }
    }

    /// Returns for how long passwords from this peer are refused without a look at them, if they
    /// are.
    pub(crate) fn refused_for(&self, peer: Peer) -> Option<Duration> {
        let origins = lock(&self.origins);
        let attempts = origins.get(&origin(peer))?;
        if attempts.count < self.most {
            return None;
        }
        WINDOW.checked_sub(attempts.first.elapsed())
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
        let fresh = || Attempts { first: Instant::now(), count: 0 };
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
        assert_eq!(guard.refused_for(peer("10.0.0.1:1")), None);
        guard.wrong_password(peer("[::ffff:10.0.0.1]:2"));
        assert!(guard.refused_for(peer("10.0.0.1:3")).unwrap() > WINDOW / 2);
        assert_eq!(guard.refused_for(peer("10.0.0.2:1")), None);
        guard.wrong_password(peer("[2001:db8::1]:1"));
        guard.wrong_password(peer("[2001:db8::2]:1"));
        assert!(guard.refused_for(peer("[2001:db8::3]:1")).is_some());
        assert_eq!(guard.refused_for(peer("[2001:db8:0:1::1]:1")), None);
        assert_eq!(guard.refused_for(Peer::Unix), None);
    }

    #[test]
    fn attempts_are_allowed_again_after_the_window() {
        let guard = Guard::new(1);
        guard.wrong_password(Peer::Unix);
        let long_ago = Instant::now().checked_sub(WINDOW).unwrap();
        lock(&guard.origins).get_mut(&None).unwrap().first = long_ago;
        assert_eq!(guard.refused_for(Peer::Unix), None);
        guard.wrong_password(Peer::Unix);
        assert!(guard.refused_for(Peer::Unix).is_some());
    }

    #[test]
    fn zero_means_any_number_and_memory_is_bounded() {
        let guard = Guard::new(0);
        (0..9).for_each(|_| guard.wrong_password(Peer::Unix));
        assert_eq!(guard.refused_for(Peer::Unix), None);
        let guard = Guard::new(1);
        for host in (0_u32..).take(2 * MAX_ORIGINS) {
            guard.wrong_password(Peer::Tcp((std::net::Ipv4Addr::from(host), 1).into()));
        }
        assert!(lock(&guard.origins).len() <= MAX_ORIGINS);
    }
}
