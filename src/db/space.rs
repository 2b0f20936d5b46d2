//! Free disk space: what operations require before they begin.

use crate::error::{Error, ErrorKind, Result};
use crate::storage::Storage;

/// Fails if the file system has less free space than an operation may need.
pub(super) fn require(storage: &dyn Storage, needed: u64, operation: &str) -> Result<()> {
    let free = storage.free_space()?;
    if free >= needed {
        return Ok(());
    }
    let message = format!(
        "{operation} needs up to {needed} bytes of free disk space, but there are only {free}: free \
         some space"
    );
    Err(Error::new(ErrorKind::NoSpace, message).at_path(storage.root()))
}
