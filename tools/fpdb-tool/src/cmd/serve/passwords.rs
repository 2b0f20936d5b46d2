//! The file with the passwords.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use fpdb_server::{Accounts, Options, Right};
use tracing::error;

/// The most bytes of the file, which are enough for hundreds of users.
const MAX_LEN: u64 = 1 << 20;

/// Returns the password on the first line of a file.
pub(in crate::cmd) fn first(path: &Path) -> Result<Vec<u8>> {
    let bytes = bytes(path)?;
    Ok(lines(&bytes).next().unwrap_or_default().to_vec())
}

/// Adds the users of a file. Its first line is the password of the user `default`; each other line
/// that is not empty is a name, a right and a password.
pub(super) fn read(path: &Path, options: Options) -> Result<Options> {
    let bytes = bytes(path)?;
    let mut lines = lines(&bytes);
    let mut options = options.password(lines.next().unwrap_or_default());
    let mut names = vec!["default"];
    for (at, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
        // The line itself is not in messages, because it may be a password.
        let (name, right, password) = user(line).with_context(|| {
            format!(
                "{}: line {} is not a user: a name, read, write or admin, and a password, with \
                 single spaces between them",
                path.display(),
                at + 2
            )
        })?;
        if names.contains(&name) {
            bail!("{}: line {} has a user who is there already", path.display(), at + 2);
        }
        names.push(name);
        options = options.user(name, right, password);
    }
    Ok(options)
}

/// Reads the users of a file while the server runs. If that fails, the users in use remain.
pub(super) fn read_again(path: &Path, accounts: &Accounts) {
    let replaced = read(path, Options::default())
        .and_then(|options| accounts.replace(&options).with_context(|| path.display().to_string()));
    if let Err(reason) = replaced {
        let reason = format!("{reason:#}");
        error!(target: "fpdb_tool", reason, "cannot replace the users, who remain as they were");
    }
}

/// Reads a file that has a password on its first line.
fn bytes(path: &Path) -> Result<Vec<u8>> {
    let cannot_read = || format!("cannot read {}", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(cannot_read)?;
    file.take(MAX_LEN + 1).read_to_end(&mut bytes).with_context(cannot_read)?;
    if bytes.len() as u64 > MAX_LEN {
        bail!("{} has more than {MAX_LEN} bytes", path.display());
    }
    if lines(&bytes).next().is_none_or(<[u8]>::is_empty) {
        bail!("{} has no password on its first line", path.display());
    }
    Ok(bytes)
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Parses a user. The password may have spaces.
fn user(line: &[u8]) -> Option<(&str, Right, &[u8])> {
    let mut words = line.splitn(3, |&byte| byte == b' ');
    let (name, right, password) = (words.next()?, words.next()?, words.next()?);
    let right = match right {
        b"read" => Right::Read,
        b"write" => Right::Write,
        b"admin" => Right::Admin,
        _ => return None,
    };
    let name = std::str::from_utf8(name).ok()?;
    (!name.is_empty() && !password.is_empty()).then_some((name, right, password))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_password_and_users() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let read = |content: &str| {
            std::fs::write(&path, content).unwrap();
            read(&path, Options::default()).map_err(|error| format!("{error:#}"))
        };
        for content in
            ["secret", "secret\n", "secret\r\n\r\na read x\r\n", "s\nb write two words\n"]
        {
            read(content).unwrap();
        }
        for content in ["", "\n", "\nsecret"] {
            assert!(read(content).unwrap_err().contains("no password on its first line"));
        }
        for (content, line) in [
            ("s\nmore", 2),
            ("s\n\na read", 3),
            ("s\na read ", 2),
            ("s\na all x", 2),
            ("s\n read x", 2),
            ("s\na read x\na write y", 3),
            ("s\ndefault read x", 2),
        ] {
            let error = read(content).unwrap_err();
            assert!(error.contains(&format!("line {line} ")), "{content:?}: {error}");
        }
        assert!(super::read(&folder.path().join("missing"), Options::default()).is_err());
    }

    #[test]
    fn names_and_rights_come_before_the_password() {
        let parsed = user(b"web read a b ");
        assert_eq!(parsed, Some(("web", Right::Read, &b"a b "[..])));
    }
}
