//! Connections to clients: addresses, sockets, input, output, and the list of clients.

pub(crate) mod address;
pub(crate) mod clients;
pub(crate) mod guard;
pub(crate) mod input;
pub(crate) mod loan;
pub(crate) mod output;
pub(crate) mod poll;
pub(crate) mod stream;
pub(crate) mod unix_socket;
