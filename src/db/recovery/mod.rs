//! From files to the state of a handle, after a crash as well.

pub(crate) mod orphans;
pub(crate) mod read_state;
pub(crate) mod recover;
