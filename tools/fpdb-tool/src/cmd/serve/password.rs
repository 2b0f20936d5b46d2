//! The file with the password.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// The most bytes that are read, which are more than a password may have.
const MAX_READ: u64 = 64 << 10;

/// Reads the password from the first line of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let cannot_read = || format!("cannot read {}", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(cannot_read)?;
    file.take(MAX_READ).read_to_end(&mut bytes).with_context(cannot_read)?;
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        bail!("{} has no password on its first line", path.display());
    }
    Ok(line.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_the_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        for content in ["secret", "secret\n", "secret\r\nmore"] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(read(&path).unwrap(), b"secret", "{content:?}");
        }
        for content in ["", "\n", "\nsecret"] {
            std::fs::write(&path, content).unwrap();
            assert!(read(&path).is_err(), "{content:?}");
        }
        assert!(read(&folder.path().join("missing")).is_err());
    }
}
