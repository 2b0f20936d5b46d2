//! Commits batches of all connections together.
//!
//! A connection hands over its batch and its output, and goes on to wait for the next request. A few
//! threads take what has gathered, commit it, and send the replies. So many connections share the
//! lookups, the frame in the log and the sync of a commit, and no thread of a connection has to wake
//! up for it. While one thread waits for the disk, batches for the next one gather.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use fpdb::{Key, Novelty, Outcome, UpsertOptions};

use super::batch::{Answers, Batch, MOST};
use super::clients::lock;
use super::command::Command;
use super::failure::Result;
use super::matches::Keys;
use super::output::Lent;
use super::service::Service;
use crate::recipe::Width;

/// How many threads commit: one works while another one waits for the disk.
pub(super) const THREADS: usize = 2;

/// The batches that wait to be committed.
pub(super) struct Commits<F> {
    queue: Mutex<Queue<F>>,
    arrived: Condvar,
}

struct Queue<F> {
    waiting: VecDeque<Submission<F>>,
    /// Threads that sleep because nothing is waiting, apart from those that were notified.
    sleeping: usize,
    has_ended: bool,
}

/// A batch, and where its replies go.
struct Submission<F> {
    batch: Batch<F>,
    lent: Lent,
}

impl<F> Default for Commits<F> {
    fn default() -> Self {
        let queue = Queue { waiting: VecDeque::new(), sleeping: 0, has_ended: false };
        Self { queue: Mutex::new(queue), arrived: Condvar::new() }
    }
}

impl<F: Width> Commits<F> {
    /// Hands over a batch. The output is returned once the replies are sent.
    pub(super) fn submit(&self, batch: Batch<F>, lent: Lent) {
        let mut queue = lock(&self.queue);
        queue.waiting.push_back(Submission { batch, lent });
        self.wake_one(&mut queue);
    }

    fn wake_one(&self, queue: &mut Queue<F>) {
        // A notification is a system call, even if nobody waits for it.
        if queue.sleeping > 0 {
            queue.sleeping -= 1;
            self.arrived.notify_one();
        }
    }

    /// Lets the threads end when they have committed what is waiting.
    pub(super) fn end(&self) {
        lock(&self.queue).has_ended = true;
        self.arrived.notify_all();
    }

    /// Waits for batches, and returns those that are committed next: of one kind, and with at most
    /// [`MOST`] commands. `None` means that there will be no more.
    fn next(&self) -> Option<Vec<Submission<F>>> {
        let mut queue = lock(&self.queue);
        loop {
            let group = queue.take();
            if !group.is_empty() {
                if !queue.waiting.is_empty() {
                    self.wake_one(&mut queue);
                }
                return Some(group);
            }
            if queue.has_ended {
                return None;
            }
            queue.sleeping += 1;
            queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<F: Width> Queue<F> {
    fn take(&mut self) -> Vec<Submission<F>> {
        let mut group: Vec<Submission<F>> = Vec::new();
        let mut commands = 0;
        while let Some(Submission { batch, .. }) = self.waiting.front() {
            commands += batch.len();
            let fits = group
                .first()
                .is_none_or(|first| first.batch.command == batch.command && commands <= MOST);
            if !fits {
                break;
            }
            group.extend(self.waiting.pop_front());
        }
        group
    }
}

/// Commits batches until the server ends.
pub(super) fn run<F: Width>(service: &Arc<Service<F>>) {
    while let Some(group) = service.commits.next() {
        // After a panic, the connections of the group end, because they get their output back without
        // the replies.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| execute(service, group)));
    }
}

/// Commits batches of one kind, and sends the replies.
fn execute<F: Width>(service: &Service<F>, group: Vec<Submission<F>>) {
    let Some(command) = group.first().map(|first| first.batch.command) else { return };
    let counts: Vec<usize> =
        group.iter().map(|submission| submission.batch.documents().count()).collect();
    let documents: Vec<(F, Key<'_>)> =
        group.iter().flat_map(|submission| submission.batch.documents()).collect();
    let mut outcomes = Vec::with_capacity(documents.len());
    commit(service, command, &documents, &mut outcomes);
    let mut outcomes = outcomes.into_iter();
    let keys = Arc::new(Keys::new(service.db.snapshot(), service.description.ids));
    for (Submission { batch, lent }, count) in group.into_iter().zip(counts) {
        let own = outcomes.by_ref().take(count).collect();
        Answers::new(batch, own, keys.clone(), lent).deliver();
    }
}

/// Writes documents in one commit. If that fails, writes each half by itself, so that in the end, a
/// command fails only if it would have failed alone.
fn commit<F: Width>(
    service: &Service<F>,
    command: Command,
    documents: &[(F, Key<'_>)],
    outcomes: &mut Vec<Result<Outcome<F>>>,
) {
    if documents.is_empty() {
        return;
    }
    match commit_together(service, command, documents) {
        Ok(all) => outcomes.extend(all.into_iter().map(Ok)),
        Err(error) if documents.len() == 1 => outcomes.push(Err(error.into())),
        Err(_) => {
            let (first, second) = documents.split_at(documents.len() / 2);
            commit(service, command, first, outcomes);
            commit(service, command, second, outcomes);
        }
    }
}

fn commit_together<F: Width>(
    service: &Service<F>,
    command: Command,
    documents: &[(F, Key<'_>)],
) -> fpdb::Result<Vec<Outcome<F>>> {
    if command == Command::Upsert {
        let options = UpsertOptions::new();
        return service.db.upsert_if_novel_batch(documents, &options, |_| Ok(()));
    }
    let novelties = service.db.insert_if_novel_batch(documents)?;
    let outcome = |novelty| match novelty {
        Novelty::Inserted(id) => Outcome::Inserted(id),
        Novelty::Duplicate(found) => Outcome::Duplicate(found),
    };
    Ok(novelties.into_iter().map(outcome).collect())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::cmd::serve::clients::Clients;
    use crate::cmd::serve::metrics::Metrics;
    use crate::cmd::serve::output::Output;

    #[test]
    fn waiting_batches_are_committed_in_order_and_together_if_they_are_of_one_kind_and_few() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stream = TcpStream::connect(address).unwrap();
        let registered = Arc::new(Clients::default()).register(stream, address, 1).unwrap();
        let commits = Commits::<u64>::default();
        let (add, upsert) = (Command::AddNx, Command::Upsert);
        for (command, commands) in
            [(add, MOST - 1), (add, 1), (add, 2), (upsert, 1), (add, MOST), (add, 1)]
        {
            let mut output = Output::new(registered.client.clone(), Arc::new(Metrics::new()));
            commits.submit(Batch::of_short_texts(command, commands), output.lend(&Arc::default()));
        }
        commits.end();
        let groups = std::iter::from_fn(|| commits.next());
        let lengths = groups.map(|group| group.iter().map(|one| one.batch.len()).collect());
        let lengths: Vec<Vec<usize>> = lengths.collect();
        assert_eq!(lengths, [vec![MOST - 1, 1], vec![2], vec![1], vec![MOST], vec![1]]);
    }
}
