//! The limit of open files, of which each connection takes one.

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
