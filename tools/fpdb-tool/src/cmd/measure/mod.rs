//! Commands that measure the library on data of a chosen kind and size, and what they share.

pub(super) mod bench;
mod generate;
pub(super) mod ratio;
