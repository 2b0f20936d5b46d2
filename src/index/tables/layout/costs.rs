//! What the steps of a query cost on a machine.

/// What the steps of a query cost on a machine. Plans are chosen by these costs. They decide how
/// fast an answer is found, and never which answer.
///
/// All costs are in nanoseconds, unless noted otherwise. They were measured with this engine on a
/// server of 2024.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Costs {
    /// Fixed cost of a query.
    pub query_ns: f64,
    /// Each segment that a query searches beyond the first.
    pub segment_ns: f64,
    /// Each table that a query searches, for each doubling of 1 + bytes of all tables /
    /// `cache_bytes`. It is part of what is predicted, and not of what plans are compared by: the
    /// plans for a layout search nearly the same tables.
    pub table_far_ns: f64,
    /// Each table whose filter a query checks, if the filters are not in a cache: the first check
    /// has to wait. Like `table_far_ns`, it is only predicted.
    pub table_filter_ns: f64,
    /// Checking a prefix against a prefix filter.
    pub filter_ns: f64,
    /// Extra cost of such a check for each doubling of 1 + bytes of all filters / `cache_bytes`.
    pub filter_far_ns: f64,
    /// A lookup: an entry of the directory, and the head of a block.
    pub lookup_ns: f64,
    /// Extra cost of a lookup for each doubling of 1 + bytes of all tables / `cache_bytes`.
    pub lookup_far_ns: f64,
    /// Extra cost of a lookup for each doubling of the table's bytes beyond `mapped_bytes`, up to
    /// three: the system's page tables for so much memory are not in a cache either.
    pub lookup_mapped_ns: f64,
    /// Decoding and comparing one entry, in a block that a lookup led to.
    pub entry_ns: f64,
    /// Reading and comparing one entry in memory that need not be decoded.
    pub decoded_entry_ns: f64,
    /// One entry of a full scan.
    pub scan_entry_ns: f64,
    /// In a sweep over a table for many queries at once: decoding an entry, and adding it to the
    /// directory of a region.
    pub sweep_entry_ns: f64,
    /// In a sweep: permuting a query into a table's bit order, and sorting it among the others.
    pub sweep_query_ns: f64,
    /// In a sweep: looking up a probe of a query in a region.
    pub sweep_lookup_ns: f64,
    /// In a sweep: extra cost of a lookup, compared with a single query, where a part of the table
    /// is not worth decoding entirely.
    pub sweep_alone_ns: f64,
    /// In a sweep: comparing a decoded entry with a query, where every entry is compared with every
    /// query.
    pub sweep_compare_ns: f64,
    /// Bytes beyond which memory counts as far. Not in nanoseconds.
    pub cache_bytes: f64,
    /// Bytes of a table beyond which the page tables for it are not in a cache. Not in nanoseconds.
    pub mapped_bytes: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            query_ns: 90.0,
            segment_ns: 5.0,
            table_far_ns: 8.0,
            table_filter_ns: 60.0,
            filter_ns: 1.9,
            filter_far_ns: 1.8,
            lookup_ns: 34.0,
            lookup_far_ns: 2.5,
            lookup_mapped_ns: 50.0,
            entry_ns: 3.7,
            decoded_entry_ns: 1.8,
            scan_entry_ns: 3.3,
            sweep_entry_ns: 9.0,
            sweep_query_ns: 70.0,
            sweep_lookup_ns: 7.0,
            sweep_alone_ns: 20.0,
            sweep_compare_ns: 0.5,
            cache_bytes: 1e6,
            mapped_bytes: 256e6,
        }
    }
}

impl Costs {
    /// Returns how far away data of this many bytes is, in doublings.
    pub(crate) fn doublings(&self, bytes: f64) -> f64 {
        (1.0 + bytes / self.cache_bytes.max(1.0)).log2()
    }

    /// Returns the cost of a lookup in a table, given its bytes and those of all tables together.
    pub(crate) fn lookup(&self, table: f64, all: f64) -> f64 {
        let mapped = (table / self.mapped_bytes.max(1.0)).log2().clamp(0.0, 3.0);
        self.lookup_ns + self.lookup_far_ns * self.doublings(all) + self.lookup_mapped_ns * mapped
    }
}
