//! Group commit: who writes to the log's file, and who waits for it.
//!
//! Frames of commits gather in memory. One thread, which has the *lead*, writes and syncs all there
//! are in one go: appends during a sync would wait for it in the file system. Meanwhile those of the
//! next group gather. Each group has a door of its own to wait at, so that nobody wakes in vain.
//!
//! Threads whose commits were just synced are likely to come back at once, and would wait for a whole
//! sync if the next one began without them. So a leader waits a short time until as many have
//! gathered as there were before.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::core::lock;

/// A leader waits for others at most this part of the time that the last sync took.
const PATIENCE: u32 = 4;

/// The threads that wait for a sync.
#[derive(Debug, Default)]
pub(super) struct SyncGroup {
    queue: Mutex<Queue>,
    /// The group that is being synced waits at one, the next group at the other, by turns.
    doors: [Condvar; 2],
    /// Where a leader waits for others.
    gathered: Condvar,
    /// Where waits who wants the lead for another reason than a commit.
    free: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// Whether a thread has the lead.
    led: bool,
    /// Groups so far, with the one that is being synced or was last.
    groups: usize,
    /// The last commit of that group, and how many threads wait for it.
    last: u64,
    group: usize,
    /// How many wait for the next group.
    waiting: usize,
    /// How many waited for either when the last sync ended, and how long it took.
    expected: usize,
    took: Duration,
}

/// The right to write to the log's file and to sync it. No other lock may be held when it is asked
/// for.
#[derive(Debug)]
pub(super) struct Lead<'a>(&'a SyncGroup);

impl SyncGroup {
    /// Waits for the lead.
    pub(super) fn lead(&self) -> Lead<'_> {
        let mut queue = lock(&self.queue);
        while queue.led {
            queue = wait(&self.free, queue);
        }
        queue.led = true;
        Lead(self)
    }

    /// Waits until commit `seq` is `done`, or until this thread is to see to that: then it gets the
    /// lead.
    pub(super) fn follow_or_lead(
        &self,
        seq: u64,
        mut done: impl FnMut() -> bool,
    ) -> Option<Lead<'_>> {
        let mut queue = lock(&self.queue);
        if seq > queue.last {
            queue.waiting += 1;
        } else {
            queue.group += 1;
        }
        if queue.waiting == queue.expected {
            self.gathered.notify_one();
        }
        while !done() {
            if !queue.led {
                queue.led = true;
                drop(self.gather(queue));
                return Some(Lead(self));
            }
            let ahead = usize::from(seq > queue.last);
            queue = wait(&self.doors[(queue.groups + ahead) % 2], queue);
        }
        None
    }

    fn gather<'a>(&self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        let deadline = Instant::now() + queue.took / PATIENCE;
        while queue.waiting < queue.expected {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.gathered.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        queue
    }

    /// Wakes all who wait, to look again.
    pub(super) fn wake_all(&self) {
        // With the lock, or one who has just looked would miss it.
        drop(lock(&self.queue));
        self.doors.iter().for_each(Condvar::notify_all);
    }
}

impl Lead<'_> {
    /// The next group ends with commit `seq`, and is to be synced now. The writer's lock must be
    /// held, so that no later commit is of it; the commits of the group before must be visible.
    pub(super) fn close_group(&self, seq: u64) {
        let mut queue = lock(&self.0.queue);
        self.0.doors[queue.groups % 2].notify_all();
        queue.groups += 1;
        queue.last = seq;
        queue.group = std::mem::take(&mut queue.waiting);
    }

    /// The group was synced, in this time.
    pub(super) fn synced(&self, took: Duration) {
        let mut queue = lock(&self.0.queue);
        queue.expected = queue.group + queue.waiting;
        queue.took = took;
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.led = false;
        // The next leader first.
        self.0.doors[(queue.groups + 1) % 2].notify_one();
        self.0.free.notify_one();
        self.0.doors[queue.groups % 2].notify_all();
    }
}

fn wait<'a>(door: &Condvar, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
    door.wait(queue).unwrap_or_else(PoisonError::into_inner)
}
