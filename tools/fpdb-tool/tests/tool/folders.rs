//! Which files of a folder are read, and in which order.

use std::fs;

use crate::common::{Folder, Run, document, fingerprints, text};

fn write(folder: &Folder, path: &str) {
    let file = folder.file(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text(path.len() as u64, 30)).unwrap();
}

fn ids(folder: &Folder, line: &str) -> Vec<String> {
    fingerprints(&folder.ok(&format!("fingerprint --from text {line} --json")))
        .into_iter()
        .map(|(id, _)| id)
        .collect()
}

#[test]
fn files_are_read_in_the_order_of_their_names_without_hidden_ones() {
    let folder = Folder::new();
    for path in
        ["f/b", "f/a/2", "f/a/10", "f/a/sub/x", "f/a.txt", "f/.hidden", "f/.git/x", "f/B", "g/1"]
    {
        write(&folder, path);
    }
    fs::create_dir(folder.file("f/empty")).unwrap();
    let expected = ["f/B", "f/a/10", "f/a/2", "f/a/sub/x", "f/a.txt", "f/b"];
    assert_eq!(ids(&folder, "f"), expected);
    assert_eq!(ids(&folder, "f/"), expected);
    assert_eq!(ids(&folder, "g f/a g/1"), ["g/1", "f/a/10", "f/a/2", "f/a/sub/x", "g/1"]);
    assert_eq!(
        ids(&folder, "f/.hidden ./f/.git"),
        ["f/.hidden", "./f/.git/x"],
        "hidden files that are arguments are read"
    );
    assert_eq!(ids(&folder, "f/empty"), [""; 0]);
}

/// As Spark and Arrow read data sets.
#[test]
fn what_programs_write_beside_data_sets_is_left_out() {
    let folder = Folder::new();
    for path in
        ["f/_SUCCESS", "f/_metadata", "f/.a.crc", "f/_tmp/x", "f/_day=1/a", "f/a", "f/README"]
    {
        write(&folder, path);
    }
    assert_eq!(ids(&folder, "f"), ["f/README", "f/_day=1/a", "f/a"]);
    assert_eq!(ids(&folder, "f/_tmp"), ["f/_tmp/x"]);
}

#[test]
#[cfg(unix)]
fn links_are_followed_but_not_in_cycles() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    for path in ["f/a", "f/sub/b", "other/c"] {
        write(&folder, path);
    }
    symlink("..", folder.file("f/sub/up")).unwrap();
    symlink(".", folder.file("f/self")).unwrap();
    symlink("../other", folder.file("f/there")).unwrap();
    symlink("../f", folder.file("other/back")).unwrap();
    symlink("a", folder.file("f/z")).unwrap();
    assert_eq!(ids(&folder, "f"), ["f/a", "f/sub/b", "f/there/c", "f/z"]);

    symlink("nowhere", folder.file("f/broken")).unwrap();
    let run = folder.exits(2, "fingerprint --from text f");
    assert!(run.err.contains("cannot open f/broken: "), "{}", run.err);
    let run = folder.ok("fingerprint --from text f --skip-bad");
    assert_eq!(run.text().lines().count(), 4);
    assert!(run.err.contains("skipped cannot open f/broken: "), "{}", run.err);
}

#[test]
fn each_file_of_a_folder_is_read_in_its_own_format() {
    let folder = Folder::new();
    fs::create_dir(folder.file("f")).unwrap();
    folder.write("f/a.ndjson", document("one", &text(1, 30)));
    folder.write("f/b.csv", format!("id,text\ntwo,{}\n", text(2, 30)));
    folder.write("f/c.txt", text(3, 30));
    let found = fingerprints(&folder.ok("fingerprint f --json"));
    assert_eq!(
        found.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(),
        ["one", "two", "f/c.txt"]
    );
    folder.write("f/d", "an unknown format");
    let run = folder.exits(2, "fingerprint f");
    assert!(run.err.contains("f/d: ") && run.err.contains("--from"), "{}", run.err);
    assert_eq!(run.text().lines().count(), 3, "the documents before it are printed");
    let run = folder.ok("fingerprint f --skip-bad --json");
    assert_eq!(run.records()[3]["bad"], 1);
}

#[test]
fn a_report_in_an_input_folder_is_refused() {
    let folder = Folder::new();
    write(&folder, "f/a");
    let run = folder.exits(2, "dedup db --from text f --report f/r");
    assert!(run.err.contains("which is an input"), "{}", run.err);
    folder.ok("dedup db --from text f --report r");
}

#[test]
fn a_database_in_an_input_folder_is_refused() {
    let folder = Folder::new();
    write(&folder, "f/sub/a");
    for command in ["dedup", "import"] {
        let run = folder.exits(2, &format!("{command} f/sub/../db --from text f"));
        assert!(run.err.contains("which is an input"), "{}", run.err);
        assert!(!folder.file("f/db").exists());
    }
}

/// As the URLs of archives are. File systems of Linux allow any bytes.
#[cfg(target_os = "linux")]
#[test]
fn paths_that_are_not_utf8_are_ids_with_percent_signs_everywhere() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let folder = Folder::new();
    fs::create_dir(folder.file("pages")).unwrap();
    let pages: [&[u8]; 2] = [b"pages/caf\xe9.html", b"pages/caf\xe8\xc3\xa9.html"];
    for (i, name) in (0..).zip(pages) {
        let page = format!("<p>{}</p>", text(i, 60));
        fs::write(folder.path().join(OsStr::from_bytes(name)), page).unwrap();
    }
    let run = |args: &[&str], more: &[u8]| {
        let output = folder.command(args).arg(OsStr::from_bytes(more)).output();
        Run::of(output.expect("the tool starts"))
    };
    let printed = run(&["dedup", "db"], b"pages");
    assert_eq!(printed.code, 0, "{}", printed.err);
    let ids = ["pages/caf%E9.html", "pages/caf%E8\u{e9}.html"];
    assert!(ids.iter().all(|id| printed.text().contains(id)), "{}", printed.text());
    let query = run(&["query", "db", "--from", "html", "--json"], pages[0]);
    assert!(query.code == 0 && query.text().contains(ids[0]), "{} {}", query.text(), query.err);
    let extracted = run(&["extract"], pages[0]);
    assert!(extracted.text().contains(ids[0]), "{}", extracted.text());
    let is_there = |name: &[u8]| run(&["get", "db", "--exit-status"], name).code == 0;
    assert!(is_there(pages[0]) && is_there(ids[0].as_bytes()) && is_there(pages[1]));
    let removed = run(&["remove", "db", "--name"], pages[0]);
    assert_eq!(removed.code, 0, "{}", removed.err);
    assert!(!is_there(pages[0]) && is_there(pages[1]));
}
