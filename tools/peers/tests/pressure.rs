//! Runs the program `pressure` on tiny databases.

use std::process::{Command, Output};

fn run(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pressure"));
    command.args(args.split(' ')).output().expect("the program starts")
}

/// The program itself checks every answer.
#[test]
fn each_cell_without_a_control_group_is_measured_and_its_answers_are_right() {
    let output = run(
        "--n 2e4 --times 0.5,2 --threads 1,3 --queries 40 --seconds 0.2 --rounds 2 --no-groups",
    );
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    for row in ["0.5", "2"] {
        for threads in ["1", "3"] {
            let found = text.lines().find(|line| {
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                cells.get(1) == Some(&row)
                    && cells.get(3) == Some(&"fpdb")
                    && cells.get(4) == Some(&threads)
            });
            assert!(found.is_some_and(|line| !line.contains('-')), "{row}, {threads}: {found:?}");
        }
    }
    assert!(text.contains("random reads, 64 at once: "));
    assert!(text.contains("a query of fpdb reads "));
}

#[test]
fn a_database_with_a_wrong_answer_ends_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a name in UTF-8");
    let args = format!(
        "--times 2 --threads 1 --queries 20 --seconds 0.2 --engines fpdb --no-groups --folder {path}"
    );
    assert!(run(&format!("--n 1000 {args}")).status.success());
    // Entries that the database does not have.
    for name in ["fpdb-1000", "fpdb-1000.complete"] {
        let other = folder.path().join(name.replace("1000", "3000"));
        std::fs::rename(folder.path().join(name), other).expect("renames");
    }
    let output = run(&format!("--n 3000 {args}"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("fpdb is wrong"), "{error}");
}

#[test]
fn unknown_engines_are_refused_with_a_list_of_the_known_ones() {
    let output = run("--engines nobody --no-groups");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("they are fpdb"), "{error}");
}
