//! The server as its caller sees it.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use fpdb::Fingerprint;

use crate::accounts::{self, Accounts};
use crate::commands::service::{Service, Shared};
use crate::database::{Database, Handle};
use crate::error::Result;
use crate::net::address;
use crate::net::stream::Listener;
use crate::options::Options;
use crate::stop::Stop;
use crate::threads::Threads;

/// How often to look what another process has written.
const REFRESH: Duration = Duration::from_secs(1);

/// A server that is bound to an address. [`serve`](Self::serve) gives it a database.
///
/// # Examples
///
/// A client without a library, since commands can be lines:
///
/// ```
/// use std::io::{Read, Write};
/// use std::net::TcpStream;
///
/// use fpdb::Db;
/// use fpdb_server::{Options, Server, Stop};
/// # let folder = tempfile::tempdir()?;
/// let db = Db::options().create(folder.path().join("db"))?;
/// db.insert(0xff, 7)?;
/// let server = Server::bind("127.0.0.1:0", &Options::default())?;
/// let (address, stop) = (server.local_addr().unwrap(), Stop::new());
/// let serving = std::thread::spawn({
///     let (db, stop) = (db.clone(), stop.clone());
///     move || server.serve(db, &stop)
/// });
/// let mut client = TcpStream::connect(address)?;
/// client.write_all(b"FP.DEL 7 0xff\r\nQUIT\r\n")?;
/// let mut replies = String::new();
/// client.read_to_string(&mut replies)?;
/// assert_eq!(replies, ":1\r\n+OK\r\n");
/// stop.request();
/// assert_eq!(serving.join().unwrap()?, 1); // connection
/// assert!(!db.snapshot().contains(0xff)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    metrics: Option<(TcpListener, SocketAddr)>,
    shared: Shared,
}

impl Server {
    /// Listens on an address: an IP address or a name, and a port, where 0 means any free one; or
    /// `unix:` and the path of a Unix socket, which needs no password: whoever may write to that
    /// file can connect. Clients that connect from now on wait until the server
    /// [serves](Self::serve).
    ///
    /// # Errors
    ///
    /// If the address or the one for figures is wrong or not free, if other machines can reach the
    /// address and there is no password, or if a password or the name of a user is empty or too
    /// long: see [`Error`](crate::Error).
    ///
    /// ```
    /// use fpdb_server::{Error, Options, Server};
    /// let server = Server::bind("127.0.0.1:0", &Options::default().metrics("127.0.0.1:0"))?;
    /// println!("http://{}/metrics", server.metrics_addr().unwrap());
    /// let address = server.local_addr().expect("not a Unix socket");
    /// assert_ne!(address.port(), 0);
    /// let second = Server::bind(&address.to_string(), &Options::default());
    /// assert!(matches!(second, Err(Error::Listen { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn bind(address: &str, options: &Options) -> Result<Self> {
        accounts::check(&options.users)?;
        // Before the socket, which would have to be removed again.
        let metrics = options.metrics.as_deref().map(address::listen_to_all).transpose()?;
        let (listener, address) = address::listen(address, !options.users.is_empty())?;
        Ok(Self { listener, metrics, shared: Shared::new(address, options) })
    }

    /// Returns the address, with the port that the system has chosen if 0 was requested. `None`
    /// means that the server listens on a Unix socket.
    #[must_use]
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.shared.address.tcp()
    }

    /// Returns the address of the figures for Prometheus, if they are served.
    #[must_use]
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|&(_, address)| address)
    }

    /// Returns the users, to replace them while the server runs. See the example of [`Accounts`].
    #[must_use]
    pub fn accounts(&self) -> Accounts {
        self.shared.accounts.clone()
    }

    /// Serves a database until `stop` is requested. Returns the number of connections that there
    /// were. Leaves the database open.
    ///
    /// Give it a clone of the handle to go on using the database, while it is served and
    /// afterwards. If it is closed in the meantime, the clients' writes fail. With a
    /// [`ReadOnlyDb`](fpdb::ReadOnlyDb), clients can only read.
    ///
    /// To stop, the server accepts no more connections and answers the commands that have arrived.
    /// It cuts off clients that go on sending for a second, or do not read their replies for ten
    /// more. Then its threads have ended. The exception is a command that takes even longer, such
    /// as a query of a large distance: it ends by itself, without a reply, and nothing that the
    /// client sent after it is executed.
    ///
    /// # Errors
    ///
    /// [`Thread`](crate::Error::Thread) if the system allows no threads; then nothing was served.
    ///
    /// See the example of [`Server`].
    pub fn serve(self, db: impl Into<Database>, stop: &Stop) -> Result<u64> {
        // Here the code for both widths is compiled, once, and not with the caller.
        match db.into() {
            Database::Bits64(db) => self.serve_width(db, stop),
            Database::Bits128(db) => self.serve_width(db, stop),
            Database::Sketches(db) => self.serve_width(db, stop),
            Database::ReadOnly64(db) => self.serve_width(db, stop),
            Database::ReadOnly128(db) => self.serve_width(db, stop),
            Database::ReadOnlySketches(db) => self.serve_width(db, stop),
        }
    }

    fn serve_width<F: Fingerprint>(self, db: impl Into<Handle<F>>, stop: &Stop) -> Result<u64> {
        let Self { listener, metrics, shared } = self;
        let mut threads = Threads::new(Service::new(db, shared));
        let started = threads.start(listener, metrics);
        if started.is_ok() {
            while !stop.wait(REFRESH) {
                threads.service().db.refresh();
                threads.service().db.fit_memory();
                threads.service().queue.relieve();
                threads.service().shared.slow.log_others();
            }
        }
        threads.service().shared.slow.log_others();
        let connections = threads.end();
        started.map(|()| connections)
    }
}
