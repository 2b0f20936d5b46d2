//! How recent fingerprints are kept, by the kind of index.

use super::bands::BandRule;
use super::tables::layout::BitOrder;

/// The orders in which recent fingerprints are kept: the bit order of each table, or the bands.
#[derive(Debug, Clone)]
pub(crate) enum Orders {
    Tables(Vec<BitOrder>),
    Bands(BandRule),
}
