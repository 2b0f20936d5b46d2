//! Who may do what.

use std::sync::Arc;

use crate::password::Password;

/// The user of a client that gives only a password.
pub(crate) const DEFAULT: &str = "default";

/// The most bytes of a user's name.
pub(crate) const MAX_NAME: usize = 64;

/// What a user may do. Each right includes those before it.
///
/// # Examples
///
/// ```
/// use fpdb_server::{Options, Right};
/// let options = Options::default().password("of the operator").user("web", Right::Read, "search");
/// assert!(Right::Admin > Right::Write);
/// # drop(options);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Find documents, and see figures.
    Read,
    /// Insert, update and remove documents.
    Write,
    /// Take care of the files: flush, compact, verify and back up.
    Admin,
}

#[derive(Debug, PartialEq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) right: Right,
    pub(crate) password: Password,
}

/// All users. If there are none, everybody who can connect may do everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Users(Vec<Arc<User>>);

impl Users {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a user, or replaces the one of that name.
    pub(crate) fn set(&mut self, user: User) {
        self.0.retain(|known| known.name != user.name);
        self.0.push(Arc::new(user));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there is this user, with the same password and right.
    pub(crate) fn contains(&self, user: &User) -> bool {
        self.0.iter().any(|known| **known == *user)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &User> {
        self.0.iter().map(|user| &**user)
    }

    /// Returns the user with this name and password. How long that takes does not depend on how
    /// much of either is right.
    pub(crate) fn find(&self, name: &[u8], password: &[u8]) -> Option<&Arc<User>> {
        let mut found = None;
        // All are compared, whichever it is.
        for user in &self.0 {
            if user.password.is(password) & (user.name.as_bytes() == name) {
                found = Some(user);
            }
        }
        found
    }
}

/// Returns whether a user can be called so.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_and_password_together() {
        let mut users = Users::default();
        let user = |name: &str, right, password: &[u8]| User {
            name: name.to_owned(),
            right,
            password: Password::new(password.to_vec()),
        };
        users.set(user("a", Right::Admin, b"old"));
        users.set(user("a", Right::Read, b"first"));
        users.set(user("b", Right::Write, b"second"));
        let right = |name: &str, password: &str| {
            users.find(name.as_bytes(), password.as_bytes()).map(|user| user.right)
        };
        assert_eq!(right("a", "first"), Some(Right::Read));
        assert_eq!(right("b", "second"), Some(Right::Write));
        for (name, password) in
            [("a", "old"), ("a", "second"), ("b", "first"), ("", ""), ("A", "first")]
        {
            assert_eq!(right(name, password), None, "{name} {password}");
        }
    }
}
