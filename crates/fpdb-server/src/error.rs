//! Why a server cannot start.

use std::{fmt, io, result};

use crate::{password, users};

/// Why a server cannot start.
///
/// # Examples
///
/// ```
/// use fpdb_server::{Error, Options, Server};
/// let error = Server::bind("0.0.0.0:6380", &Options::default()).unwrap_err();
/// assert!(matches!(error, Error::NeedsPassword { .. }));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A text is neither an address and a port, nor the path of a Unix socket.
    Address {
        /// The text.
        address: String,
        /// What the system says about it.
        source: io::Error,
    },
    /// Other machines can reach the address, and there is no password.
    NeedsPassword {
        /// The address.
        address: String,
    },
    /// A user cannot have this name.
    User {
        /// The name.
        name: String,
    },
    /// A password is empty or too long.
    Password {
        /// Its length in bytes.
        length: usize,
    },
    /// The users of a server cannot be replaced by none, nor none by some.
    NoUsers,
    /// The address is not free, or not of this machine.
    Listen {
        /// The address.
        address: String,
        /// The reason.
        source: io::Error,
    },
    /// The system allows no more threads.
    Thread {
        /// The reason.
        source: io::Error,
    },
}

/// A result with an [`Error`] of the server.
pub type Result<T> = result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { address, .. } => {
                write!(
                    f,
                    "{address:?} is not an address and a port, such as 127.0.0.1:6380, or a Unix socket, such as \
                     unix:/run/fpdb.sock"
                )
            }
            Self::NeedsPassword { address } => write!(
                f,
                "other machines can reach {address}: set a password, or listen on 127.0.0.1, which \
                 only this machine can reach"
            ),
            Self::User { name } => {
                let most = users::MAX_NAME;
                write!(
                    f,
                    "the name of a user has 1 to {most} printable ASCII characters without spaces: {name:?}"
                )
            }
            Self::Password { length } => {
                let most = password::MAX_LEN;
                write!(f, "a password has 1 to {most} bytes, and this one has {length}")
            }
            Self::NoUsers => {
                write!(f, "users can only be replaced if there are some, before and afterwards")
            }
            Self::Listen { address, .. } => write!(f, "cannot listen on {address}"),
            Self::Thread { .. } => write!(f, "cannot start a thread"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Address { source, .. }
            | Self::Listen { source, .. }
            | Self::Thread { source } => Some(source),
            Self::NeedsPassword { .. }
            | Self::User { .. }
            | Self::Password { .. }
            | Self::NoUsers => None,
        }
    }
}
