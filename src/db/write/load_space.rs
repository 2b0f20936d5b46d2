//! How much memory and disk space the parts of a bulk load take.

use crate::db::state::core::Core;
use crate::file::sorter::{self, Record};
use crate::fingerprint::{Entry, Fingerprint};
use crate::index::bands::{BandRule, Row};
use crate::settings::{IndexSettings, TableSettings};
use crate::store::segment::BandsPlan;
use crate::store::segment::bound::{Expected, MostBytes};

// The memory is shared in sixteenths. If it holds all entries of 64 bits, it holds the rows of one
// table too, which are half as long, and filters of 8 bits for two.
pub(super) const FOR_ENTRIES: usize = 9;
/// For the rows of all tables that are sorted at the same time.
pub(super) const FOR_ROWS: usize = 5;

/// A segment has fewer entries.
const MOST_ENTRIES: u64 = 1 << 48;

/// Returns the most bytes of disk space that a load of this many entries takes at a time, if no id
/// is greater than their number: the entries before they are sorted, the rows of tables, and the
/// segment.
pub(crate) fn most_space<F: Fingerprint>(core: &Core<F>, entries: u64) -> u64 {
    if entries == 0 {
        return 0;
    }
    unsorted_space(core, entries).saturating_add(segment_space(core, entries, entries, 0))
}

/// Returns the same for documents that take about this many bytes, whose ids may be any.
pub(super) fn documents_space<F: Fingerprint>(core: &Core<F>, documents: u64, bytes: u64) -> u64 {
    let segment = segment_space(core, documents, u64::MAX, bytes);
    unsorted_space(core, documents).saturating_add(segment)
}

/// Returns the bytes that the entries take on disk before they are sorted. Sketches are not
/// sorted, so they take none.
fn unsorted_space<F: Fingerprint>(core: &Core<F>, entries: u64) -> u64 {
    if core.settings.index.bands().is_some() {
        return 0;
    }
    let memory = share(core.tuning.bulk_memory, FOR_ENTRIES);
    let unsorted = entries.saturating_mul(Entry::<F::Word>::LEN as u64);
    let is_in_memory = unsorted <= memory as u64 / 2;
    if is_in_memory {
        0
    } else {
        unsorted.saturating_mul(copies::<F, Entry<F::Word>>(core, entries, memory))
    }
}

/// Returns how many copies of each record are on disk if they are sorted in this much memory.
fn copies<F: Fingerprint, R: Record>(core: &Core<F>, records: u64, memory: usize) -> u64 {
    if core.storage.can_discard() { 1 } else { sorter::copies::<R>(records, memory) }
}

/// Returns the most bytes that the segment and its scratch files take in addition to the unsorted
/// entries.
pub(super) fn segment_space<F: Fingerprint>(
    core: &Core<F>,
    entries: u64,
    greatest_id: u64,
    documents: u64,
) -> u64 {
    if entries >= MOST_ENTRIES {
        return u64::MAX;
    }
    let expected = Expected { documents, ..Expected::of_entries(entries, greatest_id) };
    let files = MostBytes::of(&core.settings, &expected);
    let peak = match &core.settings.index {
        IndexSettings::Tables(tables) => peak_with_tables(core, tables, entries, files),
        IndexSettings::Bands(rule) => peak_with_bands(core, *rule, entries, files),
    };
    if core.storage.can_discard() { peak.with_discards() } else { peak.without() }
}

fn peak_with_tables<F: Fingerprint>(
    core: &Core<F>,
    settings: &TableSettings,
    entries: u64,
    files: MostBytes,
) -> Peak {
    let sorts = sorts(core, core.threads());
    let row_memory = share(core.tuning.bulk_memory, FOR_ROWS);
    let rows = entries * <F::Word as Fingerprint>::BYTES as u64;
    let is_in_memory = rows * sorts as u64 <= row_memory as u64;
    let rows = rows.saturating_mul(copies::<F, F::Word>(core, entries, row_memory / sorts.max(1)));
    // Each table that is written has the hashes of its filter.
    let tables = settings.layout.tables();
    let filters = if settings.filter_bits > 0 { core.threads().min(tables) } else { 0 };
    let beside = if filters > 0 { entries * 8 } else { 0 };
    let (rows, beside) = if is_in_memory { (0, 0) } else { (rows, beside) };
    Peak {
        unsorted: unsorted_space(core, entries),
        files,
        rows,
        sorts: sorts as u64,
        beside,
        in_work: filters as u64,
        parts: parts(row_memory / sorts.max(1)),
        is_one_pass: core.threads() >= tables,
        has_bands: false,
    }
}

fn peak_with_bands<F: Fingerprint>(
    core: &Core<F>,
    rule: BandRule,
    documents: u64,
    files: MostBytes,
) -> Peak {
    let memory = share(core.tuning.bulk_memory, FOR_ENTRIES + FOR_ROWS);
    let plan = BandsPlan::new(rule, documents, core.threads(), memory);
    Peak {
        unsorted: 0,
        files,
        rows: plan.bytes_on_disk(documents, copies::<F, Row>(core, documents, plan.memory)),
        sorts: plan.tables_at_a_time(rule) as u64,
        beside: plan.bytes_of_pages(documents),
        in_work: plan.threads as u64,
        parts: parts(plan.memory),
        is_one_pass: false,
        has_bands: true,
    }
}

/// Returns in how many parts records that are sorted in this much memory are discarded, at least.
fn parts(memory: usize) -> u64 {
    (memory / (64 << 10)).clamp(2, 16) as u64
}

/// What takes disk space during a load, in bytes.
#[derive(Debug)]
struct Peak {
    /// The entries before they are sorted.
    unsorted: u64,
    files: MostBytes,
    /// The rows of one table.
    rows: u64,
    /// How many tables have rows at the same time.
    sorts: u64,
    /// What a table has in scratch files beside its rows while it is written.
    beside: u64,
    /// How many tables have that at the same time.
    in_work: u64,
    /// Records are discarded in at least this many parts. One of them may be on disk twice.
    parts: u64,
    /// Whether all tables are written at the same time.
    is_one_pass: bool,
    /// Whether the other tables are made of the documents, after these are written.
    has_bands: bool,
}

impl Peak {
    /// Returns the most bytes beside the unsorted entries if everything stays until the end.
    fn without(&self) -> u64 {
        let MostBytes { first, others, spare } = &self.files;
        let files = first + others.iter().sum::<u64>() + spare;
        files + self.rows * self.sorts + self.beside * self.in_work
    }

    /// Returns the same if what was read for the last time is discarded. Then a table takes no more
    /// space while it is written than its rows before, or the table with what is beside it.
    fn with_discards(&self) -> u64 {
        let MostBytes { first, others, spare } = &self.files;
        let (all, other) = (others.iter().sum::<u64>(), others.iter().max().copied().unwrap_or(0));
        let first_in_work = first + self.beside;
        // A table takes this much more than in the end before it is written, and while it is.
        let before = self.rows.saturating_sub(other);
        let more = self.rows.max(other + self.beside).saturating_sub(other);
        let peak = if self.has_bands {
            let in_work = self.in_work.min(self.sorts);
            let more = more * in_work + before * (self.sorts - in_work);
            self.unsorted.max(first_in_work).max(first + all + more)
        } else if self.is_one_pass {
            self.unsorted.max(first_in_work) + all + more * self.sorts
        } else {
            // The entries are there until the last table is written.
            let left = others.len().min(1) as u64;
            self.unsorted
                + first_in_work
                + all.saturating_sub(other)
                + more * self.sorts.saturating_sub(left)
        };
        let late = (self.unsorted + self.rows * self.sorts) / self.parts;
        (peak.max(first_in_work + all) + late + spare).saturating_sub(self.unsorted)
    }
}

/// Returns how many tables are sorted at a time by this many threads.
pub(super) fn sorts<F: Fingerprint>(core: &Core<F>, threads: usize) -> usize {
    threads.min(core.settings.index.sorted_tables())
}

/// Returns this many sixteenths of the memory.
pub(super) fn share(memory: usize, sixteenths: usize) -> usize {
    memory / 16 * sixteenths
}
