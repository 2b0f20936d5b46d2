//! The signals that end the server.

use anyhow::{Context, Result};
use fpdb_server::Stop;

use crate::cmd::serve::notify::notify;

/// The exit code that shells report for a process ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Lets Ctrl-C, SIGTERM and SIGHUP stop the server from now on. The second signal ends the process
/// at once.
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
