//! The disk space that a bulk load takes while it runs.
#![cfg(unix)]

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use fpdb::storage::{Disk, Storage};
use fpdb::{Db, Entry, Fingerprint, Jaccard, Layout, Options, Result};

use crate::common::entry;

const COUNT: u64 = 1 << 19;

/// Returns the bytes of disk space that the files in a folder take.
fn space(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| Some(file.metadata().ok()?.blocks() * 512)).sum()
}

/// Loads entries, and returns the most space that the files took, the space that they take in the
/// end, and the space that was announced.
fn load<F: Fingerprint>(
    options: Options<F>,
    folder: &Path,
    entries: impl Iterator<Item = Result<Entry<F>>>,
) -> [u64; 3] {
    // So little memory that scratch files are needed.
    let db = options.bulk_memory(2 << 20).background(false).create(folder).unwrap();
    let announced = db.bulk_load_space(COUNT);
    let is_done = AtomicBool::new(false);
    let most = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !is_done.load(Relaxed) {
                most = most.max(space(folder));
                std::thread::sleep(Duration::from_millis(1));
            }
            most
        });
        assert_eq!(db.bulk_load(entries).unwrap().inserted, COUNT);
        is_done.store(true, Relaxed);
        watch.join().unwrap()
    });
    let end = space(folder);
    drop(db);
    std::fs::remove_dir_all(folder).unwrap();
    [most, end, announced]
}

#[test]
fn bulk_load_takes_no_more_space_than_it_says_and_gives_back_what_it_does_not_need() {
    let folder = tempfile::tempdir().unwrap();
    if !Disk::new(folder.path()).can_discard() {
        println!("skipped: parts of files cannot be discarded here");
        return;
    }
    let random = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let entries = || (0..COUNT).map(|i| Ok(entry(random(i), i)));
    // Their first 32 bits are zeros.
    let skewed = || (0..COUNT).map(|i| Ok(entry(random(i) >> 32, i)));
    let wide = || (0..COUNT).map(|i| Ok(entry(u128::from(random(i)) << 64 | u128::from(i), i)));
    let preset = |name| Db::options().layout(Layout::preset(name, 64).unwrap());
    let path = &folder.path().join("db");
    for (name, percent, [most, end, announced]) in [
        ("half-2", 160, load(preset("half-2").threads(2), path, entries())),
        ("one thread", 200, load(preset("half-2").threads(1), path, entries())),
        ("filters", 220, load(preset("half-2").filter_bits(10).threads(2), path, entries())),
        ("single", 180, load(preset("single").threads(2), path, entries())),
        ("paper-10", 150, load(preset("paper-10").threads(2), path, entries())),
        ("skewed", 200, load(preset("half-2").threads(2), path, skewed())),
        ("columns", 180, {
            let options = Options::bits128().similar(Jaccard::at_least(0.8)).threads(2);
            load(options, path, wide())
        }),
    ] {
        println!("{name}: {most} at most, {end} in the end, {announced} announced");
        assert!(most <= announced, "{name}: {most} bytes, {announced} announced");
        assert!(most * 100 <= end * percent, "{name}: {most} bytes, {end} in the end");
    }
}
