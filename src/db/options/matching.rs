//! Options for what counts as a near-duplicate.

use crate::db::options::Options;
use crate::index::bands::Jaccard;
use crate::index::rule::MatchRule;

impl<F> Options<F> {
    /// Sets the distance in bits within which two documents count as near-duplicates, and up to
    /// which queries are fast. A larger one finds more near-duplicates, but also more unrelated
    /// documents, and takes more time. 0 to 12 at 64 bits and 0 to 10 at 128; default 3; stored.
    pub fn max_distance(mut self, distance: u32) -> Self {
        self.max_distance = Some(distance);
        self
    }

    /// Sets the match rule itself. To choose a rule, use [`max_distance`](Self::max_distance) or
    /// [`similar`](Options::similar): this is for the rule of another database. Stored.
    ///
    /// ```
    /// use fpdb::{Jaccard, Options};
    /// let first = Options::sketches().similar(Jaccard::at_least(0.8)).in_memory()?;
    /// let same = Options::sketches().rule(&first.description().rule).in_memory()?;
    /// assert_eq!(same.description().rule, first.description().rule);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn rule(mut self, rule: &MatchRule) -> Self {
        (self.max_distance, self.similar) = (rule.by_distance(), None);
        self.rule = rule.by_distance().is_none().then_some(*rule);
        self
    }

    /// Lets the sketches of a database match if their Jaccard similarity is high, and chooses the
    /// bands that find them among the [expected entries](Self::expected_entries): 10 bands of 5
    /// minima up to 10 million documents, 13 of 6 up to a billion, and 16 of 7 beyond, at a
    /// similarity of 0.8. Default: at least 0.8; stored.
    ///
    /// More bands take more space: 5 bytes per document and band. What a band leads to in vain
    /// grows with the number of documents of one subject. Below a similarity of 0.7, bands lead to
    /// too many of a billion. A database of fingerprints has no similarity, and is not created with
    /// one.
    ///
    /// ```
    /// use fpdb::{Jaccard, Options, Sketch, Within};
    /// let options = Options::sketches().similar(Jaccard::at_least(0.8));
    /// let db = options.expected_entries(100_000_000).in_memory()?;
    /// let mut minima = [7; 128];
    /// db.insert(Sketch::new(minima, &[1, 2, 3, 4, 5]), 1)?;
    /// minima[100] = 8;
    /// assert_eq!(db.query(Sketch::new(minima, &[1, 2, 3, 4]), Within::Rule)?.len(), 1);
    /// assert_eq!(db.query(Sketch::new(minima, &[1, 2, 3]), Within::Rule)?.len(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn similar(mut self, jaccard: Jaccard) -> Self {
        match jaccard.check() {
            Ok(()) => (self.similar, self.rule) = (Some(jaccard), None),
            Err(error) => self.invalid = Some(error),
        }
        self
    }
}
