//! The commands that write to the database: what `FP.ADDNX` and `FP.UPSERT` write, and `FP.DEL`.

use fpdb::{Ids, Key};

use crate::batch::Batch;
use crate::command::Command;
use crate::failure::{Failure, Result};
use crate::resp::Replies;
use crate::service::Service;
use crate::width::Width;

/// Parses adjacent `FP.ADDNX` or `FP.UPSERT` of a client.
pub(crate) fn batch<F: Width>(
    service: &Service<F>,
    command: Command,
    requests: &[Vec<&[u8]>],
) -> Batch<F> {
    let mut batch = Batch::new(command, requests.len());
    requests.iter().for_each(|words| batch.push(document(service, command, words)));
    batch
}

/// Returns the document that a command writes, or nothing if its text is too short.
fn document<'a, F: Width>(
    service: &Service<F>,
    command: Command,
    words: &[&'a [u8]],
) -> Result<Option<(F, Key<'a>)>> {
    if !command.takes(words.len()) {
        return Err(Failure::arity(command));
    }
    if command == Command::Upsert && service.db.description().ids == Ids::User {
        return Err(Failure::general(
            "a database with user ids cannot update documents, because they do not identify them",
        ));
    }
    let key = service.key(words[1])?;
    let mut rest = &words[2..];
    let fingerprint = service.document(&mut rest)?;
    if !rest.is_empty() {
        return Err(Failure::syntax());
    }
    Ok(fingerprint.map(|fingerprint| (fingerprint, key)))
}

/// `FP.DEL key [fingerprint]`
pub(crate) fn delete<F: Width>(
    service: &Service<F>,
    words: &[&[u8]],
    replies: &mut Replies,
) -> Result<()> {
    let (db, key) = (&service.db, service.key(words[1])?);
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
