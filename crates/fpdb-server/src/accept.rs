//! Accepts connections and gives each a thread.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::clients::Registered;
use crate::connection;
use crate::service::Service;
use crate::width::Width;

/// How long to wait after a failure, such as too many open files in the system.
const RETRY: Duration = Duration::from_millis(50);

/// Accepts connections until the server stops.
pub(crate) fn run<F: Width>(listener: &TcpListener, service: &Arc<Service<F>>) {
    let clients = &service.shared.clients;
    while clients.stopping_since().is_none() {
        match listener.accept() {
            Ok((stream, address)) => admit(stream, address, service),
            // Another attempt may succeed once other connections have ended.
            Err(_) => thread::sleep(RETRY),
        }
    }
}

fn admit<F: Width>(stream: TcpStream, address: SocketAddr, service: &Arc<Service<F>>) {
    let shared = &service.shared;
    match shared.clients.register(stream, address, shared.max_connections) {
        Ok(registered) => {
            shared.metrics.connections.add(1);
            start(registered, service.clone());
        }
        Err(stream) => refuse(&stream, service),
    }
}

fn start<F: Width>(registered: Registered, service: Arc<Service<F>>) {
    let client = registered.client.clone();
    let thread = thread::Builder::new().name(format!("client {}", client.id));
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
    if thread.spawn(serve).is_err() {
        refuse(&client.stream, &service);
    }
}

/// Tells a client that there is no room for it. The message is shorter than the buffer of any
/// socket, so that sending it does not take time.
fn refuse<F: Width>(mut stream: &TcpStream, service: &Service<F>) {
    service.shared.metrics.connections_refused.add(1);
    let _ = stream.set_nonblocking(true);
    let _ = stream.write_all(b"-ERR max number of clients reached\r\n");
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

/// Makes a thread that waits for a connection look whether the server stops. Returns whether it
/// does.
pub(crate) fn wake(address: SocketAddr) -> bool {
    let mut address = address;
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    match TcpStream::connect_timeout(&address, Duration::from_secs(1)) {
        Ok(_) => true,
        // The thread has ended because of another connection, or waits for the next one.
        Err(error) => error.kind() == ErrorKind::ConnectionRefused,
    }
}
