//! The Redis protocol: requests from bytes, and replies to bytes. Nothing here reads or writes a
//! connection.

mod reply;
mod request;

pub(crate) use reply::{Protocol, Replies};
pub(crate) use request::{Limits, Parser};
