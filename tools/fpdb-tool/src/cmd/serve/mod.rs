//! `serve`: the arguments, the messages and the signals of a server, which the crate `fpdb-server`
//! is.

mod args;
mod log;
mod os;
pub(super) mod passwords;
mod trim;

use std::net::SocketAddr;

use anyhow::{Result, anyhow};
use fpdb::{Db, Description, Fingerprint, Options};
use fpdb_server::{Database, Error, Server, Stop};
use serde::Serialize;

use crate::args::database::{self, by_width};
use crate::args::recipe;
use crate::output::Context;
use crate::output::failure::Exit;
pub(crate) use args::Args;
use log::Level;

/// Where the server is reached.
#[derive(Serialize)]
struct Listening<'a> {
    address: &'a str,
    metrics: Option<SocketAddr>,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let mut options = self.options(self.allowed_connections(context));
        if let Some(path) = &self.password_file {
            os::block_hangup();
            options = passwords::read(path, options)?;
        }
        let default = if context.quiet { Level::Warn } else { Level::Info };
        log::start(self.log.unwrap_or(default))?;
        let stop = os::stop_on_signal()?;
        trim::start()?;
        // Before the database is opened, which may take a while.
        let server = Server::bind(&self.listen, &options).map_err(explain)?;
        if let Some(path) = self.password_file.clone() {
            let accounts = server.accounts();
            os::on_hangup(move || passwords::read_again(&path, &accounts))?;
        }
        let existing = database::find(&self.path)?;
        let bits = database::width(existing.as_ref(), self.bits, &self.new)?;
        by_width!(bits, self.new.sketches(), |options| {
            let options = self.memory.apply(options);
            if self.read_only {
                let db = options.open_read_only(&self.path)?;
                return self.serve(server, db, &stop, context);
            }
            let db = self.open(options, existing.as_ref())?;
            let exit = self.serve(server, db.clone(), &stop, context)?;
            db.close()?;
            Ok(exit)
        })
    }

    /// Opens the database. Creates it as `dedup` does if it is missing.
    fn open<F: Fingerprint>(
        &self,
        options: Options<F>,
        existing: Option<&Description>,
    ) -> Result<Db<F>> {
        if existing.is_some() {
            if self.recipe.is_some() {
                recipe::of_database::<F>(existing, self.recipe.as_deref())?;
            }
            return Ok(self.new.options(options)?.open(&self.path)?);
        }
        let names = recipe::Names { recipe: self.recipe.as_deref(), extraction: None };
        let (db, _) = recipe::open(&self.path, options, None, &self.new, names, "serve")?;
        Ok(db)
    }

    /// Serves until a signal arrives.
    fn serve(
        &self,
        server: Server,
        db: impl Into<Database>,
        stop: &Stop,
        context: &mut Context<'_>,
    ) -> Result<Exit> {
        let address =
            server.local_addr().map_or(self.listen.clone(), |address| address.to_string());
        let metrics = server.metrics_addr();
        let listening = Listening { address: &address, metrics };
        let metrics = metrics.map(|address| format!(", metrics at http://{address}/metrics"));
        context.conclude(
            "fpdb.serve/1",
            &listening,
            format_args!("listening on {address}{}", metrics.unwrap_or_default()),
        )?;
        context.out.flush()?;
        os::notify("READY=1");
        server.serve(db, stop)?;
        Ok(Exit::Done)
    }

    /// Returns the most connections at the same time.
    fn allowed_connections(&self, context: &mut Context<'_>) -> usize {
        let allowed = os::allowed_connections(self.max_connections);
        if allowed < self.max_connections {
            context.say(format_args!(
                "at most {allowed} connections, because the system limits the open files of this \
                 process"
            ));
        }
        allowed
    }
}

/// Names the option that a server lacks.
fn explain(error: Error) -> anyhow::Error {
    match error {
        Error::NeedsPassword { address } => anyhow!(
            "other machines can reach {address}: give --password-file, or listen on 127.0.0.1, which \
             only this machine can reach"
        ),
        error => error.into(),
    }
}
