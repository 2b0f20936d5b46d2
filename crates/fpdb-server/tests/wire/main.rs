//! The server over the wire, within the process that has the database open.

mod answers;
mod auth;
mod client;
mod common;
mod documented;
mod embedded;
mod life;
mod limits;
mod metrics;
mod protocol;
mod read_only;
mod rest;
mod transactions;
#[cfg(unix)]
mod unix_socket;
