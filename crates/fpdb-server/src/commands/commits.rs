//! Commits batches of all connections together.
//!
//! A connection hands over its batch and its output, and goes on to wait for the next request. A
//! thread takes what has gathered, commits it, and sends the replies. So many connections share
//! the lookups, the frame in the log and the sync of a commit, and no thread of a connection has to
//! wake up for it. If the connection [rests](rest), not even for the next request.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use fpdb::{Fingerprint, Outcome, Stamped, Within};

use crate::command::Command;
use crate::commands::batch::{Answers, Kind};
use crate::commands::matches::Keys;
use crate::commands::queue::Submission;
use crate::commands::rest;
use crate::commands::service::Service;
use crate::failure::Result;
use crate::net::input;

/// How many threads commit. The second one helps when [many](crate::commands::queue) commands wait.
pub(crate) const THREADS: usize = 2;

/// Commits batches until the server ends.
pub(crate) fn run<F: Fingerprint>(service: &Arc<Service<F>>) {
    let mut buffer = [0; input::OWN];
    // After a panic, the connections concerned end: they get their output back without the replies.
    let mut receive = |loan: &_| {
        let receive = AssertUnwindSafe(|| rest::receive(service, loan, &mut buffer));
        panic::catch_unwind(receive).ok().flatten()
    };
    while let Some(group) = service.queue.next(&mut receive) {
        let _ = panic::catch_unwind(AssertUnwindSafe(|| execute(service, group)));
        service.queue.finish();
    }
}

/// Commits batches of one kind, and sends the replies.
fn execute<F: Fingerprint>(service: &Service<F>, group: Vec<Submission<F>>) {
    let Some(kind) = group.first().map(|first| first.batch.kind) else { return };
    let counts: Vec<usize> =
        group.iter().map(|submission| submission.batch.documents().count()).collect();
    let documents: Vec<(F, Stamped<'_>)> =
        group.iter().flat_map(|submission| submission.batch.documents()).collect();
    let mut outcomes = Vec::with_capacity(documents.len());
    commit(service, kind, &documents, &mut outcomes);
    let mut outcomes = outcomes.into_iter();
    let keys = Arc::new(Keys::new(service.db.snapshot(), service.db.description().ids));
    for (Submission { batch, lent }, count) in group.into_iter().zip(counts) {
        let own = outcomes.by_ref().take(count).collect();
        Answers::new(batch, own, keys.clone(), lent, &service.shared.slow).deliver();
    }
}

/// Writes documents in one commit. If that fails, writes each half by itself, so that in the end, a
/// command fails only if it would have failed alone. If all would, they all get the failure.
fn commit<F: Fingerprint>(
    service: &Service<F>,
    kind: Kind,
    documents: &[(F, Stamped<'_>)],
    outcomes: &mut Vec<Result<Outcome<F>>>,
) {
    if documents.is_empty() {
        return;
    }
    match commit_together(service, kind, documents) {
        Ok(all) => outcomes.extend(all.into_iter().map(Ok)),
        Err(failure) if documents.len() == 1 || failure.stops_all_writes() => {
            outcomes.extend(documents.iter().map(|_| Err(failure.clone())));
        }
        Err(_) => {
            let (first, second) = documents.split_at(documents.len() / 2);
            commit(service, kind, first, outcomes);
            commit(service, kind, second, outcomes);
        }
    }
}

fn commit_together<F: Fingerprint>(
    service: &Service<F>,
    kind: Kind,
    documents: &[(F, Stamped<'_>)],
) -> Result<Vec<Outcome<F>>> {
    let db = service.db.writer()?;
    let write = db.write(documents).unless_near(Within::Rule);
    Ok(match kind.command {
        Command::Upsert => write.or_update(kind.on_duplicate).run()?,
        _ => write.run()?,
    })
}
