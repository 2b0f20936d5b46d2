//! The log: every commit, in order, before it is applied anywhere else.
//!
//! The format is in storage-format.md, "Log". One [`LogWriter`] writes a log, from its creation
//! until the next log is created. A log is never appended to after the database is opened again,
//! and never truncated. It begins with a file header and a frame of kind `Start`. The following
//! frames hold commits.
//!
//! A crash may leave a *torn tail*: bytes of commits that were never acknowledged. Damage looks the
//! same. To tell the two apart, each frame also states up to which offset the log was known to be
//! synced when the frame was written: it *vouches* for the bytes before that offset. An invalid
//! frame before an offset that a later frame vouches for is
//! [`Corruption`](crate::ErrorKind::Corruption). An invalid frame that no frame vouches for is the
//! end of the log. Everything before an end that the next log or the manifest has recorded counts
//! as vouched for.

mod frame;
mod op;
mod proof;
mod reader;
mod salvage;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use frame::FIRST_FRAME;
pub(crate) use op::{Before, DocumentChange, KeyBytes, MAX_NAME_LEN, Op, document_key};
pub(crate) use reader::{ReadMode, read_log};
pub(crate) use salvage::{Salvaged, salvage};
pub(crate) use writer::{LogWriter, Unwritten};

/// Longest log in bytes. A longer one is neither written nor read.
pub(crate) const MAX_LOG_LEN: u64 = 1 << 32;

/// Most bytes of operations in a commit.
pub(crate) const MAX_COMMIT_LEN: u64 = 1 << 31;

/// Where a log continues from: the content of its first frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Start {
    /// The log before this one; 0 if this is the first.
    pub previous_log: u64,
    /// How far that log is valid. Whatever follows there is ignored.
    pub previous_end: u64,
    /// The last commit before this log. The first commit in this log has the next number.
    pub last_seq: u64,
}
