//! Programs in C that use the library: the examples of the README, one that tries everything, and
//! one that forks. All but that are compiled with the sanitizers for memory and undefined
//! behaviour.

#![cfg(unix)]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{null, null_mut};

use fpdb::{Db, DocId, Document, Ids, Source};
use fpdb_c::{FpdbCode, fpdb_open};

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The checks of memory and of undefined behaviour.
const SANITIZERS: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// A compiler that treats warnings as errors, with the header.
fn compiler(variable: &str, otherwise: &str, standard: &str) -> Command {
    let mut compiler = Command::new(std::env::var_os(variable).unwrap_or(otherwise.into()));
    compiler.args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-g"]);
    compiler.arg("-I").arg(package().join("include"));
    compiler
}

/// Compiles a program and links it with the static library, which cargo has built beside this test.
fn compile(mut compiler: Command, source: &Path, program: &Path) {
    let beside = std::env::current_exe().unwrap();
    let library = beside.parent().unwrap().join("libfpdb_c.a");
    compiler.arg(source).arg(library).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(program);
    if cfg!(target_os = "macos") {
        compiler.args(["-framework", "CoreFoundation"]);
    }
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn compile_c(source: &Path, program: &Path, more: &[&str]) {
    let mut compiler = compiler("CC", "cc", "-std=c99");
    compiler.args(more);
    compile(compiler, source, program);
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
    compile_c(&package().join("tests/program.c"), &program, SANITIZERS);
    let databases = ["names", "ids"].map(|name| folder.path().join(name));
    assert_eq!(run(&program, folder.path(), &databases), "");
}

#[test]
fn child_of_a_process_gets_closed_from_all_functions() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("fork");
    // The sanitizers have locks of their own, which a fork can leave locked.
    compile_c(&package().join("tests/fork.c"), &program, &[]);
    assert_eq!(run(&program, folder.path(), &[]), "");
}

/// The variable that makes a test process end while it builds a database, with its folder.
const UNFINISHED: &str = "FPDB_TEST_UNFINISHED";

/// Not a test by itself: the process that ends runs it.
#[test]
fn ending() {
    let Some(path) = std::env::var_os(UNFINISHED) else { return };
    let documents = (0..10).map(|id| match id {
        0 => Ok((None, Document::new(7, DocId(id)))),
        _ => std::process::exit(3),
    });
    let source = Source::documents(None, 10, documents);
    let _ = Db::options().ids(Ids::Unique).build(path, source).unwrap();
}

#[test]
#[expect(unsafe_code, reason = "calls the library as C does")]
fn unfinished_database_has_a_code_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let mut ending = Command::new(std::env::current_exe().unwrap());
    let status = ending.args(["--exact", "ending"]).env(UNFINISHED, &path).output().unwrap().status;
    assert_eq!(status.code(), Some(3));
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    let mut db = null_mut();
    // SAFETY: the path ends with a zero, and the place may be written to.
    let code = unsafe { fpdb_open(path.as_ptr(), null(), &raw mut db, null_mut()) };
    assert_eq!((code, db), (FpdbCode::Unfinished, null_mut()));
}

#[test]
fn header_is_one_of_c_plus_plus_too() {
    if Command::new(std::env::var_os("CXX").unwrap_or("c++".into()))
        .arg("--version")
        .output()
        .is_err()
    {
        println!("skipped: the header in C++, since there is no compiler");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("plus.cpp"), folder.path().join("plus"));
    std::fs::write(&source, PLUS).unwrap();
    compile(compiler("CXX", "c++", "-std=c++11"), &source, &program);
    assert_eq!(run(&program, folder.path(), &[]), "");
}

/// What the library writes has 32 bits, whatever the compiler would choose for an enum.
const PLUS: &str = r#"
#include "fpdb.h"
static_assert(sizeof(FpdbCode) == 4 && sizeof(FpdbOutcomeKind) == 4, "enums of 32 bits");
static_assert(FPDB_EXACT > 0 && FPDB_BITS_ANY > 0, "unsigned");
int main() {
    FpdbOptions options = FpdbOptions();
    FpdbOutcome outcome = FpdbOutcome();
    FpdbDb *db = nullptr;
    const uint64_t fingerprint = 7;
    options.size = sizeof options;
    options.ids = FPDB_IDS_UNIQUE;
    if (fpdb_abi() != FPDB_ABI || fpdb_create("plus.fpdb", &options, &db, nullptr) != FPDB_CODE_OK)
        return 1;
    const FpdbCode code = fpdb_insert_if_novel(db, &fingerprint, nullptr, 1, &outcome, nullptr);
    if (code != FPDB_CODE_OK || outcome.kind != FPDB_OUTCOME_KIND_INSERTED)
        return 2;
    return fpdb_close(db, nullptr) == FPDB_CODE_OK ? 0 : 3;
}
"#;

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
        compile_c(&source, &program, SANITIZERS);
        assert_eq!(&run(&program, folder.path(), &[]), printed);
    }
    let again = Command::new(folder.path().join("readme0")).current_dir(&folder).output().unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains("crawl.fpdb"));
}
