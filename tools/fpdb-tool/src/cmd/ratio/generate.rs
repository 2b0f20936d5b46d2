//! Fingerprints to measure: generated from a seed, or read from a file.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, ensure};
use fpdb::Word;

use crate::input;
use crate::input::fingerprints::{ListArgs, Lists};
use crate::output::Context;
use crate::output::progress;

#[derive(Debug, Clone)]
pub(super) struct Random(fastrand::Rng);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// Returns a number below `n`, which must not be 0.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0.u64(..n)
    }

    pub(super) fn fingerprint<F: Word>(&mut self) -> F {
        F::from_u128(self.0.u128(..))
    }

    /// Returns the fingerprint with `count` of its bits flipped, or all of them if it has fewer.
    pub(super) fn flip<F: Word>(&mut self, fingerprint: F, count: u32) -> F {
        let mut flips = F::ZERO;
        while flips.count_ones() < count.min(F::BITS) {
            let bit = self.below(u64::from(F::BITS));
            flips = flips | F::ONE << u32::try_from(bit).unwrap_or(0);
        }
        fingerprint ^ flips
    }
}

/// `--data`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Data {
    /// Uniformly random fingerprints, which have near neighbours only by chance.
    Uniform,
    /// Families of 1 to 2048 near neighbours, within 8 bits of a uniformly random centre.
    Clustered,
    /// The fingerprints in a file.
    File(PathBuf),
}

impl FromStr for Data {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "uniform" => Self::Uniform,
            "clustered" => Self::Clustered,
            file => Self::File(file.into()),
        })
    }
}

impl Data {
    /// The name in reports.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Uniform => "uniform".to_owned(),
            Self::Clustered => "clustered".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Reads the file, if there is one.
    pub(super) fn source<F: Word>(
        &self,
        list: &ListArgs,
        context: &Context<'_>,
    ) -> Result<Source<F>> {
        let path = match self {
            Self::Uniform => return Ok(Source::Uniform),
            Self::Clustered => return Ok(Source::Clustered),
            Self::File(path) => std::slice::from_ref(path),
        };
        input::check_all(path)?;
        let bar = progress::over_files(context, path);
        let lists = Lists { args: list, id_column: None, max_ratio: input::MAX_RATIO, bar: &bar };
        let read: Result<Vec<F>> = lists.read(path).map(|listed| Ok(listed?.fingerprint)).collect();
        bar.finish_and_clear();
        let read = read?;
        ensure!(!read.is_empty(), "{} has no fingerprints", path[0].display());
        Ok(Source::Listed(read))
    }
}

/// Data that is ready to use.
#[derive(Debug)]
pub(super) enum Source<F> {
    Uniform,
    Clustered,
    Listed(Vec<F>),
}

impl<F: Word> Source<F> {
    /// The number of fingerprints, unless it is unlimited.
    pub(super) fn len(&self) -> Option<u64> {
        match self {
            Self::Uniform | Self::Clustered => None,
            Self::Listed(listed) => Some(listed.len() as u64),
        }
    }

    /// Returns the first `n` fingerprints, the same in each call. Generated ones differ for each
    /// `n`.
    pub(super) fn fingerprints(&self, n: u64) -> Box<dyn Iterator<Item = F> + '_> {
        let mut random = Random::new(n);
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        match self {
            Self::Uniform => Box::new((0..n).map(move |_| random.fingerprint())),
            Self::Clustered => {
                let (mut centre, mut left) = (F::ZERO, 0);
                let next = move || {
                    if left == 0 {
                        (centre, left) = (random.fingerprint(), 1 << random.below(12));
                    }
                    left -= 1;
                    let errors = u32::try_from(random.below(9)).unwrap_or(0);
                    Some(random.flip(centre, errors))
                };
                Box::new(std::iter::from_fn(next).take(n))
            }
            Self::Listed(listed) => Box::new(listed.iter().copied().take(n)),
        }
    }
}

#[cfg(test)]
mod tests {
    use fpdb::Fingerprint;

    use super::*;

    #[test]
    fn clusters_are_near_their_centres_and_reproducible() {
        let source = Source::<u64>::Clustered;
        let made: Vec<u64> = source.fingerprints(20_000).collect();
        assert_eq!(made.len(), 20_000);
        assert!(source.fingerprints(20_000).eq(made.iter().copied()));
        let near = made.windows(2).filter(|pair| pair[0].distance(pair[1]) <= 16).count();
        assert!(near > 19_000, "{near}");
    }

    #[test]
    fn requested_number_of_bits_is_flipped() {
        let mut random = Random::new(1);
        for count in 0..=64 {
            assert_eq!(random.flip(0u64, count).count_ones(), count);
        }
        assert_eq!(random.flip(0u64, 99), u64::MAX);
        assert_eq!(random.flip(0u128, 100).count_ones(), 100);
    }
}
