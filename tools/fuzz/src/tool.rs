//! The readers of fpdb-tool: a file is read by a command as a user runs it. Whatever is in the
//! file, nothing that a terminal would obey is printed.

use std::ffi::OsString;
use std::path::Path;

pub(crate) fn ndjson(input: &[u8]) {
    read("ndjson", input);
}

pub(crate) fn csv(input: &[u8]) {
    read("csv", input);
}

fn read(format: &str, input: &[u8]) {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.expect("a temporary folder");
    let file = folder.path().join("input");
    std::fs::write(&file, input).expect("a file");
    for json in [false, true] {
        let flag = if json { "--json" } else { "--skip-bad" };
        let args = ["fpdb-tool", "fingerprint", "--from", format, flag].map(OsString::from);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code =
            fpdb_tool::run(args.into_iter().chain([file.clone().into()]), &mut out, &mut err);
        assert!(code == 0 || !err.is_empty());
        for bytes in [out, err] {
            let text = String::from_utf8(bytes).expect("the tool prints UTF-8");
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        }
    }
}
