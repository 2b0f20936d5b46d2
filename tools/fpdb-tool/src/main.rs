//! The `fpdb-tool` command. The library of this crate does the work.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(fpdb_tool::run_in_terminal(std::env::args_os()))
}
