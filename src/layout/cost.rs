//! What a query's steps cost, and so what a look-up of a prefix of given length does.
//!
//! A probe of a table first asks the table's prefix filter, if it is long enough. What passes is
//! looked up: a cell of the directory, and the head of one block, fetched while others are being
//! decoded. Then, in the Huffman code, that block is decoded from its beginning until behind what was
//! looked for: half a block for nothing; in the Elias–Fano code its place is found at once. Costs are
//! those of the processor, for waits overlap; far from its caches they grow with the logarithm of the
//! distance, since address translation gets dearer and dearer.

use crate::codec::block_code::BlockCode;
use crate::error::{Error, Result};

/// What the steps of a query cost on a machine. Plans are chosen by it, so it decides how fast an
/// answer is found and never which.
///
/// Each is a number of nanoseconds unless said. The defaults were measured with this engine on a
/// server of 2024; [`measure`](Self::measure) measures another machine.
///
/// # Examples
///
/// ```
/// use fpdb::layout::Costs;
///
/// let costs = Costs::default().with("entry_ns", 2.5)?;
/// assert_eq!(costs.entry_ns, 2.5);
/// assert!(costs.with("entry_ns", f64::NAN).is_err());
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// A query, whatever it does.
    pub query_ns: f64,
    /// Each segment that it asks beyond the first.
    pub segment_ns: f64,
    /// A question to a prefix filter.
    pub filter_ns: f64,
    /// What it takes more for each doubling of 1 + bytes of all filters / `cache_bytes`.
    pub filter_far_ns: f64,
    /// A look-up: a cell of the directory, and the head of a block.
    pub lookup_ns: f64,
    /// What it takes more for each doubling of 1 + bytes of all tables / `cache_bytes`.
    pub lookup_far_ns: f64,
    /// An entry decoded and compared, in a block in the Huffman code that a look-up led to.
    pub entry_ns: f64,
    /// Finding the place in a block in the Elias–Fano code, for each doubling of the block beyond the
    /// smallest.
    pub place_ns: f64,
    /// An entry read at its place and compared, in such a block.
    pub placed_entry_ns: f64,
    /// An entry of a full scan.
    pub scan_entry_ns: f64,
    /// Of a sweep over a table for many queries at once: an entry decoded and entered into the
    /// directory of a region.
    pub sweep_entry_ns: f64,
    /// Bringing a query into its place in a table's order.
    pub sweep_query_ns: f64,
    /// Looking up, in a region, where a probe of a query leads.
    pub sweep_lookup_ns: f64,
    /// What a look-up takes more than in a query where a part of the table is not worth decoding.
    pub sweep_alone_ns: f64,
    /// Comparing a decoded entry with a query, where all are compared with all.
    pub sweep_compare_ns: f64,
    /// Bytes from which on memory is far.
    pub cache_bytes: f64,
    /// Reading a page of 4 KiB from the device, with others at the same time.
    pub page_ns: f64,
    /// What the reads of a query take beyond that, once.
    pub batch_ns: f64,
    /// Share of the blocks that must be read from the device: 0 for a database in memory, 1 for one
    /// that was just opened or is many times larger than memory. Index and filters count as in
    /// memory.
    pub cold_share: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            query_ns: 160.0,
            segment_ns: 5.0,
            filter_ns: 10.8,
            filter_far_ns: 1.6,
            lookup_ns: 40.0,
            lookup_far_ns: 4.3,
            entry_ns: 4.5,
            place_ns: 4.3,
            placed_entry_ns: 2.95,
            scan_entry_ns: 3.3,
            sweep_entry_ns: 9.0,
            sweep_query_ns: 70.0,
            sweep_lookup_ns: 7.0,
            sweep_alone_ns: 20.0,
            sweep_compare_ns: 0.5,
            cache_bytes: 1e6,
            page_ns: 7_400.0,
            batch_ns: 31_000.0,
            cold_share: 0.0,
        }
    }
}

impl Costs {
    /// The costs by name, for keeping them elsewhere.
    #[must_use]
    pub fn values(&self) -> [(&'static str, f64); 19] {
        let mut copy = self.clone();
        copy.fields().map(|(name, value)| (name, *value))
    }

    /// These costs with one of them changed; takes what [`values`](Self::values) gives.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if there is no such cost, or the value is negative or no number.
    pub fn with(mut self, name: &str, value: f64) -> Result<Self> {
        if !(value.is_finite() && value >= 0.0) {
            return Err(Error::invalid(format!("cost {name}: {value} is no number from 0 up")));
        }
        let Some((_, field)) = self.fields().into_iter().find(|(known, _)| *known == name) else {
            return Err(Error::invalid(format!("no cost is named {name:?}")));
        };
        *field = value;
        Ok(self)
    }

    /// These costs for data of which so much, 0 to 1, must be read from the device.
    #[must_use]
    pub fn cold(self, share: f64) -> Self {
        Self { cold_share: share.clamp(0.0, 1.0), ..self }
    }

    fn fields(&mut self) -> [(&'static str, &mut f64); 19] {
        [
            ("query_ns", &mut self.query_ns),
            ("segment_ns", &mut self.segment_ns),
            ("filter_ns", &mut self.filter_ns),
            ("filter_far_ns", &mut self.filter_far_ns),
            ("lookup_ns", &mut self.lookup_ns),
            ("lookup_far_ns", &mut self.lookup_far_ns),
            ("entry_ns", &mut self.entry_ns),
            ("place_ns", &mut self.place_ns),
            ("placed_entry_ns", &mut self.placed_entry_ns),
            ("scan_entry_ns", &mut self.scan_entry_ns),
            ("sweep_entry_ns", &mut self.sweep_entry_ns),
            ("sweep_query_ns", &mut self.sweep_query_ns),
            ("sweep_lookup_ns", &mut self.sweep_lookup_ns),
            ("sweep_alone_ns", &mut self.sweep_alone_ns),
            ("sweep_compare_ns", &mut self.sweep_compare_ns),
            ("cache_bytes", &mut self.cache_bytes),
            ("page_ns", &mut self.page_ns),
            ("batch_ns", &mut self.batch_ns),
            ("cold_share", &mut self.cold_share),
        ]
    }

    /// How far data of so many bytes is, in doublings.
    pub(crate) fn doublings(&self, bytes: f64) -> f64 {
        (1.0 + bytes / self.cache_bytes.max(1.0)).log2()
    }

    /// A query that does nothing.
    pub(crate) fn least_ns(&self) -> f64 {
        self.query_ns + self.cold_share * self.batch_ns
    }
}

/// What a plan goes by beside the layout, the number of entries and the distance: how tables are
/// written, and what reading them costs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Terms {
    /// Bytes of a block.
    pub block_size: usize,
    /// Code of a block.
    pub code: BlockCode,
    /// Bits a fingerprint of the prefix filter; 0 for none.
    pub filter_bits: u32,
    pub costs: Costs,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            block_size: 128,
            code: BlockCode::default(),
            filter_bits: 0,
            costs: Costs::default(),
        }
    }
}

/// Bits a fingerprint of a filter that are considered: none, or those of one. More let less through,
/// but that is not worth their memory.
pub(super) const FILTERS: [u32; 2] = [0, 8];

/// Bits that a fingerprint behind the first in a block takes on even data beyond log2(values /
/// entries), whatever the width and the number; and bytes of a block before its first fingerprint.
fn code_bits(code: BlockCode) -> (f64, f64) {
    match code {
        BlockCode::Huffman => (3.4, 2.0),
        BlockCode::EliasFano => (2.0, 3.0),
    }
}
/// Bytes of a cell of the directory, and most blocks that are a cell's on average: cells are as many
/// as a power of two.
const CELL: f64 = 64.0;
const BLOCKS_A_CELL: f64 = 13.0;
/// Bytes of a page, and of its checksum.
const PAGE: f64 = 4096.0;
/// How much larger than the smallest a block is, in doublings.
pub(crate) fn doublings_of_block(bytes: usize) -> f64 {
    (bytes as f64 / 128.0).log2()
}

/// Entries compared in a block in the Elias–Fano code, whether they are asked for or not.
const PLACED: f64 = 3.0;
/// Entries decoded behind what was looked for, until it is seen that nothing more can come.
const OVERRUN: f64 = 3.5;

/// Whether a filter of the `depth` leading bits of so many fingerprints is worth having: if most
/// prefixes occur, it could not say no.
pub(crate) fn filter_says_no(depth: u32, count: u64) -> bool {
    (1..=64).contains(&depth)
        && count > 0
        && (depth == 64 || 1u64 << depth >= count.saturating_mul(2))
}

/// The share of absent prefixes that a filter of so many bits a key lets through: as a Bloom filter
/// of 4 hash functions, and a good third more since a key's bits lie in one word.
fn false_positives(filter_bits: u32) -> f64 {
    (1.4 * (1.0 - (-4.0 / f64::from(filter_bits)).exp()).powi(4)).min(1.0)
}

/// One table's expected measures.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableSize {
    /// Fingerprints in a block.
    pub(super) in_block: f64,
    /// Bytes of the blocks, and of what should be in memory: index and filter.
    pub(super) blocks: f64,
    pub(super) index: f64,
    pub(super) filter: f64,
}

impl TableSize {
    pub(super) fn bytes(&self) -> f64 {
        (self.blocks + self.index + self.filter) * (1.0 + 4.0 / PAGE)
    }

    /// Pages of its blocks.
    pub(super) fn pages(&self) -> f64 {
        self.blocks / PAGE
    }
}

impl Terms {
    /// The expected size of a table of so many fingerprints, spread evenly.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn table(&self, bits: u32, entries: u64, filter_depth: u32) -> TableSize {
        let (n, width) = (entries.max(1) as f64, f64::from(bits));
        let (beyond, head) = code_bits(self.code);
        let each = (width - n.log2() + beyond).max(1.0);
        let block = self.block_size as f64;
        // On average half a fingerprint's room is left at a block's end.
        let room = ((block - head) * 8.0 - width) / each - 0.5;
        let in_block = (1.0 + room.max(0.0)).min(n);
        let blocks = (n / in_block).ceil();
        let filtered = self.filter_bits > 0 && filter_says_no(filter_depth, entries);
        let filter = if filtered { n * f64::from(self.filter_bits) / 8.0 } else { 0.0 };
        let cells = (blocks / BLOCKS_A_CELL).log2().ceil().max(0.0).exp2();
        let index = blocks * (width / 8.0) + cells * CELL;
        TableSize { in_block, blocks: blocks * block, index, filter }
    }

    /// A query that reads all of a table.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn scan(&self, bits: u32, entries: u64) -> Work {
        let (n, costs) = (entries as f64, &self.costs);
        let pages = self.table(bits, entries, 0).pages();
        let read_ns = costs.cold_share * costs.page_ns * pages;
        let ns = costs.least_ns() + costs.scan_entry_ns * n + read_ns;
        Work { ns, entries: n, pages, ..Work::default() }
    }
}

/// What a list of look-ups does, as expected, and takes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Work {
    pub ns: f64,
    /// Prefixes looked for.
    pub probes: f64,
    /// Of these, asked of a filter first.
    pub questions: f64,
    /// And looked up in the index.
    pub lookups: f64,
    /// Entries decoded.
    pub entries: f64,
    /// Pages of blocks read.
    pub pages: f64,
}

impl std::ops::Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            ns: self.ns + other.ns,
            probes: self.probes + other.probes,
            questions: self.questions + other.questions,
            lookups: self.lookups + other.lookups,
            entries: self.entries + other.entries,
            pages: self.pages + other.pages,
        }
    }
}

/// What looking up one prefix costs, for each length that it may have.
#[derive(Debug)]
pub(super) struct Leaves {
    pub(super) by_depth: Vec<Work>,
    /// Longer prefixes cost the same.
    pub(super) deepest: u8,
}

/// Below 2^-6 entries a look-up's cost no longer falls with its depth.
const DEPTH_BELOW_ONE_ENTRY: u32 = 6;

impl Leaves {
    /// For a table whose filter, if it has one, is over its `filter_depth` leading bits, one of
    /// `tables` like it.
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
        let lookup_ns = costs.lookup_ns + costs.lookup_far_ns * far;
        let filter_ns = costs.filter_ns + costs.filter_far_ns * costs.doublings(all * size.filter);
        let occupied = 1.0 - (-n * 2f64.powi(-filter_depth.cast_signed())).exp();
        let passing = occupied + (1.0 - occupied) * false_positives(terms.filter_bits);
        let page_ns = costs.cold_share * costs.page_ns;
        let (place_ns, entry_ns, in_vain) = match terms.code {
            BlockCode::Huffman => {
                let in_vain = (size.in_block - 1.0) / 2.0 + OVERRUN.min(size.in_block / 2.0);
                (0.0, costs.entry_ns, in_vain)
            }
            BlockCode::EliasFano => {
                let place_ns = costs.place_ns * doublings_of_block(terms.block_size);
                (place_ns, costs.placed_entry_ns, PLACED.min(size.in_block))
            }
        };
        let leaf = |depth: u32| {
            let below = n * 2f64.powi(-depth.cast_signed());
            let asked = size.filter > 0.0 && depth >= filter_depth;
            let (questions, lookups) = if asked { (1.0, passing) } else { (0.0, 1.0) };
            let entries = lookups * in_vain + below;
            let pages = lookups + below / size.in_block * terms.block_size as f64 / PAGE;
            let ns = questions * filter_ns
                + lookups * (lookup_ns + place_ns)
                + entries * entry_ns
                + pages * page_ns;
            Work { ns, probes: 1.0, questions, lookups, entries, pages }
        };
        let to_one_entry = u64::BITS - entries.leading_zeros() + DEPTH_BELOW_ONE_ENTRY;
        let filtered = if size.filter > 0.0 { filter_depth } else { 0 };
        let deepest = u8::try_from(to_one_entry.max(filtered)).unwrap_or(u8::MAX);
        Self { by_depth: (0..=bits).map(leaf).collect(), deepest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_go_out_and_come_back_by_name() {
        let odd = Costs { entry_ns: 1.25, cold_share: 0.5, ..Costs::default() };
        let back = odd
            .values()
            .into_iter()
            .try_fold(Costs::default(), |costs, (name, value)| costs.with(name, value));
        assert_eq!(back.unwrap(), odd);
        assert!(Costs::default().with("entry", 1.0).is_err());
        assert!(Costs::default().with("entry_ns", -1.0).is_err());
        assert!(Costs::default().with("entry_ns", f64::INFINITY).is_err());
    }

    #[test]
    fn a_filter_spares_look_ups_where_prefixes_are_rare() {
        let terms = Terms { filter_bits: 10, ..Terms::default() };
        let leaves = Leaves::new(&terms, 64, 1 << 20, 32, 2);
        let (above, below) = (leaves.by_depth[31], leaves.by_depth[32]);
        assert_eq!((above.questions, above.lookups), (0.0, 1.0));
        assert_eq!(below.questions, 1.0);
        assert!((0.012..0.022).contains(&below.lookups), "{below:?}");
        assert!(below.ns < above.ns / 3.0);
        let crowded = Leaves::new(&terms, 64, 1 << 32, 32, 2);
        assert_eq!(crowded.by_depth[32].questions, 0.0);
    }

    #[test]
    fn larger_blocks_cost_entries_and_larger_tables_time() {
        let leaf = |block_size, log: u32| {
            let terms = Terms { block_size, code: BlockCode::Huffman, ..Terms::default() };
            Leaves::new(&terms, 64, 1 << log, 32, 2).by_depth[32]
        };
        assert!(leaf(1024, 20).entries > 6.0 * leaf(128, 20).entries);
        assert!(leaf(128, 26).ns > leaf(128, 16).ns);
        assert!(leaf(128, 16).pages >= 1.0);
    }

    /// Bytes a fingerprint, as the tool's `ratio` tells them.
    #[test]
    fn sizes_are_those_of_tables_written() {
        use BlockCode::{EliasFano, Huffman};
        for (code, block_size, log, bytes) in [
            (Huffman, 128, 24, 6.41),
            (Huffman, 1024, 20, 6.05),
            (Huffman, 1024, 24, 5.55),
            (EliasFano, 128, 20, 6.73),
            (EliasFano, 128, 26, 5.92),
            (EliasFano, 256, 26, 5.46),
        ] {
            let terms = Terms { block_size, code, ..Terms::default() };
            let size = terms.table(64, 1 << log, 32);
            let each = size.bytes() / f64::from(1u32 << log);
            assert!((each / bytes - 1.0).abs() < 0.04, "{code} {block_size} 2^{log}: {each}");
        }
    }
}
