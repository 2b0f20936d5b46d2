//! A storage that wraps another one. It counts syncs, gives them a duration, and can block calls.
//! It can also refuse to create files, as if the disk were full.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use fpdb::Result;
use fpdb::storage::{Fault, FolderLock, ReadFile, Sim, Storage, WriteFile};

/// The subject of a sync of the folder.
pub(crate) const FOLDER: &str = "the folder";

/// The end of the subject of a read of a log.
pub(crate) const READ_OF_A_LOG: &str = ".log is read";

/// The same for the manifest.
pub(crate) const READ_OF_THE_MANIFEST: &str = "MANIFEST is read";

#[derive(Debug)]
struct Control {
    syncs: AtomicU64,
    sync_time: Duration,
    hold: Mutex<Hold>,
    changed: Condvar,
    /// Files whose names end with this cannot be created.
    refused: Mutex<Option<&'static str>>,
    refusals: AtomicU64,
}

#[derive(Debug, Default)]
struct Hold {
    /// The first call whose subject ends with this waits.
    ending: Option<&'static str>,
    is_waiting: bool,
}

#[derive(Debug)]
pub(crate) struct Counting {
    inner: Arc<dyn Storage>,
    control: Arc<Control>,
}

impl Counting {
    /// Returns a storage in which every sync of a file takes at least `sync_time`.
    pub(crate) fn new(inner: Arc<dyn Storage>, sync_time: Duration) -> Arc<Self> {
        let (hold, changed) = (Mutex::default(), Condvar::new());
        let (syncs, refused, refusals) = Default::default();
        let control = Control { syncs, sync_time, hold, changed, refused, refusals };
        Arc::new(Self { inner, control: Arc::new(control) })
    }

    /// Returns the number of syncs of files so far.
    pub(crate) fn syncs(&self) -> u64 {
        self.control.syncs.load(Ordering::Relaxed)
    }

    /// Blocks the next sync of a file whose name ends with this, and lets others pass until that
    /// one goes on; `None` ends the blocking. [`FOLDER`] blocks a sync of the folder.
    /// [`READ_OF_A_LOG`] blocks a read of a log, once the bytes are read.
    pub(crate) fn hold(&self, ending: Option<&'static str>) {
        self.control.hold.lock().unwrap().ending = ending;
        self.control.changed.notify_all();
    }

    /// Makes the creation of files whose names end with this fail, because the disk is full;
    /// `None` ends the failures.
    pub(crate) fn refuse(&self, ending: Option<&'static str>) {
        *self.control.refused.lock().unwrap() = ending;
    }

    /// Returns how many creations of files were refused so far.
    pub(crate) fn refusals(&self) -> u64 {
        self.control.refusals.load(Ordering::Relaxed)
    }

    /// Waits until a call is blocked.
    pub(crate) fn wait_for_held_call(&self) {
        let hold = self.control.hold.lock().unwrap();
        drop(self.control.changed.wait_while(hold, |hold| !hold.is_waiting).unwrap());
    }
}

impl Control {
    fn pass(&self, subject: &str) {
        let mut hold = self.hold.lock().unwrap();
        let held = |hold: &mut Hold| hold.ending.is_some_and(|ending| subject.ends_with(ending));
        if held(&mut hold) && !hold.is_waiting {
            hold.is_waiting = true;
            self.changed.notify_all();
            self.changed.wait_while(hold, held).unwrap().is_waiting = false;
        }
    }
}

impl Storage for Counting {
    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn create_root(&self) -> Result<()> {
        self.inner.create_root()
    }

    fn check_root(&self) -> Result<()> {
        self.inner.check_root()
    }

    fn list(&self) -> Result<Option<Vec<String>>> {
        self.inner.list()
    }

    fn create(&self, name: &str) -> Result<Arc<dyn WriteFile>> {
        let refused = *self.control.refused.lock().unwrap();
        if refused.is_some_and(|ending| name.ends_with(ending)) {
            self.control.refusals.fetch_add(1, Ordering::Relaxed);
            let full = Sim::new();
            full.fail_at(0, Fault::NoSpace, true);
            return full.create(name);
        }
        let (inner, control) = (self.inner.create(name)?, self.control.clone());
        Ok(Arc::new(CountingFile { name: name.to_owned(), inner, control }))
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        self.inner.open(name)
    }

    fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>> {
        let bytes = self.inner.read(name, limit);
        self.control.pass(&format!("{name} is read"));
        bytes
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.inner.remove(name)
    }

    fn sync_dir(&self) -> Result<()> {
        self.control.pass(FOLDER);
        self.inner.sync_dir()
    }

    fn lock(&self) -> Result<Box<dyn FolderLock>> {
        self.inner.lock()
    }

    fn fresh_id(&self) -> Result<u128> {
        self.inner.fresh_id()
    }

    fn free_space(&self) -> Result<u64> {
        self.inner.free_space()
    }

    fn file_system(&self) -> Result<u64> {
        self.inner.file_system()
    }

    fn at(&self, root: &Path) -> Arc<dyn Storage> {
        Arc::new(Self { inner: self.inner.at(root), control: self.control.clone() })
    }
}

#[derive(Debug)]
struct CountingFile {
    name: String,
    inner: Arc<dyn WriteFile>,
    control: Arc<Control>,
}

impl WriteFile for CountingFile {
    fn check_name(&self) -> Result<()> {
        self.inner.check_name()
    }

    fn append(&self, bytes: &[u8]) -> Result<()> {
        self.inner.append(bytes)
    }

    fn sync(&self) -> Result<()> {
        self.control.syncs.fetch_add(1, Ordering::Relaxed);
        self.control.pass(&self.name);
        std::thread::sleep(self.control.sync_time);
        self.inner.sync()
    }
}
