//! Bands of sketches: which bands a database has, and which sketches match by them.
//!
//! A sketch has the low six bits of each of 128 minima. The minima are in sixteen groups of eight,
//! and band i has the first few minima of group i. Two sketches match if they share a band and
//! are similar enough: locality-sensitive hashing of MinHash values (Broder 1997; Indyk and Motwani
//! 1998) with a comparison of the sketches themselves. With the same order in each
//! group, a band of fewer minima is a prefix of one of more (an LSH forest: Bawa, Condie and
//! Ganesan, WWW 2005), so every choice is a part of the same sketch.

use super::jaccard::Jaccard;
use super::normal;
use super::parities::ParityLimits;
use crate::base::error::Result;
use crate::file::codec::bytes::{Fields, PutFields};
use crate::fingerprint::{Fingerprint, MINIMA, MINIMA_PER_BAND, Sketch};

/// Most bands of a sketch.
const MAX_BANDS: u32 = MINIMA / MINIMA_PER_BAND;
/// A number with a 1 in each byte.
const EACH_BYTE: u128 = u128::MAX / 0xff;
/// The similarity for which the numbers of minima in [`minima_for`] are chosen.
const REFERENCE: f64 = 0.8;
/// Of the pairs of the similarity that may be missed, the share that may be missed because they
/// differ in too many minima. The others share no band.
const TOO_FAR: f64 = 0.06;
/// Of the pairs of the similarity that may be missed, the share that may be missed because they
/// share no band or are too far. The others do not seem similar enough by their parities.
const NOT_LED_TO: f64 = 0.45;
/// Largest margin that is chosen.
const MAX_MARGIN: u16 = 400;

/// Which sketches match: those that share a band, differ in few enough minima, and are similar
/// enough by their parities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BandRule {
    pub(crate) jaccard: Jaccard,
    /// Bands per sketch, 1 to 16.
    pub(crate) bands: u32,
    /// Minima per band, 1 to 8.
    pub(crate) minima: u32,
    /// Most minima that may differ.
    pub(crate) distance: u32,
    /// How much less similar than asked for a pair may seem by its parities, in hundredths of the
    /// standard error.
    pub(crate) margin: u16,
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
        let of_bands = |(bands, minima)| Self { jaccard, bands, minima, distance, margin: 0 };
        let recall = jaccard.expected_recall();
        let enough = 1.0 - NOT_LED_TO * (1.0 - recall);
        let found = rules.map(of_bands).find(|rule| rule.led_to(similarity) >= enough);
        let rule = found.unwrap_or(of_bands((MAX_BANDS, 1)));
        let accepted = recall / rule.led_to(similarity);
        let is_enough = |margin: &u16| normal::below(f64::from(*margin) / 100.0) >= accepted;
        Self { margin: (0..MAX_MARGIN).find(is_enough).unwrap_or(MAX_MARGIN), ..rule }
    }

    /// Returns the number of the first band that two sketches share, if these are the minima in
    /// which they [differ](Fingerprint::differing).
    #[inline(always)]
    pub(crate) fn first_shared_band(&self, differing: u128) -> Option<u32> {
        // A byte per band: zero if the sketches share it. Without branches, because in a crowd
        // nothing could predict them.
        let of_bands = EACH_BYTE * ((1 << self.minima) - 1);
        let others = u128::MAX.checked_shl(MINIMA_PER_BAND * self.bands).unwrap_or(0);
        let bytes = differing & of_bands | others;
        // Subtracting 1 sets bit 7 of a zero byte. Above the first one, it can set that of others.
        let zeros = bytes.wrapping_sub(EACH_BYTE) & !bytes & EACH_BYTE << 7;
        (zeros != 0).then(|| zeros.trailing_zeros() / MINIMA_PER_BAND)
    }

    /// Computes the limits by which sketches match. This takes about .1 ms.
    pub(crate) fn limits(&self) -> ParityLimits {
        ParityLimits::new(self.jaccard.units(), self.margin)
    }

    /// Returns the test for matches by this rule, whose limits these are.
    pub(crate) fn test<'a>(&self, limits: &'a ParityLimits) -> SketchTest<'a> {
        SketchTest { rule: *self, distance: self.distance, shares_band: true, limits: Some(limits) }
    }

    /// Returns the test for sketches within a distance.
    pub(crate) fn within(&self, distance: u32) -> SketchTest<'static> {
        SketchTest { rule: *self, distance, shares_band: distance < self.bands, limits: None }
    }

    /// Returns the distance within which all pairs share a band: each minimum that differs is in
    /// one.
    pub(crate) fn exact_distance(&self) -> u32 {
        self.distance.min(self.bands - 1)
    }

    /// Returns the share of the pairs of this similarity that match, of sets of this many features.
    pub(crate) fn found_at(&self, similarity: f64, features: u32) -> f64 {
        let accepted = self.limits().accepted_shares(similarity, features);
        let led_to = self.led_to_by_distance(similarity);
        led_to.iter().zip(accepted).map(|(led_to, accepted)| led_to * accepted).sum()
    }

    /// Returns the share of the pairs of this similarity that share a band and are near enough.
    fn led_to(&self, similarity: f64) -> f64 {
        self.led_to_by_distance(similarity).iter().sum()
    }

    /// Returns the same for each number of minima that differ.
    ///
    /// Each minimum differs independently of the others. Of the pairs that are near enough, those
    /// are missed in each of whose bands some minimum differs.
    fn led_to_by_distance(&self, similarity: f64) -> Vec<f64> {
        let p = differing(similarity);
        let mut of_band = binomial(self.minima, p);
        of_band[0] = 0.0;
        let missed = (0..self.bands).fold(vec![1.0], |sum, _| convolved(&sum, &of_band));
        let others = binomial(MINIMA - self.bands * self.minima, p);
        let all = binomial(MINIMA, p);
        let led_to = all.iter().zip(convolved(&missed, &others)).map(|(all, missed)| all - missed);
        led_to.take(self.distance as usize + 1).collect()
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
        out.put_u16(self.margin);
    }

    pub(crate) fn decode(fields: &mut Fields<'_>) -> Result<Self> {
        let start = fields.clone();
        let jaccard = Jaccard::decode(fields)?;
        let mut part = |what| fields.u8(what).map(u32::from);
        let (bands, minima) = (part("number of bands")?, part("minima per band")?);
        let distance = part("distance of sketches")?;
        let margin = fields.u16("margin of parities")?;
        let rule = Self { jaccard, bands, minima, distance, margin };
        if rule.is_allowed() {
            Ok(rule)
        } else {
            Err(start.corruption("a rule that no database has"))
        }
    }
}

/// Which sketches match a query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SketchTest<'a> {
    pub(crate) rule: BandRule,
    /// Most minima that may differ.
    pub(crate) distance: u32,
    /// Whether all matches share a band with the query, so that its bands lead to all of them.
    /// Within a distance of fewer minima than there are bands, they do.
    pub(crate) shares_band: bool,
    /// The limits by which sketches are similar enough; `None` if only the distance counts.
    pub(crate) limits: Option<&'a ParityLimits>,
}

impl SketchTest<'_> {
    /// Returns the distance of two sketches that match.
    #[inline(always)]
    pub(crate) fn distance<F: Fingerprint>(&self, a: &F, b: &F) -> Option<u32> {
        let (a, b) = (a.sketch()?, b.sketch()?);
        let distance = self.similar(a, b)?;
        let is_led_to = !self.shares_band || self.first_shared_band(a, b).is_some();
        is_led_to.then_some(distance)
    }

    /// Does the same for sketches that seem to share a band. Those of a crowd do, and nearly all of
    /// them differ in too many parities, so these are compared first.
    #[inline(always)]
    pub(crate) fn distance_in_band<F: Fingerprint>(&self, a: &F, b: &F) -> Option<u32> {
        let may_be_similar =
            |limits: &ParityLimits| Some(limits.may_accept(a.sketch()?, b.sketch()?));
        let is_rejected = self.limits.is_some_and(|limits| may_be_similar(limits) == Some(false));
        if is_rejected { None } else { self.distance(a, b) }
    }

    /// Returns the distance of two sketches that are near and similar enough, whether or not they
    /// share a band.
    #[inline(always)]
    fn similar(&self, a: &Sketch, b: &Sketch) -> Option<u32> {
        // This reads only the minima, and rejects unrelated sketches.
        let distance = a.distance(b);
        let is_near = distance <= self.distance;
        let is_similar = || self.limits.is_none_or(|limits| limits.accept(a, b, distance));
        (is_near && is_similar()).then_some(distance)
    }

    /// Returns the distance of two sketches that match, if this is the first band that they share.
    #[inline(always)]
    pub(crate) fn distance_in_first_band(&self, a: &Sketch, b: &Sketch, band: u32) -> Option<u32> {
        let is_first = |_: &u32| self.first_shared_band(a, b) == Some(band);
        self.distance_in_band(a, b).filter(is_first)
    }

    /// Returns the first band that two sketches share.
    #[inline(always)]
    fn first_shared_band(&self, a: &Sketch, b: &Sketch) -> Option<u32> {
        self.rule.first_shared_band(a.differing(b))
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

/// Returns the distribution of how many of `minima` minima differ.
pub(crate) fn binomial(minima: u32, p: f64) -> Vec<f64> {
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

    #[test]
    fn rules_for_more_documents_have_longer_bands_and_find_as_much() {
        let chosen = |documents| {
            let rule = BandRule::for_similarity(Jaccard::at_least(0.8), documents);
            (rule.bands, rule.minima, rule.distance, rule.margin)
        };
        let sizes = [0, 10_000_000, 10_000_001, 1_000_000_000, 1_000_000_001, u64::MAX];
        let rules = [(10, 5, 38, 186), (13, 6, 38, 186), (16, 7, 38, 191)];
        let rules = [rules[0], rules[0], rules[1], rules[1], rules[2], rules[2]];
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
                    for features in [100, 500, 2_000, 3_000, 100_000] {
                        let found = rule.found_at(similarity, features);
                        // The numbers of parities and features go in steps.
                        let least = recall - 0.003 - 0.1 * (1.0 - recall);
                        assert!(found >= least, "{rule:?}: {found} of {features}");
                    }
                    assert!(rule.found_at(similarity - 0.3, 500) < 0.001 * recall, "{rule:?}");
                }
            }
        }
    }

    #[test]
    fn the_first_shared_band_is_the_first_in_which_no_minimum_differs() {
        let mut rng = fastrand::Rng::with_seed(8);
        let rule = BandRule::for_similarity(Jaccard::at_least(0.8), 1_000);
        for (bands, minima) in (1..=16).flat_map(|bands| (1..=8).map(move |minima| (bands, minima)))
        {
            let rule = BandRule { bands, minima, ..rule };
            for count in 0..200 {
                let differing = (0..count).fold(0, |all: u128, _| all | 1 << rng.u32(..128));
                let of_band = |band| differing >> (8 * band) & ((1 << minima) - 1);
                let expected = (0..bands).find(|&band| of_band(band) == 0);
                assert_eq!(rule.first_shared_band(differing), expected, "{differing:x} {bands}");
            }
        }
    }

    #[test]
    fn bands_lead_to_the_share_of_random_pairs_that_is_computed() {
        let rule = BandRule::for_similarity(Jaccard::at_least(0.8), 1_000);
        let test = SketchTest { limits: None, ..rule.test(&rule.limits()) };
        let mut rng = fastrand::Rng::with_seed(5);
        const PAIRS: u32 = 4_000;
        for similarity in [0.65, 0.7, 0.75, 0.8] {
            let found = (0..PAIRS).filter(|_| {
                let minima: [u64; 128] = std::array::from_fn(|_| rng.u64(..));
                let other = minima.map(|it| if rng.f64() < similarity { it } else { rng.u64(..) });
                let [a, b] = [minima, other].map(|minima| Sketch::new(minima, &[]));
                test.distance(&a, &b).is_some()
            });
            let (found, expected) = (found.count() as f64, rule.led_to(similarity));
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
        let last = bytes.len() - 3;
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
