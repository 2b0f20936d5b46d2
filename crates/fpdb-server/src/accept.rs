//! Accepts connections and gives each a thread.

use std::io::Write;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fpdb::Fingerprint;

use crate::commands::service::Service;
use crate::net::clients::Registered;
use crate::net::stream::{Listener, Peer, Stream};
use crate::{connection, events, process};

/// How long to wait after a failure, such as too many open files in the system.
const RETRY: Duration = Duration::from_millis(50);

/// Accepts connections until the server stops.
pub(crate) fn run<F: Fingerprint>(listener: &Listener, service: &Arc<Service<F>>) {
    let clients = &service.shared.clients;
    while clients.stopping_since().is_none() {
        match listener.accept() {
            Ok((stream, peer)) => admit(stream, peer, service),
            // Another attempt may succeed once other connections have ended.
            Err(_) => thread::sleep(RETRY),
        }
    }
}

fn admit<F: Fingerprint>(stream: Stream, peer: Peer, service: &Arc<Service<F>>) {
    let shared = &service.shared;
    match shared.clients.register(stream, peer, shared.max_connections) {
        Ok(registered) => {
            shared.metrics.connections.add(1);
            start(registered, service.clone());
        }
        Err(stream) => refuse(&stream, peer, service),
    }
}

fn start<F: Fingerprint>(registered: Registered, service: Arc<Service<F>>) {
    let client = registered.client.clone();
    let serve = {
        let service = service.clone();
        move || {
            // Moved here in this order: the connection counts as open until the thread has nothing
            // of the database any more.
            let registered = registered;
            let service = service;
            connection::serve(&service, &registered.client);
        }
    };
    if process::spawn(format!("client {}", client.id), Box::new(serve)).is_err() {
        refuse(&client.stream, client.peer, &service);
    }
}

/// Tells a client that there is no room for it. The message is shorter than the buffer of any
/// socket, so that sending it does not take time.
fn refuse<F: Fingerprint>(mut stream: &Stream, peer: Peer, service: &Service<F>) {
    service.shared.metrics.connections_refused.add(1);
    if service.shared.clients.stopping_since().is_none() {
        events::connection_refused(peer, "too many connections");
    }
    let _ = stream.set_nonblocking(true);
    let _ = stream.write_all(b"-ERR max number of clients reached\r\n");
    let _ = stream.shutdown(std::net::Shutdown::Both);
}
