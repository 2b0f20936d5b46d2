//! The `fpdb-tool` command: see the crate's library.

use std::io::{self, BufWriter};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    // Standard error is not locked: a progress bar draws on it from a thread of its own.
    ExitCode::from(fpdb_tool::run(std::env::args_os(), &mut out, &mut io::stderr()))
}
