//! Match rules: which fingerprints match.

use std::fmt;

use super::bands::{BandRule, binomial};
use super::jaccard::Jaccard;
use super::{MAX_DISTANCE_64, MAX_DISTANCE_128};
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Sketch};

/// Which documents are near-duplicates. Chosen when a database is created, and stored in it.
///
/// - *Fingerprints* match if they differ in at most [`distance`](Self::distance) bits.
/// - *Sketches* match if they share a band and differ in at most [`distance`](Self::distance) of 128
///   minima. A band is some minima together, so this misses a small, known [share](Self::found_at) of
///   the pairs within the distance, and needs one lookup per band, however many documents there are.
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
/// assert_eq!((rule.bands(), rule.jaccard()), (Some((8, 5)), Some(similar)));
/// assert!(rule.found_at(0.8) >= 0.95 && rule.found_at(0.5) < 0.0001);
/// assert!(rule.exact_distance() < rule.distance());
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

    /// Chooses the rule of a database of this many documents whose pairs of this similarity are to be
    /// found. It is the rule of [`Options::similar`](crate::Options::similar) with as many
    /// [expected entries](crate::Options::expected_entries).
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a similarity or recall that no rule has.
    ///
    /// ```
    /// use fpdb::{Jaccard, MatchRule};
    /// let rule = MatchRule::for_similarity(Jaccard::at_least(0.8), 10_000_000)?;
    /// assert_eq!(rule.bands(), Some((8, 5)));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn for_similarity(jaccard: Jaccard, documents: u64) -> Result<Self> {
        jaccard.check()?;
        Ok(Self::by_bands(BandRule::for_similarity(jaccard, documents)))
    }

    /// Makes the rule of a database of sketches from its parts: two match if they share one of `bands`
    /// bands of `minima` minima each and differ in at most `distance` minima. `jaccard` is what the
    /// rule was made for. To make a new rule, use [`Options::similar`](crate::Options::similar); this
    /// is for one that was written down.
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
    /// let same = MatchRule::of_bands(Jaccard::at_least(0.8), bands, minima, rule.distance())?;
    /// assert_eq!(same, *rule);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn of_bands(jaccard: Jaccard, bands: u32, minima: u32, distance: u32) -> Result<Self> {
        jaccard.check()?;
        let rule = BandRule { jaccard, bands, minima, distance };
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

    /// Returns the value of each band of a sketch, in the leading bits, followed by zeros; none if the
    /// rule is for fingerprints. Two sketches share a band if its values are equal, and a band has six
    /// bits of each of its minima. So a program that has sketches elsewhere can join them by these
    /// values, each with the number of its band, to find all pairs that may match.
    ///
    /// ```
    /// use fpdb::{Jaccard, MatchRule, Sketch};
    /// let rule = MatchRule::for_similarity(Jaccard::at_least(0.8), 10_000_000)?;
    /// let (a, mut b): (Sketch, Sketch) = ([7; 6], [7; 6]);
    /// b[5] ^= 1 << 24;
    /// let differing: Vec<usize> =
    ///     (0..).zip(rule.bands_of(a).zip(rule.bands_of(b))).filter(|(_, (a, b))| a != b).map(|it| it.0).collect();
    /// // Minimum 24 is in band 3.
    /// assert_eq!((rule.bands_of(a).count(), differing), (8, vec![3]));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn bands_of(&self, sketch: Sketch) -> impl Iterator<Item = u64> + use<> {
        let (bands, minima) = self.bands().unwrap_or_default();
        (0..bands).map(move |number| sketch.band(number, minima))
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

    /// Returns the distance up to which every pair matches.
    #[must_use]
    pub fn exact_distance(&self) -> u32 {
        self.band_rule().map_or(self.distance(), |rule| rule.exact_distance())
    }

    /// Returns the expected share, 0 to 1, of the pairs of this Jaccard similarity that match. Of
    /// fingerprints, this is for a one-bit MinHash recipe such as `pairs/1`: there, each bit differs
    /// with the probability (1 - similarity) / 2, independently of the others (Li and König, *b-Bit
    /// Minwise Hashing*, WWW 2010).
    #[must_use]
    pub fn found_at(&self, similarity: f64) -> f64 {
        match self.0 {
            Kind::Bands(rule) => rule.found_at(similarity),
            Kind::Distance { bits, most } => {
                let differing = (1.0 - similarity.clamp(0.0, 1.0)) / 2.0;
                binomial(bits, differing).iter().take(most as usize + 1).sum()
            }
        }
    }

    /// Returns the expected number of unrelated documents that match a query among `documents`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn false_matches(&self, documents: u64) -> f64 {
        documents as f64 * self.found_at(0.0)
    }
}

/// As it is given to [`Options`](crate::Options): `distance 3`, or `Jaccard similarity at least 0.8`.
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
        let mut fields = serializer.serialize_struct("MatchRule", 5)?;
        fields.serialize_field("distance", &self.distance())?;
        fields.serialize_field("jaccard", &self.jaccard().map(Jaccard::similarity))?;
        fields.serialize_field("recall", &self.jaccard().map(Jaccard::expected_recall))?;
        fields.serialize_field("bands", &self.bands().map(|(bands, _)| bands))?;
        fields.serialize_field("minima_per_band", &self.bands().map(|(_, minima)| minima))?;
        fields.end()
    }
}
