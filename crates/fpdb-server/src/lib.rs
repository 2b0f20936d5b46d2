#![doc = include_str!("../README.md")]
//!
//! # A command's way
//!
//! | step | file |
//! | --- | --- |
//! | a connection is accepted, and gets a thread | `accept.rs` |
//! | its bytes become requests | `connection.rs`, `net/stream.rs`, `net/input.rs`, `resp/request.rs` |
//! | each request is a command | `commands/session.rs`, `command.rs` |
//! | commands about the client, and what it may do | `commands/handshake.rs`, `accounts.rs`, `users.rs`, `net/guard.rs` |
//! | commands that read, answered at once | `commands/reads.rs` |
//! | commands that write: parsed, and handed over to other threads | `commands/{writes, batch, queue}.rs` |
//! | these commit the writes of all connections together | `commands/commits.rs` |
//! | replies become bytes, and are sent | `resp/reply.rs`, `net/output.rs` |
//! | and if the next requests are like these, they read them, too | `commands/rest.rs`, `net/loan.rs`, `net/poll.rs` |

#![deny(missing_docs)]

// What the modules contain, from the bottom up. The engine's test `layering` checks the layers.
//
// password process resp stop      passwords; what the system says; the protocol; the wish to stop
// users                           who may do what
// command error options           what commands there are; errors and options of the server
// metrics                         figures by command
// net                             connections: sockets, input and output
// events                          the log
// accounts failure                the users of a server, and which its clients are; errors as replies
// database                        the database of either width
// commands                        what clients can ask for, and how it is done
// connection http                 reading requests of a client; serving figures
// accept                          accepting connections
// threads                         the threads of a server
// server                          the server as a program sees it

mod accept;
mod accounts;
mod command;
mod commands;
mod connection;
mod database;
mod error;
mod events;
mod failure;
mod http;
mod metrics;
mod net;
mod options;
mod password;
mod process;
mod resp;
mod server;
mod stop;
mod threads;
mod users;

pub use accounts::Accounts;
pub use database::Database;
pub use error::{Error, Result};
pub use options::Options;
pub use server::Server;
pub use stop::Stop;
pub use users::Right;
