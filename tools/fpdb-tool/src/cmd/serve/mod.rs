//! `serve`: the arguments, the messages and the signals of a server, which the crate `fpdb-server`
//! is.

mod args;
mod notify;
mod open_files;
mod password;
mod signals;

use std::net::SocketAddr;

use anyhow::{Result, anyhow};
use fpdb::{Db, Description, Fingerprint, Options};
use fpdb_server::{Database, Error, Server, Stop};
use serde::Serialize;

use crate::database::{self, by_width};
use crate::failure::Exit;
use crate::output::Context;
use crate::recipe::{self, Width};
pub(crate) use args::Args;

/// Where the server is reached.
#[derive(Serialize)]
struct Listening {
    r#type: &'static str,
    address: SocketAddr,
    metrics: Option<SocketAddr>,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let password = self.password_file.as_deref().map(password::read).transpose()?;
        let mut options = self.options(self.allowed_connections(context));
        if let Some(password) = password {
            options = options.password(password);
        }
        let stop = signals::stop_on_signal()?;
        // Before the database is opened, which may take a while.
        let server = Server::bind(&self.listen, &options).map_err(explain)?;
        let existing = database::find(&self.path)?;
        let bits = database::width(existing.as_ref(), self.bits)?;
        by_width!(bits, |options| {
            let db = self.open(self.memory.apply(options, &self.path), existing.as_ref())?;
            serve(server, db, &stop, context)
        })
    }

    /// Opens the database. Creates it as `dedup` does if it is missing.
    fn open<F: Width>(&self, options: Options<F>, existing: Option<&Description>) -> Result<Db<F>> {
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

    /// Returns the most connections at the same time.
    fn allowed_connections(&self, context: &mut Context<'_>) -> usize {
        let allowed = open_files::allowed_connections(self.max_connections);
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

/// Serves until a signal arrives, and closes the database.
fn serve<F: Fingerprint>(
    server: Server,
    db: Db<F>,
    stop: &Stop,
    context: &mut Context<'_>,
) -> Result<Exit>
where
    Database: From<Db<F>>,
{
    let (address, metrics) = (server.local_addr(), server.metrics_addr());
    let listening = Listening { r#type: "listening", address, metrics };
    let metrics = metrics.map(|address| format!(", metrics at http://{address}/metrics"));
    context.conclude(
        &listening,
        format_args!("listening on {address}{}", metrics.unwrap_or_default()),
    )?;
    context.out.flush()?;
    notify::notify("READY=1");
    let connections = server.serve(db.clone(), stop)?;
    notify::notify("STOPPING=1");
    db.close()?;
    context.say(format_args!("stopped after {connections} connections"));
    Ok(Exit::Done)
}
