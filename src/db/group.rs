//! Group commit: who writes to the log's file and syncs it, and who waits for that.
//!
//! Frames of commits gather in memory. The threads that wait for them are a *group*, and who joins it
//! first leads it: once it has the *lead*, it writes and syncs all frames there are in one go, and
//! wakes the others. Appends during a sync would wait for it in the file system, so meanwhile the next
//! group gathers.
//!
//! Who is woken asks for no lock: where dozens do at once, nearly all go back to sleep for it.
//!
//! Threads whose commits were just synced are likely to come back at once, and would wait for a whole
//! sync if the next one began without them. So the leader of a small group waits a short time until
//! as many have gathered as there were before. Where there are many threads, it is better that half
//! of them work while the sync of the others goes on.

use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::Duration;

/// A leader waits for others at most this part of the time that the last sync took.
const PATIENCE: u32 = 4;

/// Members for whose sake a sync begins at once.
const ENOUGH: usize = 8;

/// The right to write to the log's file and to sync it.
pub(super) type Lead<'a> = MutexGuard<'a, ()>;

/// Threads that wait for one sync.
#[derive(Debug, Default)]
struct Group {
    members: usize,
    over: Arc<OnceLock<()>>,
}

/// The groups, as the writer keeps them.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Takes in who waits for commits after `last`.
    open: Group,
    /// What is being synced or was synced last, up to commit `last`.
    closed: Group,
    last: u64,
    /// How many the open group's leader waits for, and how long the last sync took.
    expected: usize,
    took: Duration,
}

/// What a thread has to do in its group.
#[derive(Debug)]
pub(super) enum Role {
    /// To get the lead, and to see to it that the group's commits are synced.
    Leader(Waker),
    /// To sleep until the leader has done that.
    Follower {
        over: Arc<OnceLock<()>>,
        /// Whether the leader waits for nobody else, and is to be told.
        is_last: bool,
    },
}

/// Its drop wakes the others of a group: so a leader wakes them however it returns.
#[derive(Debug)]
pub(super) struct Waker(Arc<OnceLock<()>>);

impl Drop for Waker {
    fn drop(&mut self) {
        // Nobody else sets it.
        let _ = self.0.set(());
    }
}

impl Groups {
    /// Takes in a thread that waits for commit `seq`.
    pub(super) fn join(&mut self, seq: u64) -> Role {
        let group = if seq > self.last { &mut self.open } else { &mut self.closed };
        group.members += 1;
        let over = group.over.clone();
        match group.members {
            1 => Role::Leader(Waker(over)),
            _ => Role::Follower { over, is_last: self.open.members == self.expected },
        }
    }

    /// Whether the open group's leader has nobody to wait for.
    pub(super) fn is_gathered(&self) -> bool {
        self.open.members >= self.expected
    }

    /// How long else it waits at most.
    pub(super) fn patience(&self) -> Duration {
        self.took / PATIENCE
    }

    /// The open group ends with commit `last`, and is to be synced now.
    pub(super) fn close(&mut self, last: u64) {
        self.last = last;
        self.closed = std::mem::take(&mut self.open);
    }

    /// The closed group was synced, in this time.
    pub(super) fn synced(&mut self, took: Duration) {
        self.expected = (self.closed.members + self.open.members).min(ENOUGH);
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
            Role::Follower { over, .. } => move || over.get().is_some(),
            Role::Leader(_) => panic!("a second leader"),
        }
    }

    #[test]
    fn who_comes_first_leads_and_wakes_those_of_its_group_only() {
        let mut groups = Groups::default();
        let first = leads(groups.join(1));
        let early = follows(groups.join(2));
        groups.close(2);
        // It depends on a commit that is being synced.
        let late = follows(groups.join(1));
        let second = leads(groups.join(3));
        let next = follows(groups.join(4));
        drop(first);
        assert_eq!((early(), late(), next()), (true, true, false));
        drop(second);
        assert!(next());
    }

    #[test]
    fn who_waits_for_commits_that_nobody_waits_for_sees_to_them_itself() {
        let mut groups = Groups::default();
        groups.close(2);
        let late = leads(groups.join(1));
        let later = follows(groups.join(2));
        drop(late);
        assert!(later());
    }

    #[test]
    fn a_leader_waits_for_as_many_as_there_were_unless_it_has_enough() {
        for (threads, expected) in [(1, 1), (3, 3), (ENOUGH, ENOUGH), (32, ENOUGH)] {
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
