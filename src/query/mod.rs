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
// of fingerprint), `planner` (plans, made once), `answer` and `pipeline` (one query), `sketches`
// (one query of sketches), `counters` (what they read), `explain` (one query's plan), `near`
// (comparing), `hit` and `ids` (from hits to answers), `batch` (many queries and their answers),
// `sweep` and `batch_answer` (answering them), `short_list`, `pairs` (all pairs within a distance).

mod answer;
mod batch;
mod batch_answer;
mod counters;
mod explain;
mod hit;
mod ids;
mod near;
mod options;
pub(crate) mod pairs;
mod pipeline;
mod planner;
mod search;
mod short_list;
mod sketches;
mod sweep;
mod view;

pub use batch::Answers;
pub(crate) use batch::{BATCH, Batch};
pub use counters::QueryStats;
pub use explain::{Explanation, PlannedSegment, PlannedTable};
pub use options::{QueryOptions, Within};
pub(crate) use planner::{PAIR_ENTRY_NS, PAIR_LOOKUP_NS, Planner};
pub(crate) use view::View;

#[cfg(test)]
mod tests;
