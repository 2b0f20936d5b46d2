//! A storage that counts and slows down what another does.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fpdb::Result;
use fpdb::storage::{Map, Storage, WriteFile};

#[derive(Debug, Default)]
struct Control {
    syncs: AtomicU64,
    /// Microseconds that each call takes.
    sync_time: AtomicU64,
    append_time: AtomicU64,
    /// The number of the segment whose tables' appends are slow.
    slow: OnceLock<String>,
}

fn wait(micros: &AtomicU64) {
    match micros.load(Ordering::Relaxed) {
        0 => {}
        micros => std::thread::sleep(Duration::from_micros(micros)),
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap()
}

#[derive(Debug)]
pub(crate) struct Counting {
    inner: Arc<dyn Storage>,
    control: Arc<Control>,
}

impl Counting {
    /// Every sync of a file takes at least `sync_time`.
    pub(crate) fn new(inner: Arc<dyn Storage>, sync_time: Duration) -> Arc<Self> {
        let control = Control { sync_time: micros(sync_time).into(), ..Control::default() };
        Arc::new(Self { inner, control: Arc::new(control) })
    }

    /// Syncs of files so far.
    pub(crate) fn syncs(&self) -> u64 {
        self.control.syncs.load(Ordering::Relaxed)
    }

    /// Each append to the tables of the segment that is begun next takes so long from now on.
    pub(crate) fn slow_down_next_segment(&self, time: Duration) {
        self.control.append_time.store(micros(time), Ordering::Relaxed);
    }
}

impl Storage for Counting {
    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn create_root(&self) -> Result<()> {
        self.inner.create_root()
    }

    fn list(&self) -> Result<Option<Vec<String>>> {
        self.inner.list()
    }

    fn create(&self, name: &str) -> Result<Arc<dyn WriteFile>> {
        let (inner, control) = (self.inner.create(name)?, self.control.clone());
        let is_slow = match name.split_once(".t") {
            Some((number, _)) if control.append_time.load(Ordering::Relaxed) > 0 => {
                control.slow.get_or_init(|| number.to_owned()) == number
            }
            _ => false,
        };
        Ok(Arc::new(CountingFile { inner, control, is_slow }))
    }

    fn map(&self, name: &str) -> Result<Map> {
        self.inner.map(name)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        self.inner.read(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.inner.remove(name)
    }

    fn sync_dir(&self) -> Result<()> {
        self.inner.sync_dir()
    }

    fn lock(&self) -> Result<Box<dyn Send + Sync>> {
        self.inner.lock()
    }

    fn fresh_id(&self) -> Result<u128> {
        self.inner.fresh_id()
    }

    fn free_space(&self) -> Result<u64> {
        self.inner.free_space()
    }

    fn at(&self, root: &Path) -> Arc<dyn Storage> {
        Arc::new(Self { inner: self.inner.at(root), control: self.control.clone() })
    }
}

#[derive(Debug)]
struct CountingFile {
    inner: Arc<dyn WriteFile>,
    control: Arc<Control>,
    is_slow: bool,
}

impl WriteFile for CountingFile {
    fn append(&self, bytes: &[u8]) -> Result<()> {
        if self.is_slow {
            wait(&self.control.append_time);
        }
        self.inner.append(bytes)
    }

    fn sync(&self) -> Result<()> {
        self.control.syncs.fetch_add(1, Ordering::Relaxed);
        wait(&self.control.sync_time);
        self.inner.sync()
    }
}
