//! Makes all memory pages of the process the same size.
//!
//! Malloc reads its setting for huge pages when a process starts, so this one starts itself again.
//! To avoid huge pages, the process asks the kernel, which would use them for mapped files too.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

const TUNABLES: &str = "GLIBC_TUNABLES";
const HUGE: &str = "glibc.malloc.hugetlb=1";
const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Makes malloc use transparent huge pages. If it does not yet, replaces this process by a new run
/// of the same program, in which it does.
pub fn make_huge() -> Result<()> {
    let tunables = env::var(TUNABLES).unwrap_or_default();
    if tunables.split(':').any(|tunable| tunable == HUGE) {
        return Ok(());
    }
    if std::fs::read_to_string(SETTING).is_ok_and(|setting| setting.contains("[never]")) {
        eprintln!("huge pages are disabled on this system: {SETTING} is \"never\"");
    }
    let tunables = [HUGE, &tunables].join(":");
    let mut again = Command::new(env::current_exe()?);
    again.args(env::args_os().skip(1)).env(TUNABLES, tunables.trim_end_matches(':'));
    Err(again.exec()).context("cannot start again with huge pages")
}

/// Disables huge pages for this process, both for memory and for mapped files.
pub fn make_small() -> Result<()> {
    // SAFETY: sets a flag of this process and touches no memory.
    #[expect(unsafe_code, reason = "the standard library has no call for this flag")]
    let done = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    if done == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error()).context("cannot disable huge pages")
    }
}
