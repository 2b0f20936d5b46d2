//! The commands that write to the database: what `FP.ADDNX` and `FP.UPSERT` write, and `FP.DEL`.

use fpdb::{Ids, Key, OnDuplicate, Stamped};

use crate::batch::{Batch, Kind};
use crate::command::Command;
use crate::failure::{Failure, Result};
use crate::resp::Replies;
use crate::service::Service;
use crate::width::Width;

/// Parses adjacent `FP.ADDNX` or `FP.UPSERT` of a client, all of one kind.
pub(crate) fn batch<F: Width>(
    service: &Service<F>,
    kind: Kind,
    requests: &[Vec<&[u8]>],
) -> Batch<F> {
    let mut batch = Batch::new(kind, requests.len());
    requests.iter().for_each(|words| batch.push(document(service, kind.command, words)));
    batch
}

/// Returns what a command has to have in common with others that are committed with it. If the
/// command is wrong, it has an error for a reply anyway.
pub(crate) fn kind(command: Command, words: &[&[u8]]) -> Kind {
    let is_text = words.get(2).is_some_and(|word| word.eq_ignore_ascii_case(b"text"));
    let rest = words.get(if is_text { 4 } else { 3 }..).unwrap_or_default();
    let on_duplicate = options(rest).map(|(_, on_duplicate)| on_duplicate).unwrap_or_default();
    Kind { command, on_duplicate: on_duplicate.unwrap_or_default() }
}

/// Parses `[STAMP n] [KEEP|REMOVE|REMEMBER]`.
fn options(mut rest: &[&[u8]]) -> Result<(Option<u64>, Option<OnDuplicate>)> {
    let (mut stamp, mut on_duplicate) = (None, None);
    while let [word, ref after @ ..] = *rest {
        let word = word.to_ascii_lowercase();
        rest = match (word.as_slice(), after) {
            (b"stamp", [number, after @ ..]) if stamp.is_none() => {
                stamp = Some(parse_stamp(number)?);
                after
            }
            (b"keep" | b"remove" | b"remember", after) if on_duplicate.is_none() => {
                on_duplicate = Some(match word.as_slice() {
                    b"keep" => OnDuplicate::Keep,
                    b"remove" => OnDuplicate::Remove,
                    _ => OnDuplicate::Remember,
                });
                after
            }
            _ => return Err(Failure::syntax()),
        };
    }
    Ok((stamp, on_duplicate))
}

/// Parses a stamp.
pub(crate) fn parse_stamp(word: &[u8]) -> Result<u64> {
    let number = std::str::from_utf8(word).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Failure::general(format!("a stamp is a number from 0 to {}", u64::MAX)))
}

/// Returns the document that a command writes, or nothing if its text is too short.
fn document<'a, F: Width>(
    service: &Service<F>,
    command: Command,
    words: &[&'a [u8]],
) -> Result<Option<(F, Stamped<'a>)>> {
    if !command.takes(words.len()) {
        return Err(Failure::arity(command));
    }
    service.db.writer()?;
    if command == Command::Upsert {
        service.expect_documents("cannot update documents")?;
    }
    let key = service.key(words[1])?;
    let mut rest = &words[2..];
    let fingerprint = service.document(&mut rest)?;
    let (stamp, on_duplicate) = options(rest)?;
    if stamp.is_some() {
        service.expect_documents("has no stamps")?;
    }
    if on_duplicate.is_some() && command != Command::Upsert {
        return Err(Failure::syntax());
    }
    Ok(fingerprint.map(|fingerprint| (fingerprint, Stamped { key, stamp })))
}

/// `FP.TOUCH key stamp`
pub(crate) fn touch<F: Width>(
    service: &Service<F>,
    words: &[&[u8]],
    replies: &mut Replies,
) -> Result<()> {
    service.expect_documents("has no stamps")?;
    let db = service.db.writer()?;
    let touched = db.touch(service.key(words[1])?, parse_stamp(words[2])?)?;
    replies.integer(touched.into());
    Ok(())
}

/// `FP.DEL key [fingerprint]`
pub(crate) fn delete<F: Width>(
    service: &Service<F>,
    words: &[&[u8]],
    replies: &mut Replies,
) -> Result<()> {
    let (db, key) = (service.db.writer()?, service.key(words[1])?);
    let removed = match (key, words.get(2)) {
        (Key::Id(id), Some(fingerprint)) => {
            db.remove_entry(Service::<F>::fingerprint(fingerprint)?, id)?
        }
        (Key::Name(name), Some(fingerprint)) => {
            let fingerprint = Service::<F>::fingerprint(fingerprint)?;
            let found = db.get(name)?;
            found.map_or(Ok(false), |found| db.remove_entry(fingerprint, found.id))?
        }
        (Key::Id(_), None) if service.db.description().ids == Ids::User => {
            return Err(Failure::general(
                "a database with user ids needs the fingerprint, too: FP.DEL key fingerprint",
            ));
        }
        (key, None) => db.remove(key)?,
    };
    replies.integer(removed.into());
    Ok(())
}
