//! What all other modules use.
//!
//! From the ground up, each module uses only those before it; `tests/layering` checks this:
//!
//! | module | what it holds |
//! | --- | --- |
//! | `error`, `cpu` | kinds of failure; special instructions and prefetching |
//! | `events`, `parallel`, `process`, `progress` | events for the application's log; work on several threads; the process of a handle; progress reports |
//! | `inspection` | what `verify` reports |

pub(crate) mod cpu;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod inspection;
pub(crate) mod parallel;
pub(crate) mod process;
pub(crate) mod progress;
