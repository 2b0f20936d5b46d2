//! The second reader of the format, in Python: tests/reader.

use std::io::Write;
use std::process::Command;

#[test]
fn a_reader_written_from_the_format_document_finds_the_same_as_fpdb() {
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reader/check.py");
    // -B: writes no compiled modules beside the sources.
    let run = Command::new("python3").args(["-B", check, env!("CARGO_BIN_EXE_fpdb-tool")]).output();
    let Ok(run) = run else {
        // Not with a macro, whose output the test harness captures.
        std::io::stderr().write_all(b"skipped: python3 is not installed\n").unwrap();
        return;
    };
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}{err}");
    for name in ["user-half-2-huffman", "similarity"] {
        assert!(out.contains(&format!("agree on {name}\n")), "{out}{err}");
    }
}
