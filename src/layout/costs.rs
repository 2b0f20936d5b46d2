//! What the steps of a query cost on a machine.

use crate::error::{Error, Result};

/// What the steps of a query cost on a machine. Plans are chosen by these costs. They decide how
/// fast an answer is found, and never which answer.
///
/// All costs are in nanoseconds, unless noted otherwise. The defaults were measured with this
/// engine on a server of 2024.
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
    /// Fixed cost of a query.
    pub query_ns: f64,
    /// Each segment that a query searches beyond the first.
    pub segment_ns: f64,
    /// Checking a prefix against a prefix filter.
    pub filter_ns: f64,
    /// Extra cost of such a check for each doubling of 1 + bytes of all filters / `cache_bytes`.
    pub filter_far_ns: f64,
    /// A lookup: an entry of the directory, and the head of a block.
    pub lookup_ns: f64,
    /// Extra cost of a lookup for each doubling of 1 + bytes of all tables / `cache_bytes`.
    pub lookup_far_ns: f64,
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
    /// A lookup in a table of columns: an entry of the directory, and the first keys.
    pub column_ns: f64,
    /// Extra cost of such a lookup for each doubling of 1 + bytes of all columns / `cache_bytes`.
    pub column_far_ns: f64,
    /// Comparing the key of one row.
    pub column_row_ns: f64,
    /// Extra cost of a row for each doubling of 1 + bytes of all columns / `cache_bytes`.
    pub column_row_far_ns: f64,
    /// Decoding a block of 128 bytes, to which a row with a near key refers.
    pub column_block_ns: f64,
    /// Bytes beyond which memory counts as far. Not in nanoseconds.
    pub cache_bytes: f64,
    /// Reading a page of 4 KiB from the device, while others are read too.
    pub page_ns: f64,
    /// Extra cost of the reads of a query, once per query.
    pub batch_ns: f64,
    /// Share of the blocks that must be read from the device: 0 for a database in memory, 1 for one
    /// that was just opened or is many times larger than memory. Index and filters are assumed to
    /// be in memory. Not in nanoseconds.
    pub cold_share: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            query_ns: 90.0,
            segment_ns: 5.0,
            filter_ns: 1.9,
            filter_far_ns: 1.8,
            lookup_ns: 34.0,
            lookup_far_ns: 2.5,
            entry_ns: 3.7,
            decoded_entry_ns: 1.8,
            scan_entry_ns: 3.3,
            sweep_entry_ns: 9.0,
            sweep_query_ns: 70.0,
            sweep_lookup_ns: 7.0,
            sweep_alone_ns: 20.0,
            sweep_compare_ns: 0.5,
            column_ns: 2.0,
            column_far_ns: 3.6,
            column_row_ns: 0.05,
            column_row_far_ns: 0.09,
            column_block_ns: 800.0,
            cache_bytes: 1e6,
            page_ns: 7_400.0,
            batch_ns: 31_000.0,
            cold_share: 0.0,
        }
    }
}

impl Costs {
    /// Changes one cost, by the name of its field.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there is no such cost, or the
    /// value is not finite or less than 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::layout::Costs;
    ///
    /// let costs = Costs::default().with("lookup_ns", 55.0)?;
    /// assert_eq!(costs.lookup_ns, 55.0);
    /// assert!(costs.with("lookup", 55.0).is_err());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn with(mut self, name: &str, value: f64) -> Result<Self> {
        if !(value.is_finite() && value >= 0.0) {
            return Err(Error::invalid(format!(
                "cost {name}: {value} must be finite and at least 0"
            )));
        }
        let Some((_, field)) = self.fields().into_iter().find(|(known, _)| *known == name) else {
            return Err(Error::invalid(format!("no cost is named {name:?}")));
        };
        *field = value;
        Ok(self)
    }

    /// Sets the share of the blocks, 0 to 1, that must be read from the device.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::layout::Costs;
    ///
    /// assert_eq!(Costs::default().cold(0.25).cold_share, 0.25);
    /// ```
    #[must_use]
    pub fn cold(self, share: f64) -> Self {
        Self { cold_share: share.clamp(0.0, 1.0), ..self }
    }

    fn fields(&mut self) -> [(&'static str, &mut f64); 23] {
        [
            ("query_ns", &mut self.query_ns),
            ("segment_ns", &mut self.segment_ns),
            ("filter_ns", &mut self.filter_ns),
            ("filter_far_ns", &mut self.filter_far_ns),
            ("lookup_ns", &mut self.lookup_ns),
            ("lookup_far_ns", &mut self.lookup_far_ns),
            ("entry_ns", &mut self.entry_ns),
            ("decoded_entry_ns", &mut self.decoded_entry_ns),
            ("scan_entry_ns", &mut self.scan_entry_ns),
            ("sweep_entry_ns", &mut self.sweep_entry_ns),
            ("sweep_query_ns", &mut self.sweep_query_ns),
            ("sweep_lookup_ns", &mut self.sweep_lookup_ns),
            ("sweep_alone_ns", &mut self.sweep_alone_ns),
            ("sweep_compare_ns", &mut self.sweep_compare_ns),
            ("column_ns", &mut self.column_ns),
            ("column_far_ns", &mut self.column_far_ns),
            ("column_row_ns", &mut self.column_row_ns),
            ("column_row_far_ns", &mut self.column_row_far_ns),
            ("column_block_ns", &mut self.column_block_ns),
            ("cache_bytes", &mut self.cache_bytes),
            ("page_ns", &mut self.page_ns),
            ("batch_ns", &mut self.batch_ns),
            ("cold_share", &mut self.cold_share),
        ]
    }

    /// Returns how far away data of this many bytes is, in doublings.
    pub(crate) fn doublings(&self, bytes: f64) -> f64 {
        (1.0 + bytes / self.cache_bytes.max(1.0)).log2()
    }

    /// Returns the time of a query that does nothing.
    pub(crate) fn least_ns(&self) -> f64 {
        self.query_ns + self.cold_share * self.batch_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cost_is_changed_by_its_name_and_by_no_other() {
        for (name, _) in Costs::default().fields() {
            let mut costs = Costs::default().with(name, 0.125).unwrap();
            let changed: Vec<_> =
                costs.fields().iter().filter(|f| *f.1 == 0.125).map(|f| f.0).collect();
            assert_eq!(changed, [name]);
        }
        let odd = Costs::default().with("entry_ns", 1.25).unwrap();
        assert_eq!(odd, Costs { entry_ns: 1.25, ..Costs::default() });
        assert!(Costs::default().with("entry", 1.0).is_err());
        assert!(Costs::default().with("entry_ns", -1.0).is_err());
        assert!(Costs::default().with("entry_ns", f64::INFINITY).is_err());
    }
}
