//! Match rules: which fingerprints match.

use std::fmt;

use super::jaccard::Jaccard;
use super::keys::{KeyRule, binomial};
use super::{Layout, MAX_DISTANCE_64, MAX_DISTANCE_128};
use crate::codec::bytes::{Fields, PutFields};
use crate::error::{Error, Result};

/// Which documents are near-duplicates. Chosen when a database is created, and stored in it.
///
/// - *Fingerprints* match if they differ in at most [`distance`](Self::distance) bits.
/// - *Sketches* match if they share a key and differ in at most [`distance`](Self::distance) of 128
///   minima. A key is some minima together, so this misses a small, known [share](Self::found_at) of
///   the pairs within the distance, and needs one lookup per key, however many documents there are.
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
/// assert!(rule.jaccard().is_none() && rule.keys().is_none());
/// assert!(rule.false_matches(1_000_000) < 1e-3);
///
/// let similar = Jaccard::at_least(0.8);
/// let db = Options::sketches().similar(similar).in_memory()?;
/// let rule = &db.description().rule;
/// assert_eq!((rule.keys(), rule.jaccard()), (Some((8, 5)), Some(similar)));
/// assert!(rule.found_at(0.8) >= 0.95 && rule.found_at(0.5) < 0.0001);
/// assert!(rule.exact_distance() < rule.distance());
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchRule(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Distance { bits: u32, most: u8 },
    Keys(KeyRule),
}

/// The kinds of rules as they are stored.
const DISTANCE: u8 = 0;
const KEYS: u8 = 1;

impl MatchRule {
    /// Returns the rule by distance.
    pub(crate) fn within(bits: u32, distance: u32) -> Result<Self> {
        let most = Self::max_distance(bits);
        match u8::try_from(distance) {
            Ok(distance) if distance <= most => Ok(Self(Kind::Distance { bits, most: distance })),
            _ => Err(Error::invalid(format!(
                "max distance {distance}: expected 0 to {most} at {bits} bits"
            ))),
        }
    }

    /// Returns the largest distance that a database can be created for.
    pub(crate) fn max_distance(bits: u32) -> u8 {
        if bits > 64 { MAX_DISTANCE_128 } else { MAX_DISTANCE_64 }
    }

    /// Returns the rule of a database of sketches.
    pub(crate) fn by_keys(rule: KeyRule) -> Self {
        Self(Kind::Keys(rule))
    }

    /// Returns the rule of a database of sketches; `None` for one of fingerprints.
    pub(crate) fn key_rule(&self) -> Option<KeyRule> {
        match self.0 {
            Kind::Keys(rule) => Some(rule),
            Kind::Distance { .. } => None,
        }
    }

    /// Makes the rule of a database of sketches from its parts: two match if they share one of `keys`
    /// keys of `minima` minima each and differ in at most `distance` minima. `jaccard` is what the
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
    /// let (keys, minima) = rule.keys().expect("it is for sketches");
    /// let same = MatchRule::of_keys(Jaccard::at_least(0.8), keys, minima, rule.distance())?;
    /// assert_eq!(same, *rule);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn of_keys(jaccard: Jaccard, keys: u32, minima: u32, distance: u32) -> Result<Self> {
        jaccard.check()?;
        let rule = KeyRule { jaccard, keys, minima, distance };
        if !rule.is_allowed() {
            return Err(Error::invalid(format!(
                "a rule of {keys} keys of {minima} minima and distance {distance}: expected 1 to 16 \
                 keys, 1 to 8 minima and at most 128"
            )));
        }
        Ok(Self::by_keys(rule))
    }

    /// Returns how many keys a sketch has, and how many minima a key; `None` in a database of
    /// fingerprints.
    #[must_use]
    pub fn keys(&self) -> Option<(u32, u32)> {
        self.key_rule().map(|rule| (rule.keys, rule.minima))
    }

    /// Returns the number of bits, or of minima of sketches, beyond which two never match.
    #[must_use]
    pub fn distance(&self) -> u32 {
        match self.0 {
            Kind::Distance { most, .. } => most.into(),
            Kind::Keys(rule) => rule.distance,
        }
    }

    /// Returns the distance of a rule by distance.
    pub(crate) fn by_distance(&self) -> Option<u32> {
        self.key_rule().is_none().then(|| self.distance())
    }

    /// Returns the similarity that the database was created for; `None` in a database of
    /// fingerprints.
    #[must_use]
    pub fn jaccard(&self) -> Option<Jaccard> {
        self.key_rule().map(|rule| rule.jaccard)
    }

    /// Returns the distance up to which every pair matches.
    #[must_use]
    pub fn exact_distance(&self) -> u32 {
        self.key_rule().map_or(self.distance(), |rule| rule.exact_distance())
    }

    /// Returns the expected share, 0 to 1, of the pairs of this Jaccard similarity that match. Of
    /// fingerprints, this is for a one-bit MinHash recipe such as `pairs/1`: there, each bit differs
    /// with the probability (1 - similarity) / 2, independently of the others (Li and König, *b-Bit
    /// Minwise Hashing*, WWW 2010).
    #[must_use]
    pub fn found_at(&self, similarity: f64) -> f64 {
        match self.0 {
            Kind::Keys(rule) => rule.found_at(similarity),
            Kind::Distance { bits, most } => {
                let differing = (1.0 - similarity.clamp(0.0, 1.0)) / 2.0;
                binomial(bits, differing).iter().take(usize::from(most) + 1).sum()
            }
        }
    }

    /// Returns the expected number of unrelated documents that match a query among `documents`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn false_matches(&self, documents: u64) -> f64 {
        documents as f64 * self.found_at(0.0)
    }

    /// Appends the rule in its stored form; storage-format.md, "Match rule".
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self.0 {
            Kind::Distance { most, .. } => {
                out.put_u8(DISTANCE);
                out.put_u8(most);
            }
            Kind::Keys(rule) => {
                out.put_u8(KEYS);
                rule.encode(out);
            }
        }
    }

    /// Reads what [`encode`](Self::encode) wrote, for a database with this layout.
    pub(crate) fn decode(fields: &mut Fields<'_>, layout: &Layout) -> Result<Self> {
        match fields.u8("kind of match rule")? {
            DISTANCE => {
                let distance = fields.u8("max distance")?;
                Self::within(layout.bits(), distance.into())
                    .map_err(|error| fields.corruption(error.to_string()))
            }
            KEYS => {
                let rule = KeyRule::decode(fields)?;
                if *layout == Layout::of_keys(rule.keys) {
                    return Ok(Self::by_keys(rule));
                }
                Err(fields.corruption("the layout does not fit the keys"))
            }
            other => Err(fields.corruption(format!("kind of match rule {other}"))),
        }
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

/// Its distance and, for sketches, what was asked for and the keys.
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
        fields.serialize_field("keys", &self.keys().map(|(keys, _)| keys))?;
        fields.serialize_field("minima_per_key", &self.keys().map(|(_, minima)| minima))?;
        fields.end()
    }
}
