//! What a deduplication found, as a document that a person looks at.

mod collector;
mod histogram;
mod measured;
mod numbers;
mod report;
mod texts;

pub use collector::Collector;
pub use measured::{Measure, Measured};
pub use numbers::grouped;
pub use report::{Pair, Repeated, Report};
pub use texts::excerpts;

#[cfg(test)]
mod tests;
