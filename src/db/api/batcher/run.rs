//! The thread of a batcher.

use crate::db::api::batcher::queue::{Kind, Queue, Request};
use crate::db::api::db::Db;
use crate::db::state::key::Stamped;
use crate::db::write::outcome::{OnDuplicate, Outcome};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::Within;

/// Ends the queue with the thread, even if that panics: nobody may wait for an answer forever.
struct Ending<'a, F: Fingerprint>(&'a Queue<F>);

impl<F: Fingerprint> Drop for Ending<'_, F> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Writes requests until the queue is closed.
pub(super) fn run<F: Fingerprint>(db: &Db<F>, queue: &Queue<F>) {
    let _ending = Ending(queue);
    while let Some(batch) = queue.next() {
        write(db, batch);
    }
}

/// Writes documents of one kind in one commit. If that fails, writes each half by itself, so that in
/// the end a document fails only if it would have failed alone.
fn write<F: Fingerprint>(db: &Db<F>, mut batch: Vec<Request<F>>) {
    match write_together(db, &batch) {
        Ok(outcomes) => {
            batch.into_iter().zip(outcomes).for_each(|(request, one)| request.answer(Ok(one)));
        }
        Err(error) if batch.len() == 1 => {
            batch.into_iter().zip([error]).for_each(|(request, error)| request.answer(Err(error)));
        }
        Err(_) => {
            let second = batch.split_off(batch.len() / 2);
            write(db, batch);
            write(db, second);
        }
    }
}

fn write_together<F: Fingerprint>(db: &Db<F>, batch: &[Request<F>]) -> Result<Vec<Outcome<F>>> {
    let documents: Vec<(F, Stamped<'_>)> =
        batch.iter().map(|request| (request.fingerprint, request.key())).collect();
    let write = db.write(&documents).unless_near(Within::Rule);
    match batch.first().map(|request| request.kind) {
        Some(Kind::Upsert) => write.or_update(OnDuplicate::Keep).run(),
        Some(Kind::Insert) | None => write.run(),
    }
}
