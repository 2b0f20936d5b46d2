//! Standard output whose failures are errors.
//!
//! [`io::stdout`] hides two failures. The runtime opens `/dev/null` in place of a standard output
//! that was closed when the process started, and a write to a descriptor that is not open for
//! writing counts as a success. Either way the results of a command would be lost without a word.

use std::io::{self, Write};

/// The process's standard output.
pub(crate) struct StandardOutput(Box<dyn Write>);

impl StandardOutput {
    pub(crate) fn open() -> Self {
        Self(open())
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(explain)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(explain)
    }
}

/// Adds what failed to an error and keeps its kind, by which a broken pipe is recognized.
fn explain(error: io::Error) -> io::Error {
    match error.kind() {
        // `write_all` tries these again.
        io::ErrorKind::Interrupted => error,
        kind => io::Error::new(kind, format!("cannot write to standard output: {error}")),
    }
}

#[cfg(not(unix))]
fn open() -> Box<dyn Write> {
    Box::new(io::stdout())
}

#[cfg(unix)]
fn open() -> Box<dyn Write> {
    use std::os::fd::AsFd;
    if at_start::was_closed() {
        return Box::new(Closed);
    }
    // A copy of the descriptor, so that `io::stdout` cannot swallow any error.
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(descriptor) => Box::new(std::fs::File::from(descriptor)),
        Err(_) => Box::new(io::stdout()),
    }
}

/// A standard output that was closed when the process started. Writing nothing is no error.
#[cfg(unix)]
struct Closed;

#[cfg(unix)]
impl Write for Closed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() { Ok(0) } else { Err(io::Error::other("it is closed")) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The state of the descriptor before the runtime opens `/dev/null` in its place.
#[cfg(unix)]
mod at_start {
    use std::sync::atomic::{AtomicBool, Ordering};

    static CLOSED: AtomicBool = AtomicBool::new(false);

    ctor::declarative::ctor! {
        #[ctor(unsafe)]
        fn look_at_standard_output() {
            let open = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_ok();
            CLOSED.store(!open, Ordering::Relaxed);
        }
    }

    pub(super) fn was_closed() -> bool {
        CLOSED.load(Ordering::Relaxed)
    }
}
