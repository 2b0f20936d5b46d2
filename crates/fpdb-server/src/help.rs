//! `COMMAND`: what clients want to know about the commands.

use crate::command::{ALL, Command, Definition, Effect};
use crate::failure::{Failure, Result};
use crate::resp::Replies;

/// `COMMAND [COUNT|LIST|INFO name ...|DOCS name ...]`
pub(crate) fn commands(words: &[&[u8]], replies: &mut Replies) -> Result<()> {
    let subcommand = words.get(1).map(|word| word.to_ascii_lowercase());
    let names = words.get(2..).unwrap_or_default();
    match subcommand.as_deref() {
        None => describe(&ALL.iter().map(Some).collect::<Vec<_>>(), replies),
        Some(b"info") if names.is_empty() => {
            describe(&ALL.iter().map(Some).collect::<Vec<_>>(), replies);
        }
        Some(b"info") => {
            describe(&names.iter().map(|name| find(name)).collect::<Vec<_>>(), replies)
        }
        Some(b"docs") if names.is_empty() => document(&ALL.iter().collect::<Vec<_>>(), replies),
        Some(b"docs") => {
            document(&names.iter().filter_map(|name| find(name)).collect::<Vec<_>>(), replies);
        }
        Some(b"count") if names.is_empty() => replies.integer(ALL.len() as u64),
        Some(b"list") if names.is_empty() => {
            replies.array(ALL.len());
            ALL.iter().for_each(|definition| replies.bulk(definition.name.as_bytes()));
        }
        Some(_) => {
            return Err(Failure::general(
                "unknown subcommand or wrong number of arguments of 'command' command",
            ));
        }
    }
    Ok(())
}

fn find(name: &[u8]) -> Option<&'static Definition> {
    Command::find(name).map(Command::definition)
}

/// Writes what programs need: ten elements per command, null for one that does not exist.
fn describe(definitions: &[Option<&Definition>], replies: &mut Replies) {
    replies.array(definitions.len());
    for definition in definitions {
        let Some(definition) = definition else {
            replies.null();
            continue;
        };
        replies.array(10);
        replies.bulk(definition.name.as_bytes());
        replies.signed(definition.arity());
        words(definition.flags(), replies);
        // The first and the last argument that is a key, and the step between keys.
        (0..3).for_each(|_| replies.integer(definition.has_key().into()));
        words(&[category(definition)], replies);
        // Tips, the places of keys in another form, and subcommands.
        (0..3).for_each(|_| replies.array(0));
    }
}

fn words(words: &[&str], replies: &mut Replies) {
    replies.array(words.len());
    words.iter().for_each(|word| replies.simple(word));
}

/// Returns the category by which Redis grants rights.
fn category(definition: &Definition) -> &'static str {
    match definition.effect {
        Effect::Write => "@write",
        Effect::Read => "@read",
        Effect::Connection | Effect::NoAuth => "@connection",
    }
}

/// Writes what people want to read: a map per command.
fn document(definitions: &[&Definition], replies: &mut Replies) {
    replies.map(definitions.len());
    for definition in definitions {
        let group = if definition.name.starts_with("fp.") { "fpdb" } else { "connection" };
        replies.bulk(definition.name.as_bytes());
        let fields = [
            ("summary", definition.summary),
            ("since", "0.1.0"),
            ("group", group),
            ("syntax", definition.arguments),
        ];
        replies.map(fields.len());
        for (name, value) in fields {
            replies.bulk(name.as_bytes());
            replies.bulk(value.as_bytes());
        }
    }
}
