//! Turns panics of the `parquet` crate into errors, and shortens its errors.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use anyhow::{Result, anyhow};
use parquet::errors::ParquetError;

thread_local! {
    /// Whether this thread runs code whose panics become errors.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs code of the crate. A panic there means that the file is damaged, and prints nothing.
pub(super) fn guarded<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                print(panic);
            }
        }));
    });
    GUARDED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    GUARDED.set(false);
    result.unwrap_or_else(|_| Err(anyhow!("it is damaged, or written in an unknown way"))).map_err(
        |error| match error.downcast() {
            Ok(ParquetError::External(ours)) => anyhow!("{ours}"),
            Ok(theirs) => theirs.into(),
            Err(other) => other,
        },
    )
}
