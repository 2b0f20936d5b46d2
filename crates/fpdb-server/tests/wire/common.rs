//! A database that is served while a test runs.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use fpdb::{Db, Ids};
use fpdb_server::{Accounts, Database, Options, Result, Server, Stop};
use tempfile::TempDir;

use crate::client::Client;

/// A server in a thread. It stops when the test ends.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) accounts: Accounts,
    stop: Stop,
    thread: Option<JoinHandle<Result<u64>>>,
}

impl Served {
    pub(crate) fn start(db: impl Into<Database>, options: &Options) -> Self {
        let server = Server::bind("127.0.0.1:0", options).unwrap();
        let (address, metrics) = (server.local_addr().unwrap(), server.metrics_addr());
        let accounts = server.accounts();
        let (db, stop) = (db.into(), Stop::new());
        let requested = stop.clone();
        let thread = std::thread::spawn(move || server.serve(db, &requested));
        Self { address, metrics, accounts, stop, thread: Some(thread) }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::new(self.address)
    }

    /// Stops the server, and returns the number of connections that there were.
    pub(crate) fn stop(mut self) -> u64 {
        self.stop.request();
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.request();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(!matches!(ended, Some(Err(_))) || std::thread::panicking());
    }
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Creates a database with names.
pub(crate) fn names(folder: &TempDir) -> Db {
    Db::options().ids(Ids::Names).create(folder.path().join("db")).unwrap()
}
