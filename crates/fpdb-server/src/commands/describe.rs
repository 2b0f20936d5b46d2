//! What the server says about its commands: `COMMAND` and its subcommands.

use crate::command::{ALL, Command, Definition};
use crate::failure::{Failure, Result};
use crate::resp::Replies;

/// `COMMAND [COUNT|DOCS [name ...]|INFO [name ...]|LIST]`
pub(crate) fn commands(words: &[&[u8]], replies: &mut Replies) -> Result<()> {
    let subcommand = words.get(1).map(|word| word.to_ascii_lowercase());
    let names = words.get(2..).unwrap_or_default();
    match (subcommand.as_deref(), names) {
        (None, _) | (Some(b"info"), []) => {
            replies.array(ALL.len());
            ALL.iter().for_each(|definition| write_info(definition, replies));
        }
        (Some(b"info"), names) => {
            replies.array(names.len());
            for name in names {
                match Command::find(name) {
                    Some(command) => write_info(command.definition(), replies),
                    None => replies.null(),
                }
            }
        }
        (Some(b"docs"), []) => write_docs(ALL.iter().collect(), replies),
        (Some(b"docs"), names) => {
            let known = names.iter().filter_map(|name| Command::find(name));
            write_docs(known.map(Command::definition).collect(), replies);
        }
        (Some(b"count"), []) => replies.integer(ALL.len() as u64),
        (Some(b"list"), []) => {
            replies.array(ALL.len());
            ALL.iter().for_each(|definition| replies.bulk(definition.name.as_bytes()));
        }
        _ => {
            return Err(Failure::general(
                "unknown subcommand or wrong number of arguments of 'command' command",
            ));
        }
    }
    Ok(())
}

/// Writes the ten elements that Redis has for a command since version 7.
fn write_info(definition: &Definition, replies: &mut Replies) {
    let key = u64::from(definition.has_key);
    replies.array(10);
    replies.bulk(definition.name.as_bytes());
    replies.signed(definition.arity());
    replies.set(definition.flags.len());
    definition.flags.iter().for_each(|flag| replies.simple(flag));
    // The first and the last argument that is a key, and the step between keys.
    (0..3).for_each(|_| replies.integer(key));
    let categories = definition.flags.iter().filter_map(|flag| category(flag));
    let categories: Vec<&str> = categories.collect();
    replies.set(categories.len());
    categories.iter().for_each(|category| replies.simple(category));
    // Hints for clusters, more about keys, and subcommands: none.
    (0..3).for_each(|_| replies.array(0));
}

/// Returns the category of commands with a flag.
fn category(flag: &str) -> Option<&'static str> {
    match flag {
        "write" => Some("@write"),
        "readonly" => Some("@read"),
        "admin" => Some("@admin"),
        "fast" => Some("@fast"),
        _ => None,
    }
}

fn write_docs(definitions: Vec<&Definition>, replies: &mut Replies) {
    replies.map(definitions.len());
    for definition in definitions {
        replies.bulk(definition.name.as_bytes());
        let group = if definition.name.starts_with("fp.") { "fpdb" } else { "connection" };
        let fields = [
            ("summary", definition.command.summary()),
            ("since", env!("CARGO_PKG_VERSION")),
            ("group", group),
        ];
        replies.map(fields.len());
        for (name, value) in fields {
            replies.bulk(name.as_bytes());
            replies.bulk(value.as_bytes());
        }
    }
}

impl Command {
    /// Says in one line what the command does.
    fn summary(self) -> &'static str {
        match self {
            Self::AddNx => "Inserts a document unless another one is near.",
            Self::Upsert => "Inserts or updates a document unless another one is near.",
            Self::Query => "Returns the documents within a distance of one.",
            Self::MQuery => "Returns the documents within a distance of each of several ones.",
            Self::Get => "Returns a document by its key.",
            Self::Del => "Removes a document.",
            Self::Touch => "Changes the stamp of a document.",
            Self::Expire => "Removes documents with old stamps.",
            Self::Flush => "Writes recent changes to segments.",
            Self::Compact => "Merges all segments into one.",
            Self::Backup => "Copies the database into a folder of the server.",
            Self::Verify => "Checks all files against their checksums.",
            Self::Stats => "Returns figures about the database.",
            Self::Multi => "Begins a transaction.",
            Self::Exec => "Executes the commands of a transaction.",
            Self::Discard => "Ends a transaction without executing it.",
            Self::Watch => "Is not supported.",
            Self::Unwatch => "Does nothing, because nothing is watched.",
            Self::Ping => "Returns PONG, or the given text.",
            Self::Echo => "Returns the given text.",
            Self::Info => "Returns the state of the server as a text.",
            Self::Time => "Returns the server's time.",
            Self::DbSize => "Returns the number of documents.",
            Self::Hello => "Chooses the version of the protocol.",
            Self::Auth => "Gives the password.",
            Self::Client => "Returns or changes what the server knows about connections.",
            Self::Commands => "Returns what the server knows about its commands.",
            Self::Select => "Accepts database 0, the only one.",
            Self::Quit => "Ends the connection.",
            Self::Reset => "Makes the connection as it was at its start.",
        }
    }
}
