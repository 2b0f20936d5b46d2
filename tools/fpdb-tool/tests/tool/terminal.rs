//! What reaches the terminal: nothing is lost in silence, and no control character gets through.

use crate::common::{Folder, document, text};

#[cfg(unix)]
#[test]
fn a_closed_standard_output_is_an_error() {
    use std::process::Command;

    let folder = Folder::new();
    folder.write("docs", document("a", &text(1, 30)));
    folder.write("other", "");
    let run = |line: &str| {
        let script = format!("exec \"$0\" {line}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_fpdb-tool")]).current_dir(folder.path());
        let output = shell.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for line in [
        "dedup db docs --from ndjson >&-",
        "dedup db docs --from ndjson 1<other",
        "recipes >&-",
        "--help >&-",
    ] {
        let (code, err) = run(line);
        assert_eq!(code, Some(2), "{line}: {err}");
        assert!(err.contains("cannot write to standard output"), "{line}: {err}");
    }
    // What was not printed was not stored.
    assert!(!folder.file("db").exists());
    // A standard output that discards everything is fine, and so is a closed one that is not used.
    assert_eq!(run("dedup db docs --from ndjson >/dev/null").0, Some(0));
    assert_eq!(run("dedup db docs --from ndjson <>/dev/null >&0").0, Some(0));
    assert_eq!(run("verify db >&-").0, Some(0));
}

#[cfg(unix)]
#[test]
fn a_command_that_changes_a_database_fails_if_its_reader_ends() {
    use std::process::{Command, Stdio};

    let folder = Folder::new();
    let all: String = (0..5_000).map(|i| document(&format!("page {i}"), &text(i, 30))).collect();
    folder.write("docs", all);
    // Reads some lines of the output, or of the report, and ends.
    let run = |line: &str, script: &str| {
        let mut shell = Command::new("sh");
        let script = format!("{script}; echo \"$code\" > code");
        let args = ["-c", &script.replace("TOOL", &format!("\"$0\" {line}"))];
        shell.args(args).arg(env!("CARGO_BIN_EXE_fpdb-tool")).current_dir(folder.path());
        let output = shell.stderr(Stdio::piped()).output().unwrap();
        let code = std::fs::read_to_string(folder.file("code")).unwrap();
        (code.trim().to_owned(), String::from_utf8(output.stderr).unwrap())
    };
    let stored = |db: &str| {
        let stats = folder.ok(&format!("stats {db} --json")).json();
        stats["entries"].as_u64().unwrap()
    };
    let to_pipe = "{ TOOL; echo $? > code.tmp; } | head -n 1000 > /dev/null; code=$(cat code.tmp)";
    let (code, err) = run("dedup a docs --from ndjson", to_pipe);
    assert_eq!(code, "2", "{err}");
    let said = format!("{} novel documents were printed and stored", stored("a"));
    assert!(stored("a") < 5_000 && err.contains(&said), "{err}");
    let report = "mkfifo report; (head -n 1 report > /dev/null) & TOOL > out; code=$?";
    // All are duplicates, so each has a line in the report.
    folder.ok("dedup b docs --from ndjson");
    let (code, err) = run("dedup b docs --from ndjson --report report", report);
    assert!(code == "2" && err.contains("0 novel documents"), "{code}: {err}");
    // Whoever only reads may be left alone.
    let (code, err) = run("export b", to_pipe);
    assert_eq!((&*code, &*err), ("0", ""));
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
        folder.run(&["create", "other", "--custom-recipe", "\u{1b}[2J/1"]),
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

/// A name that moves the cursor, in two ways, and that reverses the order of what follows.
const NAME: &str = "http://a/\u{1b}[2J\u{9b}2J\u{202e}moc\u{2066}\nx\u{85}";

#[test]
fn hostile_names_and_recipes_of_a_database_are_escaped_in_every_output() {
    let folder = Folder::new();
    folder.ok("create db --ids names -k 3");
    folder.write("docs", document(NAME, &text(1, 50)) + &document(NAME, &text(2, 50)));
    folder.ok("dedup db docs --from ndjson");
    folder.write("copies", document(NAME, &text(1, 50)));
    for line in [
        "export db --json",
        "query db copies --from ndjson",
        "query db copies --from ndjson --json",
        "fingerprint --from ndjson docs",
        "fingerprint --from ndjson docs --json",
        "stats db",
        "stats db --json",
        "dedup other docs --print id",
    ] {
        let run = folder.run(&line.split(' ').collect::<Vec<_>>());
        assert!(run.code <= 1, "{line}: {}", run.err);
        let printed = run.text() + &run.err;
        let is_unsafe = |c: char| {
            c != '\n' && c.is_control()
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!printed.contains(is_unsafe), "{line}: {printed:?}");
        assert!(!printed.lines().any(|line| line.starts_with('x')), "{line}: {printed:?}");
    }
    // The escapes in JSON do not change what it means.
    let names: Vec<_> = folder.ok("export db --json").records().to_vec();
    assert!(names.iter().any(|record| record["name"] == NAME), "{names:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_do_not_fit_on_the_device_are_an_error() {
    let folder = Folder::new();
    folder.write("docs", document("a", &text(1, 30)));
    folder.write("fps", "1\n");
    folder.ok("import full fps");
    for line in [
        "dedup db docs --from ndjson",
        "export full",
        "export full --json",
        "export full --format hex",
        "query full 1",
        "stats full",
        "verify full --json",
        "recipes",
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = folder.command(&line.split(' ').collect::<Vec<_>>());
        let output = command.stdout(full).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {err}");
        assert!(err.contains("cannot write to standard output"), "{line}: {err}");
    }
    assert!(!folder.file("db").exists());
}

/// Runs the tool on a terminal of the program `script`, and returns what the terminal gets.
#[cfg(target_os = "linux")]
fn on_a_terminal(folder: &Folder, line: &str) -> Option<String> {
    let command = format!("{} {line}", env!("CARGO_BIN_EXE_fpdb-tool"));
    let mut script = std::process::Command::new("script");
    script.args(["--quiet", "--command", &command, "/dev/null"]).current_dir(folder.path());
    let output = script.stdin(std::process::Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn data_is_escaped_on_a_terminal_and_unchanged_in_a_file() {
    let folder = Folder::new();
    let line = format!("{{\"id\": \"a\", \"text\": \"{}\u{202e}\u{9b}31m\"}}\n", text(1, 30));
    folder.write("docs", &line);
    assert_eq!(folder.ok("dedup one docs --from ndjson").text(), line);
    match on_a_terminal(&folder, "dedup other docs --from ndjson") {
        Some(shown) => {
            assert!(shown.contains("\\u{202e}\\u{9b}31m"), "{shown:?}");
            assert!(!shown.contains(['\u{202e}', '\u{9b}']), "{shown:?}");
        }
        None => println!("skipped: the program script is not installed"),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn progress_shows_documents_and_duplicates() {
    let folder = Folder::new();
    let copies = (0..300).map(|i| document(&i.to_string(), &text(i / 2, 30)));
    folder.write("docs", copies.collect::<String>() + &document("short", "a"));
    for (line, counts) in [
        ("dedup db docs > out", "301 documents, 150 duplicates"),
        ("import other docs --from ndjson", "301 documents, 1 without a fingerprint"),
    ] {
        match on_a_terminal(&folder, line) {
            Some(shown) => assert!(shown.contains(counts), "{line}: {shown:?}"),
            None => println!("skipped: the program script is not installed"),
        }
    }
}
