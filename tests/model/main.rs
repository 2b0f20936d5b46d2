//! The database against a model: a plain set of entries that is searched by looking at each.

#[path = "../common/mod.rs"]
mod common;
mod odd;
mod random;
mod runner;
