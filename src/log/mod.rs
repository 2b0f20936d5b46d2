//! The append log: every commit, in order, before anything else knows of it.
//!
//! storage-format.md, "Log". A log is written once, by one [`LogWriter`], from its creation to the
//! next log's; it is never appended to after an open and never truncated. It begins with a file
//! header and a frame of kind `Start`, and goes on with frames that hold commits.
//!
//! A crash may leave a *torn tail*: bytes of commits that were never acknowledged. Damage looks the
//! same, so each frame also tells up to which offset the log was known to be synced when the frame
//! was written. A bad frame below an offset that any later frame vouches for is
//! [`Corruption`](crate::ErrorKind::Corruption); one that nobody vouches for ends the log. What a
//! successor log or the manifest has recorded as the log's end is vouched for as a whole.

mod frame;
mod op;
mod proof;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use op::{MAX_NAME_LEN, Op};
pub(crate) use reader::{ReadMode, read_log};
pub(crate) use writer::LogWriter;

/// Where a log takes up from: the content of its first frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Start {
    /// The log before this one; 0 if this is the first.
    pub previous_log: u64,
    /// How far that log is valid. What follows there is dead, whatever it looks like.
    pub previous_end: u64,
    /// The last commit before this log; its first commit has the next number.
    pub last_seq: u64,
}
