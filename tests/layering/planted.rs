//! The checks of this folder on small trees with a known answer.

use std::path::PathBuf;

use crate::cycles::{cycles, written};
use crate::files::uses;

/// Writes a crate of these files and returns its cycles.
fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, source) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, source).unwrap();
    }
    let root: PathBuf = folder.path().join(files[0].0);
    cycles(&uses(&root)).iter().map(|cycle| written(cycle)).collect()
}

#[test]
fn planted_cycle_is_found_however_it_is_written() {
    let ways = [
        ("use super::b::B;", "use super::a::A;"),
        ("use crate::b;\nfn f() { b::g() }", "use crate::{a::A, c};"),
        ("fn f() { crate::b::g() }", "pub(crate) fn g() -> super::a::A { todo!() }"),
        ("use super::{B as Other};", "macro_rules! m { () => { $crate::a::A } }"),
        ("fn f() { println!(\"{}\", [b::g(1)].len()) } use crate::b;", "use super::a::*;"),
    ];
    for (a, b) in ways {
        let a = format!("{a}\npub(crate) struct A;");
        let b = format!("{b}\npub(crate) struct B;");
        let found = cycles_of(&[
            ("lib.rs", "mod a; mod b; mod c; pub(crate) use b::B;"),
            ("a.rs", &a),
            ("b.rs", &b),
            ("c.rs", "use crate::a::A;"),
        ]);
        assert_eq!(found, ["a.rs -> b.rs -> a.rs"], "{a}\n{b}");
    }
}

#[test]
fn cycle_between_a_folder_and_its_file_is_found() {
    let found = cycles_of(&[
        ("lib.rs", "mod table;"),
        ("table/mod.rs", "mod view; fn open() { view::look() } pub(super) fn helper() {}"),
        ("table/view.rs", "pub(super) fn look() { super::helper() }"),
    ]);
    assert_eq!(found, ["table/mod.rs -> table/view.rs -> table/mod.rs"]);
}

#[test]
fn long_cycle_is_found_once() {
    let found = cycles_of(&[
        ("main.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "use crate::c::C; pub struct B;"),
        ("c.rs", "use crate::a::A; pub struct C;"),
    ]);
    assert_eq!(found, ["a.rs -> b.rs -> c.rs -> a.rs"]);
}

#[test]
fn reexports_and_tests_make_no_cycle() {
    let found = cycles_of(&[
        ("lib.rs", "mod a; mod b; pub use a::A; pub use b::*;"),
        ("a/mod.rs", "mod part; mod helper; pub use part::Part; pub struct A;"),
        ("a/part.rs", "use super::helper::help; use crate::A; pub struct Part;"),
        ("a/helper.rs", "pub fn help() {} #[cfg(test)] mod tests { use super::super::Part; }"),
        ("b.rs", "use crate::a::Part; pub struct B; #[cfg(test)] use crate::c::C;"),
    ]);
    assert_eq!(found, [""; 0]);
}
