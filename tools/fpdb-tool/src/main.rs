//! The `fpdb-tool` command. The library of this crate does the work.

mod standard_output;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use fpdb_tool::Terminal;
use standard_output::StandardOutput;

fn main() -> ExitCode {
    let out: Box<dyn Write> = if io::stdout().is_terminal() {
        Box::new(Terminal::new(StandardOutput::open()))
    } else {
        Box::new(StandardOutput::open())
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    // Standard error is not locked because a progress bar draws on it from its own thread.
    ExitCode::from(fpdb_tool::run(std::env::args_os(), &mut out, &mut io::stderr()))
}
