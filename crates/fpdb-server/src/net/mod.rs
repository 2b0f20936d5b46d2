//! Connections to clients: addresses and sockets, the bytes that come and go, and who is connected.

pub(crate) mod address;
pub(crate) mod clients;
pub(crate) mod guard;
pub(crate) mod input;
pub(crate) mod output;
pub(crate) mod stream;
pub(crate) mod unix_socket;
