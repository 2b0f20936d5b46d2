//! What clients can ask for, and how it is done: [`session`] executes the commands of a connection
//! in their order.

pub(crate) mod batch;
pub(crate) mod commits;
pub(crate) mod describe;
pub(crate) mod handshake;
pub(crate) mod info;
pub(crate) mod maintenance;
pub(crate) mod matches;
pub(crate) mod queue;
pub(crate) mod reads;
pub(crate) mod rest;
pub(crate) mod service;
pub(crate) mod session;
pub(crate) mod transaction;
pub(crate) mod writes;
