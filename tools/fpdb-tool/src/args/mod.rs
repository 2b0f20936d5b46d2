//! Arguments that several commands have, and what they say: numbers, stamps, memory, recipes and
//! databases.

pub(crate) mod choice;
pub(crate) mod database;
pub(crate) mod memory;
pub(crate) mod numbers;
pub(crate) mod recipe;
pub(crate) mod stamp;
pub(crate) mod suggested;
pub(crate) mod writing;
