//! A file system in memory that can crash.
//!
//! It records every operation. Afterwards, it can make each state in which a loss of power could
//! have left the folder ([`Sim::crash_states`]). The model assumes no more than storage-format.md,
//! "Assumptions" does: bytes are durable after the file's sync, names after the folder's sync.
//! Until then, any sector, any size and any operation on a name may be lost or kept.

mod choices;
mod crash;
mod faults;
mod mutations;
mod open_file;
mod pending;
mod reads;
mod states;
mod variants;
mod world;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{
    FILE_REPLACED, FolderLock, LOCK, LOCK_IS_TAKEN, LOCK_REPLACED, PageBudget, ReadFile, Storage,
    WriteFile, failed, path_in, too_long,
};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::parallel::lock;
use crash::Crash;
use faults::Need;
use open_file::OpenFile;
use world::{FileId, Op, World};

pub use faults::Fault;
pub use states::{CrashLimits, CrashStates};

/// A [`Storage`] in memory for crash tests of fpdb, and of programs that embed it.
///
/// Run a workload on it once. Then open the database in every [state](Sim::crash_states) that a
/// crash after any [operation](Sim::operations) could have left, and check that everything
/// acknowledged by then is there. [`skip_operation`](Sim::skip_operation) shows that such a test
/// would notice a missing sync. [`fail_at`](Sim::fail_at) makes operations fail, and
/// [`fail_read_at`](Sim::fail_read_at) reads of open files.
///
/// It is deterministic: the same operations give the same states in the same order.
///
/// # Examples
///
/// ```
/// use fpdb::storage::{CrashLimits, Sim, Storage};
///
/// let sim = Sim::new();
/// sim.create_root()?;
/// let file = sim.create("a.log")?;
/// sim.sync_dir()?;
/// file.append(b"one")?;
/// file.sync()?;
/// let acknowledged = sim.operations();
/// sim.mark(3); // for example, the number of bytes that are acknowledged by now
/// assert_eq!(sim.marks(), [(acknowledged, 3)]);
/// file.append(b"two")?;
///
/// for at in 0..=sim.operations() {
///     for state in sim.crash_states(at, CrashLimits::default()) {
///         let found = state.contents("a.log").unwrap_or_default();
///         if at >= acknowledged {
///             assert!(found.starts_with(b"one"), "{}", state.describe());
///         }
///     }
/// }
///
/// sim.set_contents("a.log", b"damaged");
/// assert_eq!(sim.read("a.log", 100)?, b"damaged");
/// assert_eq!(sim.folder("other").list()?, None); // it is not created yet
/// # Ok::<(), fpdb::Error>(())
/// ```
pub struct Sim {
    world: Arc<Mutex<World>>,
    root: Arc<Path>,
    /// The crash that led to this state, if one did.
    crash: Option<Arc<Crash>>,
    /// Without a limit.
    pages: Arc<PageBudget>,
}

impl Sim {
    /// Makes an empty file system, and in it the folder `sim`, which is not created yet.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let world = World { free_space: 1 << 40, ..World::default() };
        Self::in_world(world, Path::new("sim").into(), None)
    }

    fn in_world(world: World, root: Arc<Path>, crash: Option<Arc<Crash>>) -> Arc<Self> {
        Arc::new(Self { world: Arc::new(Mutex::new(world)), root, crash, pages: Self::pages() })
    }

    /// Returns another folder of the same file system, with the same record of operations.
    #[must_use]
    pub fn folder(&self, root: impl AsRef<Path>) -> Arc<Self> {
        let root = root.as_ref().into();
        let (world, crash) = (self.world.clone(), self.crash.clone());
        Arc::new(Self { world, root, crash, pages: Self::pages() })
    }

    fn pages() -> Arc<PageBudget> {
        Arc::new(PageBudget::new(u64::MAX))
    }

    /// Returns how many operations were recorded: everything that changes a file or a folder, and
    /// every sync. Remember this number when something is acknowledged.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.world().log.len()
    }

    /// Records the caller's own number at this position among the operations.
    pub fn mark(&self, mark: u64) {
        let mut world = self.world();
        let at = world.log.len();
        world.marks.push((at, mark));
    }

    /// Returns the [marks](Sim::mark) so far, each with the number of operations recorded before
    /// it.
    #[must_use]
    pub fn marks(&self) -> Vec<(usize, u64)> {
        self.world().marks.clone()
    }

    /// Describes the crashes that led to this state: after which operation, what was kept, and what
    /// was lost. For the messages of failing tests. Empty if there was no crash.
    #[must_use]
    pub fn describe(&self) -> String {
        self.crash.as_ref().map_or_else(String::new, |crash| crash.describe())
    }

    /// Returns how many calls that can fail were made. [`fail_at`](Sim::fail_at) counts these.
    /// [Reads of open files](Sim::reads) are counted separately.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.world().faults.calls
    }

    /// Makes the first call that can fail with `fault`, from number `call` on (see
    /// [`calls`](Sim::calls)), fail. If `persistent`, all later ones fail too. Replaces what was
    /// set before.
    ///
    /// After a failed sync of a file, a later sync proves nothing for the bytes before it: they can
    /// still be lost, however often the sync is repeated.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::storage::{Fault, Sim, Storage};
    ///
    /// let sim = Sim::new();
    /// sim.create_root()?;
    /// sim.fail_at(sim.calls() + 1, Fault::Error, true);
    /// assert!(sim.create("a.log").is_ok());
    /// assert!(sim.create("b.log").is_err());
    /// sim.fail_no_more();
    /// assert!(sim.create("b.log").is_ok());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn fail_at(&self, call: usize, fault: Fault, persistent: bool) {
        self.world().faults.arm(call, fault, persistent);
    }

    /// Makes no more calls fail, nor [reads of open files](Sim::fail_read_at).
    pub fn fail_no_more(&self) {
        let mut world = self.world();
        world.faults.disarm();
        world.reads.disarm();
    }

    /// Returns the number of the first call that failed since [`fail_at`](Sim::fail_at), or `None`
    /// if no call did.
    #[must_use]
    pub fn first_failed(&self) -> Option<usize> {
        self.world().faults.first_failed
    }

    /// Returns the contents of a file, as the running process sees it, or `None` if it is missing.
    #[must_use]
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let world = self.world();
        let file = world.find(&self.root, name).ok()?;
        Some(world.files[file].bytes().to_vec())
    }

    /// Creates a file, or replaces its contents, as if it had always been like this. Use it to test
    /// how damaged files are handled. Files that are open keep the old contents.
    pub fn set_contents(&self, name: &str, bytes: &[u8]) {
        self.world().plant(&self.root, name, bytes);
    }

    /// Sets the most that [`free_space`](Storage::free_space) returns, in bytes (2^40 at first). It
    /// does not limit writes: see [`limit_space`](Sim::limit_space) and [`Fault::NoSpace`] for
    /// that.
    pub fn set_free_space(&self, bytes: u64) {
        self.world().free_space = bytes;
    }

    /// Limits the space of the file system to this many bytes. Files take multiples of 4096 bytes,
    /// removed ones as long as they are open for reading. When it is full, an append writes what
    /// fits and fails, and no file can be created.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::ErrorKind;
    /// use fpdb::storage::{Sim, Storage};
    ///
    /// let sim = Sim::new();
    /// sim.create_root()?;
    /// sim.limit_space(8192);
    /// let file = sim.create("a.log")?;
    /// assert_eq!(sim.free_space()?, 4096);
    /// assert_eq!(file.append(&[0; 9000]).unwrap_err().kind(), ErrorKind::NoSpace);
    /// assert_eq!(sim.free_space()?, 0);
    /// sim.remove("a.log")?;
    /// assert_eq!(sim.free_space()?, 8192);
    /// sim.set_free_space(100);
    /// assert_eq!(sim.free_space()?, 100);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn limit_space(&self, bytes: u64) {
        self.world().capacity = Some(bytes);
    }

    fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    /// Counts a call, and makes it fail if a fault is due.
    fn call(&self, doing: &str, path: &Path, need: Need) -> Result<MutexGuard<'_, World>> {
        let mut world = self.world();
        match world.faults.next(need) {
            None => Ok(world),
            Some(fault) => Err(failed(doing, path, fault.error())),
        }
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sim({}", self.root.display())?;
        if self.crash.is_some() {
            write!(f, ", {}", self.describe())?;
        }
        f.write_str(")")
    }
}

impl Storage for Sim {
    fn root(&self) -> &Path {
        &self.root
    }

    fn create_root(&self) -> Result<()> {
        self.call("create the folder", &self.root, Need::Space)?.create_root(&self.root);
        Ok(())
    }

    /// A folder of a simulation is never moved.
    fn check_root(&self) -> Result<()> {
        self.call("check the folder", &self.root, Need::Nothing).map(drop)
    }

    fn list(&self) -> Result<Option<Vec<String>>> {
        let world = self.call("list the folder", &self.root, Need::Nothing)?;
        Ok(world.names(&self.root).ok().map(|names| names.keys().map(|n| n.to_string()).collect()))
    }

    fn create(&self, name: &str) -> Result<Arc<dyn WriteFile>> {
        let path = path_in(&self.root, name)?;
        let mut world = self.call("create the file", &path, Need::Space)?;
        let file =
            world.create(&self.root, name).map_err(|e| failed("create the file", &path, e))?;
        Ok(Arc::new(SimWriter { world: self.world.clone(), file, path }))
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        let path = path_in(&self.root, name)?;
        let mut world = self.call("open the file", &path, Need::Read)?;
        let file = world.find(&self.root, name).map_err(|e| failed("open the file", &path, e))?;
        let bytes = world.files[file].share();
        Ok(Arc::new(OpenFile::new(self.world.clone(), bytes)))
    }

    fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>> {
        let path = path_in(&self.root, name)?;
        let world = self.call("read the file", &path, Need::Read)?;
        let file = world.find(&self.root, name).map_err(|e| failed("read the file", &path, e))?;
        let bytes = world.files[file].bytes();
        if bytes.len() as u64 > limit {
            return Err(failed("read the file", &path, too_long(bytes.len() as u64, limit)));
        }
        Ok(bytes.to_vec())
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let (path, target) = (path_in(&self.root, from)?, path_in(&self.root, to)?);
        let doing = format!("rename the file to {}", target.display());
        let mut world = self.call(&doing, &path, Need::Space)?;
        world.rename(&self.root, from, to).map_err(|e| failed(&doing, &path, e))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = path_in(&self.root, name)?;
        let mut world = self.call("remove the file", &path, Need::Nothing)?;
        world.remove(&self.root, name).map_err(|e| failed("remove the file", &path, e))
    }

    fn sync_dir(&self) -> Result<()> {
        let mut world = self.call("sync the folder", &self.root, Need::Space)?;
        world.names(&self.root).map_err(|e| failed("sync the folder", &self.root, e))?;
        world.log.push(Op::SyncDir { folder: self.root.clone() });
        Ok(())
    }

    fn lock(&self) -> Result<Box<dyn FolderLock>> {
        let path = self.root.join(LOCK);
        let exists = self.world().find(&self.root, LOCK).is_ok();
        let need = if exists { Need::Nothing } else { Need::Space };
        let mut world = self.call("open the lock file", &path, need)?;
        let file = match world.find(&self.root, LOCK) {
            Ok(file) => file,
            Err(_) => world
                .create(&self.root, LOCK)
                .map_err(|e| failed("open the lock file", &path, e))?,
        };
        if world.locked.contains(&file) {
            return Err(Error::new(ErrorKind::Locked, LOCK_IS_TAKEN).at_path(path));
        }
        world.locked.push(file);
        let (world, root, crash) = (self.world.clone(), self.root.clone(), self.crash.clone());
        let folder = Self { world, root, crash, pages: self.pages.clone() };
        Ok(Box::new(SimLock { folder, file }))
    }

    fn page_budget(&self) -> Arc<PageBudget> {
        self.pages.clone()
    }

    fn program(&self) -> &'static str {
        "fpdb simulation"
    }

    fn fresh_id(&self) -> Result<u128> {
        let mut world = self.call("get a fresh id", &self.root, Need::Nothing)?;
        world.ids += 1;
        Ok(world.ids.into())
    }

    fn free_space(&self) -> Result<u64> {
        let doing = "get the free space of the folder";
        Ok(self.call(doing, &self.root, Need::Nothing)?.free())
    }

    fn file_system(&self) -> Result<u64> {
        Ok(0)
    }

    fn at(&self, root: &Path) -> Arc<dyn Storage> {
        self.folder(root)
    }
}

/// The lock of a folder: the lock on its lock file.
#[derive(Debug)]
struct SimLock {
    folder: Sim,
    file: FileId,
}

impl FolderLock for SimLock {
    fn check(&self) -> Result<()> {
        let path = self.folder.root.join(LOCK);
        let world = self.folder.call("check the lock file", &path, Need::Nothing)?;
        match world.find(&self.folder.root, LOCK) {
            Ok(file) if file == self.file => Ok(()),
            _ => Err(Error::new(ErrorKind::Replaced, LOCK_REPLACED).at_path(path)),
        }
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.folder.world().locked.retain(|&file| file != self.file);
    }
}

/// A file being written.
struct SimWriter {
    world: Arc<Mutex<World>>,
    file: FileId,
    path: PathBuf,
}

impl fmt::Debug for SimWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimWriter({})", self.path.display())
    }
}

impl WriteFile for SimWriter {
    fn append(&self, bytes: &[u8]) -> Result<()> {
        let mut world = lock(&self.world);
        let Some(fault) = world.faults.next(Need::Append) else {
            let room = world.room(self.file, bytes.len());
            world.append(self.file, &bytes[..room]);
            let full = || io::ErrorKind::StorageFull.into();
            return match room == bytes.len() {
                true => Ok(()),
                false => Err(failed("append to the file", &self.path, full())),
            };
        };
        if fault != Fault::Error {
            world.append(self.file, &bytes[..bytes.len() / 2]);
        }
        Err(failed("append to the file", &self.path, fault.error()))
    }

    fn sync(&self) -> Result<()> {
        let mut world = lock(&self.world);
        let Some(fault) = world.faults.next(Need::Space) else {
            world.log.push(Op::Sync { file: self.file });
            return Ok(());
        };
        world.log.push(Op::FailedSync { file: self.file });
        Err(failed("sync the file", &self.path, fault.error()))
    }

    fn check_name(&self) -> Result<()> {
        let mut world = lock(&self.world);
        if let Some(fault) = world.faults.next(Need::Nothing) {
            return Err(failed("check the file", &self.path, fault.error()));
        }
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let folder = self.path.parent().unwrap_or(Path::new(""));
        match world.find(folder, name) {
            Ok(file) if file == self.file => Ok(()),
            _ => Err(Error::new(ErrorKind::Replaced, FILE_REPLACED).at_path(&self.path)),
        }
    }
}
