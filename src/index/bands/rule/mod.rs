//! Which sketches match: those that share a band and seem similar enough.

mod bands;
mod jaccard;
mod normal;
mod parities;
mod predict;

pub(crate) use bands::{BandRule, SketchTest, binomial};
pub use jaccard::Jaccard;
pub(crate) use parities::ParityLimits;
