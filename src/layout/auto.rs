//! The layout that suits a database's size and distance.

use super::Layout;
use super::presets::{ring_cells, rotations};

/// Fewest entries reckoned with: a smaller database is fast with any layout, and may grow.
const LEAST_ENTRIES: u64 = 1 << 16;
/// What a further table must divide the time by to be worth its storage.
const TABLE_PENALTY: f64 = 2.75;
const MAX_DISTANCE: u8 = 10;
const MAX_RING: u8 = 4;

impl Layout {
    /// A layout for queries of up to `max_distance` (which may exceed it, at a price) among
    /// `expected_entries` fingerprints of `bits` bits.
    ///
    /// At 64 bits, a ring of 1 to 4 tables: the one for which predicted time x 2.75^tables is least,
    /// so a further table must save almost two thirds of the time. This gives two tables at
    /// distances 1 to 3 (`half-2` at 3) and three above. Databases of less than 65,536 entries are treated as having so many,
    /// distances above 10 as 10. At 128 bits it is `ring-4`. `bits` up to 64 counts as 64, above as
    /// 128.
    ///
    /// The result is named as the preset that it equals, or else by the widths of its cells, as in
    /// `ring:21/21/22`; the latter is no name for [`preset`](Self::preset).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Layout;
    ///
    /// assert_eq!(Layout::auto(64, 3, 100_000_000).name(), "half-2");
    /// assert_eq!(Layout::auto(128, 6, 1_000_000).name(), "ring-4");
    /// ```
    #[must_use]
    pub fn auto(bits: u32, max_distance: u32, expected_entries: u64) -> Self {
        let value = 1 + u8::try_from(max_distance).map_or(MAX_DISTANCE, |k| k.min(MAX_DISTANCE));
        if bits > 64 {
            return ring(128, &[1; 4]);
        }
        let entries = expected_entries.max(LEAST_ENTRIES);
        let mut best = ring(64, &[value]);
        let mut least = f64::INFINITY;
        for tables in 1..=MAX_RING.min(value.max(1)) {
            let layout = ring(64, &evenly(value, tables));
            let ns = layout.plan_for::<u64>(entries, u32::from(value) - 1).estimated_ns();
            let weighed = ns * TABLE_PENALTY.powi(i32::from(tables));
            if weighed < least {
                (best, least) = (layout, weighed);
            }
        }
        best
    }
}

/// `value` in `n` shares, the larger ones first.
fn evenly(value: u8, n: u8) -> Vec<u8> {
    (0..n).map(|share| value / n + u8::from(share < value % n)).collect()
}

/// The ring of cells for these thresholds, under a preset's name if it is one.
fn ring(bits: u8, thresholds: &[u8]) -> Layout {
    let cells = ring_cells(bits, thresholds);
    let orders = rotations(cells.len());
    let preset = ["single", "half-2", "ring-3", "ring-4"]
        .into_iter()
        .filter_map(|name| Layout::preset(name, bits.into()).ok())
        .find(|preset| preset.cells == cells && preset.orders == orders);
    preset.unwrap_or_else(|| {
        let widths: Vec<String> = cells.iter().map(u8::to_string).collect();
        Layout { name: format!("ring:{}", widths.join("/")), bits, cells, orders }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_distance_and_the_size() {
        let name = |k, log| Layout::auto(64, k, 1u64 << log).to_string();
        assert_eq!(name(0, 26), "single");
        for (k, log) in [(1, 20), (3, 10), (3, 20), (3, 26), (3, 30)] {
            assert_eq!(name(k, log), "half-2", "k={k} 2^{log}");
        }
        assert_eq!(name(2, 20), "ring:36/28");
        assert_eq!(name(4, 26), "ring:23/23/18");
        assert_eq!(name(5, 26), "ring:21/21/22");
        assert_eq!(name(8, 23), "ring:21/21/22");
        assert_eq!(name(100, 23), name(10, 23));
        assert_eq!(Layout::auto(128, 3, 0), Layout::preset("ring-4", 128).unwrap());
    }

    #[test]
    fn every_result_is_a_valid_layout() {
        for k in 0..=10 {
            for log in [0, 20, 33] {
                let layout = Layout::auto(64, k, 1u64 << log);
                Layout::new(layout.name(), 64, layout.cells(), &layout.orders).unwrap();
            }
        }
    }
}
