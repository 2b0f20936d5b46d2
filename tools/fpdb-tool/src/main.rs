//! The `fpdb-tool` command. The library of this crate does the work.

mod standard_output;

use std::io::{self, BufWriter};
use std::process::ExitCode;

use standard_output::StandardOutput;

fn main() -> ExitCode {
    let mut out = BufWriter::with_capacity(1 << 16, StandardOutput::open());
    // Standard error is not locked because a progress bar draws on it from its own thread.
    ExitCode::from(fpdb_tool::run(std::env::args_os(), &mut out, &mut io::stderr()))
}
