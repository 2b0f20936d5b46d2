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
//!
//! After that, the same thread looks once a second how much memory is left, and more often if that is
//! little. It lets the database give up pages while memory is short.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, TryLockError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::db::options::Tuning;
use crate::error::Result;
use crate::events::Event;
use crate::fingerprint::Fingerprint;
use crate::parallel::lock;
use crate::process::{Process, let_others_go_first};
use crate::progress::{Meter, Phase, Watch};
use crate::segment::Segment;
use crate::storage::{Memory, MemoryBudget, PageBudget, Storage, look_each};
use crate::version::Version;

/// How often the thread looks how much memory is left, unless little is left.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What has the current version of a database.
pub(crate) trait HasVersion<F: Fingerprint>: Send + Sync {
    /// Returns the current version. It is a [renewed](Version::renewed) one if necessary.
    fn version(&self) -> Arc<Version<F>>;
}

/// The copies of one database: what may be copied, and the thread that copies.
pub(crate) struct IndexLoader<F> {
    storage: Arc<dyn Storage>,
    budget: Arc<MemoryBudget>,
    /// The database, from the time when it is open.
    database: OnceLock<Weak<dyn HasVersion<F>>>,
    /// The process that has the thread.
    process: Process,
    /// Whether a thread may copy in the background.
    background: bool,
    stopped: AtomicBool,
    state: Mutex<State>,
    /// Whether loading ended because memory was short.
    was_short: AtomicBool,
    /// The fewest bytes of a segment's copies that the budget had no room for, or 0.
    refused: AtomicU64,
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
    /// Whether there is a thread that will look for offered segments.
    running: bool,
}

impl<F: Fingerprint> IndexLoader<F> {
    pub(crate) fn new(tuning: &Tuning, storage: Arc<dyn Storage>) -> Arc<Self> {
        let budget = match tuning.index_memory {
            Some(bytes) => MemoryBudget::new(bytes),
            None => MemoryBudget::part_of(storage.page_budget()),
        };
        Arc::new(Self {
            storage,
            database: OnceLock::new(),
            was_short: AtomicBool::new(false),
            refused: AtomicU64::new(0),
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

    /// Lets the thread of this database look at the memory from now on, and loads what the database
    /// has.
    pub(crate) fn begin(self: &Arc<Self>, database: Weak<dyn HasVersion<F>>) {
        let version = database.upgrade().map(|database| database.version());
        // It is set once.
        let _ = self.database.set(database);
        if let Some(version) = version {
            self.offer(&version);
        }
    }

    /// Loads in the background what this version has and is not loaded yet. The thread ends when
    /// there are no segments. If it cannot be started, the files are used as they are. Without
    /// memory for copies, nothing is loaded: the caller expects few queries.
    pub(crate) fn offer(self: &Arc<Self>, version: &Version<F>) {
        let needs =
            |segment: &Arc<Segment<F>>| segment.needs_indexes() || segment.missing_pages_len() > 0;
        if !self.background || !self.process.is_current() || version.segments.is_empty() {
            return;
        }
        let is_needed = self.budget.limit() > 0 && version.segments.iter().any(needs);
        let mut state = lock(&self.state);
        if self.stopped.load(Ordering::Relaxed) {
            return;
        }
        if is_needed {
            state.is_offered = true;
            if let Some(thread) = &state.thread {
                thread.thread().unpark();
            }
        }
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

    /// The thread: loads what is offered, and looks at the memory.
    fn run(self: &Arc<Self>) {
        let has_low_priority = Once::new();
        let budget = self.storage.page_budget();
        budget.look_from_here();
        let (mut next_second, mut next_look) = (Instant::now(), Instant::now());
        loop {
            if std::mem::take(&mut lock(&self.state).is_offered) {
                self.load_offered(&has_low_priority);
            }
            let is_time = Instant::now() >= next_second;
            if is_time {
                next_second = Instant::now() + LOOK_EVERY;
            }
            let memory = self.storage.memory();
            let is_due = Instant::now() >= next_look;
            if is_due {
                next_look = Instant::now() + memory.map_or(LOOK_EVERY, Memory::look_after);
            }
            let has_segments = self.look(memory, is_time, is_due);
            if has_segments && !self.stopped.load(Ordering::Relaxed) {
                // It is unparked before that if there is something to load, or if many pages were read.
                let next = next_look.min(next_second);
                std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
            }
            let mut state = lock(&self.state);
            let is_done = !state.is_offered && !has_segments;
            if is_done || self.stopped.load(Ordering::Relaxed) {
                state.running = false;
                return;
            }
        }
    }

    /// Lets the database give up pages if memory is short, and loads the rest if it was short before, or
    /// if the budget has room now for copies that it refused. Whether there has been plenty for some
    /// time counts only if `is_time`. Returns whether the database has segments.
    fn look(self: &Arc<Self>, memory: Option<Memory>, is_time: bool, is_due: bool) -> bool {
        let Some(version) = self.version() else { return false };
        // Not whenever something is offered: what was given up may not be free yet.
        let is_due = self.storage.page_budget().take_look() || is_due;
        if let Some(memory) = memory.filter(|memory| is_time || is_due && memory.is_short()) {
            version.adapt(memory);
        }
        if memory.is_none_or(Memory::is_plenty) && self.has_room_again() {
            self.offer(&version);
        }
        let has_segments = !version.segments.is_empty();
        drop(version);
        // If pages are given up, this frees their memory.
        drop(self.version());
        has_segments
    }

    /// Returns whether there is memory for something that was not loaded for lack of it.
    fn has_room_again(&self) -> bool {
        let refused = self.refused.load(Ordering::Relaxed);
        let is_room = refused > 0 && self.budget.has_room(refused);
        self.was_short.swap(false, Ordering::Relaxed) || is_room
    }

    fn load_offered(&self, has_low_priority: &Once) {
        let _one = match self.copying.try_lock() {
            Ok(one) => one,
            Err(TryLockError::Poisoned(one)) => one.into_inner(),
            Err(TryLockError::WouldBlock) => {
                // This thread looks at the memory meanwhile.
                lock(&self.state).is_offered = true;
                return;
            }
        };
        let pages_begin = || has_low_priority.call_once(let_others_go_first);
        if let Err(error) = self.load_all(&Watch::default(), pages_begin) {
            let path = error.path().unwrap_or(std::path::Path::new("")).to_owned();
            Event::BackgroundFailed { path: &path, error: &error }.report();
            *lock(&self.failure) = Some(error.to_string());
        }
    }

    /// Loads what the database has and is not loaded yet, in this thread. Returns the first error.
    pub(crate) fn load(&self, watch: &Watch) -> Result<()> {
        let one = lock(&self.copying);
        let result = self.load_all(watch, || ());
        drop(one);
        if let Some(thread) = &lock(&self.state).thread {
            thread.thread().unpark();
        }
        result
    }

    fn version(&self) -> Option<Arc<Version<F>>> {
        self.database.get().and_then(Weak::upgrade).map(|database| database.version())
    }

    /// Returns the segments of the current version, the largest first. Each is looked up when it is its
    /// turn, and referenced only until the next, so that pages that are given up meanwhile are freed.
    fn segments(&self) -> impl Iterator<Item = Arc<Segment<F>>> {
        (0..).map_while(|number| {
            let version = self.version().filter(|_| !self.stopped.load(Ordering::Relaxed))?;
            let mut segments: Vec<_> = version.segments.iter().collect();
            segments.sort_by_cached_key(|segment| std::cmp::Reverse(segment.index_memory()));
            segments.get(number).map(|segment| Arc::clone(segment))
        })
    }

    /// Loads everything; the caller has locked `copying`. Calls `pages_begin` once the indexes are loaded.
    fn load_all(&self, watch: &Watch, pages_begin: impl FnOnce()) -> Result<()> {
        let is_stopped = || self.stopped.load(Ordering::Relaxed);
        let mut result = Ok(());
        let memory = MemoryLeft::of(&*self.storage);
        for segment in self.segments() {
            let goes_on = &|| !is_stopped() && memory.covers(COPIED_EACH);
            result = result.and(segment.load_indexes(&self.budget, goes_on));
        }
        if let Some(version) = self.version() {
            version.make_room_for_copies();
        }
        // If memory is no longer set aside for a file, this drops its pages.
        drop(self.version());
        let needed = self.segments().map(|segment| segment.needed_indexes_len());
        let refused = needed.filter(|&bytes| bytes > 0 && !self.budget.has_room(bytes)).min();
        self.refused.store(refused.unwrap_or(0), Ordering::Relaxed);
        pages_begin();
        let total = self.segments().map(|segment| segment.missing_pages_len()).sum();
        let meter = Meter::new(watch, Phase::Copy, Some(total));
        meter.advance(0)?;
        for segment in self.segments().take_while(|_| !memory.is_short.get()) {
            segment.load_pages(&|bytes| {
                memory.covers(bytes) && !is_stopped() && meter.advance(bytes).is_ok()
            });
            meter.check()?;
        }
        meter.finish();
        self.was_short.fetch_or(memory.is_short.get(), Ordering::Relaxed);
        result
    }
}

/// Shows the folder only: everything else would fill pages.
impl<F> fmt::Debug for IndexLoader<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexLoader").field("path", &self.storage.root()).finish_non_exhaustive()
    }
}

impl<F> IndexLoader<F> {
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
            thread.thread().unpark();
            // If the thread panicked, its message was printed already.
            let _ = thread.join();
        }
    }
}

/// How many bytes of an index are copied at a time.
const COPIED_EACH: u64 = 256 << 10;

/// Whether there is memory left for more. Other programs may need it, or other databases in this
/// process.
struct MemoryLeft<'a> {
    storage: &'a dyn Storage,
    pages: Arc<PageBudget>,
    since_look: Cell<u64>,
    look_each: Cell<u64>,
    is_short: Cell<bool>,
}

impl<'a> MemoryLeft<'a> {
    fn of(storage: &'a dyn Storage) -> Self {
        let (since_look, look_each) = (Cell::new(0), Cell::new(0));
        let pages = storage.page_budget();
        Self { storage, pages, since_look, look_each, is_short: Cell::new(false) }
    }

    /// Counts bytes that were read, and returns whether there is memory for more.
    fn covers(&self, bytes: u64) -> bool {
        self.since_look.set(self.since_look.get() + bytes);
        if self.since_look.get() >= self.look_each.get() || self.pages.take_look() {
            self.since_look.set(0);
            let memory = self.storage.memory();
            let is_short = memory.is_some_and(Memory::is_short);
            self.is_short.set(is_short);
            if is_short && self.look_each.get() > 0 {
                // It was not before. The thread in the background gives pages up.
                self.pages.request_look();
            }
            self.look_each.set(memory.map_or(u64::MAX, |memory| look_each(memory.total)));
        }
        !self.is_short.get()
    }
}
