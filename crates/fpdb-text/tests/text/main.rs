//! Compares the recipes with frozen values, and with the values of the programs that they follow.

#[cfg(feature = "zh")]
mod chinese;
mod frozen;
mod golden;
mod similarity;

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Real texts and values of other programs, which are not part of the repository.
fn shared() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data")
}

/// Reads a file of the shared data. If it is missing, says so and returns `None`.
fn read_shared_bytes(name: &str) -> Option<Vec<u8>> {
    let path = shared().join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        // The test harness captures the output of macros, but not that of this call.
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("skipped: no {}\n", path.display()),
        );
    }
    bytes
}

fn read_shared(name: &str) -> Option<String> {
    read_shared_bytes(name).map(|bytes| String::from_utf8(bytes).unwrap())
}

/// Parses a file that has one JSON object per line.
fn lines(ndjson: &str) -> Vec<Value> {
    ndjson.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_else(|| panic!("no text {field:?} in {value}"))
}

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().unwrap_or_else(|| panic!("no list {field:?} in {value}"))
}

fn hex(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}
