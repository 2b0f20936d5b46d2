//! The models. Each panics if a promise is broken; the explorers report deadlocks.

use std::time::Duration;

use super::explorer::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use super::explorer::sync::{Arc, Mutex, RwLock};
use super::explorer::thread::spawn;
use super::group::{Groups, Role};

/// What one writer at a time changes.
#[derive(Default)]
struct Writer {
    seq: u64,
    unwritten: Vec<u64>,
    durable: u64,
    groups: Groups,
}

/// A database of which only the log is there.
struct Log {
    permit: Mutex<()>,
    writer: Mutex<Writer>,
    visible: AtomicU64,
    /// The commits that were synced.
    disk: Mutex<Vec<u64>>,
    /// Whether syncs fail.
    is_broken: bool,
    poisoned: AtomicBool,
}

impl Log {
    fn new(is_broken: bool) -> Arc<Self> {
        Arc::new(Self {
            permit: Mutex::new(()),
            writer: Mutex::new(Writer::default()),
            visible: AtomicU64::new(0),
            disk: Mutex::new(Vec::new()),
            is_broken,
            poisoned: AtomicBool::new(false),
        })
    }

    /// Follows `commit/mod.rs` and `acknowledge` of `sync.rs`. Returns the commit, or `None` if it
    /// failed.
    fn commit(&self) -> Option<u64> {
        let mut writer = self.writer.lock().unwrap();
        if self.poisoned.load(Ordering::Acquire) {
            return None;
        }
        writer.seq += 1;
        let seq = writer.seq;
        writer.unwritten.push(seq);
        let is_visible = || self.visible.load(Ordering::Acquire) >= seq;
        let role = writer.groups.join(seq);
        drop(writer);
        let _waker = match role {
            Role::Leader(waker) => Some(waker),
            Role::Follower { synced, .. } => {
                synced.wait();
                None
            }
        };
        if is_visible() {
            return Some(seq);
        }
        let _permit = self.permit.lock().unwrap();
        if is_visible() { Some(seq) } else { self.sync().then_some(seq) }
    }

    /// Follows `sync` of `sync.rs`.
    fn sync(&self) -> bool {
        if self.poisoned.load(Ordering::Acquire) {
            return false;
        }
        let mut writer = self.writer.lock().unwrap();
        let seq = writer.seq;
        if writer.durable >= seq {
            self.visible.fetch_max(seq, Ordering::AcqRel);
            return true;
        }
        let unwritten = std::mem::take(&mut writer.unwritten);
        writer.groups.close(seq);
        drop(writer);
        if self.is_broken {
            self.poisoned.store(true, Ordering::Release);
            return false;
        }
        self.disk.lock().unwrap().extend(unwritten);
        let mut writer = self.writer.lock().unwrap();
        writer.groups.synced(Duration::ZERO);
        writer.durable = seq;
        drop(writer);
        self.visible.fetch_max(seq, Ordering::AcqRel);
        true
    }
}

/// Runs `work` in this many threads, one of which is this one.
fn in_threads(threads: usize, work: impl Fn() + Clone + Send + 'static) {
    let others: Vec<_> = (1..threads).map(|_| spawn(work.clone())).collect();
    work();
    others.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Every acknowledged commit is on disk, in order, and every thread returns.
pub fn group_commit(threads: usize, commits: usize) {
    let log = Log::new(false);
    let shared = log.clone();
    in_threads(threads, move || {
        for _ in 0..commits {
            let seq = shared.commit().expect("no sync fails");
            assert!(shared.disk.lock().unwrap().contains(&seq), "{seq} is not durable");
        }
    });
    let disk = log.disk.lock().unwrap();
    assert!(disk.iter().copied().eq(1..=(threads * commits) as u64), "{disk:?}");
}

/// No thread gets an acknowledgement if the sync fails, and every thread returns.
pub fn failed_group_commit(threads: usize) {
    let log = Log::new(true);
    in_threads(threads, move || assert_eq!(log.commit(), None));
}

/// The sources of one moment. A memtable is a list of commits.
#[derive(Clone, Default)]
struct Version {
    segments: Vec<u64>,
    frozen: Option<Arc<Mutex<Vec<u64>>>>,
    active: Option<Arc<Mutex<Vec<u64>>>>,
}

struct Database {
    /// Holds the number of the last commit.
    writer: Mutex<u64>,
    visible: AtomicU64,
    current: RwLock<Arc<Version>>,
}

impl Database {
    fn new() -> Arc<Self> {
        let active = Some(Arc::new(Mutex::new(Vec::new())));
        let version = Version { active, ..Version::default() };
        Arc::new(Self {
            writer: Mutex::new(0),
            visible: AtomicU64::new(0),
            current: RwLock::new(Arc::new(version)),
        })
    }

    fn version(&self) -> Arc<Version> {
        self.current.read().unwrap().clone()
    }

    fn update(&self, change: impl FnOnce(&Version) -> Version) {
        let mut current = self.current.write().unwrap();
        *current = Arc::new(change(&current));
    }

    /// Follows `commit/mod.rs` with buffered durability.
    fn commit(&self) {
        let mut writer = self.writer.lock().unwrap();
        *writer += 1;
        let version = self.version();
        version.active.as_ref().unwrap().lock().unwrap().push(*writer);
        self.visible.store(*writer, Ordering::Release);
    }

    /// Follows `rotate.rs` and `flush.rs`.
    fn flush(&self) {
        let writer = self.writer.lock().unwrap();
        self.update(|version| Version {
            frozen: version.active.clone(),
            active: Some(Arc::new(Mutex::new(Vec::new()))),
            ..version.clone()
        });
        drop(writer);
        let frozen = self.version().frozen.clone().unwrap();
        let written = frozen.lock().unwrap().clone();
        self.update(|version| Version {
            segments: [&version.segments[..], &written].concat(),
            frozen: None,
            ..version.clone()
        });
    }

    /// Follows `visible_version` of `core.rs`: what is visible is in a version taken later.
    fn check(&self) -> u64 {
        let seq = self.visible.load(Ordering::Acquire);
        self.check_version(seq, &self.version())
    }

    fn check_in_the_wrong_order(&self) {
        let version = self.version();
        let seq = self.visible.load(Ordering::Acquire);
        self.check_version(seq, &version);
    }

    fn check_version(&self, seq: u64, version: &Version) -> u64 {
        let mut found = version.segments.clone();
        for memtable in version.frozen.iter().chain(&version.active) {
            found.extend(&*memtable.lock().unwrap());
        }
        assert!((1..=seq).all(|commit| found.contains(&commit)), "{found:?} lacks one of {seq}");
        let distinct: std::collections::BTreeSet<u64> = found.iter().copied().collect();
        assert_eq!(distinct.len(), found.len(), "{found:?} has a commit twice");
        seq
    }
}

/// A reader sees every visible commit exactly once, and never fewer than before, while others
/// commit and flush.
pub fn publication(threads: usize, rounds: usize) {
    let database = Database::new();
    let flusher = database.clone();
    let flushing = spawn(move || (0..rounds).for_each(|_| flusher.flush()));
    let shared = database.clone();
    in_threads(threads, move || {
        let mut last = 0;
        for _ in 0..rounds {
            shared.commit();
            let seq = shared.check();
            assert!(seq > last, "{seq} after {last}");
            last = seq;
        }
    });
    flushing.join().unwrap();
    assert_eq!(database.check(), (threads * rounds) as u64);
}

/// A negative control: a reader that takes the version first does not see every visible commit.
pub fn publication_in_the_wrong_order() {
    let database = Database::new();
    let shared = database.clone();
    let writing = spawn(move || {
        shared.flush();
        shared.commit();
    });
    database.check_in_the_wrong_order();
    writing.join().unwrap();
}

/// The lock of a folder, held by everything that writes files.
struct Folder(Arc<AtomicBool>);

impl Drop for Folder {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Follows `close.rs` and `keep_folder` of `core.rs`: nobody writes after the lock was released.
pub fn close(threads: usize) {
    let is_locked = Arc::new(AtomicBool::new(true));
    let folder = Arc::new(Mutex::new(Some(Arc::new(Folder(is_locked.clone())))));
    let (shared, observed) = (folder.clone(), is_locked.clone());
    let closing = spawn(move || drop(folder.lock().unwrap().take()));
    in_threads(threads, move || {
        let kept = shared.lock().unwrap().clone();
        if let Some(kept) = kept {
            assert!(observed.load(Ordering::Acquire), "a write without the lock");
            drop(kept);
        }
    });
    closing.join().unwrap();
    assert!(!is_locked.load(Ordering::Acquire), "the lock is still held");
}
