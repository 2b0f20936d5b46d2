//! Runs the program `pressure` on tiny databases.

use std::process::Command;

/// The program itself checks every answer.
#[test]
fn each_cell_without_a_control_group_is_measured_and_its_answers_are_right() {
    let args = "--n 2e4 --times 0.5,2 --seconds 0.2 --no-groups";
    let mut program = Command::new(env!("CARGO_BIN_EXE_pressure"));
    let output = program.args(args.split(' ')).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    for (times, engine, threads) in
        [("0.5", "fpdb", "1"), ("0.5", "lmdb", "8"), ("2", "fpdb", "8"), ("2", "lmdb", "1")]
    {
        let found = text.lines().find(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            cells.len() == 14 && cells[1] == times && cells[3..5] == [engine, threads]
        });
        assert!(found.is_some(), "{times}, {engine}, {threads}: {text}");
    }
}
