//! Compares the database with a model: a plain set of entries, searched by comparing each.

#[path = "../common/mod.rs"]
mod common;
mod documents;
mod odd;
mod random;
mod runner;
