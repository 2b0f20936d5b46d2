//! Runs the program as its users do.

use std::process::{Command, Output};

use serde_json::{Map, Value};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_peers")).args(args).output().expect("the program starts")
}

/// Returns the records of a run that must succeed.
fn records(args: &[&str]) -> Vec<Map<String, Value>> {
    let output = run(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("the output is UTF-8");
    lines.lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect()
}

#[test]
fn every_peer_in_the_build_answers_correctly_on_all_data() {
    let output = run(&["--test"]);
    println!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("all answers right\n"));
}

#[test]
fn json_record_has_exactly_the_documented_keys() {
    let records = records(&["--n", "8", "--queries", "60", "--peers", "fpdb,linear", "--json"]);
    let keys = "peer n k data p50_us p99_us mean_us disk_bytes_per_fp ram_bytes_per_fp build_s \
                pages";
    let mut expected: Vec<&str> = keys.split(' ').collect();
    expected.sort_unstable();
    assert_eq!(records.len(), 4);
    for record in &records {
        let mut found: Vec<&str> = record.keys().map(String::as_str).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
    assert_eq!(records[0]["peer"], "fpdb half-2");
    assert_eq!(records[3]["n"], 256);
}

#[test]
fn unknown_names_are_refused_with_a_list_of_the_known_ones() {
    for (args, name) in [
        (["--peers", "fpdb,nobody"], "mih-rs"),
        (["--data", "nothing"], "clustered"),
        (["--layouts", "none"], "half-2"),
    ] {
        let output = run(&args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(name), "{args:?}: {error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn run_with_huge_pages_reports_them() {
    let args = ["--n", "8", "--queries", "60", "--peers", "linear", "--json", "--pages", "huge"];
    assert_eq!(records(&args)[0]["pages"], "huge");
}
