//! `serve`
//!
//! Each connection has a thread, which executes its requests in their order. It hands writes over to
//! other threads, which commit those of all connections together.

mod accept;
mod address;
mod args;
mod batch;
mod clients;
mod command;
mod commits;
mod connection;
mod data;
mod failure;
mod http;
mod info;
mod input;
mod matches;
mod metrics;
mod output;
mod password;
mod queue;
mod resp;
mod service;
mod session;
mod stop;
mod system;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fpdb::{Description, Options};
use serde::Serialize;

use crate::database::by_width;
use crate::failure::{Outcome, sentence};
use crate::output::Context;
use crate::recipe::{self, Width};
pub(crate) use args::Args;
use clients::Clients;
use input::Budget;
use metrics::Metrics;
use password::Password;
use queue::Queue;
use service::{Server, Service};
use stop::Stop;

/// How long connections have to answer what has arrived when the server stops, after the time in which
/// they may receive more.
const FINISH: Duration = Duration::from_secs(10);

/// Where the server is reached.
#[derive(Serialize)]
struct Listening {
    r#type: &'static str,
    address: SocketAddr,
    metrics: Option<SocketAddr>,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        let password = self.password_file.as_deref().map(Password::read).transpose()?;
        let addresses = address::resolve(&self.listen)?;
        if password.is_none() {
            address::expect_loopback(&self.listen, &addresses)?;
        }
        let stop = Stop::on_signal()?;
        let (listener, address) = address::listen(&self.listen, &addresses)?;
        let metrics = self.metrics.as_deref().map(listen_for_metrics).transpose()?;
        let server = self.server(address, password, context);
        let description = fpdb::describe(&self.path)?;
        by_width!(description.bits, |options| {
            let service = self.open(options, description, server)?;
            serve(service, listener, metrics, &stop, context)
        })
    }

    fn server(
        &self,
        address: SocketAddr,
        password: Option<Password>,
        context: &mut Context<'_>,
    ) -> Server {
        let max_connections = system::allowed_connections(self.max_connections);
        if max_connections < self.max_connections {
            context.say(format_args!(
                "at most {max_connections} connections, because the system limits the open files of \
                 this process"
            ));
        }
        Server {
            address,
            password,
            limits: self.limits(true),
            unauthenticated_limits: self.limits(false),
            timeouts: self.timeouts(),
            max_connections,
            budget: Arc::new(Budget::new(self.request_memory)),
            clients: Arc::new(Clients::default()),
            metrics: Arc::new(Metrics::new()),
        }
    }

    fn open<F: Width>(
        &self,
        options: Options<F>,
        description: Description,
        server: Server,
    ) -> Result<Service<F>> {
        let recipe = match description.recipe.as_deref() {
            None => Err("the database has no recipe, so it takes fingerprints only".to_owned()),
            Some(name) => recipe::named(name).map_err(|error| sentence(&error)),
        };
        let db = self.memory.apply(options, &self.path).open(&self.path)?;
        Ok(Service { db, description, recipe, server, queue: Queue::default() })
    }
}

fn listen_for_metrics(text: &str) -> Result<(TcpListener, SocketAddr)> {
    address::listen(text, &address::resolve(text)?)
}

/// Serves until a signal arrives, and closes the database.
fn serve<F: Width>(
    service: Service<F>,
    listener: TcpListener,
    metrics: Option<(TcpListener, SocketAddr)>,
    stop: &Stop,
    context: &mut Context<'_>,
) -> Result<Outcome> {
    let service = Arc::new(service);
    let (address, metrics_address) =
        (service.server.address, metrics.as_ref().map(|&(_, address)| address));
    for _ in 0..commits::THREADS {
        spawn("commit", &service, commits::run)?;
    }
    spawn("accept", &service, move |service| accept::run(&listener, service))?;
    if let Some((listener, _)) = metrics {
        spawn("metrics", &service, move |service| http::run(&listener, service))?;
    }
    let listening = Listening { r#type: "listening", address, metrics: metrics_address };
    let metrics = metrics_address.map(|address| format!(", metrics at http://{address}/metrics"));
    context.conclude(
        &listening,
        format_args!("listening on {address}{}", metrics.unwrap_or_default()),
    )?;
    context.out.flush()?;
    stop.wait();
    end(&service, context)
}

/// Lets the connections answer what has arrived, and closes the database.
fn end<F: Width>(service: &Service<F>, context: &mut Context<'_>) -> Result<Outcome> {
    let clients = &service.server.clients;
    clients.stop();
    accept::wake(service.server.address);
    if !clients.wait(connection::GRACE + FINISH) {
        clients.cut_off();
        // A thread that is still busy finds the database closed.
        clients.wait(Duration::from_secs(1));
    }
    service.queue.end();
    service.db.clone().close()?;
    let connections = service.server.metrics.connections.get();
    context.say(format_args!("stopped after {connections} connections"));
    Ok(Outcome::Done)
}

fn spawn<F: Width>(
    name: &str,
    service: &Arc<Service<F>>,
    work: impl FnOnce(&Arc<Service<F>>) + Send + 'static,
) -> Result<()> {
    let service = service.clone();
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(move || work(&service)).context("cannot start a thread")?;
    Ok(())
}
