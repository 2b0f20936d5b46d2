//! What the system's cache keeps of files that were written, and of pages that are in memory.

use std::path::Path;
use std::process::Command;

use fpdb::{Db, Entry, Options, Result};

use crate::common::entry;

/// Bytes that the system may read with the header and the footer of a file, when it is opened.
const OPENING: u64 = 128 << 10;

fn options() -> Options {
    let layout = fpdb::Layout::preset("half-2", 64).unwrap();
    // No memory for pages, and so little for the bulk load that it needs scratch files.
    Db::options().layout(layout).page_memory(0).bulk_memory(4 << 20).background(false).threads(2)
}

fn numbers(from: u64, to: u64) -> impl Iterator<Item = Result<Entry>> {
    (from..to).map(|i| Ok(entry(i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i)))
}

/// Returns the bytes of the files in a folder, the bytes of them that the system has in memory, and
/// the number of files. `None` if a program for that is missing.
fn cached(folder: &Path) -> Option<(u64, u64, u64)> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut fincore = Command::new("fincore");
    fincore.args(["--bytes", "--noheadings", "--output", "SIZE,RES"]).args(files);
    let output = fincore.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers = |line: &str| -> (u64, u64) {
        let mut numbers = line.split_whitespace().map(|number| number.parse().unwrap());
        (numbers.next().unwrap(), numbers.next().unwrap())
    };
    let all = text.lines().map(numbers);
    Some(all.fold((0, 0, 0), |sum, (size, cached)| (sum.0 + size, sum.1 + cached, sum.2 + 1)))
}

/// Prints a line past the test harness, which captures what macros print.
fn say(line: &str) {
    std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
}

/// Returns whether the system can be asked not to keep what is read, and says so if not. Linux
/// knows that since version 6.14.
fn can_read_once(folder: &Path) -> bool {
    let flags = rustix::io::ReadWriteFlags::from_bits_retain(0x80);
    std::fs::write(folder.join("probe"), [1]).unwrap();
    let probe = std::fs::File::open(folder.join("probe")).unwrap();
    let mut byte = [0];
    let read = rustix::io::preadv2(&probe, &mut [std::io::IoSliceMut::new(&mut byte)], 0, flags);
    std::fs::remove_file(folder.join("probe")).unwrap();
    if read.is_err() {
        say("not tested: the system keeps what is read once\n");
    }
    read.is_ok()
}

/// Returns whether the system can drop the pages of a file, and says so if not.
fn can_drop(folder: &Path) -> bool {
    std::fs::write(folder.join("probe"), vec![1; 1 << 20]).unwrap();
    let probe = std::fs::File::open(folder.join("probe")).unwrap();
    probe.sync_all().unwrap();
    rustix::fs::fadvise(&probe, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let can_drop = cached(folder) == Some((1 << 20, 0, 1));
    std::fs::remove_file(folder.join("probe")).unwrap();
    if !can_drop {
        say("skipped: the system cannot drop files from its cache here\n");
    }
    can_drop
}

#[test]
fn system_keeps_nothing_of_written_files_if_pages_may_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    if !can_drop(folder.path()) {
        return;
    }
    let (path, copy) = (folder.path().join("db"), folder.path().join("copy"));
    let expect_none = |after: &str, folder: &Path| {
        let (size, cached, files) = cached(folder).unwrap();
        assert!(size > 4 << 20, "{after}: {size} bytes of files");
        assert!(cached <= files * OPENING, "{after}: {cached} bytes of {size} in {files} files");
    };
    let db = options().create(&path).unwrap();
    let n = 1 << 19;
    assert_eq!(db.bulk_load(numbers(0, n)).unwrap().inserted, n);
    expect_none("bulk load", &path);
    assert_eq!(db.bulk_load(numbers(n, 2 * n)).unwrap().inserted, n);
    expect_none("second bulk load", &path);
    assert_eq!(db.compact().unwrap().segments_after, 1);
    expect_none("compaction", &path);
    db.backup(&copy).unwrap();
    expect_none("backup", &copy);
    if can_read_once(folder.path()) {
        expect_none("reading for a backup", &path);
    }
}

#[test]
fn system_keeps_nothing_of_what_queries_read_once_the_files_are_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    if !can_drop(folder.path()) {
        return;
    }
    let path = folder.path().join("db");
    let options = options().page_memory(1 << 30);
    let (db, n) = (options.clone().create(&path).unwrap(), 1 << 19);
    assert_eq!(db.bulk_load(numbers(0, n)).unwrap().inserted, n);
    db.close().unwrap();
    let db = options.open(&path).unwrap();
    for entry in numbers(0, n).step_by(97) {
        let entry = entry.unwrap();
        assert!(db.query(entry.fingerprint, 0).unwrap().iter().any(|found| found.id == entry.id));
    }
    db.warm().unwrap();
    let (size, cached, files) = cached(&path).unwrap();
    assert!(cached <= files * OPENING, "{cached} bytes of {size} in {files} files");
}

#[test]
fn system_reads_nothing_ahead_where_queries_meet_the_background() {
    use fpdb::storage::{Disk, Storage};
    let folder = tempfile::tempdir().unwrap();
    if !can_drop(folder.path()) {
        return;
    }
    let disk = Disk::new(folder.path());
    let written = disk.create("a").unwrap();
    written.append(&vec![1; 16 << 20]).unwrap();
    written.sync().unwrap();
    let file = disk.open("a").unwrap();
    file.forget(0, 16 << 20);
    let mut buffer = vec![0; 256 << 10];
    // The background reads the first bytes, and a query the page after them.
    let mut expected = 0;
    for at in (1 << 20..4 << 20).step_by(1 << 20) {
        file.prefetch(at, 256 << 10);
        file.read_at(at, &mut buffer).unwrap();
        file.read_at(at + (256 << 10), &mut buffer[..4096]).unwrap();
        expected += (256 << 10) + 4096;
    }
    assert_eq!(cached(folder.path()).unwrap().1, expected);
    // The second open file is the same file.
    let mut again = vec![0; 256 << 10];
    file.read_once(8 << 20, &mut buffer).unwrap();
    file.read_at(8 << 20, &mut again).unwrap();
    assert_eq!(buffer, again);
}
