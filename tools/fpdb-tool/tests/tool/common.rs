//! A folder for a test, and the binary to run in it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder that is removed when the test ends.
pub(crate) struct Folder(TempDir);

/// The exit code and the output of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.file(name), bytes).expect("a file in the folder");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).expect("a file in the folder")
    }

    /// Returns a command that runs the tool in the folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_by(&[], args)
    }

    /// Returns a command that has another program run the tool in the folder.
    fn command_by(&self, by: &[&str], args: &[&str]) -> Command {
        let words = [by, &[env!("CARGO_BIN_EXE_fpdb-tool")], args].concat();
        let mut command = Command::new(words[0]);
        command.current_dir(self.path()).args(&words[1..]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the tool.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command(args).output().expect("the tool starts"))
    }

    /// Has another program run the tool.
    #[cfg(unix)]
    pub(crate) fn run_by(&self, by: &[&str], args: &[&str]) -> Run {
        Run::of(self.command_by(by, args).output().expect("the program starts"))
    }

    /// Runs the tool with these bytes on its standard input.
    pub(crate) fn run_with(&self, args: &[&str], stdin: &[u8]) -> Run {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().expect("the tool starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        std::thread::scope(|scope| {
            // An error is ignored, because the tool may stop before it has read everything.
            scope.spawn(move || {
                let _ = pipe.write_all(stdin);
            });
            Run::of(child.wait_with_output().expect("the tool ends"))
        })
    }

    /// Runs the tool, and closes its standard output after one line, which is returned.
    pub(crate) fn first_line(&self, args: &[&str]) -> (String, Run) {
        let mut child = self.command(args).spawn().expect("the tool starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        drop(out);
        (line, Run::of(child.wait_with_output().expect("the tool ends")))
    }

    /// Runs a command line, split at spaces, and expects it to succeed.
    pub(crate) fn ok(&self, line: &str) -> Run {
        self.exits(0, line)
    }

    /// Runs a command line, split at spaces, and expects this exit code.
    pub(crate) fn exits(&self, code: i32, line: &str) -> Run {
        let run = self.run(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(run.code, code, "{line}\n{}{}", run.text(), run.err);
        run
    }
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: output.stdout,
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Returns standard output as one JSON object, without its provenance.
    pub(crate) fn json(&self) -> Value {
        parse(&self.text())
    }

    /// Returns standard output without its last line, which is the summary, and the summary.
    pub(crate) fn summarized(&self) -> (String, Value) {
        let text = self.text();
        let start = text.trim_end().rfind('\n').map_or(0, |end| end + 1);
        let summary = parse(&text[start..]);
        assert_eq!(summary["type"], "summary", "{text}");
        (text[..start].to_owned(), summary)
    }

    /// Returns standard output as JSON lines.
    pub(crate) fn records(&self) -> Vec<Value> {
        records(&self.text())
    }
}

/// Returns JSON lines, without their provenance.
pub(crate) fn records(text: &str) -> Vec<Value> {
    text.lines().map(parse).collect()
}

/// Parses JSON. Provenance, which differs between any two runs, and the schemas of summaries are
/// left out: `reports` tests them.
fn parse(json: &str) -> Value {
    let mut value: Value = serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}"));
    if let Some(object) = value.as_object_mut() {
        object.remove("provenance");
        if object.contains_key("type") {
            object.remove("schema");
        }
    }
    value
}

/// Returns the next of a series of numbers that look random.
pub(crate) fn random(state: &mut u64) -> u64 {
    *state = fastrand::Rng::with_seed(*state).u64(..);
    *state
}

/// Returns a text of `words` random words. Texts of different seeds have almost nothing in common.
pub(crate) fn text(seed: u64, words: usize) -> String {
    let mut state = seed;
    let words: Vec<_> =
        (0..words).map(|_| format!("w{:x}", random(&mut state) & 0xff_ffff)).collect();
    words.join(" ")
}

/// Returns a document as a line of NDJSON.
pub(crate) fn document(id: &str, text: &str) -> String {
    format!("{}\n", serde_json::json!({ "id": id, "text": text }))
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(bytes).and_then(|()| gz.finish()).expect("memory takes all")
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory takes all")
}

/// Returns the ids and fingerprints that `fingerprint --json` printed, without the summary.
pub(crate) fn fingerprints(run: &Run) -> Vec<(String, Option<String>)> {
    let mut records = run.records();
    let summary = records.pop().expect("a summary");
    assert_eq!(summary["type"], "summary", "{}", run.text());
    assert_eq!(summary["documents"], records.len());
    let pair = |record: &Value| {
        let fingerprint = record["fingerprint"].as_str().map(str::to_owned);
        (record["id"].as_str().expect("an id").to_owned(), fingerprint)
    };
    records.iter().map(pair).collect()
}
