//! The kinds of operations, and the share of each.

use std::str::FromStr;

use serde::Serialize;

use crate::cmd::measure::generate::Random;

/// A kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A query for an entry of the database, with a random number of its bits flipped, at most the
    /// distance.
    Hit,
    /// A query for a uniformly random fingerprint.
    Miss,
    /// A commit of one uniformly random fingerprint.
    Insert,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Hit, Self::Miss, Self::Insert];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Insert => "insert",
        }
    }
}

/// `--mix`: the relative frequencies of the kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Mix {
    pub(super) hits: u32,
    pub(super) misses: u32,
    pub(super) inserts: u32,
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shares: Option<Vec<u32>> = text.split(':').map(|share| share.parse().ok()).collect();
        match shares.as_deref() {
            Some(&[hits, misses, inserts]) if [hits, misses, inserts] != [0; 3] => {
                Ok(Self { hits, misses, inserts })
            }
            _ => Err("expected hits:misses:inserts, such as 40:40:20".to_owned()),
        }
    }
}

impl Mix {
    /// Returns the mix without inserts.
    pub(super) fn queries(self) -> Self {
        Self { inserts: 0, ..self }
    }

    pub(super) fn is_empty(self) -> bool {
        self.total() == 0
    }

    /// Returns a random kind.
    pub(super) fn draw(self, random: &mut Random) -> Kind {
        let drawn = random.below(self.total());
        let (hits, misses) = (u64::from(self.hits), u64::from(self.misses));
        match drawn {
            drawn if drawn < hits => Kind::Hit,
            drawn if drawn < hits + misses => Kind::Miss,
            _ => Kind::Insert,
        }
    }

    fn total(self) -> u64 {
        u64::from(self.hits) + u64::from(self.misses) + u64::from(self.inserts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_as_frequent_as_the_mix_says() {
        let mix: Mix = "40:40:20".parse().unwrap();
        let mut random = Random::new(1);
        let mut count = [0; 3];
        for _ in 0..10_000 {
            count[mix.draw(&mut random) as usize] += 1;
        }
        for (count, expected) in count.into_iter().zip([4000, 4000, 2000]) {
            assert!((expected - 200..expected + 200).contains(&count), "{count} of {expected}");
        }
        assert!("0:0:7".parse::<Mix>().unwrap().queries().is_empty());
    }

    #[test]
    fn invalid_mixes_are_refused() {
        for wrong in ["", "1", "1:1", "0:0:0", "1:1:1:1", "1:-1:0", "a:b:c"] {
            assert!(wrong.parse::<Mix>().is_err(), "{wrong}");
        }
    }
}
