//! One prefix lookup of a plan.

/// One prefix lookup in a table: it finds the entries whose `depth` leading bits, in the table's
/// bit order, equal the query's with `flips` flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Probe<F> {
    /// 0 to `F::BITS`.
    pub(crate) depth: u8,
    /// In the table's bit order, within the leading `depth` bits.
    pub(crate) flips: F,
}
