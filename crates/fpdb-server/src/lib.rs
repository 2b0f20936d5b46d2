#![doc = include_str!("../README.md")]
//!
//! # A command's way
//!
//! | step | file |
//! | --- | --- |
//! | a connection is accepted, and gets a thread | `accept.rs` |
//! | its bytes become requests | `connection.rs`, `stream.rs`, `input.rs`, `resp/request.rs` |
//! | each request is a command | `session.rs`, `command.rs` |
//! | commands about the client, and what it may do | `handshake.rs`, `users.rs`, `guard.rs` |
//! | commands that read, answered at once | `reads.rs`, `stats.rs` |
//! | commands that write: parsed, and handed over to other threads | `writes.rs`, `batch.rs`, `queue.rs` |
//! | these commit the writes of all connections together | `commits.rs` |
//! | replies become bytes, and are sent | `resp/reply.rs`, `output.rs` |

#![deny(missing_docs)]

mod accept;
mod address;
mod batch;
mod clients;
mod command;
mod commits;
mod connection;
mod database;
mod describe;
mod error;
mod events;
mod failure;
mod guard;
mod handshake;
mod http;
mod info;
mod input;
mod maintenance;
mod matches;
mod metrics;
mod options;
mod output;
mod password;
mod queue;
mod reads;
mod resp;
mod server;
mod service;
mod session;
mod stats;
mod stop;
mod stream;
mod threads;
mod transaction;
mod unix_socket;
mod users;
mod width;
mod writes;

pub use database::Database;
pub use error::{Error, Result};
pub use options::Options;
pub use server::Server;
pub use stop::Stop;
pub use users::Right;
