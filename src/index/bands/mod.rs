//! The index of a database of sketches.
//!
//! From the ground up, each module uses only those before it; `tests/layering` checks this:
//!
//! | module | what it holds |
//! | --- | --- |
//! | `rule`, `table` | which sketches match; tables that lead from bands to leaves of documents |
//! | `part` | what a segment has of these |

pub(crate) mod part;
mod rule;
mod table;

pub(crate) use part::BandsPart;
pub use rule::Jaccard;
pub(crate) use rule::{BandRule, ParityLimits, SketchTest, binomial};
pub(crate) use table::{
    BandBuilder, BandTable, BandView, MOST_AT_ONCE, MOST_ROWS, NumberSet, Row, for_each_number,
    most_body_bytes, rows_of_leaf,
};
#[cfg(test)]
pub(crate) use table::{MAX_BUCKET_BITS, REST_BITS, bucket_bits};
