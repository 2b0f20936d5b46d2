//! The disk space that a bulk load takes while it runs.
#![cfg(unix)]

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use fpdb::storage::{Disk, Sim, Storage};
use fpdb::{Db, DocId, Document, Entry, ErrorKind, Ids, Layout, Options, Result, Sketch, Source};

use crate::common::entry;

const COUNT: u64 = 1 << 19;

/// Returns the bytes of disk space that the files in a folder take.
fn space(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| Some(file.metadata().ok()?.blocks() * 512)).sum()
}

/// Returns the most space that the files in a folder take while something is loaded.
fn most_space(folder: &Path, load: impl FnOnce()) -> u64 {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !is_done.load(Relaxed) {
                most = most.max(space(folder));
                std::thread::sleep(Duration::from_millis(1));
            }
            most
        });
        load();
        is_done.store(true, Relaxed);
        watch.join().unwrap()
    })
}

/// So little memory that scratch files are needed.
const MEMORY: usize = 2 << 20;

/// Loads entries, and returns the most space that the files took, the space that they take in the
/// end, and the space that was announced.
fn load(options: Options, folder: &Path, entries: impl Iterator<Item = Result<Entry>>) -> [u64; 3] {
    let db = options.bulk_memory(MEMORY).background(false).create(folder).unwrap();
    let announced = db.bulk_load_space(COUNT);
    let most = most_space(folder, || assert_eq!(db.bulk_load(entries).unwrap().inserted, COUNT));
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
    // Their first 32 bits are zeros, which the second table does not store.
    let skewed = || (0..COUNT).map(|i| Ok(entry(random(i) >> 32, i)));
    let preset = |name| Db::options().layout(Layout::preset(name, 64).unwrap());
    let path = &folder.path().join("db");
    for (name, percent, [most, end, announced]) in [
        ("half-2", 160, load(preset("half-2").threads(2), path, entries())),
        ("one thread", 200, load(preset("half-2").threads(1), path, entries())),
        ("filters", 220, load(preset("half-2").filter_bits(10).threads(2), path, entries())),
        ("single", 180, load(preset("single").threads(2), path, entries())),
        ("paper-10", 150, load(preset("paper-10").threads(2), path, entries())),
        ("skewed", 280, load(preset("half-2").threads(2), path, skewed())),
    ] {
        println!("{name}: {most} at most, {end} in the end, {announced} announced");
        assert!(most <= announced, "{name}: {most} bytes, {announced} announced");
        assert!(most * 100 <= end * percent, "{name}: {most} bytes, {end} in the end");
    }
}

#[test]
fn sketches_are_loaded_in_little_more_space_than_they_take_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    if !Disk::new(folder.path()).can_discard() {
        println!("skipped: parts of files cannot be discarded here");
        return;
    }
    let path = &folder.path().join("db");
    let random = |i: u64| u128::from(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let planes = |i: u64| [0, 7, 14, 21, 28, 35].map(|n| random(i) << 64 | random(!i) << n);
    let sketch = |i: u64| Sketch::of_parts(planes(i), 0, [0; 16]);
    let documents = || (0..COUNT).map(|i| Ok((None, Document::new(sketch(i), DocId(i)))));
    // With less memory, two copies of each row would be on the simulated disk, which cannot discard
    // parts of files.
    let options = || Options::sketches().ids(Ids::Unique).bulk_memory(4 * MEMORY).threads(2);
    let most = most_space(path, || {
        let report = options().build(path, Source::documents(None, COUNT, documents())).unwrap();
        assert_eq!(report.written, COUNT);
    });
    let end = space(path);
    let sim = Sim::new();
    sim.set_free_space(1 << 20);
    let options = options().storage(sim as Arc<dyn Storage>);
    let refused = options.build("sim", Source::documents(None, COUNT, documents())).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NoSpace);
    let message = refused.to_string();
    let (_, announced) = message.split_once("needs up to ").expect("the bytes needed");
    let announced: u64 = announced.split(' ').next().unwrap().parse().unwrap();
    println!("{most} at most, {end} in the end, {announced} announced");
    assert!(most * 100 <= end * 120, "{most} bytes, {end} in the end");
    // The simulated disk keeps all rows until their table is complete.
    assert!(most <= announced && announced * 100 <= most * 125, "{announced} announced");
}
