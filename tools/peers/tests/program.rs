//! Runs the program as its users do.

use std::process::Command;

/// The program itself checks every answer.
#[test]
fn every_peer_answers_correctly_on_all_data() {
    let args = "--n 8,11 --k 3,6 --data uniform,clustered,real,zh,en --queries 100";
    let mut program = Command::new(env!("CARGO_BIN_EXE_peers"));
    let output = program.args(args.split(' ')).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = ["fpdb half-2", "fpdb auto (", "mih-rs", "gaoya", "redb", "lmdb", "linear"];
    for table in ["256 uniform fingerprints, k = 3", "2048 real fingerprints, k = 6"] {
        let (_, table) = text.split_once(table).expect("each size and distance has a table");
        let table: Vec<&str> = table.lines().take(12).collect();
        for row in rows {
            assert!(table.iter().any(|line| line.starts_with(&format!("| {row}"))), "{table:?}");
        }
    }
}
