//! The command that measures the library on data of a chosen kind and size, and its data.

mod generate;
pub(super) mod ratio;
