//! The thread of a batcher.

use crate::base::error::Result;
use crate::db::api::batcher::queue::{Action, Done, Queue, Request};
use crate::db::api::db::Db;
use crate::fingerprint::Fingerprint;
use crate::query::Within;

/// Ends the queue with the thread, even if that panics: nobody may wait for an answer forever.
struct Ending<'a, F: Fingerprint>(&'a Queue<F>);

impl<F: Fingerprint> Drop for Ending<'_, F> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Does requests until the queue is closed.
pub(super) fn run<F: Fingerprint>(db: &Db<F>, queue: &Queue<F>) {
    let _ending = Ending(queue);
    while let Some(batch) = queue.next() {
        perform(db, batch);
    }
}

/// Does requests of one kind together. If that fails, does each half by itself, so that in the end
/// a request fails only if it would have failed alone. If all would, they all get the error.
fn perform<F: Fingerprint>(db: &Db<F>, mut batch: Vec<Request<F>>) {
    match perform_together(db, &batch) {
        Ok(done) => {
            batch.into_iter().zip(done).for_each(|(request, one)| request.answer(Ok(one)));
        }
        Err(error) if batch.len() == 1 || error.stops_all_writes() => {
            batch.into_iter().for_each(|request| request.answer(Err(error.clone())));
        }
        Err(_) => {
            let second = batch.split_off(batch.len() / 2);
            perform(db, batch);
            perform(db, second);
        }
    }
}

fn perform_together<F: Fingerprint>(db: &Db<F>, batch: &[Request<F>]) -> Result<Vec<Done<F>>> {
    let keys = batch.iter().map(Request::key);
    let (mut documents, mut stamps, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for (key, request) in keys.clone().zip(batch) {
        match request.action {
            Action::Write { fingerprint, .. } => documents.push((fingerprint, key)),
            Action::Touch(stamp) => stamps.push((key.key, stamp)),
            Action::Name(id) => ids.push(id),
            Action::Remove => {}
        }
    }
    let changed = |changed: Vec<bool>| changed.into_iter().map(Done::Changed).collect();
    Ok(match batch.first().map(|request| request.action) {
        None => Vec::new(),
        Some(Action::Write { or_update, .. }) => {
            let write = db.write(&documents).unless_near(Within::Rule);
            let write = match or_update {
                Some(on_duplicate) => write.or_update(on_duplicate),
                None => write,
            };
            write.run()?.into_iter().map(Done::Written).collect()
        }
        Some(Action::Remove) => {
            changed(db.engine().remove(&keys.map(|key| key.key).collect::<Vec<_>>())?)
        }
        Some(Action::Touch(_)) => changed(db.engine().touch(&stamps)?),
        Some(Action::Name(_)) => db.snapshot().names(&ids)?.into_iter().map(Done::Name).collect(),
    })
}
