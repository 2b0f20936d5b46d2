//! What every storage promises, checked on a disk and in the simulation.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::base::error::ErrorKind;

/// Runs `check` on an empty folder of each kind.
fn on_each(check: impl Fn(Arc<dyn Storage>)) {
    let parent = tempfile::tempdir().unwrap();
    let storages: [Arc<dyn Storage>; 2] =
        [Arc::new(Disk::new(parent.path().join("db"))), Sim::new()];
    for storage in storages {
        storage.create_root().unwrap();
        check(storage);
    }
}

fn write(storage: &dyn Storage, name: &str, bytes: &[u8]) {
    let file = storage.create(name).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

#[test]
fn root_is_missing_until_created_and_can_be_created_again() {
    let parent = tempfile::tempdir().unwrap();
    let disk = Disk::new(parent.path().join("missing/too/db"));
    let storages: [Arc<dyn Storage>; 2] = [Arc::new(disk), Sim::new()];
    for storage in storages {
        assert_eq!(storage.list().unwrap(), None);
        assert_eq!(storage.create("a").unwrap_err().kind(), ErrorKind::NotFound);
        storage.create_root().unwrap();
        write(&*storage, "a", b"x");
        storage.create_root().unwrap();
        assert_eq!(storage.list().unwrap().unwrap(), ["a"]);
    }
}

/// Returns all bytes of a file.
fn contents(file: &dyn ReadFile) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(file.length()).unwrap()];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn create_is_exclusive_and_leaves_the_first_file_alone() {
    on_each(|storage| {
        write(&*storage, "a.log", b"first");
        let error = storage.create("a.log").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(error.path(), Some(&*storage.root().join("a.log")));
        assert_eq!(storage.read("a.log", 1 << 20).unwrap(), b"first");
    });
}

#[test]
fn appended_bytes_are_read_back() {
    on_each(|storage| {
        let file = storage.create("a").unwrap();
        assert_eq!(storage.open("a").unwrap().length(), 0);
        assert_eq!(storage.read("a", 1 << 20).unwrap(), b"");
        file.append(b"one ").unwrap();
        file.append(b"").unwrap();
        file.sync().unwrap();
        file.append(b"two").unwrap();
        assert_eq!(storage.read("a", 1 << 20).unwrap(), b"one two", "unsynced bytes are seen");
        let opened = storage.open("a").unwrap();
        assert_eq!(contents(&*opened), b"one two");
        let mut some = [0; 3];
        opened.read_at(4, &mut some).unwrap();
        assert_eq!(&some, b"two");
        let error = opened.read_at(5, &mut some).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
        assert!(opened.read_at(u64::MAX - 1, &mut some).is_err());
    });
}

#[test]
#[cfg_attr(windows, ignore = "an open file may keep its name there: see folder/paths.rs")]
fn rename_replaces_and_keeps_open_files_of_what_was_replaced() {
    on_each(|storage| {
        write(&*storage, "new", b"new bytes");
        write(&*storage, "old", b"old bytes");
        let old = storage.open("old").unwrap();
        storage.rename("new", "old").unwrap();
        assert_eq!(storage.list().unwrap().unwrap(), ["old"]);
        assert_eq!(storage.read("old", 1 << 20).unwrap(), b"new bytes");
        assert_eq!(contents(&*old), b"old bytes");
        assert_eq!(storage.rename("new", "x").unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
#[cfg_attr(windows, ignore = "an open file may keep its name there: see folder/paths.rs")]
fn open_file_stays_readable_after_it_is_removed() {
    on_each(|storage| {
        let bytes: Vec<u8> = (0u32..30_000).flat_map(u32::to_le_bytes).collect();
        write(&*storage, "a", &bytes);
        let opened = storage.open("a").unwrap();
        storage.remove("a").unwrap();
        write(&*storage, "a", b"another file of the same name");
        assert!(contents(&*opened) == bytes);
    });
}

#[test]
#[cfg_attr(windows, ignore = "an open file may keep its name there: see folder/paths.rs")]
fn removed_file_can_still_be_written() {
    on_each(|storage| {
        let file = storage.create("a").unwrap();
        storage.remove("a").unwrap();
        file.append(b"x").unwrap();
        file.sync().unwrap();
        assert!(storage.list().unwrap().unwrap().is_empty());
    });
}

#[test]
fn lock_is_refused_while_held_and_free_afterwards() {
    on_each(|storage| {
        let held = storage.lock().unwrap();
        for other in [storage.clone(), storage.at(storage.root())] {
            let error = other.lock().err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Locked);
            assert!(error.to_string().contains("for reading only"), "{error}");
            assert_eq!(error.path(), Some(&*storage.root().join("LOCK")));
        }
        // Opening and closing the lock file elsewhere must not release the lock.
        assert_eq!(storage.read("LOCK", 1 << 20).unwrap(), b"");
        assert!(storage.lock().is_err());
        drop(held);
        drop(storage.lock().unwrap());
        assert_eq!(storage.list().unwrap().unwrap(), ["LOCK"], "the lock file stays");
    });
}

#[test]
fn folders_are_independent() {
    on_each(|storage| {
        let other = storage.at(&storage.root().with_file_name("other"));
        other.create_root().unwrap();
        write(&*storage, "a", b"here");
        write(&*other, "b", b"there");
        let _held = storage.lock().unwrap();
        let _held_too = other.lock().unwrap();
        assert_eq!(storage.list().unwrap().unwrap(), ["LOCK", "a"]);
        assert_eq!(other.list().unwrap().unwrap(), ["LOCK", "b"]);
    });
}

#[test]
fn list_is_sorted() {
    on_each(|storage| {
        for name in ["b", "a10", "a", "Z", "a1"] {
            write(&*storage, name, b"");
        }
        assert_eq!(storage.list().unwrap().unwrap(), ["Z", "a", "a1", "a10", "b"]);
    });
}

#[test]
fn missing_file_is_named_in_the_message() {
    on_each(|storage| {
        let errors = [
            storage.open("m.fpt").unwrap_err(),
            storage.read("m.fpt", 1 << 20).unwrap_err(),
            storage.remove("m.fpt").unwrap_err(),
            storage.rename("m.fpt", "n").unwrap_err(),
        ];
        let path = storage.root().join("m.fpt");
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::NotFound);
            assert!(error.to_string().starts_with("cannot "), "{error}");
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        }
    });
}

#[test]
fn only_plain_file_names_are_accepted() {
    on_each(|storage| {
        for name in ["", ".", "..", "../a", "a/b", "a/", "/a", "a\\b", "c:a", "a\0b", "./a"] {
            assert_eq!(
                storage.create(name).unwrap_err().kind(),
                ErrorKind::InvalidArgument,
                "{name:?}"
            );
            assert_eq!(storage.open(name).unwrap_err().kind(), ErrorKind::InvalidArgument);
            assert_eq!(storage.read(name, 1 << 20).unwrap_err().kind(), ErrorKind::InvalidArgument);
            assert_eq!(storage.remove(name).unwrap_err().kind(), ErrorKind::InvalidArgument);
            assert_eq!(storage.rename("a", name).unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
    });
}

#[test]
fn fresh_ids_differ_and_free_space_is_reported() {
    on_each(|storage| {
        assert_ne!(storage.fresh_id().unwrap(), storage.fresh_id().unwrap());
        assert!(storage.free_space().unwrap() > 0);
        storage.sync_dir().unwrap();
    });
}

#[test]
fn appends_of_several_threads_are_not_interleaved() {
    on_each(|storage| {
        let file = storage.create("a").unwrap();
        std::thread::scope(|scope| {
            for id in 1..=4u8 {
                let file = &file;
                scope.spawn(move || {
                    for _ in 0..50 {
                        file.append(&[id; 1000]).unwrap();
                    }
                    file.sync().unwrap();
                });
            }
        });
        let bytes = storage.read("a", 1 << 20).unwrap();
        assert_eq!(bytes.len(), 200_000);
        assert!(bytes.chunks(1000).all(|chunk| chunk.iter().all(|&b| b == chunk[0])));
    });
}

#[test]
fn disk_lists_only_regular_files() {
    let parent = tempfile::tempdir().unwrap();
    let disk = Disk::new(parent.path());
    write(&disk, "a", b"");
    disk.at(&parent.path().join("folder")).create_root().unwrap();
    assert_eq!(disk.list().unwrap().unwrap(), ["a"]);
    let file = Disk::new(parent.path().join("a"));
    assert_eq!(file.list().unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(file.create_root().unwrap_err().kind(), ErrorKind::AlreadyExists);
}

#[test]
fn full_disk_is_named_in_the_message() {
    let error = failed("append to the file", Path::new("a"), io::ErrorKind::StorageFull.into());
    assert!(error.to_string().starts_with("cannot append to the file: the disk is full"));
    assert_eq!(error.kind(), ErrorKind::NoSpace);
}

/// A page of which every byte is this number.
fn page_of(number: usize) -> [u8; PAGE] {
    [u8::try_from(number % 251).unwrap(); PAGE]
}

#[test]
fn threads_see_complete_pages_only() {
    // On the heap, and in maps of their own.
    for pages in [16, 600] {
        let memory = PageMemory::private(pages * PAGE - 100, false).unwrap();
        let inserted = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (memory, inserted) = (&memory, &inserted);
                scope.spawn(move || {
                    // Two threads insert each page at about the same time.
                    for i in 0..pages {
                        let page = (i * 7 + thread / 2 * pages / 2) % pages;
                        let len = if page + 1 == pages { PAGE - 100 } else { PAGE };
                        let is_new = memory.insert(page, &page_of(page)[..len]);
                        inserted.fetch_add(usize::from(is_new), Ordering::Relaxed);
                    }
                });
                scope.spawn(move || {
                    let bytes = memory.bytes();
                    let is_whole = |page, some: &[u8]| some.iter().all(|&b| b == page_of(page)[0]);
                    let mut seen = 0;
                    while seen < pages {
                        seen = 0;
                        for page in 0..pages {
                            if let Some(some) = bytes.until_page_end(page * PAGE, 1) {
                                assert!(is_whole(page, some), "page {page}");
                                seen += 1;
                            }
                            if let Some(some) = bytes.get(page * PAGE + 4000, 200) {
                                assert!(is_whole(page, &some[..96]), "page {page}");
                                assert!(is_whole(page + 1, &some[96..]), "page {page}");
                            }
                        }
                    }
                });
            }
        });
        assert_eq!((memory.count_inserted(), inserted.into_inner()), (pages, pages));
        assert!(memory.is_warm());
    }
}

#[test]
fn only_bytes_of_ready_pages_can_be_read() {
    let memory = PageMemory::private(3 * PAGE + 10, false).unwrap();
    let bytes = memory.bytes();
    assert!(!memory.insert(0, &[1; PAGE - 1]), "a page that is cut short");
    assert!(memory.insert(0, &[1; PAGE]) && !memory.insert(0, &[2; PAGE]));
    assert!(memory.insert(1, &[2; PAGE]) && memory.insert(3, &[4; 10]));
    assert!(!memory.insert(4, &[]) && !memory.insert(usize::MAX, &[5; PAGE]));
    let lens = [0, 1, 10, 11, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 4 * PAGE, usize::MAX];
    for offset in (0..4 * PAGE + 20).chain([usize::MAX - PAGE, usize::MAX]) {
        for len in lens {
            let pages = offset / PAGE..offset.saturating_add(len).div_ceil(PAGE);
            let end = offset.checked_add(len).filter(|&end| end <= 3 * PAGE + 10);
            let is_ready = end.is_some() && !pages.contains(&2);
            let expected = is_ready && len > 0;
            let is_right = |some: &[u8]| {
                some.iter().zip(offset..).all(|(&b, at)| usize::from(b) == at / PAGE + 1)
            };
            for some in [bytes.get(offset, len), bytes.within_page(offset, len)] {
                assert!(some.is_none_or(|some| some.len() == len && is_right(some)));
            }
            if len > 0 {
                assert_eq!(bytes.get(offset, len).is_some(), expected, "{offset} {len}");
                let within = expected && pages.len() == 1;
                assert_eq!(bytes.within_page(offset, len).is_some(), within, "{offset} {len}");
                let tail = bytes.until_page_end(offset, len);
                assert_eq!(tail.is_some(), within, "{offset} {len}");
                assert!(tail.is_none_or(is_right));
            }
        }
        assert!(bytes.complete_from(offset).is_none());
        bytes.prefetch(offset);
    }
    let mut pages = Pages::new(2 * PAGE).unwrap();
    pages.fill(7);
    let complete = PageMemory::complete(pages, PAGE + 5);
    assert_eq!(complete.bytes().complete_from(PAGE - 1).unwrap(), [7; 6]);
    assert_eq!(complete.bytes().within_page(10, PAGE - 10).unwrap(), [7; PAGE - 10]);
    assert!(complete.bytes().within_page(usize::MAX - 1, 8).is_none());
    assert!(complete.bytes().until_page_end(PAGE, 6).is_none());
    assert!(complete.bytes().complete_from(PAGE + 6).is_none());
    assert!(!complete.insert(0, &[1; PAGE]));
}

/// The page faults of this thread so far.
#[cfg(target_os = "linux")]
fn faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    after_name.split_whitespace().nth(7).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn inserting_into_populated_memory_takes_no_page_faults() {
    const PAGES: usize = 64;
    let fill = |memory: &PageMemory, pages: std::ops::Range<usize>| {
        let before = faults();
        pages.for_each(|page| assert!(memory.insert(page, &page_of(page))));
        faults() - before
    };
    let probe = memmap2::MmapMut::map_anon(PAGES * PAGE).unwrap();
    let is_known = probe.advise(memmap2::Advice::PopulateWrite).is_ok();
    let before = faults();
    let _ =
        std::hint::black_box(probe.iter().step_by(PAGE).map(|&byte| u32::from(byte)).sum::<u32>());
    if !is_known || faults() - before > 8 {
        // Not with a macro, whose output the test harness captures.
        let skipped = b"skipped: the system does not allocate memory in advance\n";
        std::io::Write::write_all(&mut std::io::stderr(), skipped).unwrap();
        return;
    }
    let memory = PageMemory::private(3 * PAGES * PAGE, false).unwrap();
    memory.populate(PAGES..2 * PAGES);
    assert!(memory.bytes().get(PAGES * PAGE, 1).is_none(), "not ready");
    assert!(fill(&memory, 0..PAGES) >= PAGES as u64);
    assert!(fill(&memory, PAGES..2 * PAGES) < 8);
    // Again, and past the end.
    memory.populate(PAGES..4 * PAGES);
    assert_eq!(memory.bytes().get(PAGES * PAGE, 2).unwrap(), [64; 2]);
    assert!(fill(&memory, 2 * PAGES..3 * PAGES) < 8);
}
