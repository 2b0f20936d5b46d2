//! Sync groups: which threads wait for which sync of the log, and which of them performs it.
//!
//! The threads whose commits are not yet durable form a *group*. The first one to join leads it:
//! once it has the sync permit, it writes and syncs all frames of the group at once and wakes the
//! others. An append to a file that is being synced would wait for that sync in the file system, so
//! frames gather in memory and the next group forms in the meantime.
//!
//! Woken threads take no lock: if dozens of them did so at once, nearly all would go back to sleep.
//!
//! Threads whose commits were just synced are likely to commit again at once, and would wait for an
//! entire sync if the next one began without them. So the leader of a small group waits for a short
//! time until as many threads have joined as there were before. With many threads it is better if
//! half of them work while the other half is being synced.

use std::time::Duration;

use super::wake::Signal;

/// A leader waits for followers for at most the time that the last sync took, divided by this.
const PATIENCE: u32 = 4;

/// A group of this size is synced at once.
const LARGE: usize = 8;

/// Threads that wait for the same sync.
#[derive(Debug, Default)]
struct Group {
    members: usize,
    synced: Signal,
}

/// The two groups that exist at a time.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// The group for threads whose commits come after `last`.
    open: Group,
    /// The group that is being synced, or was synced last: commits up to `last`.
    closed: Group,
    last: u64,
    /// How many members the leader of the open group waits for.
    expected: usize,
    /// How long the last sync took.
    took: Duration,
}

/// What a thread has to do in its group.
#[derive(Debug)]
pub(crate) enum Role {
    /// It takes the sync permit and has the group's commits synced. Dropping the waker wakes the
    /// others.
    Leader(Waker),
    /// It sleeps until the leader has done that.
    Follower {
        synced: Signal,
        /// Whether the leader waits for this thread only, and should be woken.
        completes_group: bool,
    },
}

/// Wakes the followers of a group when it is dropped, so that a leader wakes them however it
/// returns.
#[derive(Debug)]
pub(crate) struct Waker(Signal);

impl Drop for Waker {
    fn drop(&mut self) {
        self.0.set();
    }
}

impl Groups {
    /// Adds a thread that waits for commit `seq`.
    pub(crate) fn join(&mut self, seq: u64) -> Role {
        let group = if seq > self.last { &mut self.open } else { &mut self.closed };
        group.members += 1;
        let synced = group.synced.clone();
        match group.members {
            1 => Role::Leader(Waker(synced)),
            _ => Role::Follower { synced, completes_group: self.open.members == self.expected },
        }
    }

    /// Whether the leader of the open group has no more members to wait for.
    pub(crate) fn is_gathered(&self) -> bool {
        self.open.members >= self.expected
    }

    /// How long that leader waits at most.
    pub(crate) fn patience(&self) -> Duration {
        self.took / PATIENCE
    }

    /// Closes the open group, whose commits up to `last` are about to be synced.
    pub(crate) fn close(&mut self, last: u64) {
        self.last = last;
        self.closed = std::mem::take(&mut self.open);
    }

    /// Records that the closed group was synced, and how long that took.
    pub(crate) fn synced(&mut self, took: Duration) {
        self.expected = (self.closed.members + self.open.members).min(LARGE);
        self.took = took;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads(role: Role) -> Waker {
        match role {
            Role::Leader(waker) => waker,
            Role::Follower { .. } => panic!("a group without a leader"),
        }
    }

    fn follows(role: Role) -> impl Fn() -> bool {
        match role {
            Role::Follower { synced, .. } => move || synced.is_set(),
            Role::Leader(_) => panic!("a second leader"),
        }
    }

    #[test]
    fn the_first_to_join_leads_and_wakes_only_its_own_group() {
        let mut groups = Groups::default();
        let first = leads(groups.join(1));
        let early = follows(groups.join(2));
        groups.close(2);
        // Waits for a commit that is being synced.
        let late = follows(groups.join(1));
        let second = leads(groups.join(3));
        let next = follows(groups.join(4));
        drop(first);
        assert_eq!((early(), late(), next()), (true, true, false));
        drop(second);
        assert!(next());
    }

    #[test]
    fn the_first_to_join_an_empty_closed_group_leads_it() {
        let mut groups = Groups::default();
        groups.close(2);
        let late = leads(groups.join(1));
        let later = follows(groups.join(2));
        drop(late);
        assert!(later());
    }

    #[test]
    fn a_leader_waits_for_as_many_as_before_up_to_a_large_group() {
        for (threads, expected) in [(1, 1), (3, 3), (LARGE, LARGE), (32, LARGE)] {
            let mut groups = Groups::default();
            let joining = threads / 2;
            let _roles: Vec<Role> = (0..threads - joining).map(|_| groups.join(1)).collect();
            groups.close(1);
            let _next: Vec<Role> = (0..joining).map(|_| groups.join(2)).collect();
            groups.synced(Duration::from_millis(1));
            for members in joining..expected {
                assert!(!groups.is_gathered(), "{members} of {threads}");
                groups.join(2);
            }
            assert!(groups.is_gathered(), "{threads}");
        }
    }
}
