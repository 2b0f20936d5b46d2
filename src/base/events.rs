//! Events for the application's log: what a database does without being asked, what takes long, and
//! what fails. With the feature `tracing` they go to the subscriber of the crate of that name;
//! without it, nothing is done.
//!
//! Inserts and queries report nothing. Some events are reported while locks are held, so a
//! subscriber must not use the database.

use std::path::Path;
use std::time::Duration;

use crate::base::error::Error;

/// Shorter stalls are not reported, so that a busy writer does not flood the log. `Stats::stalled`
/// counts them all.
#[cfg(feature = "tracing")]
const SHORT_STALL: Duration = Duration::from_millis(1);

/// The target of all events, which subscribers filter by.
#[cfg(feature = "tracing")]
const TARGET: &str = "fpdb";

/// Something that happened to the database in the folder `path`.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "tracing"),
    expect(dead_code, reason = "without the feature, nothing reads the fields")
)]
pub(crate) enum Event<'a> {
    /// A database was opened or created.
    Opened {
        path: &'a Path,
        entries: u64,
        segments: usize,
        /// Major and minor version of the storage format.
        format: (u16, u16),
        /// Whether it was opened for reading only.
        read_only: bool,
    },
    /// An earlier process had not closed the database.
    Recovered { path: &'a Path, commits: u64, operations: u64, torn_tail: bool, orphans: u64 },
    /// A memtable was written as a segment, if its changes do not cancel each other out.
    Flushed { path: &'a Path, segment: Option<u64>, entries: u64, bytes: u64, duration: Duration },
    /// Segments were replaced by their merge, or dropped if nothing is left of them.
    Compacted {
        path: &'a Path,
        inputs: &'a [u64],
        outputs: &'a [u64],
        bytes_in: u64,
        bytes_out: u64,
        duration: Duration,
    },
    /// A writer had to wait for flush and compaction.
    Stalled { path: &'a Path, duration: Duration },
    /// A flush or compaction failed that no caller waits for. `Stats` shows it.
    BackgroundFailed { path: &'a Path, error: &'a Error },
    /// A write was refused because the disk is full, and the one before was not; at most once in
    /// ten seconds. The error has the path.
    Refused { error: &'a Error },
    /// A handle accepts no more writes. The error has the path.
    Poisoned { error: &'a Error },
}

impl Event<'_> {
    /// Reports the event.
    #[cfg(feature = "tracing")]
    pub(crate) fn report(&self) {
        use tracing::{debug, error, info, warn};

        match *self {
            Self::Opened { path, entries, segments, format: (major, minor), read_only } => info!(
                target: TARGET,
                path = %path.display(),
                entries,
                segments,
                format = %format_args!("{major}.{minor}"),
                read_only,
                "opened"
            ),
            Self::Recovered { path, commits, operations, torn_tail, orphans } => info!(
                target: TARGET,
                path = %path.display(),
                commits, operations, torn_tail, orphans, "recovered"
            ),
            Self::Flushed { path, segment, entries, bytes, duration } => debug!(
                target: TARGET,
                path = %path.display(),
                segment,
                entries,
                bytes,
                duration_us = micros(duration),
                "flushed"
            ),
            Self::Compacted { path, inputs, outputs, bytes_in, bytes_out, duration } => debug!(
                target: TARGET,
                path = %path.display(),
                inputs = ?inputs,
                outputs = ?outputs,
                bytes_in,
                bytes_out,
                duration_us = micros(duration),
                "compacted"
            ),
            Self::Stalled { duration, .. } if duration <= SHORT_STALL => {}
            Self::Stalled { path, duration } => warn!(
                target: TARGET,
                path = %path.display(),
                duration_us = micros(duration),
                "a writer waited for flush and compaction"
            ),
            Self::BackgroundFailed { path, error } => error!(
                target: TARGET,
                path = %path.display(),
                error = %error,
                "flush or compaction failed"
            ),
            Self::Refused { error } => {
                warn!(target: TARGET, error = %error, "writes are refused");
            }
            Self::Poisoned { error } => {
                error!(target: TARGET, error = %error, "no more writes are accepted");
            }
        }
    }

    /// Does nothing, because the feature `tracing` is off.
    #[cfg(not(feature = "tracing"))]
    #[inline]
    pub(crate) fn report(&self) {}
}

#[cfg(feature = "tracing")]
fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
