//! What reaches the terminal: nothing is lost in silence, and no control character gets through.

use crate::common::{Folder, document, text};

#[cfg(unix)]
#[test]
fn a_closed_standard_output_is_an_error() {
    use std::process::Command;

    let folder = Folder::new();
    folder.write("docs", document("a", &text(1, 30)));
    let run = |line: &str| {
        let script = format!("exec \"$0\" {line}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_fpdb-tool")]).current_dir(folder.path());
        let output = shell.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for line in [
        "dedup db docs --from ndjson >&-",
        "dedup db docs --from ndjson 1<docs",
        "recipes >&-",
        "--help >&-",
    ] {
        let (code, err) = run(line);
        assert_eq!(code, Some(2), "{line}: {err}");
        assert!(err.contains("cannot write to standard output"), "{line}: {err}");
    }
    // What was not printed was not stored.
    assert_eq!(folder.ok("stats db --json").json()["entries"], 0);
    // A standard output that discards everything is fine, and so is a closed one that is not used.
    assert_eq!(run("dedup db docs --from ndjson >/dev/null").0, Some(0));
    assert_eq!(run("dedup db docs --from ndjson <>/dev/null >&0").0, Some(0));
    assert_eq!(run("verify db >&-").0, Some(0));
}

#[cfg(unix)]
#[test]
fn control_characters_from_data_are_escaped() {
    let folder = Folder::new();
    let name = "\u{1b}[31m.csv";
    folder.write(name, format!("id,\u{1b}]0;title\u{7}\n1,{}\n", text(1, 30)));
    folder.ok("create db --ids names");
    let runs = [
        folder.run(&["fingerprint", name]),
        folder.run(&["fingerprint", "\u{1b}[2J"]),
        folder.run(&["fingerprint", "--\u{1b}[2J"]),
        folder.run(&["stats", "db\u{1b}[2J"]),
        folder.run(&["create", "other", "--recipe", "\u{1b}[2J/1"]),
        folder.run(&["stats", "other"]),
        folder.run(&["inspect", "other"]),
        folder.run(&["import", "other", "docs\u{9b}2J"]),
    ];
    for run in runs {
        let printed = run.text() + &run.err;
        let control = |c: char| c.is_control() && c != '\n';
        assert!(!printed.contains(control), "{printed:?}");
    }
    assert!(folder.run(&["stats", "other"]).text().contains("\\u{1b}[2J/1"));
}
