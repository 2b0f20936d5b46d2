//! The library as its users call it.

#[path = "../common/mod.rs"]
mod common;
mod concurrency;
mod counting;
mod errors;
mod truth;
