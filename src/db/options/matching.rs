//! Options for what counts as a near-duplicate.

use crate::db::options::Options;
use crate::layout::{Jaccard, MatchRule};

impl<F> Options<F> {
    /// Sets the distance in bits within which two documents count as near-duplicates, and up to
    /// which queries are fast. A larger one finds more near-duplicates, but also more unrelated
    /// documents, and takes more time. 0 to 12 at 64 bits and 0 to 24 at 128; default 3; stored.
    ///
    /// ```
    /// use fpdb::Db;
    /// let db = Db::options().max_distance(6).in_memory()?;
    /// db.insert(0b0011_1111, 1)?;
    /// assert_eq!(db.query(0, 6)?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_distance(mut self, distance: u32) -> Self {
        self.max_distance = Some(distance);
        self
    }

    /// Lets documents count as near-duplicates if their Jaccard similarity is high, and chooses the
    /// distance, the tables and the filter that find them among the
    /// [expected entries](Self::expected_entries). Instead of
    /// [`max_distance`](Self::max_distance); not set by default; stored.
    ///
    /// The fingerprints must come from a one-bit MinHash recipe, such as `pairs/1`. With others, a
    /// distance has another meaning. Nearly always 128 bits are needed. If the recall cannot be
    /// reached without false matches, creating the database fails.
    ///
    /// ```
    /// use fpdb::{Jaccard, Options, Within};
    /// let options = Options::bits128().similar(Jaccard::at_least(0.8));
    /// let db = options.expected_entries(100_000_000).in_memory()?;
    /// db.insert(u128::MAX, 1)?;
    /// assert_eq!(db.query(u128::MAX >> 9, Within::Rule)?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn similar(mut self, jaccard: Jaccard) -> Self {
        match jaccard.check() {
            Ok(()) => self.similar = Some(jaccard),
            Err(error) => self.invalid = Some(error),
        }
        self
    }

    /// Sets the match rule itself, and the layout that a rule by similarity is for. To choose a rule,
    /// use [`max_distance`](Self::max_distance) or [`similar`](Self::similar): this is for the rule
    /// of another database. Stored.
    ///
    /// ```
    /// use fpdb::{Jaccard, Options};
    /// let first = Options::bits128().similar(Jaccard::at_least(0.8)).in_memory()?;
    /// let same = Options::bits128().rule(&first.description().rule).in_memory()?;
    /// assert_eq!(same.description().rule, first.description().rule);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn rule(mut self, rule: &MatchRule) -> Self {
        (self.max_distance, self.similar) = (rule.by_distance(), None);
        self.rule = rule.layout().map(|_| rule.clone());
        self.layout = rule.layout().cloned().or(self.layout);
        self
    }
}
