//! The Redis protocol: requests from bytes, and replies to bytes. Nothing here reads or writes a
//! connection.

mod reply;
mod request;

pub(super) use reply::{Protocol, Replies};
pub(super) use request::{Limits, Parser};
