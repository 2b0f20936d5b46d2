//! The batches of all connections that wait to be committed.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use fpdb::Fingerprint;

use crate::commands::batch::{Batch, MAX_COMMANDS};
use crate::net::clients::lock;
use crate::net::loan::{Lent, Loan, Resting};

/// A second thread commits, too, when more commands wait than this. With fewer, two commits would
/// cost more than the one that follows.
const MANY: usize = MAX_COMMANDS / 2;

/// The batches that wait to be committed.
///
/// While a thread commits, the next batches gather here, or in the sockets of connections that
/// rest.
pub(crate) struct Queue<F> {
    state: Mutex<State<F>>,
    /// Threads wait for this while they must not commit, and if there is no `poll`.
    arrived: Condvar,
    poll: Option<Arc<Resting>>,
}

struct State<F> {
    waiting: VecDeque<Submission<F>>,
    /// The commands of all batches that wait.
    commands: usize,
    /// Threads that commit.
    committing: usize,
    /// Threads that wait for `arrived`, apart from those that were notified.
    sleeping: usize,
    /// Threads that wait for `poll`: one, or for a moment two.
    polling: usize,
    /// Whether `poll` was woken and nobody has noticed it yet.
    is_woken: bool,
    /// How many groups were committed, and how many a second ago.
    finished: u64,
    finished_before: u64,
    has_ended: bool,
}

/// A batch, and where its replies go.
pub(crate) struct Submission<F> {
    pub(crate) batch: Batch<F>,
    pub(crate) lent: Lent,
}

impl<F> Default for Queue<F> {
    fn default() -> Self {
        let state = State {
            waiting: VecDeque::new(),
            commands: 0,
            committing: 0,
            sleeping: 0,
            polling: 0,
            is_woken: false,
            finished: 0,
            finished_before: 0,
            has_ended: false,
        };
        let poll = Resting::new().map(Arc::new);
        Self { state: Mutex::new(state), arrived: Condvar::new(), poll }
    }
}

impl<F: Fingerprint> Queue<F> {
    /// Hands over a batch. The output is returned once the replies are sent, or at once if no
    /// threads commit any more.
    pub(crate) fn submit(&self, batch: Batch<F>, lent: Lent) {
        let mut state = lock(&self.state);
        if state.has_ended {
            return;
        }
        state.add(Submission { batch, lent });
        self.wake_one(&mut state);
    }

    /// Watches the connections that rest, if they can.
    pub(crate) fn poll(&self) -> Option<&Arc<Resting>> {
        self.poll.as_ref()
    }

    /// Wakes a thread that waits if it may commit now. That takes a system call.
    fn wake_one(&self, state: &mut State<F>) {
        if !state.may_commit() || state.is_woken {
            return;
        }
        if let Some(poll) = self.poll.as_ref().filter(|_| state.polling > 0) {
            state.is_woken = true;
            poll.wake();
        } else if state.sleeping > 0 {
            state.sleeping -= 1;
            self.arrived.notify_one();
        }
    }

    /// Lets the threads end when they have committed what is waiting.
    pub(crate) fn end(&self) {
        lock(&self.state).has_ended = true;
        self.arrived.notify_all();
        if let Some(poll) = &self.poll {
            poll.wake();
        }
    }

    /// Waits for batches, and returns those that are committed next: of one kind, and with at most
    /// [`MAX_COMMANDS`] commands. `None` means that there will be no more. `receive` reads what a
    /// connection that rests has sent. Call [`finish`](Self::finish) when they are committed.
    pub(crate) fn next(
        &self,
        mut receive: impl FnMut(&Arc<Loan>) -> Option<Submission<F>>,
    ) -> Option<Vec<Submission<F>>> {
        let mut state = lock(&self.state);
        loop {
            if state.may_commit() {
                let group = state.take();
                state.committing += 1;
                self.wake_one(&mut state);
                return Some(group);
            }
            if state.has_ended {
                return None;
            }
            let may_poll = state.committing == 0 && state.polling == 0;
            let Some(poll) = self.poll.as_ref().filter(|_| may_poll) else {
                state.sleeping += 1;
                state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.polling += 1;
            drop(state);
            let arrived = poll.wait();
            let received: Vec<_> = arrived.iter().filter_map(&mut receive).collect();
            state = lock(&self.state);
            state.polling -= 1;
            state.is_woken = false;
            received.into_iter().for_each(|submission| state.add(submission));
        }
    }

    /// Notes that a thread has committed what it took.
    pub(crate) fn finish(&self) {
        let mut state = lock(&self.state);
        state.committing -= 1;
        state.finished += 1;
    }

    /// Has the connections that rest answered by their own threads if nothing was committed since
    /// the last call, a second ago. What they send may be no document, and need not wait for the
    /// disk.
    pub(crate) fn relieve(&self) {
        let Some(poll) = self.poll.as_ref().filter(|_| lock(&self.state).is_stuck()) else {
            return;
        };
        for loan in poll.arrived_already() {
            if let Some(lent) = loan.take() {
                lent.give_back(&[]);
            }
        }
    }
}

impl<F: Fingerprint> State<F> {
    fn add(&mut self, submission: Submission<F>) {
        self.commands += submission.batch.len();
        self.waiting.push_back(submission);
    }

    /// Returns whether another thread may commit what is waiting.
    fn may_commit(&self) -> bool {
        let is_due = self.committing == 0 || self.commands > MANY || self.has_ended;
        is_due && !self.waiting.is_empty()
    }

    fn is_stuck(&mut self) -> bool {
        let before = std::mem::replace(&mut self.finished_before, self.finished);
        self.committing > 0 && self.finished == before
    }

    /// Takes what is committed next.
    fn take(&mut self) -> Vec<Submission<F>> {
        let mut group: Vec<Submission<F>> = Vec::new();
        let mut commands = 0;
        while let Some(Submission { batch, .. }) = self.waiting.front() {
            let fits = group.first().is_none_or(|first| {
                first.batch.kind == batch.kind && commands + batch.len() <= MAX_COMMANDS
            });
            if !fits {
                break;
            }
            commands += batch.len();
            group.extend(self.waiting.pop_front());
        }
        self.commands -= commands;
        group
    }
}

#[cfg(test)]
mod tests {
    use fpdb::OnDuplicate;

    use super::*;
    use crate::command::Command;
    use crate::commands::batch::Kind;
    use crate::metrics::Metrics;
    use crate::net::clients::Clients;
    use crate::net::output::Output;
    use crate::net::stream;

    #[test]
    fn waiting_batches_are_committed_in_order_and_together_if_they_are_of_one_kind_and_few() {
        let (stream, peer, _client) = stream::pair();
        let registered = Arc::new(Clients::default()).register(stream, peer, 1).unwrap();
        let queue = Queue::<u64>::default();
        let kind = |command, on_duplicate| Kind { command, on_duplicate };
        let add = kind(Command::AddNx, OnDuplicate::Keep);
        let upsert = kind(Command::Upsert, OnDuplicate::Keep);
        let remove = kind(Command::Upsert, OnDuplicate::Remove);
        for (kind, commands) in [
            (add, MAX_COMMANDS - 1),
            (add, 1),
            (add, 2),
            (upsert, 1),
            (remove, 1),
            (add, MAX_COMMANDS),
            (add, 1),
        ] {
            let mut output = Output::new(registered.client.clone(), Arc::new(Metrics::new()));
            let mut batch = Batch::new(kind);
            (0..commands).for_each(|_| batch.push(Ok(None)));
            queue.submit(batch, Lent::new(&mut output, &Arc::default()));
        }
        queue.end();
        let groups = std::iter::from_fn(|| queue.next(|_| None));
        let lengths = groups.map(|group| group.iter().map(|one| one.batch.len()).collect());
        let lengths: Vec<Vec<usize>> = lengths.collect();
        assert_eq!(
            lengths,
            [vec![MAX_COMMANDS - 1, 1], vec![2], vec![1], vec![1], vec![MAX_COMMANDS], vec![1]]
        );
    }

    #[test]
    fn a_batch_that_nobody_will_commit_gives_its_output_back() {
        let (stream, peer, _client) = stream::pair();
        let registered = Arc::new(Clients::default()).register(stream, peer, 1).unwrap();
        let queue = Queue::<u64>::default();
        queue.end();
        let kind = Kind { command: Command::AddNx, on_duplicate: OnDuplicate::Keep };
        let mut output = Output::new(registered.client.clone(), Arc::new(Metrics::new()));
        let loan = Arc::default();
        queue.submit(Batch::new(kind), Lent::new(&mut output, &loan));
        assert!(loan.wait().is_broken());
    }
}
