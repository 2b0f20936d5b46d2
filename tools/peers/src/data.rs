//! The data sets, and the queries.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;
use flate2::read::MultiGzDecoder;
use fpdb::text::Recipe;

use crate::random::Random;

/// Fingerprints of real lines of text, in the repository.
const REAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/fingerprints.u64le");
/// One real fingerprint out of this many is kept out of the index, so that queries can use it as a
/// stranger.
const STRANGERS: usize = 16;
/// The bits that flips are confined to, in turn; the first region is the entire fingerprint.
const REGIONS: [(u32, u32); 5] = [(0, 64), (0, 16), (16, 16), (32, 16), (48, 16)];

/// `Uniform` has neighbours only by chance; `Clustered` consists of families of near neighbours (up
/// to 8 bits apart) of very different sizes around uniform centres; `Real` is the fingerprints of
/// lines of real documents; `Zh` and `En` are the fingerprints of Chinese and English documents and
/// their paragraphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Data {
    Uniform,
    Clustered,
    Real,
    Zh,
    En,
}

impl Data {
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Returns the texts of a file of gzipped NDJSON.
pub fn texts(file: &Path) -> Result<Vec<String>> {
    let input = File::open(file).with_context(|| file.display().to_string())?;
    let text = |line: std::io::Result<String>| {
        let document: serde_json::Value = serde_json::from_str(&line?)?;
        let text = document["text"].as_str().context("a line has no field \"text\"")?;
        Ok(text.to_owned())
    };
    BufReader::new(MultiGzDecoder::new(input)).lines().map(text).collect()
}

/// Returns the fingerprints of all documents and paragraphs that have one, of a file in the folder
/// of a larger collection of texts.
fn of_texts(file: &str, recipe: &str) -> Result<Vec<u64>> {
    let folder = std::env::var_os("FPDB_DATA").context("FPDB_DATA names no folder of texts")?;
    let recipe: Recipe = Recipe::named(recipe)?;
    let mut all = Vec::new();
    for text in texts(&Path::new(&folder).join(file))? {
        let paragraphs = text.split('\n').filter(|p| p.len() < text.len());
        let pieces = std::iter::once(text.as_str()).chain(paragraphs);
        all.extend(pieces.filter_map(|piece| recipe.fingerprint(piece).fingerprint));
    }
    Ok(all)
}

/// A data set, from which parts of any size can be taken.
pub struct Source {
    data: Data,
    /// The real fingerprints, shuffled.
    real: Vec<u64>,
}

/// The fingerprints of an index, and strangers of the same kind that are not in it.
pub struct Set {
    pub fingerprints: Vec<u64>,
    strangers: Vec<u64>,
}

impl Source {
    pub fn new(data: Data) -> Result<Self> {
        let mut real = match data {
            Data::Uniform | Data::Clustered => Vec::new(),
            Data::Zh => of_texts("corpus_zh.ndjson.gz", "default-zh")?,
            Data::En => of_texts("corpus_en.ndjson.gz", "default")?,
            Data::Real => {
                let bytes = std::fs::read(REAL).context(REAL)?;
                let (words, _) = bytes.as_chunks();
                words.iter().map(|&word| u64::from_le_bytes(word)).collect()
            }
        };
        Random(0).shuffle(&mut real);
        Ok(Self { data, real })
    }

    /// Returns `n` fingerprints, or all if there are fewer.
    pub fn take(&self, n: usize) -> Set {
        let mut random = Random(n as u64);
        let fingerprints = match self.data {
            Data::Uniform => (0..n).map(|_| random.next()).collect(),
            Data::Clustered => clustered(n, &mut random),
            _ => {
                let (strangers, members) = self.real.split_at(self.real.len() / STRANGERS);
                let fingerprints = members[..n.min(members.len())].to_vec();
                return Set { fingerprints, strangers: strangers.to_vec() };
            }
        };
        let strangers = (0..n.min(1 << 16)).map(|_| random.next()).collect();
        Set { fingerprints, strangers }
    }
}

fn clustered(n: usize, random: &mut Random) -> Vec<u64> {
    let mut all = Vec::with_capacity(n);
    while all.len() < n {
        let centre = random.next();
        let size = 1 << random.below(12);
        for _ in 0..size.min(n - all.len()) {
            let errors = random.below(9) as u32;
            all.push(random.flip(centre, errors, 0, 64));
        }
    }
    all
}

impl Set {
    /// Returns queries that alternate between entries with 0 to k + 1 bits flipped, within one
    /// region or anywhere, and strangers, so that any prefix of them has both kinds.
    pub fn queries(&self, count: usize, k: u32) -> Vec<u64> {
        let mut random = Random(99);
        let near = |random: &mut Random, i: usize| {
            let entry = self.fingerprints[random.below(self.fingerprints.len())];
            let errors = i % (k as usize + 2);
            let (start, width) = REGIONS[i / (k as usize + 2) % REGIONS.len()];
            random.flip(entry, errors as u32, start, width)
        };
        (0..count)
            .map(|i| match i % 2 {
                0 => near(&mut random, i / 2),
                _ => self.strangers[random.below(self.strangers.len())],
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_queries_are_near_at_every_distance_and_in_every_region() {
        let set = Source::new(Data::Uniform).unwrap().take(1000);
        let queries = set.queries(400, 3);
        let mut seen = std::collections::BTreeSet::new();
        for query in queries.iter().step_by(2) {
            let flips = set.fingerprints.iter().map(|f| f ^ query).min_by_key(|x| x.count_ones());
            let flips = flips.unwrap();
            assert!(flips.count_ones() <= 4);
            for region in (0..4).filter(|r| flips >> (16 * r) & 0xffff == flips >> (16 * r)) {
                seen.insert((flips.count_ones(), region));
            }
        }
        assert!((1..=4).all(|errors| seen.contains(&(errors, 0)) && seen.contains(&(errors, 3))));
        let far = |q: &&u64| set.fingerprints.iter().all(|f| (f ^ **q).count_ones() > 4);
        assert_eq!(queries.iter().skip(1).step_by(2).filter(far).count(), 200);
    }

    #[test]
    fn clustered_data_has_the_requested_size_and_near_families() {
        let set = Source::new(Data::Clustered).unwrap().take(5000);
        assert_eq!(set.fingerprints.len(), 5000);
        let near =
            set.fingerprints.iter().filter(|&&f| (f ^ set.fingerprints[0]).count_ones() <= 16);
        assert!(near.count() < 5000);
        let pairs = set.fingerprints.windows(2).filter(|w| (w[0] ^ w[1]).count_ones() <= 16);
        assert!(pairs.count() > 2500);
    }
}
