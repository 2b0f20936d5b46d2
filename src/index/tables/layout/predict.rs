//! Predicts the size of tables and the time of their queries.

use std::ops::Add;

use super::Layout;
use super::plan::TablePlan;
use super::reads::Reads;
use super::search::leaves;
use super::size_class::{SEGMENT_BITS, middle};
use super::terms::{Leaves, PAGE, Terms};
use crate::index::prediction::Prediction;

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
        clippy::cast_precision_loss,
        reason = "an estimate, from 0 up"
    )]
    pub(crate) fn predict(
        &self,
        distance: u32,
        entries: u64,
        (block_size, filter_bits): (usize, u32),
    ) -> Prediction {
        let terms = Terms { block_size, filter_bits, ..Terms::default() };
        let Sizes { disk, memory } = self.sizes(entries, &terms);
        let plan = self.plan_for(middle(entries, SEGMENT_BITS), distance, &terms);
        let (reads, ns) = if plan.is_scan() {
            (self.read_all(entries, &terms), terms.scan(entries).ns)
        } else {
            let leaves = leaves(self, entries, &terms);
            let tables = || plan.tables().iter().map(|table| (table, &*leaves[table.number()]));
            let reads = tables().map(|(table, leaves)| leaves.reads(table));
            let ns: f64 = tables().map(|(table, leaves)| time_of(table, leaves)).sum();
            (reads.fold(Reads::default(), Reads::add), terms.costs.query_ns + ns)
        };
        // At a time, a load sorts entries with ids, the fingerprints of a table, and hashes of
        // prefixes.
        let fingerprint = u64::from(self.bits / 8);
        let hash = if filter_bits > 0 { 8 } else { 0 };
        let sorted = entries.saturating_mul(fingerprint + 8 + fingerprint + hash);
        Prediction {
            query_us: ns / 1e3,
            probes: plan.probe_count() as f64,
            candidates: reads.candidates,
            blocks: reads.blocks,
            pages: reads.pages,
            memory_bytes: memory as u64,
            disk_bytes: disk as u64,
            load_bytes: (disk as u64).saturating_add(sorted),
        }
    }

    /// Returns what a scan of table 0 reads.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn read_all(&self, entries: u64, terms: &Terms) -> Reads {
        let table = terms.table(self.bits.into(), entries, 0);
        Reads {
            blocks: table.blocks / terms.block_size as f64,
            pages: (table.blocks / PAGE).ceil(),
            candidates: entries as f64,
        }
    }

    /// Returns the expected bytes of all tables.
    pub(super) fn sizes(&self, entries: u64, terms: &Terms) -> Sizes {
        let table = |depth: u8| terms.table(self.bits.into(), entries, depth.into());
        let tables = (0..self.tables()).map(|number| table(self.filter_depth(number)));
        tables.fold(Sizes { disk: 0.0, memory: 0.0 }, |sum, table| Sizes {
            disk: sum.disk + table.bytes(),
            memory: sum.memory + table.index + table.filter,
        })
    }
}

/// Returns the expected nanoseconds of searching a table.
fn time_of(table: &TablePlan, leaves: &Leaves) -> f64 {
    let each = table.probes().iter().map(|probe| leaves.by_depth[usize::from(probe.depth)].ns);
    leaves.table_ns + each.sum::<f64>()
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
                    let found = layout.predict(distance, entries, (128, 8));
                    assert!(found.query_us.is_finite() && found.query_us > 0.0, "{name} {found:?}");
                    assert!(found.memory_bytes <= found.disk_bytes, "{name}: {found:?}");
                    assert!(found.load_bytes >= found.disk_bytes, "{name}: {found:?}");
                }
            }
        }
    }

    /// Microseconds that `cargo bench --bench designs -- --n 28 --filter 0` measured.
    #[test]
    fn times_where_the_memory_of_a_page_takes_long_to_find_are_predicted_to_a_factor_of_one_and_a_half()
     {
        for (name, measured) in [
            ("single", 494.0),
            ("half-2", 12.7),
            ("ring-3", 9.9),
            ("ring-4", 6.1),
            ("paper-10", 3.7),
        ] {
            let us = Layout::preset(name, 64).unwrap().predict(3, 1 << 28, (128, 0)).query_us;
            assert!((measured / 1.5..measured * 1.5).contains(&us), "{name}: {us}");
        }
    }

    #[test]
    fn more_tables_take_more_and_find_far_matches_faster() {
        let of = |name| Layout::preset(name, 64).unwrap().predict(6, 1 << 24, (128, 0));
        let (few, many) = (of("half-2"), of("ring-4"));
        assert!(many.disk_bytes > few.disk_bytes && many.memory_bytes > few.memory_bytes);
        assert!(many.query_us < few.query_us, "{few:?} {many:?}");
    }
}
