//! Pages of one size for all. For huge ones malloc is told at the start of a process, so this one
//! starts itself again; against them the system is told, as it gives them to mapped files unasked.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

const TUNABLES: &str = "GLIBC_TUNABLES";
const HUGE: &str = "glibc.malloc.hugetlb=1";
const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Returns in a process whose malloc uses transparent huge pages: this one, or never and the same
/// program begins again.
pub fn make_huge() -> Result<()> {
    let tunables = env::var(TUNABLES).unwrap_or_default();
    if tunables.split(':').any(|tunable| tunable == HUGE) {
        return Ok(());
    }
    if std::fs::read_to_string(SETTING).is_ok_and(|setting| setting.contains("[never]")) {
        eprintln!("huge pages are switched off here: {SETTING} is never");
    }
    let tunables = [HUGE, &tunables].join(":");
    let mut again = Command::new(env::current_exe()?);
    again.args(env::args_os().skip(1)).env(TUNABLES, tunables.trim_end_matches(':'));
    Err(again.exec()).context("starting again with huge pages")
}

/// From now on this process gets no huge pages, neither for memory nor for mapped files.
pub fn make_small() -> Result<()> {
    // SAFETY: sets a flag of this process; takes and gives no memory.
    #[expect(unsafe_code, reason = "the system has no other door to this flag")]
    let done = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()).context("4 KiB pages") }
}
