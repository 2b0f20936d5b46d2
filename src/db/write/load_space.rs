//! How much memory and disk space the parts of a bulk load take.

use crate::db::state::core::Core;
use crate::fingerprint::{Entry, Fingerprint};
use crate::segment::bound::{Expected, most_bytes};
use crate::sorter::Record;

// The memory is shared in sixteenths. If it holds all entries of 64 bits, it holds the rows of one
// table too, which are half as long, and filters of 8 bits for two.
pub(super) const FOR_ENTRIES: usize = 9;
/// For the rows of all tables that are sorted at the same time.
pub(super) const FOR_ROWS: usize = 5;

/// Returns the most bytes of disk space that a load of this many entries takes at a time, if no id is
/// greater than their number: the entries before they are sorted, and while they are still there,
/// the rows of tables, and the segment.
pub(crate) fn most_space<F: Fingerprint>(core: &Core<F>, entries: u64) -> u64 {
    if entries == 0 {
        return 0;
    }
    let unsorted = entries.saturating_mul(Entry::<F>::LEN as u64);
    let is_in_memory = unsorted <= share(core.tuning.bulk_memory, FOR_ENTRIES) as u64 / 2;
    let unsorted = if is_in_memory { 0 } else { unsorted };
    unsorted.saturating_add(segment_space(core, entries, entries, sorts(core, core.threads()), 0))
}

/// Returns the most bytes that the segment and its scratch files take.
pub(super) fn segment_space<F: Fingerprint>(
    core: &Core<F>,
    entries: u64,
    greatest_id: u64,
    sorts: usize,
    documents: u64,
) -> u64 {
    let expected = Expected { documents, ..Expected::of_entries(entries, greatest_id) };
    let rows = entries.saturating_mul(F::BYTES as u64).saturating_mul(sorts as u64);
    let is_in_memory = rows <= share(core.tuning.bulk_memory, FOR_ROWS) as u64;
    // Each table that is written has the hashes of its filter.
    let filters =
        if core.settings.filter_bits > 0 { core.threads().min(core.settings.tables()) } else { 0 };
    let hashes = entries.saturating_mul(8).saturating_mul(filters as u64);
    let scratch = if is_in_memory { 0 } else { rows.saturating_add(hashes) };
    most_bytes::<F>(&core.settings, &expected).saturating_add(scratch)
}

/// Returns how many tables are sorted at a time by this many threads.
pub(super) fn sorts<F: Fingerprint>(core: &Core<F>, threads: usize) -> usize {
    let settings = &core.settings;
    threads.min((settings.tables() - 1).max(settings.column_tables()))
}

/// Returns this many sixteenths of the memory.
pub(super) fn share(memory: usize, sixteenths: usize) -> usize {
    memory / 16 * sixteenths
}
