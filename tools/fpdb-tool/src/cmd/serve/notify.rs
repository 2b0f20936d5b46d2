//! Tells systemd how far the server is, as sd_notify(3) describes. Does nothing without systemd.

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
