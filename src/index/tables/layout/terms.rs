//! The cost model: what the steps of a query cost, and so the cost of looking up a prefix.
//!
//! A probe is first checked against the table's prefix filter, if the prefix is long enough. If it
//! passes, it is looked up: an entry of the directory, and the head of one block, which is
//! prefetched while others are being decoded. That block is then decoded from its beginning until
//! after the wanted fingerprints, so about half a block is decoded that is not wanted. Fingerprints
//! in memory are found directly. Costs count the processor's work only, because waits overlap. Far
//! from its caches they grow with the logarithm of the size, since address translation gets more
//! and more expensive.

use super::costs::Costs;

/// What a plan depends on besides the layout, the number of entries and the distance: how tables
/// are written, and what reading them costs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Terms {
    /// Bytes of a block.
    pub block_size: usize,
    /// Whether the fingerprints are in memory as they are, not in blocks that must be decoded.
    pub decoded: bool,
    /// Bits per fingerprint of the prefix filter; 0 for none.
    pub filter_bits: u32,
    pub costs: Costs,
}

impl Default for Terms {
    fn default() -> Self {
        Self { block_size: 128, decoded: false, filter_bits: 0, costs: Costs::default() }
    }
}

/// Sizes of a filter that are considered, in bits per fingerprint: no filter, or this one. A larger
/// filter lets less through, but that is not worth its memory.
pub(super) const FILTERS: [u32; 2] = [0, 8];

/// Bits that each fingerprint of a block after the first takes beyond log2(values / entries) on
/// evenly spread data, whatever the width and the number.
const BEYOND_LOG: f64 = 2.95;
/// Bytes of a block before its first fingerprint.
const BLOCK_HEAD: f64 = 2.0;

/// Bytes of a slot of the directory.
const SLOT: f64 = 64.0;
const BLOCKS_PER_SLOT: f64 = 26.0;
/// Bytes of a page.
pub(super) const PAGE: f64 = 4096.0;

/// Entries in memory that a lookup compares besides the wanted ones.
const COMPARED: f64 = 3.0;
/// Entries decoded after the wanted ones, before it is known that no more can follow.
const OVERRUN: f64 = 1.0;

/// Returns whether a filter of the `depth` leading bits of `count` fingerprints is worth having. If
/// most prefixes occur, it rules out too few.
pub(crate) fn filter_is_useful(depth: u32, count: u64) -> bool {
    (1..=64).contains(&depth)
        && count > 0
        && (depth == 64 || 1u64 << depth >= count.saturating_mul(2))
}

/// Returns the share of absent prefixes that a filter of `filter_bits` bits per key lets through:
/// as many as a Bloom filter of 4 hash functions, and over a third more, since the bits of a key
/// are in one word.
fn false_positives(filter_bits: u32) -> f64 {
    (1.4 * (1.0 - (-4.0 / f64::from(filter_bits)).exp()).powi(4)).min(1.0)
}

/// The expected size of one table.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableSize {
    /// Fingerprints in a block.
    pub(super) in_block: f64,
    /// Bytes of the blocks.
    pub(super) blocks: f64,
    /// Bytes of the index, which should be in memory.
    pub(super) index: f64,
    /// Bytes of the filter, which should be in memory.
    pub(super) filter: f64,
}

impl TableSize {
    /// Returns the bytes of the file, with a checksum of 4 bytes per page.
    pub(super) fn bytes(&self) -> f64 {
        (self.blocks + self.index + self.filter) * (1.0 + 4.0 / PAGE)
    }
}

impl Terms {
    /// Returns the expected size of a table of `entries` evenly spread fingerprints.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn table(&self, bits: u32, entries: u64, filter_depth: u32) -> TableSize {
        let (n, width) = (entries.max(1) as f64, f64::from(bits));
        let each = (width - n.log2() + BEYOND_LOG).max(1.0);
        let block = self.block_size as f64;
        // On average, space for half a fingerprint is left at the end of a block.
        let room = ((block - BLOCK_HEAD) * 8.0 - width) / each - 0.5;
        let in_block = (1.0 + room.max(0.0)).min(n);
        let blocks = (n / in_block).ceil();
        let filtered = self.filter_bits > 0 && filter_is_useful(filter_depth, entries);
        let filter = if filtered { n * f64::from(self.filter_bits) / 8.0 } else { 0.0 };
        let index = (blocks / BLOCKS_PER_SLOT).ceil() * SLOT;
        TableSize { in_block, blocks: blocks * block, index, filter }
    }

    /// Returns the work of a query that reads an entire table.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn scan(&self, entries: u64) -> Work {
        let (n, costs) = (entries as f64, &self.costs);
        let ns = costs.query_ns + costs.scan_entry_ns * n;
        Work { ns, ..Work::default() }
    }
}

/// What a list of lookups is expected to do, and the time that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Work {
    pub ns: f64,
    /// Prefixes to look up.
    pub probes: f64,
}

impl std::ops::Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { ns: self.ns + other.ns, probes: self.probes + other.probes }
    }
}

/// The cost of looking up one prefix, for each length of the prefix.
#[derive(Debug)]
pub(super) struct Leaves {
    pub(super) by_depth: Vec<Work>,
    /// Prefixes longer than this cost the same as one of this length.
    pub(super) deepest: u8,
    /// What searching the table costs beside its lookups.
    pub(super) table_ns: f64,
    entries: u64,
    size: TableSize,
    /// Number of leading bits that the filter covers, and the share of prefixes that pass it.
    filter: Option<(u32, f64)>,
}

/// Below 2^-6 expected entries, the cost of a lookup no longer falls with its depth.
const DEPTH_BELOW_ONE_ENTRY: u32 = 6;

impl Leaves {
    /// Computes the costs for one of `tables` equal tables. Its filter, if it has one, covers the
    /// `filter_depth` leading bits.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn new(
        terms: &Terms,
        bits: u32,
        entries: u64,
        filter_depth: u32,
        tables: usize,
    ) -> Self {
        let size = terms.table(bits, entries, filter_depth);
        let (n, costs) = (entries as f64, &terms.costs);
        let all = tables as f64;
        let far = costs.doublings(all * size.bytes());
        let lookup_ns = costs.lookup(size.bytes(), all * size.bytes());
        let filter_far = costs.doublings(all * size.filter);
        let filter_ns = costs.filter_ns + costs.filter_far_ns * filter_far;
        let occupied = 1.0 - (-n * 2f64.powi(-filter_depth.cast_signed())).exp();
        let absent = (1.0 - occupied) * false_positives(terms.filter_bits);
        let passing = occupied + absent;
        let (entry_ns, unwanted) = if terms.decoded {
            (costs.decoded_entry_ns, COMPARED.min(size.in_block))
        } else {
            let unwanted = (size.in_block - 1.0) / 2.0 + OVERRUN.min(size.in_block / 2.0);
            (costs.entry_ns, unwanted)
        };
        let leaf = |depth: u32| {
            let below = n * 2f64.powi(-depth.cast_signed());
            let checked = size.filter > 0.0 && depth >= filter_depth;
            let (filter_checks, lookups) = if checked { (1.0, passing) } else { (0.0, 1.0) };
            let entries = lookups * unwanted + below;
            let ns = filter_checks * filter_ns + lookups * lookup_ns + entries * entry_ns;
            Work { ns, probes: 1.0 }
        };
        let to_one_entry = u64::BITS - entries.leading_zeros() + DEPTH_BELOW_ONE_ENTRY;
        let filtered = if size.filter > 0.0 { filter_depth } else { 0 };
        Self {
            by_depth: (0..=bits).map(leaf).collect(),
            deepest: u8::try_from(to_one_entry.max(filtered)).unwrap_or(u8::MAX),
            table_ns: costs.table_far_ns * far + costs.table_filter_ns * filter_far.min(1.0),
            entries,
            size,
            // If many prefixes occur, the hash spreads them more evenly than chance would.
            filter: (size.filter > 0.0)
                .then_some((filter_depth, occupied + absent * (1.0 - occupied).powi(4))),
        }
    }

    /// Returns the expected size of the table.
    pub(super) fn size(&self) -> &TableSize {
        &self.size
    }

    /// Returns how many fingerprints are expected to have a prefix of `depth` bits.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn below(&self, depth: u32) -> f64 {
        self.entries as f64 * 2f64.powi(-depth.cast_signed())
    }

    /// Returns the share of prefixes of `depth` bits that the filter lets through.
    pub(super) fn passing(&self, depth: u32) -> f64 {
        match self.filter {
            Some((filter_depth, passing)) if depth >= filter_depth => passing,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_saves_lookups_where_prefixes_are_rare() {
        let terms = Terms { filter_bits: 10, ..Terms::default() };
        let leaves = Leaves::new(&terms, 64, 1 << 20, 32, 2);
        assert!(leaves.by_depth[32].ns < leaves.by_depth[31].ns / 3.0);
        let crowded = |terms: Terms| Leaves::new(&terms, 64, 1 << 32, 32, 2).by_depth[32];
        assert_eq!(crowded(Terms { filter_bits: 0, ..terms.clone() }), crowded(terms));
    }

    #[test]
    fn larger_blocks_decode_more_and_larger_tables_take_longer() {
        let leaf = |block_size, log: u32| {
            let terms = Terms { block_size, ..Terms::default() };
            Leaves::new(&terms, 64, 1 << log, 32, 2).by_depth[32]
        };
        assert!(leaf(1024, 20).ns > 2.0 * leaf(128, 20).ns);
        assert!(leaf(128, 26).ns > leaf(128, 16).ns);
    }

    /// Bytes per fingerprint, as measured with `tools/peers`, `--bin size`.
    #[test]
    fn predicted_sizes_are_those_of_written_tables() {
        for (block_size, log, bytes) in [(128, 24, 5.91), (1024, 20, 5.99), (1024, 24, 5.49)] {
            let terms = Terms { block_size, ..Terms::default() };
            let size = terms.table(64, 1 << log, 32);
            let each = size.bytes() / f64::from(1u32 << log);
            assert!((each / bytes - 1.0).abs() < 0.04, "{block_size} 2^{log}: {each}");
        }
    }
}
