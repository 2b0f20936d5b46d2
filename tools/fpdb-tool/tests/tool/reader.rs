//! The second reader of the format, in Python: tests/reader.

use std::io::Write;
use std::process::Command;

/// Runs a script in tests/reader with the path of the tool. Returns what it prints, or `None` if
/// Python is not installed.
fn run(script: &str) -> Option<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reader/");
    // -B: writes no compiled modules beside the sources.
    let arguments = ["-B", &format!("{folder}{script}"), env!("CARGO_BIN_EXE_fpdb-tool")];
    let Ok(run) = Command::new("python3").args(arguments).output() else {
        // Not with a macro, whose output the test harness captures.
        std::io::stderr().write_all(b"skipped: python3 is not installed\n").unwrap();
        return None;
    };
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}{err}");
    Some(out.into_owned())
}

#[test]
fn a_reader_written_from_the_format_document_finds_the_same_as_fpdb() {
    let Some(out) = run("check.py") else { return };
    for name in ["user-half-2", "similarity"] {
        assert!(out.contains(&format!("agree on {name}\n")), "{out}");
    }
}

#[test]
fn the_second_reader_finds_the_same_in_random_databases_of_each_kind() {
    let Some(out) = run("random_databases.py") else { return };
    for kind in ["tables", "documents", "sketches", "passages"] {
        assert!(out.contains(&format!("agree on 10 databases of {kind}\n")), "{out}");
    }
}

#[test]
fn a_database_that_breaks_any_condition_of_the_format_is_refused_with_the_file_and_the_fault() {
    let Some(out) = run("invalid.py") else { return };
    assert!(out.ends_with("conditions are refused\n"), "{out}");
}

#[test]
fn the_second_reader_shows_the_fields_of_a_block_with_their_offsets() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests");
    let database = format!("{root}/golden/databases/user-half-2");
    let read = |block: &[&str]| {
        let script = format!("{root}/reader/read.py");
        let mut python = Command::new("python3");
        python.args(["-B", &script, &database, "fields", "0000000003000000.t00"]).args(block);
        python.output().ok().map(|run| String::from_utf8(run.stdout).unwrap())
    };
    // The test above has printed that Python is not installed.
    let (Some(ends), Some(block)) = (read(&[]), read(&["0"])) else { return };
    assert!(ends.contains("\n16\tkind\t03 = 3\n") && ends.contains("\tblocks\t09 00"), "{ends}");
    assert!(block.starts_with("128\tcount\t18 00 = 24\n130\tfirst fingerprint"), "{block}");
    assert!(block.contains("\n138, bits 1+2\tcodeword of fingerprint 2, h = 40\t10\n"), "{block}");
    assert_eq!(block.lines().count(), 2 + 2 * 23);
}
