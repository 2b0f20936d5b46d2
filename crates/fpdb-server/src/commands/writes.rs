//! The commands that write to the database: what `FP.ADDNX` and `FP.UPSERT` write, and `FP.DEL`.

use fpdb::{Fingerprint, Ids, Key, OnDuplicate, Stamped};

use crate::command::Command;
use crate::commands::batch::{Batch, Kind, MAX_COMMANDS};
use crate::commands::service::Service;
use crate::failure::{Failure, Result};
use crate::resp::Replies;

/// Parses a command, and the following ones that can be committed with it.
pub(crate) fn batch<F: Fingerprint>(
    service: &Service<F>,
    command: Command,
    requests: &[Vec<&[u8]>],
) -> Batch<F> {
    let requests = requests.iter().take(MAX_COMMANDS);
    let same = requests.take_while(|words| Command::find(words[0]) == Some(command));
    let mut parsed = same.map(|words| (words, options(words))).peekable();
    // A command that is wrong has an error for a reply, whatever it is committed with.
    let wanted = |options: &Result<Options>| match options {
        Ok(options) => options.on_duplicate.unwrap_or_default(),
        Err(_) => OnDuplicate::default(),
    };
    let on_duplicate = parsed.peek().map(|(_, options)| wanted(options)).unwrap_or_default();
    let mut batch = Batch::new(Kind { command, on_duplicate });
    while let Some((words, options)) =
        parsed.next_if(|(_, options)| wanted(options) == on_duplicate)
    {
        batch.push(document(service, command, words, options));
    }
    batch
}

/// What may follow the document of a command.
struct Options {
    stamp: Option<u64>,
    on_duplicate: Option<OnDuplicate>,
}

/// Parses the options of a command: `[STAMP n] [KEEP|REMOVE|REMEMBER]`.
fn options(words: &[&[u8]]) -> Result<Options> {
    let is_text = words.get(2).is_some_and(|word| word.eq_ignore_ascii_case(b"text"));
    let mut rest = words.get(if is_text { 4 } else { 3 }..).unwrap_or_default();
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
    Ok(Options { stamp, on_duplicate })
}

pub(crate) fn parse_stamp(word: &[u8]) -> Result<u64> {
    let number = std::str::from_utf8(word).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Failure::general(format!("a stamp is a number from 0 to {}", u64::MAX)))
}

/// Returns the document that a command writes, or nothing if its text is too short.
fn document<'a, F: Fingerprint>(
    service: &Service<F>,
    command: Command,
    words: &[&'a [u8]],
    options: Result<Options>,
) -> Result<Option<(F, Stamped<'a>)>> {
    if !command.takes(words.len()) {
        return Err(Failure::arity(command));
    }
    service.db.writer()?;
    if command == Command::Upsert {
        service.expect_documents("cannot update documents")?;
    }
    let key = service.key(words[1])?;
    let fingerprint = service.document(&mut &words[2..])?;
    let Options { stamp, on_duplicate } = options?;
    if stamp.is_some() {
        service.expect_documents("has no stamps")?;
    }
    if on_duplicate.is_some() && command != Command::Upsert {
        return Err(Failure::syntax());
    }
    Ok(fingerprint.map(|fingerprint| (fingerprint, Stamped { key, stamp })))
}

/// `FP.TOUCH key stamp`
pub(crate) fn touch<F: Fingerprint>(
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
pub(crate) fn delete<F: Fingerprint>(
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
