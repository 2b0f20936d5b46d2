//! Huge pages, the same for all: malloc is told at the start of a process, so this one starts
//! itself again.

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
