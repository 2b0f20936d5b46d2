//! What all connections share: the database, and the server around it.

use std::net::SocketAddr;
use std::sync::Arc;

use fpdb::text::Recipe;
use fpdb::{Db, Description, DocId, Ids, Key};

use super::args::Timeouts;
use super::batch::Batch;
use super::clients::Clients;
use super::command::Command;
use super::failure::{Failure, Result};
use super::input::Budget;
use super::metrics::Metrics;
use super::password::Password;
use super::queue::Queue;
use super::resp::Limits;
use crate::recipe::Width;

/// The most bytes of a name.
const MAX_NAME: usize = 65_535;

/// The server, apart from the database.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) password: Option<Password>,
    /// For clients that may use the database.
    pub(super) limits: Limits,
    /// For clients that have not given the password.
    pub(super) unauthenticated_limits: Limits,
    pub(super) timeouts: Timeouts,
    pub(super) max_connections: usize,
    pub(super) budget: Arc<Budget>,
    pub(super) clients: Arc<Clients>,
    pub(super) metrics: Arc<Metrics>,
}

/// A database that is being served.
pub(super) struct Service<F: Width> {
    pub(super) db: Db<F>,
    pub(super) description: Description,
    /// The recipe for texts, or why there is none.
    pub(super) recipe: std::result::Result<Recipe<F>, String>,
    pub(super) server: Server,
    /// What waits to be committed.
    pub(super) queue: Queue<F>,
}

impl<F: Width> Service<F> {
    /// Parses adjacent `FP.ADDNX` or `FP.UPSERT` of a client.
    pub(super) fn batch(&self, command: Command, requests: &[Vec<&[u8]>]) -> Batch<F> {
        let mut batch = Batch::new(command, requests.len());
        requests.iter().for_each(|words| batch.push(self.written(command, words)));
        batch
    }

    /// Returns the document that a command writes, or nothing if its text is too short.
    fn written<'a>(&self, command: Command, words: &[&'a [u8]]) -> Result<Option<(F, Key<'a>)>> {
        if !command.takes(words.len()) {
            return Err(Failure::arity(command));
        }
        if command == Command::Upsert && self.description.ids == Ids::User {
            return Err(Failure::general(
                "a database with user ids cannot update documents, because they do not identify them",
            ));
        }
        let key = self.key(words[1])?;
        let mut rest = &words[2..];
        let fingerprint = self.document(&mut rest)?;
        if !rest.is_empty() {
            return Err(Failure::syntax());
        }
        Ok(fingerprint.map(|fingerprint| (fingerprint, key)))
    }

    /// Returns the key that an argument gives: a name or, in a database without names, a number.
    pub(super) fn key<'a>(&self, word: &'a [u8]) -> Result<Key<'a>> {
        let text = std::str::from_utf8(word);
        if self.description.ids == Ids::Names {
            let name = text.map_err(|_| Failure::general("the key is not UTF-8"))?;
            // Checked before names of several clients are committed together.
            if !(1..=MAX_NAME).contains(&name.len()) {
                let length = name.len();
                return Err(Failure::general(format!(
                    "a key has 1 to {MAX_NAME} bytes, and this one has {length}"
                )));
            }
            return Ok(Key::Name(name));
        }
        let id = text.ok().and_then(|text| text.parse().ok());
        let no_number = || {
            let most = u64::MAX;
            Failure::general(format!("the key of this database is a number from 0 to {most}"))
        };
        id.map(|id| Key::Id(DocId(id))).ok_or_else(no_number)
    }

    /// Parses a fingerprint: `0x` and hexadecimal digits.
    pub(super) fn fingerprint(word: &[u8]) -> Result<F> {
        let is_hex = word.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(b"0x"));
        let text = std::str::from_utf8(word).ok().filter(|_| is_hex);
        text.and_then(|text| F::parse(text).ok()).ok_or_else(|| {
            let (bits, digits) = (F::BITS, F::BYTES * 2);
            Failure::general(format!(
                "expected a {bits}-bit fingerprint: 0x and up to {digits} hex digits"
            ))
        })
    }

    /// Takes the fingerprint of a document from the front of `words`: given as it is, or as the word
    /// TEXT and a text, which may be too short for one.
    pub(super) fn document(&self, words: &mut &[&[u8]]) -> Result<Option<F>> {
        match **words {
            [text, document, ref rest @ ..] if text.eq_ignore_ascii_case(b"text") => {
                *words = rest;
                self.fingerprint_of(document)
            }
            [fingerprint, ref rest @ ..] => {
                *words = rest;
                Self::fingerprint(fingerprint).map(Some)
            }
            [] => Err(Failure::syntax()),
        }
    }

    fn fingerprint_of(&self, text: &[u8]) -> Result<Option<F>> {
        let recipe = self.recipe.as_ref().map_err(Failure::general)?;
        let text =
            std::str::from_utf8(text).map_err(|_| Failure::general("the text is not UTF-8"))?;
        Ok(recipe.fingerprint(text).fingerprint)
    }
}
