//! The password that clients give.

use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

const MAX_LENGTH: u64 = 1024;

/// A password of at least one byte. It has no `Debug`, so that no message can contain it.
pub(super) struct Password(Vec<u8>);

impl Password {
    /// Reads the password from the first line of a file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let cannot_read = || format!("cannot read {}", path.display());
        let mut bytes = Vec::new();
        let file = File::open(path).with_context(cannot_read)?;
        file.take(MAX_LENGTH + 2).read_to_end(&mut bytes).with_context(cannot_read)?;
        let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            bail!("{} has no password on its first line", path.display());
        }
        if line.len() as u64 > MAX_LENGTH {
            bail!("the password in {} has more than {MAX_LENGTH} bytes", path.display());
        }
        Ok(Self(line.to_vec()))
    }

    /// Returns whether this is the password. How long that takes depends only on the length of what
    /// was given.
    pub(super) fn is(&self, given: &[u8]) -> bool {
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
    fn the_password_is_the_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        for content in ["secret", "secret\n", "secret\r\nmore"] {
            std::fs::write(&path, content).unwrap();
            assert!(Password::read(&path).unwrap().is(b"secret"), "{content:?}");
        }
        for content in ["", "\n", "\nsecret", &"x".repeat(1025)] {
            std::fs::write(&path, content).unwrap();
            assert!(Password::read(&path).is_err(), "{content:?}");
        }
        assert!(Password::read(&folder.path().join("missing")).is_err());
    }
}
