//! A file system in memory that can crash.
//!
//! It records every operation, so that each state in which a power cut could have left the folder
//! can be made afterwards ([`Sim::crash_states`]). The model assumes no more than what
//! storage-format.md, "Assumptions" does: bytes are there after a file's sync, names after the
//! folder's; until then any sector, any size and any operation on a name may be there or not.

mod choices;
mod crash;
mod faults;
mod pending;
mod variants;
mod world;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{LOCK, Map, Storage, TAKEN, WriteFile, failed, path_in};
use crate::error::{Error, ErrorKind, Result};
use crash::Crash;
use faults::Need;
use world::{FileId, Op, World};

pub use crash::{CrashLimits, CrashStates};
pub use faults::Fault;

/// A [`Storage`] in memory for crash tests: fpdb's own, and those of whoever embeds it.
///
/// Run a workload on it once, then open the database in every [state](Sim::crash_states) that a
/// crash after any [operation](Sim::operations) could have left, and look whether what was
/// acknowledged by then is there. [`skip_sync`](Sim::skip_sync) shows that such a test would notice
/// a missing sync; [`fail_at`](Sim::fail_at) makes operations fail.
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
/// # Ok::<(), fpdb::Error>(())
/// ```
pub struct Sim {
    world: Arc<Mutex<World>>,
    root: Arc<Path>,
    /// The crash that this is a state after.
    crash: Option<Arc<Crash>>,
}

impl Sim {
    /// An empty file system, and in it the folder `sim`, which is not created yet.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let world = World { free_space: 1 << 40, ..World::default() };
        Self::in_world(world, Path::new("sim").into(), None)
    }

    fn in_world(world: World, root: Arc<Path>, crash: Option<Arc<Crash>>) -> Arc<Self> {
        Arc::new(Self { world: Arc::new(Mutex::new(world)), root, crash })
    }

    /// Another folder of the same file system, with the same record of operations.
    #[must_use]
    pub fn folder(&self, root: impl AsRef<Path>) -> Arc<Self> {
        let root = root.as_ref().into();
        Arc::new(Self { world: self.world.clone(), root, crash: self.crash.clone() })
    }

    /// How many operations were recorded: everything that changes a file or a folder, and every
    /// sync. Note it when something is acknowledged.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.world().log.len()
    }

    /// Records a number of the caller's own at this place among the operations.
    pub fn mark(&self, mark: u64) {
        let mut world = self.world();
        let at = world.log.len();
        world.marks.push((at, mark));
    }

    /// The [marks](Sim::mark) so far, each with the number of operations recorded before it.
    #[must_use]
    pub fn marks(&self) -> Vec<(usize, u64)> {
        self.world().marks.clone()
    }

    /// Every state in which a crash after the first `at` operations could have left the files:
    /// each a file system of its own, durable as it is, with no lock held, at this folder.
    ///
    /// No two of them are equal. How they are chosen where there are too many: [`CrashLimits`].
    /// Making them takes time in proportion to `at`, the bytes of the files not wholly synced then,
    /// and the number of states.
    #[must_use]
    pub fn crash_states(&self, at: usize, limits: CrashLimits) -> CrashStates {
        CrashStates::new(&mut self.world(), self.root.clone(), self.crash.clone(), at, limits)
    }

    /// Which crashes led to this state: after which operation, what was kept and what was lost. For
    /// the messages of failing tests; empty if there was none.
    #[must_use]
    pub fn describe(&self) -> String {
        self.crash.as_ref().map_or_else(String::new, |crash| crash.describe())
    }

    /// How many calls were made that can fail; [`fail_at`](Sim::fail_at) counts these.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.world().faults.calls
    }

    /// Makes the first call from number `call` on (see [`calls`](Sim::calls)) fail that can fail
    /// with `fault`; if `persistent`, all later ones too. Replaces what was set before.
    ///
    /// A file's sync that failed proves nothing for the bytes before it, however often it is
    /// repeated: they stay as easily lost as they were.
    pub fn fail_at(&self, call: usize, fault: Fault, persistent: bool) {
        self.world().faults.arm(call, fault, persistent);
    }

    /// Lets nothing fail any more.
    pub fn fail_no_more(&self) {
        self.world().faults.disarm();
    }

    /// The syncs recorded so far, each as what it is and what it concerns: `sync NAME` (the name
    /// that the file was created under), `sync_dir`, `create_root`.
    #[must_use]
    pub fn syncs(&self) -> Vec<String> {
        let world = self.world();
        world.log.iter().filter_map(|op| op.sync_label(&world.files)).collect()
    }

    /// Makes sync number `n`, in the order of [`syncs`](Sim::syncs), durable for nothing: what a
    /// program without that call would be like. Set before or after the operation, it counts in
    /// [`crash_states`](Sim::crash_states) called later.
    pub fn skip_sync(&self, n: usize) {
        self.world().faults.skip(n);
    }

    /// Like [`skip_sync`](Sim::skip_sync) for all syncs of which what [`syncs`](Sim::syncs) says
    /// begins with `label`, also those made in the states after a crash.
    pub fn skip_syncs(&self, label: &str) {
        self.world().faults.skip_label(label);
    }

    /// Takes every sync for what it is again.
    pub fn skip_no_more(&self) {
        self.world().faults.unskip_all();
    }

    /// What is in a file, as the running process sees it; `None` if it is missing.
    #[must_use]
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let world = self.world();
        let file = world.find(&self.root, name).ok()?;
        Some(world.files[file].bytes().to_vec())
    }

    /// Puts a file there, or another content in its place, as if it had always been there: to test
    /// what is said of damaged files. Maps made before keep the old content.
    pub fn set_contents(&self, name: &str, bytes: &[u8]) {
        self.world().plant(&self.root, name, bytes);
    }

    /// Sets what [`free_space`](Storage::free_space) says, in bytes (2^40 at first). It bounds
    /// nothing: see [`Fault::NoSpace`].
    pub fn set_free_space(&self, bytes: u64) {
        self.world().free_space = bytes;
    }

    fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    /// Counts a call; fails it if a fault is due.
    fn call(&self, doing: &str, path: &Path, need: Need) -> Result<MutexGuard<'_, World>> {
        let mut world = self.world();
        match world.faults.next(need) {
            None => Ok(world),
            Some(fault) => Err(failed(doing, path, fault.error())),
        }
    }
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn map(&self, name: &str) -> Result<Map> {
        let path = path_in(&self.root, name)?;
        let mut world = self.call("map the file", &path, Need::Nothing)?;
        let file = world.find(&self.root, name).map_err(|e| failed("map the file", &path, e))?;
        Ok(Map::from_bytes(world.files[file].share()))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = path_in(&self.root, name)?;
        let world = self.call("read the file", &path, Need::Nothing)?;
        let file = world.find(&self.root, name).map_err(|e| failed("read the file", &path, e))?;
        Ok(world.files[file].bytes().to_vec())
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

    fn lock(&self) -> Result<Box<dyn Send + Sync>> {
        let path = self.root.join(LOCK);
        let mut world = self.call("open the lock file", &path, Need::Space)?;
        if world.locked.contains(&path) {
            return Err(Error::new(ErrorKind::Locked, TAKEN).at_path(path));
        }
        match world.create(&self.root, LOCK) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed("open the lock file", &path, e));
            }
            _ => world.locked.push(path.clone()),
        }
        Ok(Box::new(Held { world: self.world.clone(), path }))
    }

    fn fresh_id(&self) -> Result<u128> {
        let mut world = self.call("get a fresh id", &self.root, Need::Nothing)?;
        world.ids += 1;
        Ok(world.ids.into())
    }

    fn free_space(&self) -> Result<u64> {
        let doing = "ask for the free space of the folder";
        Ok(self.call(doing, &self.root, Need::Nothing)?.free_space)
    }

    fn at(&self, root: &Path) -> Arc<dyn Storage> {
        self.folder(root)
    }
}

/// The lock of a folder.
struct Held {
    world: Arc<Mutex<World>>,
    path: PathBuf,
}

impl Drop for Held {
    fn drop(&mut self) {
        lock(&self.world).locked.retain(|path| *path != self.path);
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
        let Some(fault) = world.faults.next(Need::Space) else {
            world.append(self.file, bytes);
            return Ok(());
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
}
