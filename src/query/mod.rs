//! Queries: what they ask for.
//!
//! The repository's `docs/design.md` describes the steps of a query. A batch of queries is answered
//! in one sweep over the tables, where that is cheaper.
//!
//! | type | what it is |
//! | --- | --- |
//! | [`QueryOptions`] | how near matches must be, and their limit |
//! | [`Within`] | the database's rule, or a distance |
//! | [`Answers`] | the matches of each query of a batch |
//! | [`Explanation`] | the plan of a query, and what it read |
//! | [`QueryStats`] | what queries read |

// Submodules: `options` (what is asked for), `view` (what is searched), `search` (how, by the type
// of fingerprint), `tables` and `bands` (the two indexes), `planner` (what they keep to), `answer`
// (what is known of matches), `batch` (many queries and their answers), `nearest` (the nearest
// match of each), `counters` (what they read), `explain` (one query's plan).

mod answer;
mod bands;
mod batch;
mod counters;
mod explain;
mod nearest;
mod options;
mod planner;
mod search;
pub(crate) mod tables;
mod view;

pub use batch::Answers;
pub(crate) use batch::{BATCH, Batch};
pub use counters::QueryStats;
pub use explain::{Explanation, PlannedSegment, PlannedTable};
pub(crate) use options::NewMatch;
pub use options::{QueryOptions, Within};
pub(crate) use planner::Planner;
pub(crate) use view::View;

#[cfg(test)]
mod tests;
