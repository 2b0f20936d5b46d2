//! The two kinds of indexes: sorted tables of fingerprints, and bands of sketches.
//!
//! From the ground up, each module uses only those before it; `tests/layering` checks this:
//!
//! | module | what it holds |
//! | --- | --- |
//! | `indexed`, `prediction` | files whose index is copied to memory; what a database is predicted to take |
//! | `bands` | tables that lead from bands of sketches to documents, and which sketches match |
//! | `rule` | what matches, of either kind |
//! | `tables` | fingerprints in several bit orders |

pub(crate) mod bands;
mod indexed;
pub(crate) mod prediction;
pub(crate) mod rule;
pub(crate) mod tables;

pub(crate) use indexed::Indexed;
