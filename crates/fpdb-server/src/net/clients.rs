//! The connections that are open.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::net::stream::{Peer, Stream};
use crate::users::User;

/// A connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: u64,
    pub(crate) stream: Stream,
    pub(crate) peer: Peer,
    pub(crate) since: Instant,
    words: Mutex<Words>,
    /// Whose password it has given.
    user: Mutex<Option<Arc<User>>>,
}

/// What a client says about itself.
#[derive(Debug, Default)]
struct Words {
    name: String,
    library: String,
    library_version: String,
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    open: Mutex<Open>,
    closed: Condvar,
    /// When the server began to stop.
    stopping: OnceLock<Instant>,
    /// Whether no more commands are executed.
    is_cut_off: AtomicBool,
}

#[derive(Debug, Default)]
struct Open {
    clients: BTreeMap<u64, Arc<Client>>,
    next_id: u64,
}

/// A connection that counts as open until this value is dropped.
#[derive(Debug)]
pub(crate) struct Registered {
    clients: Arc<Clients>,
    pub(crate) client: Arc<Client>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        lock(&self.clients.open).clients.remove(&self.client.id);
        self.clients.closed.notify_all();
    }
}

impl Client {
    pub(crate) fn name(&self) -> String {
        lock(&self.words).name.clone()
    }

    pub(crate) fn set_name(&self, name: &str) {
        name.clone_into(&mut lock(&self.words).name);
    }

    /// Stores the name of the client's library, or its version.
    pub(crate) fn set_library(&self, is_name: bool, value: &str) {
        let words = &mut *lock(&self.words);
        let field = if is_name { &mut words.library } else { &mut words.library_version };
        value.clone_into(field);
    }

    pub(crate) fn user(&self) -> Option<Arc<User>> {
        lock(&self.user).clone()
    }

    pub(crate) fn set_user(&self, user: Option<Arc<User>>) {
        *lock(&self.user) = user;
    }

    /// Ends the connection once it has executed what it has received.
    pub(crate) fn disconnect(&self) {
        // A connection that the client has closed already cannot be shut down.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Describes the connection as `CLIENT LIST` does.
    pub(crate) fn describe(&self) -> String {
        let Self { id, peer, since, .. } = self;
        let Words { name, library, library_version } = &*lock(&self.words);
        let age = since.elapsed().as_secs();
        format!(
            "id={id} addr={peer} name={name} age={age} lib-name={library} lib-ver={library_version}"
        )
    }
}

impl Clients {
    /// Registers a connection, unless `most` are open or the server is stopping.
    pub(crate) fn register(
        self: &Arc<Self>,
        stream: Stream,
        peer: Peer,
        most: usize,
    ) -> Result<Registered, Stream> {
        let mut open = lock(&self.open);
        // Checked under the lock: `stop` goes through all clients that were registered before.
        if open.clients.len() >= most || self.stopping_since().is_some() {
            return Err(stream);
        }
        open.next_id += 1;
        let id = open.next_id;
        let (words, user) = (Mutex::default(), Mutex::default());
        let client = Client { id, stream, peer, since: Instant::now(), words, user };
        let client = Arc::new(client);
        open.clients.insert(id, client.clone());
        Ok(Registered { clients: self.clone(), client })
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.open).clients.len()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        lock(&self.open).clients.values().cloned().collect()
    }

    pub(crate) fn stopping_since(&self) -> Option<Instant> {
        self.stopping.get().copied()
    }

    /// Lets each connection answer what has arrived and end, and accepts no others.
    pub(crate) fn stop(&self) {
        let _ = self.stopping.set(Instant::now());
        self.shut_down(Shutdown::Read);
    }

    /// Ends the connections whatever they are doing, before their next command.
    pub(crate) fn cut_off(&self) {
        self.is_cut_off.store(true, Ordering::Relaxed);
        self.shut_down(Shutdown::Both);
    }

    fn shut_down(&self, how: Shutdown) {
        for client in self.all() {
            // A connection that the client has closed already cannot be shut down.
            let _ = client.stream.shutdown(how);
        }
    }

    /// Returns whether no more commands are executed.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::Relaxed)
    }

    /// Waits until all connections have ended. Returns whether they have.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let is_open = |open: &mut Open| !open.clients.is_empty();
        let waited = self.closed.wait_timeout_while(lock(&self.open), timeout, is_open);
        waited.unwrap_or_else(PoisonError::into_inner).0.clients.is_empty()
    }
}

/// Locks a value that no panic leaves half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::stream;

    #[test]
    fn connections_are_limited_and_refused_while_the_server_stops() {
        let register = |clients: &Arc<Clients>| {
            let (stream, peer, _) = stream::pair();
            clients.register(stream, peer, 2)
        };
        let clients = Arc::new(Clients::default());
        let first = register(&clients).unwrap();
        let second = register(&clients).unwrap();
        assert!(register(&clients).is_err());
        assert_eq!((first.client.id, second.client.id, clients.len()), (1, 2, 2));
        drop(first);
        assert_eq!(register(&clients).unwrap().client.id, 3);
        clients.stop();
        assert!(register(&clients).is_err());
        assert!(!clients.wait(Duration::ZERO));
        drop(second);
        assert!(clients.wait(Duration::from_secs(60)));
    }
}
