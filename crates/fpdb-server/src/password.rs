//! The password that clients give.

use std::fmt;
use std::hint::black_box;

/// The most bytes of a password. Clients that have not given it can send this much.
pub(crate) const MAX_LEN: usize = 1024;

#[derive(PartialEq)]
pub(crate) struct Password(Vec<u8>);

/// Does not show it, so that no message can contain it.
impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

impl Password {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether it is neither empty nor longer than clients can send.
    pub(crate) fn is_possible(&self) -> bool {
        (1..=MAX_LEN).contains(&self.len())
    }

    /// Returns whether this is the password. How long that takes depends only on the length of what
    /// was given.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        let mut difference = self.0.len() ^ given.len();
        for (&byte, &expected) in given.iter().zip(self.0.iter().cycle()) {
            difference |= usize::from(byte ^ expected);
        }
        black_box(difference) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_password_is_accepted() {
        let password = Password(b"ab".to_vec());
        assert!(password.is(b"ab"));
        for wrong in [&b""[..], b"a", b"b", b"abab", b"aba", b"aB", b"ab\0"] {
            assert!(!password.is(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn a_password_has_1_to_1024_bytes_and_is_never_shown() {
        for (length, is_allowed) in [(0, false), (1, true), (1024, true), (1025, false)] {
            let password = Password(vec![b'x'; length]);
            assert_eq!(password.is_possible(), is_allowed, "{length}");
            assert!(!format!("{password:?}").contains("120"));
            assert!(!format!("{password:?}").contains('x'));
        }
    }
}
