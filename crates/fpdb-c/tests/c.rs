//! Programs in C that use the library: the examples of the README, and one that tries everything.
//! They are compiled with the sanitizers for memory and undefined behaviour.

#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compiles a program and links it with the static library, which cargo has built beside this test.
fn compile(source: &Path, program: &Path) {
    let beside = std::env::current_exe().unwrap();
    let library = beside.parent().unwrap().join("libfpdb_c.a");
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    compiler.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-g"]);
    compiler.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    compiler.arg("-I").arg(package().join("include")).arg(source).arg(library);
    compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(program);
    if cfg!(target_os = "macos") {
        compiler.args(["-framework", "CoreFoundation"]);
    }
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a program in a folder and returns what it prints. Whatever it leaks is an error where the
/// sanitizer finds it.
fn run(program: &Path, folder: &Path, arguments: &[PathBuf]) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_function_works_and_refuses_wrong_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    compile(&package().join("tests/program.c"), &program);
    let databases = ["names", "ids"].map(|name| folder.path().join(name));
    assert_eq!(run(&program, folder.path(), &databases), "");
}

/// The programs of the README, and what it says that each prints.
fn programs_of_the_readme() -> Vec<(String, String)> {
    let readme = std::fs::read_to_string(package().join("README.md")).unwrap();
    let block = |text: &str| text.split_once("```").unwrap().0.to_owned();
    let after = readme.split("```c\n").skip(1);
    after.map(|text| (block(text), block(text.split_once("```text\n").unwrap().1))).collect()
}

#[test]
fn programs_of_the_readme_print_what_it_says_and_cannot_create_twice() {
    let folder = tempfile::tempdir().unwrap();
    let programs = programs_of_the_readme();
    assert_eq!(programs.len(), 3);
    for (number, (code, printed)) in programs.iter().enumerate() {
        let program = folder.path().join(format!("readme{number}"));
        let source = program.with_extension("c");
        std::fs::write(&source, code).unwrap();
        compile(&source, &program);
        assert_eq!(&run(&program, folder.path(), &[]), printed);
    }
    let again = Command::new(folder.path().join("readme0")).current_dir(&folder).output().unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains("crawl.fpdb"));
}
