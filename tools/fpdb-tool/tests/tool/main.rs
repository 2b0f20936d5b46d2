//! The tool as its users have it: the built binary, its output and its exit codes.

mod common;
mod corpus;
mod create;
mod dedup;
mod evaluate;
mod export;
mod hamming;
mod health;
mod help;
mod import;
mod interrupted;
mod maintenance;
mod quality;
mod query;
mod recipes;
