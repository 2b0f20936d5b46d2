//! What a server allows.

use std::path::PathBuf;
use std::time::Duration;

use crate::password::Password;
use crate::resp::Limits;
use crate::users::{self, Right, User, Users};

/// The most arguments of a request.
const MAX_ARGUMENTS: usize = 1 << 16;

/// What clients may send before they have given the password.
const UNAUTHENTICATED: Limits =
    Limits { arguments: 16, bulk: 4 << 10, request: 16 << 10, unauthenticated: true };

/// The range of limits in bytes. The upper bound keeps sums of limits far from overflow.
const MIN_BYTES: usize = 1 << 10;
const MAX_BYTES: usize = usize::MAX / 8;

/// The range of timeouts. The system refuses zero, and may refuse what is much longer than ten
/// years.
const MIN_TIMEOUT: Duration = Duration::from_millis(1);
const MAX_TIMEOUT: Duration = Duration::from_secs(10 * 365 * 86_400);

/// What a [`Server`](crate::Server) allows its clients. Limits in bytes are at least 1 KiB, and
/// timeouts are at most ten years; other values are replaced by the nearest one.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use fpdb_server::{Options, Right, Server};
///
/// let options = Options::default()
///     .password("correct horse")
///     .user("search", Right::Read, "battery staple")
///     .max_wrong_passwords(5)
///     .slow_command(Duration::from_millis(100))
///     .metrics("127.0.0.1:0")
///     .backup_folder("/var/backups/crawl")
///     .max_connections(50)
///     .max_bulk(64 << 10)
///     .max_request(1 << 20)
///     .request_memory(16 << 20)
///     .timeout(Duration::from_secs(600))
///     .request_timeout(Duration::from_secs(5))
///     .write_timeout(Duration::from_secs(5));
/// let server = Server::bind("0.0.0.0:0", &options)?;
/// assert!(server.metrics_addr().is_some());
/// # Ok::<(), fpdb_server::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) users: Users,
    pub(crate) max_wrong_passwords: u32,
    pub(crate) metrics: Option<String>,
    pub(crate) backup_folder: Option<PathBuf>,
    pub(crate) max_connections: usize,
    max_bulk: usize,
    max_request: usize,
    pub(crate) request_memory: usize,
    pub(crate) timeouts: Timeouts,
    pub(crate) slow: Duration,
}

/// How long a connection may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// Between requests.
    pub(crate) idle: Option<Duration>,
    /// For a request that has begun, and for the password.
    pub(crate) request: Duration,
    /// To read some of a reply.
    pub(crate) write: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            users: Users::default(),
            max_wrong_passwords: 20,
            metrics: None,
            backup_folder: None,
            max_connections: 1000,
            max_bulk: 8 << 20,
            max_request: 16 << 20,
            request_memory: 256 << 20,
            timeouts: Timeouts {
                idle: None,
                request: Duration::from_secs(30),
                write: Duration::from_secs(10),
            },
            slow: Duration::from_secs(1),
        }
    }
}

impl Options {
    /// Returns the defaults, which each method below states.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Clients must give this password, of 1 to 1024 bytes, with `AUTH` or `HELLO`, and may then do
    /// everything, as the user `default`. By default there is none, and then the server listens
    /// only on addresses that other machines cannot reach.
    #[must_use]
    pub fn password(self, password: impl Into<Vec<u8>>) -> Self {
        self.user(users::DEFAULT, Right::Admin, password)
    }

    /// Clients can be this user, who may do less than everything, if they give this password, of 1
    /// to 1024 bytes. The name has 1 to 64 printable ASCII characters without spaces. The last call
    /// for a name counts. By default there are no users.
    #[must_use]
    pub fn user(
        mut self,
        name: impl Into<String>,
        right: Right,
        password: impl Into<Vec<u8>>,
    ) -> Self {
        let (name, password) = (name.into(), Password::new(password.into()));
        self.users.set(User { name, right, password });
        self
    }

    /// The most wrong passwords in a minute from one address, or one network of 64 bits in IPv6; 20
    /// by default. Further ones are refused without a look at them until the minute is over, the
    /// right one, too. So choose 0, which means any number, if all clients come through one proxy,
    /// and let the proxy limit them.
    #[must_use]
    pub fn max_wrong_passwords(mut self, passwords: u32) -> Self {
        self.max_wrong_passwords = passwords;
        self
    }

    /// Commands that take longer are in the log; 1 second by default.
    #[must_use]
    pub fn slow_command(mut self, time: Duration) -> Self {
        self.slow = time;
        self
    }

    /// Serves figures for Prometheus at this address, without a password. They say nothing about
    /// single documents. By default they are not served.
    #[must_use]
    pub fn metrics(mut self, address: impl Into<String>) -> Self {
        self.metrics = Some(address.into());
        self
    }

    /// Clients may write backups into this folder, with `FP.BACKUP`. By default they may not.
    #[must_use]
    pub fn backup_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.backup_folder = Some(folder.into());
        self
    }

    /// The most connections at the same time; 1000 by default. Each takes a thread and an open
    /// file, so the system must allow your process that many open files.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections;
        self
    }

    /// The most bytes of one argument, such as a text; 8 MiB by default.
    #[must_use]
    pub fn max_bulk(mut self, bytes: usize) -> Self {
        self.max_bulk = bytes.clamp(MIN_BYTES, MAX_BYTES);
        self
    }

    /// The most bytes of one request; 16 MiB by default.
    #[must_use]
    pub fn max_request(mut self, bytes: usize) -> Self {
        self.max_request = bytes.clamp(MIN_BYTES, MAX_BYTES);
        self
    }

    /// Memory for requests of more than 16 KiB, of all connections together; 256 MiB by default.
    #[must_use]
    pub fn request_memory(mut self, bytes: usize) -> Self {
        self.request_memory = bytes.clamp(MIN_BYTES, MAX_BYTES);
        self
    }

    /// Closes connections that send nothing for so long. Zero, the default, means never.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.idle = (!timeout.is_zero()).then(|| possible(timeout));
        self
    }

    /// Closes connections if a request is not complete after this time, or the password is not
    /// given; 30 seconds by default.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.request = possible(timeout);
        self
    }

    /// Closes connections that do not read their replies for so long; 10 seconds by default.
    #[must_use]
    pub fn write_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.write = possible(timeout);
        self
    }

    /// Returns what a client may send, depending on whether it may use the database.
    pub(crate) fn limits(&self, is_authenticated: bool) -> Limits {
        let all = Limits {
            arguments: MAX_ARGUMENTS,
            bulk: self.max_bulk.min(self.max_request),
            request: self.max_request,
            unauthenticated: false,
        };
        if is_authenticated {
            return all;
        }
        Limits {
            arguments: UNAUTHENTICATED.arguments,
            bulk: UNAUTHENTICATED.bulk.min(all.bulk),
            request: UNAUTHENTICATED.request.min(all.request),
            unauthenticated: true,
        }
    }
}

fn possible(timeout: Duration) -> Duration {
    timeout.clamp(MIN_TIMEOUT, MAX_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_values_are_replaced_by_the_nearest_possible_ones() {
        let least = Options::default().max_bulk(0).max_request(0).request_memory(0);
        assert_eq!((least.limits(true).bulk, least.limits(true).request), (1 << 10, 1 << 10));
        assert_eq!(least.request_memory, 1 << 10);
        let most = Options::default().max_bulk(usize::MAX).max_request(usize::MAX);
        assert!(most.limits(true).request.checked_mul(8).is_some());
        let least = least.request_timeout(Duration::ZERO).write_timeout(Duration::ZERO);
        assert_eq!((least.timeouts.request, least.timeouts.write), (MIN_TIMEOUT, MIN_TIMEOUT));
        assert_eq!(least.timeout(Duration::ZERO).timeouts.idle, None);
        assert_eq!(most.timeout(Duration::MAX).timeouts.idle, Some(MAX_TIMEOUT));
    }

    #[test]
    fn limits_before_the_password_are_never_above_those_after_it() {
        for bytes in [1 << 10, 8 << 10, 1 << 20] {
            let options = Options::default().max_request(bytes);
            let (before, after) = (options.limits(false), options.limits(true));
            assert!(before.bulk <= after.bulk && before.request <= after.request, "{bytes}");
        }
    }
}
