//! `serve` as a program: its arguments, its signals and its end. The server itself is tested in its
//! crate.

mod auth;
#[path = "../../../../../crates/fpdb-server/tests/wire/client.rs"]
mod client;
#[cfg(target_os = "linux")]
mod deploy;
mod durability;
mod limits;
mod server;
mod stats;
#[cfg(unix)]
mod unix_socket;
