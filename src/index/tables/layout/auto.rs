//! The choice of a layout for a database's size and distance.

use super::costs::Costs;
use super::design::{DESIGNS, split_evenly};
use super::presets::{ring_cells, ring_of};
use super::terms::{FILTERS, Terms, Work};
use super::{Layout, MatchRule};

/// Fewest entries that are assumed: a smaller database is fast with any layout, and may grow.
const MIN_ENTRIES: u64 = 1 << 16;
/// Factor by which the storage of one more table must divide the time to be worth it.
const TABLE_PENALTY: f64 = 2.75;
const MAX_RING: u8 = 6;

impl Layout {
    /// Chooses a layout for queries within `max_distance` among `expected_entries` fingerprints of
    /// `bits` bits, and the bits per fingerprint of a prefix filter that suits it: 8 or 0.
    /// Queries at larger distances remain possible, but are slower.
    ///
    /// The layout is a ring of 1 to 6 tables or a design of the paper, with or without a filter. It
    /// is the one for which predicted time × 2.75^(storage / storage of one table) is least. So one
    /// more table must save almost two thirds of the time, and a filter, which takes a sixth of a
    /// table, must save a sixth. At distance 3 that gives `half-2`, with a filter below some 2^32
    /// entries: above, nearly every prefix of a half occurs. There the designs of the paper with 10
    /// to 20 tables are faster, but not by as much as they are larger; `fpdb-tool recommend` shows
    /// both.
    ///
    /// Fewer than 65,536 entries count as 65,536, and distances above the largest that a database
    /// can have as that one. `bits` up to 64 counts as 64, and above as 128.
    ///
    /// The result has the name of the preset that it equals, or else is named after the widths of
    /// its cells, as in `ring:21/21/22`. [`preset`](Self::preset) accepts both.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Layout;
    ///
    /// let (layout, filter_bits) = Layout::auto(64, 3, 100_000_000);
    /// assert_eq!((layout.name(), filter_bits), ("half-2", 8));
    /// ```
    #[must_use]
    pub fn auto(bits: u32, max_distance: u32, expected_entries: u64) -> (Self, u32) {
        let bits = if bits > 64 { 128 } else { 64 };
        let most = MatchRule::max_distance(bits.into());
        let distance = u8::try_from(max_distance).map_or(most, |k| k.min(most));
        let rings = (1..=MAX_RING.min(distance + 1))
            .map(|tables| ring_of(bits, ring_cells(bits, &split_evenly(distance + 1, tables))));
        // The four tables of the paper are a ring.
        let designs = DESIGNS.iter().skip(1);
        let designs = designs.filter_map(|(name, _)| Self::preset(name, bits.into()).ok());
        let mut best = (ring_of(bits, vec![bits]), 0);
        let mut least = f64::INFINITY;
        for layout in rings.chain(designs) {
            if layout.least_weight() >= least {
                continue;
            }
            let weighed = layout.weighed(distance.into(), expected_entries);
            for (filter_bits, weighed) in FILTERS.into_iter().zip(weighed) {
                if weighed < least {
                    (best, least) = ((layout.clone(), filter_bits), weighed);
                }
            }
        }
        best
    }

    /// Returns the bits per fingerprint of the prefix filter that suits this layout, by the rule of
    /// [`auto`](Self::auto).
    pub(crate) fn auto_filter(&self, max_distance: u32, expected_entries: u64) -> u32 {
        let most = MatchRule::max_distance(self.bits());
        let weighed = self.weighed(max_distance.min(most.into()), expected_entries);
        let all = FILTERS.into_iter().zip(weighed);
        all.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(filter_bits, _)| filter_bits)
    }

    /// Returns, for each filter, the predicted time multiplied by the penalty for storage.
    fn weighed(&self, distance: u32, entries: u64) -> Vec<f64> {
        let entries = entries.max(MIN_ENTRIES);
        let terms = FILTERS.map(|filter_bits| Terms { filter_bits, ..Terms::default() });
        let works = self.works(entries, distance, &terms);
        let weighed = |(terms, work): (&Terms, Work)| {
            work.ns * TABLE_PENALTY.powf(self.storage(entries, terms))
        };
        terms.iter().zip(works).map(weighed).collect()
    }

    /// Returns what [`weighed`](Self::weighed) would be at least, whatever the lookups cost.
    fn least_weight(&self) -> f64 {
        let tables = u32::try_from(self.tables()).unwrap_or(u32::MAX);
        Costs::default().query_ns * TABLE_PENALTY.powf(tables.into())
    }

    /// Returns the storage of all tables, in tables without a filter.
    pub(super) fn storage(&self, entries: u64, terms: &Terms) -> f64 {
        self.sizes(entries, terms).disk / terms.table(self.bits.into(), entries, 0).bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choice_follows_the_distance_and_the_size() {
        let name = |k, log| {
            let (layout, filter) = Layout::auto(64, k, 1u64 << log);
            format!("{layout} {filter}")
        };
        for (k, log, expected) in [
            (0, 26, "single 8"),
            (3, 10, "half-2 8"),
            (3, 20, "half-2 8"),
            (3, 26, "half-2 8"),
            (3, 30, "half-2 8"),
        ] {
            assert_eq!(name(k, log), expected, "k={k} 2^{log}");
        }
        assert_eq!(name(100, 23), name(12, 23));
    }

    #[test]
    fn every_result_is_a_valid_layout() {
        for k in [0, 1, 3, 6, 10, 12, 17, 24] {
            for log in [0, 20, 33] {
                for bits in [64, 128] {
                    let (layout, _) = Layout::auto(bits, k, 1u64 << log);
                    Layout::new(layout.name(), bits, layout.cells()).unwrap();
                    assert_eq!(Layout::preset(layout.name(), bits).unwrap(), layout);
                }
            }
        }
    }
}
