//! What all other modules use.
//!
//! | file | concern |
//! | --- | --- |
//! | `errors` | kinds of errors as exception classes |
//! | `interrupt` `fork` | Ctrl-C; children of the process |
//! | `parallel` | work that is divided among threads |
//! | `width` `arrays` `strings` `numbers` | what callers pass, as Rust values; results as arrays |

pub(crate) mod arrays;
pub(crate) mod errors;
pub(crate) mod fork;
pub(crate) mod interrupt;
pub(crate) mod numbers;
pub(crate) mod parallel;
pub(crate) mod strings;
pub(crate) mod width;
