//! What all connections share: the database, and the server around it.

use std::path::PathBuf;
use std::result;
use std::sync::Arc;

use fpdb::text::Recipe;
use fpdb::{DocId, Fingerprint, Ids, Key, Sketch};

use crate::accounts::Accounts;
use crate::commands::queue::Queue;
use crate::database::Handle;
use crate::events::SlowCommands;
use crate::failure::{Failure, Result};
use crate::metrics::Metrics;
use crate::net::clients::Clients;
use crate::net::guard::Guard;
use crate::net::input::Budget;
use crate::net::stream::Address;
use crate::options::{Options, Timeouts};
use crate::resp::Limits;

/// What all connections share, apart from the database.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) address: Address,
    pub(crate) accounts: Accounts,
    pub(crate) guard: Guard,
    /// For clients that may use the database.
    pub(crate) limits: Limits,
    /// For clients that have not given the password.
    pub(crate) unauthenticated_limits: Limits,
    pub(crate) timeouts: Timeouts,
    pub(crate) slow: SlowCommands,
    pub(crate) max_connections: usize,
    /// Where clients may write backups.
    pub(crate) backup_folder: Option<PathBuf>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) clients: Arc<Clients>,
    pub(crate) metrics: Arc<Metrics>,
}

impl Shared {
    pub(crate) fn new(address: Address, options: &Options) -> Self {
        let clients = Arc::<Clients>::default();
        Self {
            address,
            accounts: Accounts::new(options.users.clone(), clients.clone()),
            guard: Guard::new(options.max_wrong_passwords),
            limits: options.limits(true),
            unauthenticated_limits: options.limits(false),
            timeouts: options.timeouts,
            slow: SlowCommands::new(options.slow),
            max_connections: options.max_connections,
            backup_folder: options.backup_folder.clone(),
            budget: Arc::new(Budget::new(options.request_memory)),
            clients,
            metrics: Arc::new(Metrics::new()),
        }
    }
}

/// A database that is being served.
pub(crate) struct Service<F: Fingerprint> {
    pub(crate) db: Handle<F>,
    /// The recipe for texts, or why there is none.
    pub(crate) recipe: result::Result<Recipe<F>, String>,
    pub(crate) shared: Shared,
    /// What waits to be committed.
    pub(crate) queue: Queue<F>,
}

impl<F: Fingerprint> Service<F> {
    pub(crate) fn new(db: impl Into<Handle<F>>, shared: Shared) -> Self {
        let db = db.into();
        let recipe = match db.description().recipe.as_deref() {
            None => Err("the database has no recipe, so it takes no texts".to_owned()),
            Some(name) => Recipe::find(name).map_err(|error| fpdb::Error::from(error).to_string()),
        };
        Self { db, recipe, shared, queue: Queue::default() }
    }

    /// Returns the key that an argument gives: a name or, in a database without names, a number.
    pub(crate) fn key<'a>(&self, word: &'a [u8]) -> Result<Key<'a>> {
        let text = std::str::from_utf8(word);
        if self.db.description().ids == Ids::Names {
            let name = text.map_err(|_| Failure::general("the key is not UTF-8"))?;
            // Checked before names of several clients are committed together.
            let (length, most) = (name.len(), Key::MAX_NAME_LEN);
            if !(1..=most).contains(&length) {
                return Err(Failure::general(format!(
                    "a key has 1 to {most} bytes, and this one has {length}"
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

    /// Refuses a database whose ids do not identify documents. `what` says what it lacks.
    pub(crate) fn expect_documents(&self, what: &str) -> Result<()> {
        if self.db.description().ids == Ids::User {
            return Err(Failure::general(format!(
                "a database with user ids {what}, because the ids do not identify documents"
            )));
        }
        Ok(())
    }

    /// Parses a fingerprint or a sketch: `0x` and hexadecimal digits.
    pub(crate) fn fingerprint(word: &[u8]) -> Result<F> {
        let is_hex = word.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(b"0x"));
        let text = std::str::from_utf8(word).ok().filter(|_| is_hex);
        text.and_then(|text| F::parse(text).ok()).ok_or_else(|| {
            let (bits, digits) = (F::BITS, F::BYTES * 2);
            let what = match bits {
                <Sketch as Fingerprint>::BITS => "sketch".to_owned(),
                bits => format!("{bits}-bit fingerprint"),
            };
            Failure::general(format!("expected a {what}: 0x and up to {digits} hex digits"))
        })
    }

    /// Takes the fingerprint of a document from the front of `words`: given as it is, or as the
    /// word TEXT and a text, which may be too short for one.
    pub(crate) fn document(&self, words: &mut &[&[u8]]) -> Result<Option<F>> {
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
