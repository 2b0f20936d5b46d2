//! Bands of sketches: which bands a database has, and which sketches match by them.
//!
//! A sketch has the low six bits of each of 128 minima. The minima are in sixteen groups of eight,
//! and band i has the first few minima of group i. Two sketches match if they share a band and
//! differ in few enough minima: locality-sensitive hashing of MinHash values (Broder 1997; Indyk
//! and Motwani 1998) with a comparison of the sketches themselves. With the same order in each
//! group, a band of fewer minima is a prefix of one of more (an LSH forest: Bawa, Condie and Ganesan,
//! WWW 2005), so every choice is a part of the same sketch.

use super::jaccard::Jaccard;
use crate::codec::bytes::{Fields, PutFields};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, MINIMA, MINIMA_PER_BAND};

/// Most bands of a sketch.
const MAX_BANDS: u32 = MINIMA / MINIMA_PER_BAND;
/// The similarity for which the numbers of minima in [`minima_for`] are chosen.
const REFERENCE: f64 = 0.8;
/// Of the pairs of the similarity that may be missed, the share that may be missed because they
/// differ in too many minima. The others share no band.
const TOO_FAR: f64 = 0.06;

/// Which sketches match: those that share a band and differ in few enough minima.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BandRule {
    pub(crate) jaccard: Jaccard,
    /// Bands per sketch, 1 to 16.
    pub(crate) bands: u32,
    /// Minima per band, 1 to 8.
    pub(crate) minima: u32,
    /// Most minima that may differ.
    pub(crate) distance: u32,
}

impl BandRule {
    /// Chooses the rule that finds this similarity among so many documents. Longer bands lead to
    /// fewer unrelated documents, but it takes more of them to find as much.
    pub(crate) fn for_similarity(jaccard: Jaccard, documents: u64) -> Self {
        let similarity = jaccard.similarity();
        let counts: Vec<f64> = binomial(MINIMA, differing(similarity));
        let near_enough = 1.0 - TOO_FAR * (1.0 - jaccard.expected_recall());
        let mut within = 0.0;
        let distance = (0..MINIMA).zip(counts).find_map(|(distance, share)| {
            within += share;
            (within >= near_enough).then_some(distance)
        });
        let distance = distance.unwrap_or(MINIMA);
        let longest = minima_for(similarity, documents);
        let of_minima = |minima| (1..=MAX_BANDS).map(move |bands| (bands, minima));
        let rules = (1..=longest).rev().flat_map(of_minima);
        let mut rules = rules.map(|(bands, minima)| Self { jaccard, bands, minima, distance });
        let found = rules.find(|rule| rule.found_at(similarity) >= jaccard.expected_recall());
        found.unwrap_or(Self { jaccard, bands: MAX_BANDS, minima: 1, distance })
    }

    /// Returns the number of the first band that two sketches share, if these are the minima in which
    /// they [differ](Fingerprint::differing).
    #[inline(always)]
    pub(crate) fn first_shared_band(&self, differing: u128) -> Option<u32> {
        let of_band = (1 << self.minima) - 1;
        (0..self.bands).find(|band| differing >> (MINIMA_PER_BAND * band) & of_band == 0)
    }

    /// Returns the test for matches by this rule.
    pub(crate) fn test(&self) -> SketchTest {
        SketchTest { rule: *self, distance: self.distance, shares_band: true }
    }

    /// Returns the test for sketches within a distance.
    pub(crate) fn within(&self, distance: u32) -> SketchTest {
        SketchTest { rule: *self, distance, shares_band: distance < self.bands }
    }

    /// Returns the distance up to which all pairs match: each minimum that differs is in one band.
    pub(crate) fn exact_distance(&self) -> u32 {
        self.distance.min(self.bands - 1)
    }

    /// Returns the share of the pairs of this similarity that match.
    ///
    /// Each minimum differs independently of the others. Of the pairs that are near enough, those
    /// are missed in each of whose bands some minimum differs.
    pub(crate) fn found_at(&self, similarity: f64) -> f64 {
        let p = differing(similarity);
        let mut of_band = binomial(self.minima, p);
        of_band[0] = 0.0;
        let missed = (0..self.bands).fold(vec![1.0], |sum, _| convolved(&sum, &of_band));
        let others = binomial(MINIMA - self.bands * self.minima, p);
        let within = |counts: &[f64]| counts.iter().take(self.distance as usize + 1).sum::<f64>();
        (within(&binomial(MINIMA, p)) - within(&convolved(&missed, &others))).max(0.0)
    }

    /// Returns whether a database can have this rule.
    pub(crate) fn is_allowed(&self) -> bool {
        (1..=MAX_BANDS).contains(&self.bands)
            && (1..=MINIMA_PER_BAND).contains(&self.minima)
            && self.distance <= MINIMA
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.jaccard.encode(out);
        [self.bands, self.minima, self.distance]
            .into_iter()
            .for_each(|part| out.put_u8(u8::try_from(part).unwrap_or(0)));
    }

    pub(crate) fn decode(fields: &mut Fields<'_>) -> Result<Self> {
        let start = fields.clone();
        let jaccard = Jaccard::decode(fields)?;
        let mut part = |what| fields.u8(what).map(u32::from);
        let (bands, minima) = (part("number of bands")?, part("minima per band")?);
        let distance = part("distance of sketches")?;
        let rule = Self { jaccard, bands, minima, distance };
        if rule.is_allowed() {
            Ok(rule)
        } else {
            Err(start.corruption("a rule that no database has"))
        }
    }
}

/// Which sketches match a query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SketchTest {
    pub(crate) rule: BandRule,
    /// Most minima that may differ.
    pub(crate) distance: u32,
    /// Whether all matches share a band with the query, so that its bands lead to all of them. Within
    /// a distance of fewer minima than there are bands, they do.
    pub(crate) shares_band: bool,
}

impl SketchTest {
    /// Returns the distance of two sketches that match.
    #[inline(always)]
    pub(crate) fn distance<F: Fingerprint>(&self, a: F, b: F) -> Option<u32> {
        let differing = a.differing(b);
        let distance = differing.count_ones();
        let matches = distance <= self.distance
            && (!self.shares_band || self.rule.first_shared_band(differing).is_some());
        matches.then_some(distance)
    }
}

/// Returns how many minima a band has at most: at a similarity of .8, five among up to 10^7
/// documents, six up to 10^9, and seven beyond. At others, as many as find pairs as often.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 8")]
fn minima_for(similarity: f64, documents: u64) -> u32 {
    let reference = match documents {
        0..=10_000_000 => 5.0,
        10_000_001..=1_000_000_000 => 6.0,
        _ => 7.0,
    };
    let minima = reference * REFERENCE.ln() / similarity.min(0.999).ln();
    minima.round().clamp(1.0, MINIMA_PER_BAND.into()) as u32
}

/// Returns the probability that a minimum differs between sketches of sets of this similarity. The
/// six bits of minima of different features agree with a probability of 1/64.
fn differing(similarity: f64) -> f64 {
    (1.0 - similarity.clamp(0.0, 1.0)) * 63.0 / 64.0
}

/// Returns the distribution of the number of minima that differ, of so many.
pub(super) fn binomial(minima: u32, p: f64) -> Vec<f64> {
    (0..minima).fold(vec![1.0], |counts, _| convolved(&counts, &[1.0 - p, p]))
}

fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; a.len() + b.len() - 1];
    for (i, a) in a.iter().enumerate() {
        b.iter().enumerate().for_each(|(j, b)| sum[i + j] += a * b);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Sketch;

    #[test]
    fn rules_for_more_documents_have_longer_bands_and_find_as_much() {
        let chosen = |documents| {
            let rule = BandRule::for_similarity(Jaccard::at_least(0.8), documents);
            (rule.bands, rule.minima, rule.distance)
        };
        let sizes = [0, 10_000_000, 10_000_001, 1_000_000_000, 1_000_000_001, u64::MAX];
        let rules = [(8, 5, 38), (8, 5, 38), (10, 6, 38), (10, 6, 38), (13, 7, 38), (13, 7, 38)];
        assert_eq!(sizes.map(chosen), rules);
    }

    #[test]
    fn every_similarity_has_a_rule_that_finds_what_is_asked_for() {
        for similarity in (50..=100).map(|percent| f64::from(percent) / 100.0) {
            for recall in [0.5, 0.8, 0.95, 0.99, 0.999] {
                for documents in [1_000, 1_000_000_000, 10_000_000_000] {
                    let jaccard = Jaccard::at_least(similarity).recall(recall);
                    let rule = BandRule::for_similarity(jaccard, documents);
                    assert!(rule.is_allowed(), "{rule:?}");
                    assert!(rule.found_at(similarity) >= recall, "{rule:?} for {documents}");
                    assert!(rule.found_at(similarity - 0.3) < 0.7 * recall, "{rule:?}");
                }
            }
        }
    }

    #[test]
    fn rules_find_the_share_of_random_pairs_that_is_computed() {
        let rule = BandRule::for_similarity(Jaccard::at_least(0.8), 1_000);
        let mut rng = fastrand::Rng::with_seed(5);
        const PAIRS: u32 = 4_000;
        for similarity in [0.65, 0.7, 0.75, 0.8] {
            let found = (0..PAIRS).filter(|_| {
                let a: Sketch = std::array::from_fn(|_| rng.u128(..));
                let mut b = a;
                for minimum in 0..MINIMA {
                    let is_other = rng.f64() >= similarity;
                    let bits = if is_other { rng.u8(..64) } else { continue };
                    for (plane, bit) in b.iter_mut().zip(0..) {
                        *plane = *plane & !(1 << minimum) | u128::from(bits >> bit & 1) << minimum;
                    }
                }
                rule.test().distance(a, b).is_some()
            });
            let (found, expected) = (found.count() as f64, rule.found_at(similarity));
            let deviation = (f64::from(PAIRS) * expected * (1.0 - expected)).sqrt();
            let error = (found - f64::from(PAIRS) * expected).abs();
            assert!(error < 4.0 * deviation, "{similarity}: {found} of {PAIRS}, not {expected}");
        }
    }

    fn decoded(bytes: &[u8]) -> Result<BandRule> {
        BandRule::decode(&mut Fields::new(bytes, 0))
    }

    #[test]
    fn a_stored_rule_is_read_as_it_was_and_no_other_is() {
        let rule = BandRule::for_similarity(Jaccard::at_least(0.8), 1_000);
        let mut bytes = Vec::new();
        rule.encode(&mut bytes);
        assert_eq!(decoded(&bytes).unwrap(), rule);
        let last = bytes.len() - 1;
        for (at, values) in [(last - 2, [0, 17]), (last - 1, [0, 9]), (last, [129, 255])] {
            for value in values {
                let mut other = bytes.clone();
                other[at] = value;
                assert!(decoded(&other).is_err(), "{value} at {at}");
            }
        }
        assert!(decoded(&bytes[..last]).is_err());
    }
}
