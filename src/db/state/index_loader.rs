//! Loads segments into memory, in the background: first what every query needs, then all files for
//! which there is room.
//!
//! Queries read a few dozen random words of filters and slots of directories. In huge pages of
//! memory, translating their addresses takes much less time, and the system cannot drop them as it
//! drops pages of its cache. Small segments are also decoded, so that queries need not decode
//! blocks. Opening a database does not wait for the copies: a query uses the pages of each table
//! that is not copied yet.
//!
//! Then the files for which memory is set aside are read from beginning to end, so that queries no
//! longer wait for single pages.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;

use crate::base::error::Result;
use crate::base::events::Event;
use crate::base::parallel::lock;
use crate::base::process::{Process, let_others_go_first};
use crate::base::progress::{Meter, Phase, Watch};
use crate::db::options::Tuning;
use crate::file::storage::{MemoryBudget, PageBudget};
use crate::store::segment::Loadable;

/// What has the current version of a database, of any type of fingerprints.
pub(crate) trait HasVersion: Send + Sync {
    /// Returns the segments of the current version, which is
    /// [renewed](crate::store::version::Version::renewed) first if necessary.
    fn segments(&self) -> Vec<Arc<dyn Loadable>>;

    /// Takes back memory that is set aside for files, if more copies need it.
    fn make_room_for_copies(&self);

    /// Returns whether the current version has anything that should be loaded.
    fn needs_loading(&self) -> bool;
}

/// The copies of one database: what may be copied, and the thread that copies.
pub(crate) struct IndexLoader {
    budget: Arc<MemoryBudget>,
    /// The database, from the time when it is open.
    database: OnceLock<Weak<dyn HasVersion>>,
    /// The process that has the thread.
    process: Process,
    /// Whether a thread may copy in the background.
    background: bool,
    stopped: AtomicBool,
    state: Mutex<State>,
    /// Held while segments are copied: one thread at a time.
    copying: Mutex<()>,
    /// The last failure in the background.
    failure: Mutex<Option<String>>,
}

#[derive(Debug)]
struct State {
    /// Whether the database has something that is to be loaded.
    is_offered: bool,
    thread: Option<JoinHandle<()>>,
    /// Whether there is a thread that will look for offered segments again before it ends.
    running: bool,
}

impl IndexLoader {
    pub(crate) fn new(tuning: &Tuning, pages: Arc<PageBudget>) -> Arc<Self> {
        let budget = match tuning.index_memory {
            Some(bytes) => MemoryBudget::new(bytes),
            None => MemoryBudget::part_of(pages),
        };
        Arc::new(Self {
            database: OnceLock::new(),
            budget: Arc::new(budget),
            process: Process::current(),
            background: tuning.background,
            stopped: AtomicBool::new(false),
            state: Mutex::new(State { is_offered: false, thread: None, running: false }),
            copying: Mutex::new(()),
            failure: Mutex::new(None),
        })
    }

    /// Returns the most bytes that copies may take.
    pub(crate) fn budget(&self) -> u64 {
        self.budget.limit()
    }

    /// Returns the last failure in the background.
    pub(crate) fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    /// Loads in the background what the database has, which is open now.
    pub(crate) fn begin(self: &Arc<Self>, database: Weak<dyn HasVersion>) {
        // It is set once.
        let _ = self.database.set(database);
        if let Some(database) = self.database() {
            self.offer(|| database.needs_loading());
        }
    }

    /// Loads in the background what the database has not loaded yet, if `needs_loading` returns
    /// true. The thread ends when nothing is left to load. If it cannot be started, the files are
    /// used as they are. Without memory for copies, nothing is loaded: the caller expects few
    /// queries.
    pub(crate) fn offer(self: &Arc<Self>, needs_loading: impl FnOnce() -> bool) {
        let enabled = self.background && self.budget.limit() > 0 && self.process.is_current();
        if !enabled || !needs_loading() {
            return;
        }
        let mut state = lock(&self.state);
        if self.stopped.load(Ordering::Relaxed) {
            return;
        }
        state.is_offered = true;
        if !state.running {
            let loader = self.clone();
            let thread = std::thread::Builder::new().name("fpdb-index".to_owned());
            if let Ok(started) = thread.spawn(move || loader.run()) {
                state.running = true;
                // The thread before has ended, or is about to.
                state.thread = Some(started);
            }
        }
    }

    /// The thread: loads what is offered until nothing is.
    fn run(&self) {
        let has_low_priority = Once::new();
        loop {
            let mut state = lock(&self.state);
            if !std::mem::take(&mut state.is_offered) {
                state.running = false;
                return;
            }
            drop(state);
            let _one = lock(&self.copying);
            let pages_begin = || has_low_priority.call_once(let_others_go_first);
            if let Err(error) = self.load_all(&Watch::default(), pages_begin) {
                let path = error.path().unwrap_or(std::path::Path::new("")).to_owned();
                Event::BackgroundFailed { path: &path, error: &error }.report();
                *lock(&self.failure) = Some(error.to_string());
            }
        }
    }

    /// Loads what the database has and is not loaded yet, in this thread. Returns the first error.
    pub(crate) fn load(&self, watch: &Watch) -> Result<()> {
        let _one = lock(&self.copying);
        self.load_all(watch, || ())
    }

    fn database(&self) -> Option<Arc<dyn HasVersion>> {
        self.database.get().and_then(Weak::upgrade)
    }

    /// Lets pages be dropped for which no memory is set aside any more.
    fn renew_version(&self) {
        drop(self.database().map(|database| database.segments()));
    }

    /// Returns the segments of the current version, the largest first. Each is looked up when it is
    /// its turn, and referenced only until the next, so that pages that are dropped meanwhile are
    /// freed.
    fn segments(&self) -> impl Iterator<Item = Arc<dyn Loadable>> {
        (0..).map_while(|number| {
            let database = self.database().filter(|_| !self.stopped.load(Ordering::Relaxed))?;
            let mut segments = database.segments();
            segments.sort_by_cached_key(|segment| std::cmp::Reverse(segment.index_memory()));
            segments.get(number).cloned()
        })
    }

    /// Loads everything; the caller has locked `copying`. Calls `pages_begin` once the indexes are
    /// loaded.
    fn load_all(&self, watch: &Watch, pages_begin: impl FnOnce()) -> Result<()> {
        let is_stopped = || self.stopped.load(Ordering::Relaxed);
        let mut result = Ok(());
        for segment in self.segments() {
            result = result.and(segment.load_indexes(&self.budget, &|| !is_stopped()));
        }
        if let Some(database) = self.database() {
            database.make_room_for_copies();
        }
        // If memory is no longer set aside for a file, this drops its pages.
        self.renew_version();
        pages_begin();
        let total = self.segments().map(|segment| segment.missing_pages_len()).sum();
        let meter = Meter::new(watch, Phase::Copy, Some(total));
        meter.advance(0)?;
        for segment in self.segments() {
            segment.load_pages(&|bytes| {
                // If less memory is available by now, this gives up what is set aside for some
                // files.
                self.renew_version();
                !is_stopped() && meter.advance(bytes).is_ok()
            });
            meter.check()?;
        }
        meter.finish();
        result
    }
}

/// Shows nothing: the database would fill pages.
impl fmt::Debug for IndexLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexLoader").finish_non_exhaustive()
    }
}

impl IndexLoader {
    /// Ends the thread, and starts no other.
    pub(crate) fn stop(&self) {
        if !self.process.is_current() {
            return;
        }
        let thread = {
            let mut state = lock(&self.state);
            self.stopped.store(true, Ordering::Relaxed);
            state.thread.take()
        };
        if let Some(thread) = thread {
            // If the thread panicked, its message was printed already.
            let _ = thread.join();
        }
    }
}

impl Drop for IndexLoader {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // A child of the process has no such thread that could be joined or detached.
            let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
            if let Some(thread) = state.thread.take() {
                std::mem::forget(thread);
            }
        }
    }
}
