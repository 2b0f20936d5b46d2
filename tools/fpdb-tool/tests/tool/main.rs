//! Tests of the built binary: its output and its exit codes.

mod backup;
mod clusters;
mod common;
mod complete;
mod corpus;
mod create;
mod dedup;
mod documents;
mod exact;
mod export;
mod extract;
mod fingerprint;
mod folders;
mod foreign;
mod help;
mod import;
mod import_documents;
mod index;
mod inspect;
mod interrupted;
mod join;
mod limits;
mod lines;
mod maintenance;
mod merge;
mod mission;
mod order;
mod pages;
mod pairs;
mod passages;
mod query;
mod ratio;
#[cfg(unix)]
mod reader;
mod recipes;
mod recommend;
mod recrawl;
mod remove;
mod reports;
#[cfg(unix)]
mod serve;
mod shell;
mod similarity;
mod sources;
mod terminal;
mod wrong_input;
