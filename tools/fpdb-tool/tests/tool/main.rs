//! Tests of the built binary: its output and its exit codes.

mod backup;
mod bench;
mod browser;
mod common;
mod corpus;
mod create;
mod dedup;
mod evaluate;
mod export;
mod extract;
mod fingerprint;
mod folders;
mod hamming;
mod health;
mod help;
mod import;
mod import_documents;
mod interrupted;
mod limits;
mod maintenance;
mod markup;
mod order;
mod pages;
#[cfg(feature = "parquet")]
mod parquet;
mod plan;
mod quality;
mod query;
mod ratio;
mod recipes;
mod remove;
mod reports;
mod shell;
mod sources;
mod terminal;
mod wrong_input;
