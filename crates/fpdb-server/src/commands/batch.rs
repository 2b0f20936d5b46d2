//! `FP.ADDNX` and `FP.UPSERT`. Adjacent commands of a client form a batch, which the threads of
//! `commits.rs` commit together with batches of other clients.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use std::vec;

use fpdb::{DocId, Fingerprint, Key, Match, OnDuplicate, Outcome, Stamped};

use crate::command::Command;
use crate::commands::matches::{self, Keys};
use crate::events::SlowCommands;
use crate::failure::Result;
use crate::net::loan::Lent;
use crate::net::output::Output;
use crate::process;
use crate::resp::Replies;

/// The most commands of a batch.
pub(crate) const MAX_COMMANDS: usize = 512;

/// What commands have in common that can be committed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) command: Command,
    pub(crate) on_duplicate: OnDuplicate,
}

/// Adjacent commands of a client, all of one kind.
pub(crate) struct Batch<F> {
    pub(crate) kind: Kind,
    start: Instant,
    /// What each command writes: a document, or nothing because its text is too short.
    written: Vec<Result<Option<Stored<F>>>>,
    /// The names of all documents, one after the other.
    names: String,
}

/// A document that outlives the request it comes from.
struct Stored<F> {
    fingerprint: F,
    key: StoredKey,
    stamp: Option<u64>,
}

/// A key that outlives the request it comes from.
enum StoredKey {
    Id(DocId),
    /// Where the name is.
    Name(Range<usize>),
}

impl<F: Fingerprint> Batch<F> {
    /// Begins a batch.
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, start: Instant::now(), written: Vec::new(), names: String::new() }
    }

    /// Adds what a command writes.
    pub(crate) fn push(&mut self, written: Result<Option<(F, Stamped<'_>)>>) {
        let names = &mut self.names;
        let stored = |(fingerprint, Stamped { key, stamp }): (F, Stamped<'_>)| {
            let key = match key {
                Key::Id(id) => StoredKey::Id(id),
                Key::Name(name) => {
                    let start = names.len();
                    names.push_str(name);
                    StoredKey::Name(start..names.len())
                }
            };
            Stored { fingerprint, key, stamp }
        };
        self.written.push(written.map(|document| document.map(stored)));
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = (F, Stamped<'_>)> {
        self.written.iter().filter_map(|written| {
            let Stored { fingerprint, key, stamp } = written.as_ref().ok()?.as_ref()?;
            let key = match key {
                StoredKey::Id(id) => Key::Id(*id),
                StoredKey::Name(range) => Key::Name(&self.names[range.clone()]),
            };
            Some((*fingerprint, Stamped { key, stamp: *stamp }))
        })
    }

    /// Returns the number of commands.
    pub(crate) fn len(&self) -> usize {
        self.written.len()
    }
}

/// The replies to a batch that was committed.
pub(crate) struct Answers<F: Fingerprint> {
    command: Command,
    written: vec::IntoIter<Result<Option<Stored<F>>>>,
    /// What became of the documents.
    outcomes: vec::IntoIter<Result<Outcome<F>>>,
    keys: Arc<Keys<F>>,
    lent: Lent,
}

impl<F: Fingerprint> Answers<F> {
    pub(crate) fn new(
        batch: Batch<F>,
        outcomes: Vec<Result<Outcome<F>>>,
        keys: Arc<Keys<F>>,
        lent: Lent,
        slow: &SlowCommands,
    ) -> Self {
        let Batch { kind: Kind { command, .. }, start, written, .. } = batch;
        let took = start.elapsed();
        lent.output.metrics().of(command).took.add(written.len(), took);
        slow.add(lent.output.peer(), command, written.len(), took);
        let (written, outcomes) = (written.into_iter(), outcomes.into_iter());
        Self { command, written, outcomes, keys, lent }
    }

    /// Sends the replies without waiting for the client. If it does not take them at once, another
    /// thread waits for it.
    pub(crate) fn deliver(mut self) {
        if self.write(Output::try_send) {
            return;
        }
        let wait = move || {
            self.write(|output| {
                output.send();
                true
            });
        };
        // If there is no thread, the connection ends.
        let _ = process::spawn("slow client".to_owned(), Box::new(wait));
    }

    /// Writes the rest of the replies. Returns false as soon as `send` could not send some of them.
    fn write(&mut self, mut send: impl FnMut(&mut Output) -> bool) -> bool {
        loop {
            let output = &mut self.lent.output;
            if output.is_full() && !send(output) {
                return false;
            }
            let Some(written) = self.written.next() else { break };
            let outcome = match written {
                Ok(Some(_)) => self.outcomes.next().transpose(),
                Ok(None) => Ok(None),
                Err(failure) => Err(failure),
            };
            let replied =
                outcome.and_then(|outcome| reply(outcome, &self.keys, &mut output.replies));
            if let Err(failure) = replied {
                failure.report(output.peer(), self.command, output.metrics());
                failure.write(&mut output.replies);
            }
        }
        let is_complete = send(&mut self.lent.output);
        self.lent.is_complete = is_complete;
        is_complete
    }
}

/// Writes what became of a document, or that its text is too short.
fn reply<F: Fingerprint>(
    outcome: Option<Outcome<F>>,
    keys: &Keys<F>,
    replies: &mut Replies,
) -> Result<()> {
    match outcome {
        None => word(replies, 0, "too-short"),
        Some(Outcome::Inserted(_)) => word(replies, 0, "inserted"),
        Some(Outcome::Unchanged(_)) => word(replies, 0, "unchanged"),
        Some(Outcome::UnchangedDuplicate { of, .. }) => {
            return word_and_match(replies, "unchanged", &of, keys);
        }
        Some(Outcome::Updated { from, distance, .. }) => {
            word(replies, 2, "updated");
            replies.integer(distance.into());
            replies.bulk(from.to_hex().as_bytes());
        }
        Some(Outcome::Duplicate(found)) => {
            return word_and_match(replies, "duplicate", &found, keys);
        }
        Some(Outcome::Exists(found)) => return word_and_match(replies, "exists", &found, keys),
    }
    Ok(())
}

fn word_and_match<F: Fingerprint>(
    replies: &mut Replies,
    text: &str,
    found: &Match<F>,
    keys: &Keys<F>,
) -> Result<()> {
    let key = keys.find(found.id)?;
    word(replies, 3, text);
    matches::write_parts(key.as_deref(), found, replies);
    Ok(())
}

/// Begins an array: a word, and this number of details.
fn word(replies: &mut Replies, details: usize, word: &str) {
    replies.array(1 + details);
    replies.bulk(word.as_bytes());
}
