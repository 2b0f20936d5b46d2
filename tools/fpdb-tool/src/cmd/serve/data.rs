//! The commands that read the database, and `FP.DEL`.

use std::str::FromStr;

use fpdb::{DocId, Ids, Key, QueryOptions};
use serde_json::Value;

use super::failure::{Failure, Result};
use super::matches::{self, Keys};
use super::output::Output;
use super::resp::Replies;
use super::service::Service;
use crate::cmd::stats;
use crate::recipe::Width;

/// The most matches of one reply. They are in memory while the reply is sent.
const MAX_MATCHES: usize = 100_000;

/// `FP.QUERY fingerprint|TEXT text [k] [LIMIT n]`
pub(super) fn query<F: Width>(
    service: &Service<F>,
    words: &[&[u8]],
    output: &mut Output,
) -> Result<()> {
    let mut rest = &words[1..];
    let fingerprint = service.document(&mut rest)?;
    let (distance, rest) = match *rest {
        [distance, ref rest @ ..] if !distance.eq_ignore_ascii_case(b"limit") => {
            (parse_distance::<F>(distance)?, rest)
        }
        _ => (service.description.max_distance, rest),
    };
    let limit = match *rest {
        [] => None,
        [limit, number] if limit.eq_ignore_ascii_case(b"limit") => Some(parse_limit(number)?),
        _ => return Err(Failure::syntax()),
    };
    let Some(fingerprint) = fingerprint else {
        output.replies.null();
        return Ok(());
    };
    let keys = Keys::new(service.db.snapshot(), service.description.ids);
    let mut search = Search { keys, distance, limit, left: MAX_MATCHES };
    search.write(fingerprint, output)
}

/// `FP.MQUERY k fingerprint...`
pub(super) fn query_many<F: Width>(
    service: &Service<F>,
    words: &[&[u8]],
    output: &mut Output,
) -> Result<()> {
    let distance = parse_distance::<F>(words[1])?;
    let fingerprints = words[2..].iter().map(|word| Service::<F>::fingerprint(word));
    let fingerprints = fingerprints.collect::<Result<Vec<F>>>()?;
    let keys = Keys::new(service.db.snapshot(), service.description.ids);
    let mut search = Search { keys, distance, limit: None, left: MAX_MATCHES };
    output.replies.array(fingerprints.len());
    for fingerprint in fingerprints {
        // The reply has begun, so an error takes the place of one answer.
        if let Err(failure) = search.write(fingerprint, output) {
            failure.write(&mut output.replies);
        }
        if output.is_broken() {
            break;
        }
    }
    Ok(())
}

/// A search for near-duplicates in one snapshot.
struct Search<F: Width> {
    keys: Keys<F>,
    distance: u32,
    limit: Option<usize>,
    /// How many more matches the reply may have.
    left: usize,
}

impl<F: Width> Search<F> {
    /// Writes the array of the matches of a fingerprint, nearest first.
    fn write(&mut self, fingerprint: F, output: &mut Output) -> Result<()> {
        let most = self.limit.unwrap_or(usize::MAX).min(self.left + 1);
        let options = QueryOptions::within(self.distance).limit(most);
        let found = self.keys.snapshot().query_with(fingerprint, &options)?;
        self.left = self.left.checked_sub(found.len()).ok_or_else(|| {
            Failure::general(format!("more than {MAX_MATCHES} matches: use FP.QUERY with LIMIT"))
        })?;
        output.replies.array(found.len());
        for found in found {
            // The reply has begun, so an error takes the place of one match.
            match self.keys.find(found.id) {
                Ok(key) => {
                    output.replies.array(3);
                    matches::write_parts(key.as_deref(), &found, &mut output.replies);
                }
                Err(failure) => failure.write(&mut output.replies),
            }
            output.send_if_full();
            if output.is_broken() {
                break;
            }
        }
        Ok(())
    }
}

fn parse_distance<F: Width>(word: &[u8]) -> Result<u32> {
    let bits = F::BITS;
    let distance = number(word).filter(|&distance| distance <= bits);
    distance.ok_or_else(|| Failure::general(format!("expected a distance from 0 to {bits}")))
}

fn parse_limit(word: &[u8]) -> Result<usize> {
    let limit = number(word).filter(|limit| (1..=MAX_MATCHES).contains(limit));
    limit.ok_or_else(|| Failure::general(format!("expected a LIMIT from 1 to {MAX_MATCHES}")))
}

fn number<T: FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// `FP.GET key`
pub(super) fn get<F: Width>(
    service: &Service<F>,
    words: &[&[u8]],
    replies: &mut Replies,
) -> Result<()> {
    let key = service.key(words[1])?;
    let snapshot = service.db.snapshot();
    let Some(document) = snapshot.get(key)? else {
        replies.null();
        return Ok(());
    };
    let keys = Keys::new(snapshot, service.description.ids);
    let original = document.duplicate_of.map(|id| keys.find(id)).transpose()?.flatten();
    replies.map(5);
    let number = |number: u64| Some(number.to_string());
    let is_duplicate = document.duplicate_of.is_some();
    let values = [
        ("id", number(document.id.0)),
        ("fingerprint", Some(document.fingerprint.to_hex())),
        ("stamp", document.stamp.and_then(number)),
        ("status", Some(if is_duplicate { "duplicate" } else { "original" }.to_owned())),
        ("duplicate_of", original),
    ];
    for (name, value) in values {
        replies.bulk(name.as_bytes());
        matches::write_optional(value.as_deref(), replies);
    }
    Ok(())
}

/// `FP.DEL key [fingerprint]`
pub(super) fn delete<F: Width>(
    service: &Service<F>,
    words: &[&[u8]],
    replies: &mut Replies,
) -> Result<()> {
    let (db, key) = (&service.db, service.key(words[1])?);
    let removed = match (key, words.get(2)) {
        (Key::Id(id), Some(fingerprint)) => {
            db.remove(Service::<F>::fingerprint(fingerprint)?, id)?
        }
        (Key::Name(name), Some(fingerprint)) => {
            let fingerprint = Service::<F>::fingerprint(fingerprint)?;
            let id: Option<DocId> = db.id_of(name)?;
            id.map_or(Ok(false), |id| db.remove(fingerprint, id))?
        }
        (Key::Name(name), None) => db.remove_by_name(name)?,
        (Key::Id(_), None) if service.description.ids == Ids::User => {
            return Err(Failure::general(
                "a database with user ids needs the fingerprint, too: FP.DEL key fingerprint",
            ));
        }
        (Key::Id(id), None) => db.remove_by_id(id)?,
    };
    replies.integer(removed.into());
    Ok(())
}

/// `FP.STATS`
pub(super) fn stats<F: Width>(service: &Service<F>, replies: &mut Replies) -> Result<()> {
    let stats = service.db.stats();
    let value = serde_json::to_value(stats::report(&service.description, &stats));
    write_value(&value.map_err(|error| Failure::general(error.to_string()))?, replies);
    Ok(())
}

/// Writes a JSON value.
fn write_value(value: &Value, replies: &mut Replies) {
    match value {
        Value::Null => replies.null(),
        Value::Bool(value) => replies.boolean(*value),
        Value::Number(number) => match number.as_u64() {
            Some(number) => replies.integer(number),
            None => replies.double(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => replies.bulk(text.as_bytes()),
        Value::Array(values) => {
            replies.array(values.len());
            values.iter().for_each(|value| write_value(value, replies));
        }
        Value::Object(values) => {
            replies.map(values.len());
            for (name, value) in values {
                replies.bulk(name.as_bytes());
                write_value(value, replies);
            }
        }
    }
}
