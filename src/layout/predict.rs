//! Predicts the size of a database and the time of its queries.

use super::terms::Terms;
use super::{Layout, MatchRule, columns};

/// The size of a database, and the time of its queries, as predicted by
/// [`Description::predict`](crate::Description::predict) for evenly spread fingerprints in one
/// segment.
///
/// # Examples
///
/// ```
/// let db = fpdb::Db::options().in_memory()?;
/// let prediction = db.description().predict(10_000_000);
/// assert!(prediction.query_us < 10.0);
/// assert!(prediction.memory_bytes < prediction.disk_bytes);
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// Microseconds of a query without matches, if all files are in memory.
    pub query_us: f64,
    /// Bytes of directories, filters and columns, which should be in memory.
    pub memory_bytes: u64,
    /// Bytes of the tables on disk. Each id takes at least 3 more.
    pub disk_bytes: u64,
    /// About how many bytes of disk a bulk load takes while it runs: the tables, and what it sorts.
    pub load_bytes: u64,
}

/// The bytes of all tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) disk: f64,
    memory: f64,
}

impl Layout {
    /// Predicts the size of a database with this layout, and the time of its queries.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate, from 0 up"
    )]
    pub(crate) fn predict(
        &self,
        rule: &MatchRule,
        entries: u64,
        (block_size, filter_bits, columns): (usize, u32, bool),
    ) -> Prediction {
        let terms = Terms { block_size, filter_bits, columns, ..Terms::default() };
        let Sizes { disk, memory } = self.sizes(entries, &terms);
        let works = self.works_by(rule, entries, std::slice::from_ref(&terms));
        // At a time, a load sorts entries with ids, the fingerprints of a table, and hashes of prefixes.
        let fingerprint = u64::from(self.bits / 8);
        let hash = if filter_bits > 0 { 8 } else { 0 };
        let sorted = entries.saturating_mul(fingerprint + 8 + fingerprint + hash);
        Prediction {
            query_us: works.first().map_or(0.0, |work| work.ns / 1e3),
            memory_bytes: memory as u64,
            disk_bytes: disk as u64,
            load_bytes: (disk as u64).saturating_add(sorted),
        }
    }

    /// Returns the expected bytes of all tables.
    pub(super) fn sizes(&self, entries: u64, terms: &Terms) -> Sizes {
        let table = |depth: u8| terms.table(self.bits.into(), entries, depth.into());
        if terms.columns {
            let first = table(0);
            let columns = self.tables() as f64 * columns::bytes(entries.max(1), first.in_block);
            return Sizes { disk: first.bytes() + columns, memory: first.index + columns };
        }
        let tables = (0..self.tables()).map(|number| table(self.filter_depth(number)));
        tables.fold(Sizes { disk: 0.0, memory: 0.0 }, |sum, table| Sizes {
            disk: sum.disk + table.bytes(),
            memory: sum.memory + table.index + table.filter,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_and_distance_has_a_prediction_at_any_size() {
        for bits in [64, 128] {
            for name in Layout::preset_names() {
                let layout = Layout::preset(name, bits).unwrap();
                for (entries, distance) in [(0, 0), (1, 3), (1 << 30, 2), (u64::MAX, 1)] {
                    let rule = MatchRule::within(bits, distance).unwrap();
                    let found = layout.predict(&rule, entries, (128, 8, false));
                    assert!(found.query_us.is_finite() && found.query_us > 0.0, "{name} {found:?}");
                    assert!(found.memory_bytes <= found.disk_bytes, "{name}: {found:?}");
                    assert!(found.load_bytes >= found.disk_bytes, "{name}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn more_tables_take_more_and_find_far_matches_faster() {
        let rule = MatchRule::within(64, 6).unwrap();
        let of = |name| Layout::preset(name, 64).unwrap().predict(&rule, 1 << 24, (128, 0, false));
        let (few, many) = (of("half-2"), of("ring-4"));
        assert!(many.disk_bytes > few.disk_bytes && many.memory_bytes > few.memory_bytes);
        assert!(many.query_us < few.query_us, "{few:?} {many:?}");
    }
}
