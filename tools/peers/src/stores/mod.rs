//! Stores of sorted keys that hold rotated tables: how each is built in a folder, opened again, and
//! asked.

#[cfg(feature = "lmdb")]
pub mod lmdb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
pub mod rotated;
