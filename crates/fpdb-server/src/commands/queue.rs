//! The batches of all connections that wait to be committed.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

use fpdb::Fingerprint;

use crate::commands::batch::{Batch, MAX_COMMANDS};
use crate::net::clients::lock;
use crate::net::output::Lent;

/// The batches that wait to be committed.
pub(crate) struct Queue<F> {
    state: Mutex<State<F>>,
    arrived: Condvar,
}

struct State<F> {
    waiting: VecDeque<Submission<F>>,
    /// Threads that sleep because nothing is waiting, apart from those that were notified.
    sleeping: usize,
    has_ended: bool,
}

/// A batch, and where its replies go.
pub(crate) struct Submission<F> {
    pub(crate) batch: Batch<F>,
    pub(crate) lent: Lent,
}

impl<F> Default for Queue<F> {
    fn default() -> Self {
        let state = State { waiting: VecDeque::new(), sleeping: 0, has_ended: false };
        Self { state: Mutex::new(state), arrived: Condvar::new() }
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
        state.waiting.push_back(Submission { batch, lent });
        self.wake_one(&mut state);
    }

    fn wake_one(&self, state: &mut State<F>) {
        // A notification is a system call, even if nobody waits for it.
        if state.sleeping > 0 {
            state.sleeping -= 1;
            self.arrived.notify_one();
        }
    }

    /// Lets the threads end when they have committed what is waiting.
    pub(crate) fn end(&self) {
        lock(&self.state).has_ended = true;
        self.arrived.notify_all();
    }

    /// Waits for batches, and returns those that are committed next: of one kind, and with at most
    /// [`MAX_COMMANDS`] commands. `None` means that there will be no more.
    pub(crate) fn next(&self) -> Option<Vec<Submission<F>>> {
        let mut state = lock(&self.state);
        loop {
            let group = state.take();
            if !group.is_empty() {
                if !state.waiting.is_empty() {
                    self.wake_one(&mut state);
                }
                return Some(group);
            }
            if state.has_ended {
                return None;
            }
            state.sleeping += 1;
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<F: Fingerprint> State<F> {
    /// Takes what is committed next, which may be nothing.
    fn take(&mut self) -> Vec<Submission<F>> {
        let mut group: Vec<Submission<F>> = Vec::new();
        let mut commands = 0;
        while let Some(Submission { batch, .. }) = self.waiting.front() {
            commands += batch.len();
            let fits = group
                .first()
                .is_none_or(|first| first.batch.kind == batch.kind && commands <= MAX_COMMANDS);
            if !fits {
                break;
            }
            group.extend(self.waiting.pop_front());
        }
        group
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
            queue.submit(batch, output.lend(&Arc::default()));
        }
        queue.end();
        let groups = std::iter::from_fn(|| queue.next());
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
        queue.submit(Batch::new(kind), output.lend(&loan));
        assert!(loan.wait().is_broken());
    }
}
