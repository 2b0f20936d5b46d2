//! The file of a Unix socket that the server listens on.

#[cfg(not(unix))]
pub(crate) use other::SocketFile;
#[cfg(unix)]
pub(crate) use unix::{SocketFile, UnixSocket, listen};

#[cfg(unix)]
mod unix {
    use std::fmt;
    use std::fs::{self, Metadata};
    use std::io::{self, ErrorKind};
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};

    /// The file of a socket, and which one it is, because another server may have replaced it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct SocketFile {
        /// Absolute, so that it is found wherever the process is by then.
        path: PathBuf,
        device: u64,
        inode: u64,
    }

    /// A listener and its file. The file is removed first, and then the listener is closed: as long
    /// as it is open, no other server takes the path over.
    #[derive(Debug)]
    pub(crate) struct UnixSocket {
        file: SocketFile,
        listener: UnixListener,
    }

    impl Drop for UnixSocket {
        fn drop(&mut self) {
            if self.file.is_there() {
                // If it cannot be removed, the next server notices that nobody listens.
                let _ = fs::remove_file(&self.file.path);
            }
        }
    }

    impl UnixSocket {
        pub(crate) fn accept(&self) -> io::Result<UnixStream> {
            Ok(self.listener.accept()?.0)
        }
    }

    impl fmt::Display for SocketFile {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.path.display().fmt(f)
        }
    }

    impl SocketFile {
        fn find(path: &Path) -> io::Result<Self> {
            let path = path.canonicalize()?;
            let found = fs::symlink_metadata(&path)?;
            Ok(Self { device: found.dev(), inode: found.ino(), path })
        }

        /// Returns whether the path still leads to this file.
        fn is_there(&self) -> bool {
            let is_this = |found: Metadata| (found.dev(), found.ino()) == (self.device, self.inode);
            fs::symlink_metadata(&self.path).is_ok_and(is_this)
        }

        /// Connects to the server and ends the connection. Fails if the file is of another server.
        pub(crate) fn connect(&self) -> io::Result<()> {
            if self.is_there() { connect(&self.path) } else { Err(ErrorKind::NotFound.into()) }
        }
    }

    /// Listens on a socket with this path. Replaces one that an earlier server has left.
    pub(crate) fn listen(path: &str) -> io::Result<(UnixSocket, SocketFile)> {
        let path = Path::new(path);
        if is_abandoned(path) {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        let file = SocketFile::find(path)?;
        Ok((UnixSocket { file: file.clone(), listener }, file))
    }

    /// Returns whether there is a socket on which nobody listens.
    fn is_abandoned(path: &Path) -> bool {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        is_socket && connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    }

    fn connect(path: &Path) -> io::Result<()> {
        UnixStream::connect(path).map(drop)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_socket_is_taken_over_only_if_nobody_listens_on_it() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("socket");
            let text = path.to_str().unwrap();
            let first = listen(text).unwrap();
            assert_eq!(listen(text).unwrap_err().kind(), ErrorKind::AddrInUse);
            drop(first);
            // As a process that was killed leaves it.
            drop(UnixListener::bind(&path).unwrap());
            assert!(path.exists());
            let (second, _) = listen(text).unwrap();
            drop(second);
            fs::write(&path, "precious").unwrap();
            assert!(listen(text).is_err());
            assert_eq!(fs::read(&path).unwrap(), b"precious");
        }

        #[test]
        fn a_listener_removes_its_own_file_and_not_that_of_a_successor() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("socket");
            let text = path.to_str().unwrap();
            let (listener, file) = listen(text).unwrap();
            file.connect().unwrap();
            drop(listener);
            assert!(!path.exists());
            let (first, file) = listen(text).unwrap();
            fs::remove_file(&path).unwrap();
            let second = listen(text).unwrap();
            assert!(file.connect().is_err());
            drop(first);
            assert!(path.exists());
            connect(&path).unwrap();
            drop(second);
            assert!(!path.exists());
        }
    }
}

#[cfg(not(unix))]
mod other {
    use std::{fmt, io};

    /// There is none.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) enum SocketFile {}

    impl fmt::Display for SocketFile {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            match *self {}
        }
    }

    impl SocketFile {
        pub(crate) fn connect(&self) -> io::Result<()> {
            match *self {}
        }
    }
}
