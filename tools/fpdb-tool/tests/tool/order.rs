//! Documents keep the order of the input with any number of threads and files.

use std::fmt::Write;

use crate::common::{Folder, document, gzip, random, records, text};

fn one_of(numbers: &[usize], state: &mut u64) -> usize {
    numbers[usize::try_from(random(state) % numbers.len() as u64).unwrap()]
}

/// Writes files of very different sizes, some empty, some compressed, with documents of very
/// different sizes. Returns the files and the ids in order.
fn files(folder: &Folder, seed: u64) -> (Vec<String>, Vec<String>) {
    let mut state = seed;
    let (mut names, mut ids) = (Vec::new(), Vec::new());
    for file in 0..30 {
        let mut lines = String::new();
        let count = one_of(&[0, 1, 3, 200, 700], &mut state);
        for line in 0..count {
            let words = one_of(&[5, 20, 20, 900], &mut state);
            let id = format!("{file}-{line}");
            lines += &document(&id, &text(random(&mut state), words));
            ids.push(id);
        }
        let name = format!("{seed}-{file:02}.ndjson");
        let zipped = random(&mut state).is_multiple_of(2);
        folder.write(&name, if zipped { gzip(lines.as_bytes()) } else { lines.into_bytes() });
        names.push(name);
    }
    (names, ids)
}

#[test]
fn fingerprints_have_the_order_of_files_and_lines() {
    let folder = Folder::new();
    for (seed, threads) in [(1, "1"), (2, "2"), (3, "7"), (4, "32")] {
        let (names, ids) = files(&folder, seed);
        let mut args = vec!["fingerprint", "--threads", threads];
        args.extend(names.iter().map(String::as_str));
        let run = folder.run(&args);
        assert_eq!(run.code, 0, "{}", run.err);
        let found: Vec<_> = run.text().lines().map(|l| l[20..].to_owned()).collect();
        assert_eq!(found, ids, "{threads} threads");
    }
}

#[test]
fn dedup_does_not_depend_on_the_number_of_threads() {
    let folder = Folder::new();
    let (names, _) = files(&folder, 5);
    let dedup = |db: &str, threads: &str| {
        let mut args = vec!["dedup", db, "--threads", threads, "--report", "r", "--print", "id"];
        args.extend(["-k", "8", "--durability", "buffered"]);
        args.extend(names.iter().map(String::as_str));
        let run = folder.run(&args);
        assert_eq!(run.code, 0, "{}", run.err);
        (run.text(), records(&folder.read("r")), folder.ok(&format!("export {db}")).text())
    };
    let one = dedup("one", "1");
    assert!(one.0.lines().count() > 100);
    assert_eq!(dedup("many", "9"), one);
}

#[test]
fn small_files_share_commits_and_keep_their_order() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("f")).unwrap();
    let mut expected = String::new();
    for i in 0..700 {
        folder.write(&format!("f/{i:03}.txt"), text(i / 2, 20));
        if i % 2 == 0 {
            writeln!(expected, "f/{i:03}.txt").unwrap();
        }
    }
    let run = folder.ok("dedup db f --print id --threads 5");
    assert_eq!(run.text(), expected);
    assert!(run.err.contains("read 700: 350 novel, 350 duplicates"), "{}", run.err);
}

#[test]
fn an_unreadable_file_ends_the_run_after_the_files_before_it() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("f")).unwrap();
    for i in 0..20 {
        folder.write(&format!("f/{i:02}.ndjson"), document(&i.to_string(), &text(i, 20)));
    }
    folder.write("f/07.ndjson", b"\x1f\x8b\x08 this is not gzip");
    let run = folder.exits(2, "dedup db f --print id --threads 6");
    assert!(run.err.contains("07.ndjson"), "{}", run.err);
    assert_eq!(run.text(), (0..7).map(|i| format!("{i}\n")).collect::<String>());
}

#[test]
fn the_number_of_threads_must_be_positive() {
    let folder = Folder::new();
    folder.write("a.txt", text(1, 20));
    for threads in ["0", "-1", "x", "100000"] {
        folder.exits(2, &format!("fingerprint a.txt --threads={threads}"));
    }
}
