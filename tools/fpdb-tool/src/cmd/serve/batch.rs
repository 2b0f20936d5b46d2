//! `FP.ADDNX` and `FP.UPSERT`. Adjacent commands of a client are committed together.

use fpdb::{Key, Novelty, Outcome, UpsertOptions};

use super::command::Command;
use super::failure::{Failure, Result};
use super::matches::{self, Keys};
use super::output::Output;
use super::resp::Replies;
use super::service::Service;
use crate::recipe::Width;

/// The most documents of one commit. Other writers wait while it is decided which of them are novel.
pub(super) const MOST: usize = 512;

/// What a command is to write: a document, or nothing because its text is too short.
type Written<'a, F> = Option<(F, Key<'a>)>;

/// Executes adjacent commands of one kind, with the same answers as one after the other. Returns how
/// many failed.
pub(super) fn write<F: Width>(
    service: &Service<F>,
    command: Command,
    requests: &[Vec<&[u8]>],
    output: &mut Output<'_>,
) -> u64 {
    let written: Vec<Result<Written<'_, F>>> =
        requests.iter().map(|words| parse(service, command, words)).collect();
    let documents: Vec<(F, Key<'_>)> =
        written.iter().filter_map(|written| *written.as_ref().ok()?).collect();
    let mut outcomes = commit(service, command, &documents).into_iter();
    let mut keys = Keys::new(service.db.snapshot(), service.description.ids);
    let mut errors = 0;
    for written in written {
        let outcome = match written {
            Ok(Some((_, key))) => outcomes.next().transpose().inspect(|outcome| {
                if let (Some(Outcome::Inserted(id)), Key::Name(name)) = (outcome, key) {
                    keys.know(*id, name);
                }
            }),
            Ok(None) => Ok(None),
            Err(failure) => Err(failure),
        };
        let replied = outcome.and_then(|outcome| reply(outcome, &keys, &mut output.replies));
        if let Err(failure) = replied {
            failure.write(&mut output.replies);
            errors += 1;
        }
        output.send_if_full();
    }
    errors
}

fn parse<'a, F: Width>(
    service: &Service<F>,
    command: Command,
    words: &[&'a [u8]],
) -> Result<Written<'a, F>> {
    if !command.takes(words.len()) {
        return Err(Failure::arity(command));
    }
    let key = service.key(words[1])?;
    let mut rest = &words[2..];
    let fingerprint = service.document(&mut rest)?;
    if !rest.is_empty() {
        return Err(Failure::syntax());
    }
    Ok(fingerprint.map(|fingerprint| (fingerprint, key)))
}

/// Writes documents in one commit. If that fails, writes them one by one, so that a command fails only
/// if it would have failed alone.
fn commit<F: Width>(
    service: &Service<F>,
    command: Command,
    documents: &[(F, Key<'_>)],
) -> Vec<Result<Outcome<F>>> {
    if documents.is_empty() {
        return Vec::new();
    }
    match commit_together(service, command, documents) {
        Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
        Err(error) if documents.len() == 1 => vec![Err(error.into())],
        Err(_) => documents.chunks(1).flat_map(|one| commit(service, command, one)).collect(),
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

/// Writes what became of a document, or that its text is too short.
fn reply<F: Width>(
    outcome: Option<Outcome<F>>,
    keys: &Keys<'_, F>,
    replies: &mut Replies,
) -> Result<()> {
    match outcome {
        None => word(replies, 0, "too-short"),
        Some(Outcome::Inserted(_)) => word(replies, 0, "inserted"),
        Some(Outcome::Unchanged) => word(replies, 0, "unchanged"),
        Some(Outcome::Updated { from, distance }) => {
            word(replies, 2, "updated");
            replies.integer(distance.into());
            replies.bulk(from.to_hex().as_bytes());
        }
        Some(Outcome::Duplicate(found)) => {
            let key = keys.find(found.id)?;
            word(replies, 3, "duplicate");
            matches::write_parts(key.as_deref(), &found, replies);
        }
    }
    Ok(())
}

/// Begins an array: a word, and this number of details.
fn word(replies: &mut Replies, details: usize, word: &str) {
    replies.array(1 + details);
    replies.bulk(word.as_bytes());
}
