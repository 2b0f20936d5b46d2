//! Gives memory back that the allocator keeps.

use std::time::Duration;

use anyhow::{Context, Result};

/// How often. With little to give back, it takes less than a millisecond.
const EVERY: Duration = Duration::from_secs(10);

/// Gives free memory back to the system from now on. glibc keeps the pages that become free between
/// others, such as most of those of recent entries once these are flushed. Other allocators do not.
pub(super) fn start() -> Result<()> {
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        let work = || {
            loop {
                std::thread::sleep(EVERY);
                trim();
            }
        };
        let thread = std::thread::Builder::new().name("fpdb-trim".to_owned());
        thread.spawn(work).context("cannot start the thread that gives memory back")?;
    }
    Ok(())
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no function without it does this")]
fn trim() {
    // SAFETY: any thread may call it at any time.
    let _ = unsafe { nix::libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}
