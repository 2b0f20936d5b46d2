//! Databases that are open.

pub(crate) mod open;
pub(crate) mod read_only;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use crate::base::error::{Error, Result};
use crate::base::parallel::lock;
use crate::base::progress::Watch;
use crate::db::commit::sync;
use crate::db::read::reader::Reader;
use crate::db::read::stats::{Description, Stats};
use crate::db::recovery::recover::RecoveryReport;
use crate::db::state::core::Core;
use crate::db::state::index_loader::HasVersion;
use crate::db::upkeep::background;
use crate::db::upkeep::close;
use crate::db::upkeep::compact;
use crate::db::upkeep::flush;
use crate::fingerprint::Fingerprint;

/// A database that is open for writing.
pub(crate) struct WriteHandle<F: Fingerprint> {
    shared: Arc<Shared<F>>,
    /// Gets the progress of long operations.
    pub(crate) watch: Watch,
}

/// Shows the folder only: the rest would fill pages.
impl<F: Fingerprint> fmt::Debug for WriteHandle<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteHandle").field("path", &self.path()).finish_non_exhaustive()
    }
}

/// The shared state and its threads, which end with the last handle.
struct Shared<F: Fingerprint> {
    core: Arc<Core<F>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    recovery: RecoveryReport,
    description: Description,
}

impl<F: Fingerprint> Shared<F> {
    /// Ends the threads. A child of the process has none.
    fn stop_threads(&self) {
        if !self.core.poison.process().is_current() {
            return;
        }
        self.core.signals.stop();
        self.core.indexes.stop();
        for thread in lock(&self.threads).drain(..) {
            // If the thread panicked, its message was printed already. Nothing is gained by another
            // panic.
            let _ = thread.join();
        }
    }
}

impl<F: Fingerprint> Drop for Shared<F> {
    fn drop(&mut self) {
        if !self.core.poison.process().is_current() {
            // There are no threads to wait for, and waiting would never end.
            let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
            threads.drain(..).for_each(std::mem::forget);
            return;
        }
        self.stop_threads();
        // Best effort: callers who need to know use `close`.
        let _ = sync::sync_log(&self.core);
    }
}

impl<F: Fingerprint> WriteHandle<F> {
    pub(crate) fn start(core: Core<F>, recovery: RecoveryReport, watch: Watch) -> Result<Self> {
        let threads = Mutex::new(Vec::new());
        let description = Description::of(lock(&core.manifest).clone());
        let shared = Shared { core: Arc::new(core), threads, recovery, description };
        background::start(&shared.core, &mut lock(&shared.threads))?;
        let core: Arc<dyn HasVersion> = shared.core.clone();
        shared.core.indexes.begin(Arc::downgrade(&core));
        Ok(Self { shared: Arc::new(shared), watch })
    }

    /// Returns the shared state, in the process that opened the database. In a child, locks may be
    /// held by threads that do not exist there.
    pub(crate) fn in_own_process(&self) -> Result<&Core<F>> {
        let core = self.core();
        core.poison.process().expect_current()?;
        Ok(core)
    }

    /// Does the same for a write of the caller. The entries of an index of passages are written by
    /// the index only.
    pub(crate) fn writable(&self) -> Result<&Core<F>> {
        let core = self.in_own_process()?;
        match core.settings.passages {
            None => Ok(core),
            Some(_) => Err(Error::is_index().at_path(core.storage.root())),
        }
    }

    pub(crate) fn core(&self) -> &Core<F> {
        &self.shared.core
    }

    /// Returns the same database with another function for the progress of long operations.
    pub(crate) fn watched(&self, watch: Watch) -> Self {
        Self { shared: self.shared.clone(), watch }
    }

    /// Returns the database as it is now, in the process that opened it.
    pub(crate) fn read(&self) -> Result<Reader<F>> {
        self.in_own_process().map(|_| self.reader())
    }

    /// Returns the database as it is now.
    pub(crate) fn reader(&self) -> Reader<F> {
        let core = self.core();
        let (version, seq) = core.visible_version();
        let (settings, planner) = (core.settings.clone(), core.planner.clone());
        let renewed = OnceLock::new();
        let (watch, threads) = (self.watch.clone(), core.threads());
        Reader { settings, planner, version, renewed, seq, watch, threads }
    }

    /// Reads into memory what queries need, as far as it fits.
    pub(crate) fn warm(&self) -> Result<()> {
        self.in_own_process()?.indexes.load(&self.watch)
    }

    /// Drops all pages of files.
    pub(crate) fn release_memory(&self) {
        if let Ok(core) = self.in_own_process() {
            core.current.get().release_memory();
            drop(core.current.get());
        }
    }

    /// Drops pages of files as far as others need the memory.
    pub(crate) fn fit_memory(&self) {
        if let Ok(core) = self.in_own_process() {
            core.fit_memory();
        }
    }

    /// Writes everything in memory as segments.
    pub(crate) fn flush(&self) -> Result<()> {
        let core = self.in_own_process()?;
        drop(flush::flush_all(core)?);
        compact::compact_as_needed(core);
        Ok(())
    }

    /// Returns statistics about the database.
    pub(crate) fn stats(&self) -> Stats {
        // Reading may free pages.
        let page_memory_bytes = self.core().storage.page_budget().used();
        let reader = self.reader();
        let stats = Stats::of_core(self.core(), reader.counts(), &reader.version);
        Stats { page_memory_bytes, ..stats }
    }

    /// Returns what opening the database found in its log.
    pub(crate) fn recovery(&self) -> RecoveryReport {
        self.shared.recovery
    }

    /// Returns the folder of the database.
    pub(crate) fn path(&self) -> &Path {
        self.core().storage.root()
    }

    /// Returns what the database is, as it was when the handle was opened: its distance, kind of
    /// ids, layout, recipe and so on.
    pub(crate) fn description(&self) -> &Description {
        &self.shared.description
    }

    /// Flushes everything, ends the background threads and closes the database, also for the other
    /// clones of the handle. From now on their writes fail with `Closed`. They can still read, and
    /// see what was written up to now, because files that are open stay as they are.
    pub(crate) fn close(&self) -> Result<()> {
        self.in_own_process()?;
        self.shared.stop_threads();
        close::close(self.core())
    }
}
