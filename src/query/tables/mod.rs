//! Queries in a database of fingerprints, which looks them up in tables; docs/design.md, "A query".

// Submodules: `planner` (plans, made once), `answer` and `pipeline` (one query), `explain` (its
// plan), `hit` and `ids` (from hits to answers), `sweep` and `batch_answer` (many queries), `near`
// (comparing), `short_list`, `pairs` (all pairs within a distance).

mod answer;
mod batch_answer;
mod explain;
mod hit;
mod ids;
mod near;
pub(crate) mod pairs;
mod pipeline;
mod planner;
mod short_list;
mod sweep;

pub(super) use answer::{are_near, nearest, nearest_new, query, query_each};
pub(super) use batch_answer::{sweep, sweep_pays};
pub(super) use explain::plan;
pub(super) use ids::ids_of_each;
pub(crate) use planner::TablePlanner;
