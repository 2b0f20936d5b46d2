//! The users of a server, and who of its clients is which of them.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use crate::error::{Error, Result};
use crate::events;
use crate::net::clients::{Client, Clients};
use crate::options::Options;
use crate::users::{self, User, Users};

/// The users of a [`Server`](crate::Server), which can be replaced while it serves, for instance
/// because a password has changed. All clones are one.
///
/// # Examples
///
/// ```
/// use fpdb_server::{Options, Right, Server};
///
/// let options = Options::default().password("old").user("web", Right::Read, "search");
/// let server = Server::bind("127.0.0.1:0", &options)?;
/// let accounts = server.accounts(); // for a thread that watches a file, say
/// accounts.replace(&Options::default().password("new").user("web", Right::Read, "search"))?;
/// assert!(accounts.replace(&Options::default().password("")).is_err());
/// # Ok::<(), fpdb_server::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Accounts {
    users: Arc<RwLock<Users>>,
    clients: Arc<Clients>,
}

impl Accounts {
    pub(crate) fn new(users: Users, clients: Arc<Clients>) -> Self {
        Self { users: Arc::new(RwLock::new(users)), clients }
    }

    /// Replaces all users by those of `options`, of which nothing else is used. Clients whose user
    /// is gone, or has another password or another right, are disconnected. All others go on.
    ///
    /// # Errors
    ///
    /// [`User`](Error::User) and [`Password`](Error::Password) as for
    /// [`Server::bind`](crate::Server::bind), and [`NoUsers`](Error::NoUsers) if there are no
    /// users, or were none: then the users remain as they are.
    pub fn replace(&self, options: &Options) -> Result<()> {
        check(&options.users)?;
        let mut users = self.users.write().unwrap_or_else(PoisonError::into_inner);
        if users.is_empty() || options.users.is_empty() {
            return Err(Error::NoUsers);
        }
        users.clone_from(&options.users);
        // While nobody can log in: otherwise a client could be missed.
        let gone = self
            .clients
            .all()
            .into_iter()
            .filter(|client| client.user().is_some_and(|user| !users.contains(&user)));
        let disconnected = gone.map(|client| client.disconnect()).count();
        events::users_replaced(users.len(), disconnected);
        Ok(())
    }

    /// Returns whether everybody who can connect may do everything.
    pub(crate) fn are_open(&self) -> bool {
        self.read().is_empty()
    }

    /// Returns the user with this name and password, and notes that the client is this user.
    pub(crate) fn log_in(
        &self,
        client: &Client,
        name: &[u8],
        password: &[u8],
    ) -> Option<Arc<User>> {
        let users = self.read();
        let user = users.find(name, password)?;
        client.set_user(Some(user.clone()));
        Some(user.clone())
    }

    fn read(&self) -> RwLockReadGuard<'_, Users> {
        self.users.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses users with impossible names or passwords.
pub(crate) fn check(users: &Users) -> Result<()> {
    for user in users.iter() {
        if !users::is_name(&user.name) {
            return Err(Error::User { name: user.name.clone() });
        }
        if !user.password.is_possible() {
            return Err(Error::Password { length: user.password.len() });
        }
    }
    Ok(())
}
