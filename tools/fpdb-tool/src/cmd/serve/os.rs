//! The server and the system: signals that end it, its states for systemd, and the limit of open
//! files.

use anyhow::{Context, Result};
use fpdb_server::Stop;
#[cfg(unix)]
use nix::sys::signal::{SigSet, Signal};

/// The exit code that shells report for a process ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Lets Ctrl-C, SIGTERM and, unless it is [blocked](block_hangup), SIGHUP stop the server from now
/// on. The second signal ends the process at once.
pub(super) fn stop_on_signal() -> Result<Stop> {
    let stop = Stop::new();
    let requested = stop.clone();
    ctrlc::set_handler(move || {
        if requested.is_requested() {
            std::process::exit(INTERRUPTED);
        }
        // First, because the process may end at any time after the request.
        notify("STOPPING=1");
        requested.request();
    })
    .context("cannot handle Ctrl-C")?;
    Ok(stop)
}

/// Keeps SIGHUP until [`on_hangup`] is called. All threads that start later inherit this, so it
/// comes before them.
#[cfg(unix)]
pub(super) fn block_hangup() {
    // It fails for invalid arguments only.
    let _ = SigSet::from(Signal::SIGHUP).thread_block();
}

/// Does something each time SIGHUP arrives, in a thread of its own.
#[cfg(unix)]
pub(super) fn on_hangup(mut work: impl FnMut() + Send + 'static) -> Result<()> {
    let hangup = SigSet::from(Signal::SIGHUP);
    let wait = move || {
        while hangup.wait().is_ok() {
            work();
        }
    };
    std::thread::Builder::new().name("hangup".to_owned()).spawn(wait)?;
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn block_hangup() {}

#[cfg(not(unix))]
pub(super) fn on_hangup(_: impl FnMut() + Send + 'static) -> Result<()> {
    Ok(())
}

/// Tells systemd how far the server is, as sd_notify(3) describes. Does nothing without systemd.
#[cfg(target_os = "linux")]
pub(super) fn notify(state: &str) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&name),
    };
    // The server works all the same if systemd cannot be reached; systemd notices that itself.
    let _ = address
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
}

#[cfg(not(target_os = "linux"))]
pub(super) fn notify(_: &str) {}

/// Files that the process needs besides its connections: the files of the database.
const RESERVED_FILES: u64 = 512;

/// Returns how many of the requested connections the limit of open files allows. Raises that limit
/// as far as possible if it is too low.
#[cfg(unix)]
pub(super) fn allowed_connections(requested: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let needed = requested as u64 + RESERVED_FILES;
    let Rlimit { current: Some(current), maximum } = getrlimit(Resource::Nofile) else {
        return requested;
    };
    if current >= needed {
        return requested;
    }
    let raised = maximum.map_or(needed, |maximum| maximum.min(needed));
    let raise = Rlimit { current: Some(raised), maximum };
    let limit = if setrlimit(Resource::Nofile, raise).is_ok() { raised } else { current };
    let allowed = limit.saturating_sub(RESERVED_FILES).max(1);
    usize::try_from(allowed).unwrap_or(requested)
}

#[cfg(not(unix))]
pub(super) fn allowed_connections(requested: usize) -> usize {
    let _ = RESERVED_FILES;
    requested
}
