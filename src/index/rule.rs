//! Match rules: which fingerprints match.

use std::fmt;

use super::bands::{BandRule, Jaccard, ParityLimits, binomial};
use crate::base::cpu;
use crate::base::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Sketch};

/// Largest distances that databases of 64 and of 128 bits can be created for.
pub(crate) const MAX_DISTANCE_64: u8 = 12;
pub(crate) const MAX_DISTANCE_128: u8 = 10;

/// Which documents are near-duplicates. Chosen when a database is created, and stored in it.
///
/// - *Fingerprints* match if they differ in at most [`distance`](Self::distance) bits.
/// - *Sketches* match if they share a band, differ in at most [`distance`](Self::distance) of 128
///   minima, and seem similar enough by their parities. A band is some minima together, so a query
///   needs one lookup per band, however many documents there are. Of the pairs that are as similar
///   as was asked for, this misses a small, known [share](Self::found_at).
///
/// Either way, whether two match depends on nothing but the two and the rule. So the order of
/// writing, segments, compaction and threads do not matter, and if a matches b, then b matches a.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Jaccard, Options};
///
/// let db = Db::options().max_distance(6).in_memory()?;
/// let rule = &db.description().rule;
/// assert_eq!((rule.to_string().as_str(), rule.distance()), ("distance 6", 6));
/// assert!(rule.jaccard().is_none() && rule.bands().is_none());
/// assert!(rule.false_matches(1_000_000) < 1e-3);
///
/// let similar = Jaccard::at_least(0.8);
/// let db = Options::sketches().similar(similar).in_memory()?;
/// let rule = &db.description().rule;
/// assert_eq!((rule.bands(), rule.jaccard()), (Some((10, 5)), Some(similar)));
/// assert!(rule.found_at(0.8, 500) > 0.95 && rule.found_at(0.75, 500) < 0.01);
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchRule(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Distance { bits: u32, most: u32 },
    Bands(BandRule),
}

impl MatchRule {
    /// Returns the rule by distance.
    pub(crate) fn within(bits: u32, distance: u32) -> Result<Self> {
        let most = Self::max_distance(bits);
        if distance > most.into() {
            return Err(Error::invalid(format!(
                "max distance {distance}: expected 0 to {most} at {bits} bits"
            )));
        }
        Ok(Self::of_distance(bits, distance))
    }

    /// Returns the rule of a database that has this distance.
    pub(crate) fn of_distance(bits: u32, distance: u32) -> Self {
        Self(Kind::Distance { bits, most: distance })
    }

    /// Returns the largest distance that a database can be created for.
    pub(crate) fn max_distance(bits: u32) -> u8 {
        if bits > 64 { MAX_DISTANCE_128 } else { MAX_DISTANCE_64 }
    }

    /// Returns the rule of a database of sketches.
    pub(crate) fn by_bands(rule: BandRule) -> Self {
        Self(Kind::Bands(rule))
    }

    /// Returns the rule of a database of sketches; `None` for one of fingerprints.
    pub(crate) fn band_rule(&self) -> Option<BandRule> {
        match self.0 {
            Kind::Bands(rule) => Some(rule),
            Kind::Distance { .. } => None,
        }
    }

    /// Chooses the rule of a database of this many documents whose pairs of this similarity are to
    /// be found. It is the rule of [`Options::similar`](crate::Options::similar) with as many
    /// [expected entries](crate::Options::expected_entries).
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a similarity or recall that no rule has.
    ///
    /// ```
    /// use fpdb::{Jaccard, MatchRule};
    /// let rule = MatchRule::for_similarity(Jaccard::at_least(0.8), 10_000_000)?;
    /// assert_eq!(rule.bands(), Some((10, 5)));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn for_similarity(jaccard: Jaccard, documents: u64) -> Result<Self> {
        jaccard.check()?;
        Ok(Self::by_bands(BandRule::for_similarity(jaccard, documents)))
    }

    /// Makes the rule of a database of sketches from its parts: two match if they share one of
    /// `bands` bands of `minima` minima each, differ in at most `distance` minima, and by their
    /// parities seem at most `margin` hundredths of a standard error less similar than `jaccard`.
    /// To make a new rule, use [`for_similarity`](Self::for_similarity); this is for one that was
    /// written down.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for parts that no rule has.
    ///
    /// ```
    /// use fpdb::{Jaccard, MatchRule, Options};
    /// let db = Options::sketches().in_memory()?;
    /// let rule = &db.description().rule;
    /// let (bands, minima) = rule.bands().expect("it is for sketches");
    /// let margin = rule.margin().expect("it is for sketches");
    /// let similar = Jaccard::at_least(0.8);
    /// let same = MatchRule::of_bands(similar, (bands, minima), rule.distance(), margin)?;
    /// assert_eq!(same, *rule);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn of_bands(
        jaccard: Jaccard,
        (bands, minima): (u32, u32),
        distance: u32,
        margin: u16,
    ) -> Result<Self> {
        jaccard.check()?;
        let rule = BandRule { jaccard, bands, minima, distance, margin };
        if !rule.is_allowed() {
            return Err(Error::invalid(format!(
                "a rule of {bands} bands of {minima} minima and distance {distance}: expected 1 to 16 \
                 bands, 1 to 8 minima and at most 128"
            )));
        }
        Ok(Self::by_bands(rule))
    }

    /// Returns how many bands a sketch has, and how many minima a band; `None` in a database of
    /// fingerprints.
    #[must_use]
    pub fn bands(&self) -> Option<(u32, u32)> {
        self.band_rule().map(|rule| (rule.bands, rule.minima))
    }

    /// Returns the value of each band of a sketch, in the leading bits, followed by zeros; none if
    /// the rule is for fingerprints. Two sketches share a band if its values are equal, and a band
    /// has six bits of each of its minima. So a program that has sketches elsewhere can join them
    /// by these values, each with the number of its band, to find all pairs that may match.
    ///
    /// ```
    /// use fpdb::{Jaccard, MatchRule, Sketch};
    /// let rule = MatchRule::for_similarity(Jaccard::at_least(0.8), 10_000_000)?;
    /// let (mut minima, values) = ([7; 128], [1, 2, 3]);
    /// let a = Sketch::new(minima, &values);
    /// minima[24] = 8;
    /// let b = Sketch::new(minima, &values);
    /// let differ: Vec<bool> = rule.bands_of(a).zip(rule.bands_of(b)).map(|(a, b)| a != b).collect();
    /// // Minimum 24 is in band 3.
    /// assert_eq!(differ, (0..10).map(|band| band == 3).collect::<Vec<_>>());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn bands_of(&self, sketch: Sketch) -> impl Iterator<Item = u64> + use<> {
        let (bands, minima) = self.bands().unwrap_or_default();
        (0..bands).map(move |number| sketch.band(number, minima))
    }

    /// Returns how much less similar than asked for two sketches may seem by their parities, in
    /// hundredths of the standard error; `None` in a database of fingerprints.
    #[must_use]
    pub fn margin(&self) -> Option<u16> {
        self.band_rule().map(|rule| rule.margin)
    }

    /// Returns the number of bits, or of minima of sketches, beyond which two never match.
    #[must_use]
    pub fn distance(&self) -> u32 {
        match self.0 {
            Kind::Distance { most, .. } => most,
            Kind::Bands(rule) => rule.distance,
        }
    }

    /// Returns the distance of a rule by distance.
    pub(crate) fn by_distance(&self) -> Option<u32> {
        self.band_rule().is_none().then(|| self.distance())
    }

    /// Returns the similarity that the database was created for; `None` in a database of
    /// fingerprints.
    #[must_use]
    pub fn jaccard(&self) -> Option<Jaccard> {
        self.band_rule().map(|rule| rule.jaccard)
    }

    /// Returns the distance up to which every pair matches; of sketches, the distance up to which
    /// every pair shares a band.
    #[must_use]
    pub fn exact_distance(&self) -> u32 {
        self.band_rule().map_or(self.distance(), |rule| rule.exact_distance())
    }

    /// Prepares the rule for comparing fingerprints that are in no database. For sketches, this
    /// takes about .1 ms.
    #[must_use]
    pub fn matcher(&self) -> Matcher {
        let limits = self.band_rule().map(|rule| (rule, rule.limits()));
        Matcher { most: self.distance(), limits }
    }

    /// Returns the expected share, 0 to 1, of the pairs of this Jaccard similarity that match.
    ///
    /// Of sketches, it depends on how many features each of the two texts has: the similarity of
    /// large texts is estimated less exactly. Of fingerprints, it does not. There it is for a
    /// one-bit MinHash recipe such as `pairs/1`: each bit differs with the probability (1 -
    /// similarity) / 2, independently of the others (Li and König, *b-Bit Minwise Hashing*, WWW
    /// 2010).
    #[must_use]
    pub fn found_at(&self, similarity: f64, features: u32) -> f64 {
        match self.0 {
            Kind::Bands(rule) => rule.found_at(similarity, features),
            Kind::Distance { bits, most } => {
                let differing = (1.0 - similarity.clamp(0.0, 1.0)) / 2.0;
                binomial(bits, differing).iter().take(most as usize + 1).sum()
            }
        }
    }

    /// Returns the expected number of unrelated documents that match a query among `documents`, all
    /// of some hundred features.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn false_matches(&self, documents: u64) -> f64 {
        documents as f64 * self.found_at(0.0, 500)
    }
}

/// Compares fingerprints by a [`MatchRule`], as a database does that has this rule.
///
/// # Examples
///
/// ```
/// use fpdb::{Jaccard, MatchRule, Sketch};
///
/// let matcher = MatchRule::for_similarity(Jaccard::at_least(0.8), 1_000_000)?.matcher();
/// let [a, b, c] = [0, 2, 4].map(|first| {
///     Sketch::new([7; 128], &(first..first + 20).collect::<Vec<u64>>())
/// });
/// assert_eq!(matcher.distance(a, b), Some(0)); // 18 of 22 features
/// assert_eq!(matcher.distance(a, c), None); // 16 of 24
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug)]
pub struct Matcher {
    most: u32,
    limits: Option<(BandRule, ParityLimits)>,
}

impl Matcher {
    /// Returns the [distance](Fingerprint::distance) of two fingerprints if they match. The rule
    /// must be for their type, or they never match.
    #[inline]
    #[must_use]
    pub fn distance<F: Fingerprint>(&self, a: F, b: F) -> Option<u32> {
        match &self.limits {
            Some((rule, limits)) => cpu::with_native_instructions(
                #[inline(always)]
                || rule.test(limits).distance(&a, &b),
            ),
            None if a.sketch().is_some() => None,
            None => Some(a.distance(b)).filter(|&distance| distance <= self.most),
        }
    }
}

/// As it is given to [`Options`](crate::Options): `distance 3`, or `Jaccard similarity at least
/// 0.8`.
impl fmt::Display for MatchRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.jaccard() {
            None => write!(f, "distance {}", self.distance()),
            Some(jaccard) => write!(f, "{jaccard}"),
        }
    }
}

/// Its distance and, for sketches, what was asked for and the bands.
#[cfg(feature = "serde")]
impl serde::Serialize for MatchRule {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("MatchRule", 6)?;
        fields.serialize_field("distance", &self.distance())?;
        fields.serialize_field("jaccard", &self.jaccard().map(Jaccard::similarity))?;
        fields.serialize_field("recall", &self.jaccard().map(Jaccard::expected_recall))?;
        fields.serialize_field("bands", &self.bands().map(|(bands, _)| bands))?;
        fields.serialize_field("minima_per_band", &self.bands().map(|(_, minima)| minima))?;
        fields.serialize_field("margin", &self.margin())?;
        fields.end()
    }
}
