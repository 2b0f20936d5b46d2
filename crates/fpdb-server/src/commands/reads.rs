//! The commands that read the database.

use std::str::FromStr;

use fpdb::{Fingerprint, QueryOptions, Within};
use serde_json::Value;

use crate::command::Command;
use crate::commands::matches::{self, Keys};
use crate::commands::service::Service;
use crate::commands::writes::parse_stamp;
use crate::failure::{Failure, Result};
use crate::net::output::Output;
use crate::resp::Replies;

/// The most matches of one reply. They are in memory while the reply is sent.
const MAX_MATCHES: usize = 100_000;

/// `FP.QUERY fingerprint|TEXT text [k] [LIMIT n] [SINCE stamp]`
pub(crate) fn query<F: Fingerprint>(
    service: &Service<F>,
    words: &[&[u8]],
    output: &mut Output,
) -> Result<()> {
    let mut rest = &words[1..];
    let fingerprint = service.document(&mut rest)?;
    let (within, rest) = match *rest {
        [distance, ref rest @ ..] if !is_option(distance) => {
            (Within::Distance(parse_distance::<F>(distance)?), rest)
        }
        _ => (Within::Rule, rest),
    };
    let (limit, since) = query_options(rest)?;
    if since.is_some() {
        service.expect_documents("has no stamps")?;
    }
    let Some(fingerprint) = fingerprint else {
        output.replies.null();
        return Ok(());
    };
    let keys = Keys::new(service.db.snapshot(), service.db.description().ids);
    let mut search = Search { keys, within, limit, since, left: MAX_MATCHES };
    search.write(fingerprint, output)
}

/// `FP.MQUERY k [SINCE stamp] fingerprint...`
pub(crate) fn query_many<F: Fingerprint>(
    service: &Service<F>,
    words: &[&[u8]],
    output: &mut Output,
) -> Result<()> {
    let within = Within::Distance(parse_distance::<F>(words[1])?);
    let (since, fingerprints) = match *words {
        [_, _, word, stamp, ref rest @ ..] if word.eq_ignore_ascii_case(b"since") => {
            service.expect_documents("has no stamps")?;
            (Some(parse_stamp(stamp)?), rest)
        }
        _ => (None, &words[2..]),
    };
    if fingerprints.is_empty() {
        return Err(Failure::arity(Command::MQuery));
    }
    let fingerprints = fingerprints.iter().map(|word| Service::<F>::fingerprint(word));
    let fingerprints = fingerprints.collect::<Result<Vec<F>>>()?;
    let keys = Keys::new(service.db.snapshot(), service.db.description().ids);
    let mut search = Search { keys, within, limit: None, since, left: MAX_MATCHES };
    output.replies.array(fingerprints.len());
    // One by one: `query_batch` was not faster for 64 at the usual distances, and it has all of
    // their matches in memory, however many they are.
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
struct Search<F: Fingerprint> {
    keys: Keys<F>,
    within: Within,
    limit: Option<usize>,
    /// The least stamp of documents that are found.
    since: Option<u64>,
    /// How many more matches the reply may have.
    left: usize,
}

impl<F: Fingerprint> Search<F> {
    /// Writes the array of the matches of a fingerprint, nearest first.
    fn write(&mut self, fingerprint: F, output: &mut Output) -> Result<()> {
        let most = self.limit.unwrap_or(usize::MAX).min(self.left + 1);
        let options = QueryOptions::within(self.within).limit(most);
        let options = self.since.map_or(options, |stamp| options.since(stamp));
        let found = self.keys.snapshot().query(fingerprint, options)?;
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

/// Parses `[LIMIT n] [SINCE stamp]`.
fn query_options(mut rest: &[&[u8]]) -> Result<(Option<usize>, Option<u64>)> {
    let (mut limit, mut since) = (None, None);
    while let [word, value, ref after @ ..] = *rest {
        match word.to_ascii_lowercase().as_slice() {
            b"limit" if limit.is_none() => limit = Some(parse_limit(value)?),
            b"since" if since.is_none() => since = Some(parse_stamp(value)?),
            _ => return Err(Failure::syntax()),
        }
        rest = after;
    }
    if rest.is_empty() { Ok((limit, since)) } else { Err(Failure::syntax()) }
}

fn is_option(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"limit") || word.eq_ignore_ascii_case(b"since")
}

fn parse_distance<F: Fingerprint>(word: &[u8]) -> Result<u32> {
    let most = F::MAX_DISTANCE;
    let distance = number(word).filter(|&distance| distance <= most);
    distance.ok_or_else(|| Failure::general(format!("expected a distance from 0 to {most}")))
}

fn parse_limit(word: &[u8]) -> Result<usize> {
    let limit = number(word).filter(|limit| (1..=MAX_MATCHES).contains(limit));
    limit.ok_or_else(|| Failure::general(format!("expected a LIMIT from 1 to {MAX_MATCHES}")))
}

fn number<T: FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// `FP.GET key`
pub(crate) fn get<F: Fingerprint>(
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
    let keys = Keys::new(snapshot, service.db.description().ids);
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
        replies.optional(value.as_deref());
    }
    Ok(())
}

/// `FP.STATS`: the figures that `fpdb-tool stats --json` prints, which a test of the tool compares.
pub(crate) fn stats<F: Fingerprint>(service: &Service<F>, replies: &mut Replies) {
    let mut figures = serde_json::to_value(service.db.stats()).expect("names are strings");
    figures["schema"] = "fpdb.stats/1".into();
    write_value(&figures, replies);
}

fn write_value(value: &Value, replies: &mut Replies) {
    match value {
        Value::Null => replies.null(),
        Value::Bool(truth) => replies.integer((*truth).into()),
        Value::Number(number) => match number.as_u64() {
            Some(number) => replies.integer(number),
            None => replies.double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => replies.bulk(text.as_bytes()),
        Value::Array(values) => {
            replies.array(values.len());
            values.iter().for_each(|value| write_value(value, replies));
        }
        Value::Object(fields) => {
            replies.map(fields.len());
            for (name, value) in fields {
                replies.bulk(name.as_bytes());
                write_value(value, replies);
            }
        }
    }
}
