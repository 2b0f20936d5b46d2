//! The threads of a server that are not for one connection: their start and their end.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fpdb::Fingerprint;

use crate::commands::commits;
use crate::commands::service::Service;
use crate::error::{Error, Result};
use crate::net::address;
use crate::net::stream::{Address, Listener};
use crate::{accept, connection, events, http, process};

/// How long connections have to answer what has arrived when the server stops, after the time in
/// which they may receive more.
const FINISH: Duration = Duration::from_secs(10);

/// How long to wait for a thread that accepts connections and could not be woken.
const LEAVE_BEHIND: Duration = Duration::from_secs(1);

/// The threads that run.
pub(crate) struct Threads<F: Fingerprint> {
    service: Arc<Service<F>>,
    commits: Vec<JoinHandle<()>>,
    /// These wait for connections at an address.
    accepts: Option<(JoinHandle<()>, Address)>,
    metrics: Option<(JoinHandle<()>, Address)>,
}

impl<F: Fingerprint> Threads<F> {
    pub(crate) fn new(service: Service<F>) -> Self {
        Self { service: Arc::new(service), commits: Vec::new(), accepts: None, metrics: None }
    }

    pub(crate) fn service(&self) -> &Service<F> {
        &self.service
    }

    /// Starts all threads. If that fails, some may run.
    pub(crate) fn start(
        &mut self,
        listener: Listener,
        metrics: Option<(TcpListener, SocketAddr)>,
    ) -> Result<()> {
        for _ in 0..commits::THREADS {
            self.commits.push(self.spawn("commit", commits::run)?);
        }
        if let Some((listener, address)) = metrics {
            let thread = self.spawn("metrics", move |service| http::run(&listener, service))?;
            self.metrics = Some((thread, Address::Tcp(address)));
        }
        let thread = self.spawn("accept", move |service| accept::run(&listener, service))?;
        self.accepts = Some((thread, self.service.shared.address.clone()));
        let shared = &self.service.shared;
        events::started(&shared.address, shared.max_connections);
        Ok(())
    }

    fn spawn(
        &self,
        name: &str,
        work: impl FnOnce(&Arc<Service<F>>) + Send + 'static,
    ) -> Result<JoinHandle<()>> {
        let service = self.service.clone();
        let thread = process::spawn(name.to_owned(), Box::new(move || work(&service)));
        thread.map_err(|source| Error::Thread { source })
    }

    /// Lets the connections answer what has arrived, and ends all threads. Returns the number of
    /// connections that there were.
    pub(crate) fn end(self) -> u64 {
        let shared = &self.service.shared;
        events::stopping();
        shared.clients.stop();
        end_accepting(self.accepts);
        let have_ended = shared.clients.wait(connection::GRACE + FINISH);
        let cut_off = shared.clients.len();
        shared.clients.cut_off();
        if !have_ended {
            shared.clients.wait(Duration::from_secs(1));
        }
        self.service.queue.end();
        for thread in self.commits {
            let _ = thread.join();
        }
        end_accepting(self.metrics);
        events::stopped(shared.metrics.connections.get(), cut_off);
        shared.metrics.connections.get()
    }
}

/// Ends a thread that waits for connections, which ends at the next one.
fn end_accepting(thread: Option<(JoinHandle<()>, Address)>) {
    let Some((thread, address)) = thread else { return };
    let (is_woken, start) = (address::wake(&address), Instant::now());
    // It may have ended because of another connection. But if the file of its socket was replaced,
    // nobody can wake it, and it is left behind.
    while !is_woken && !thread.is_finished() && start.elapsed() < LEAVE_BEHIND {
        thread::sleep(Duration::from_millis(10));
    }
    if is_woken || thread.is_finished() {
        let _ = thread.join();
    }
}
