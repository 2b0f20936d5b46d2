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

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;

use crate::db::state::locks::lock;
use crate::db::state::options::Tuning;
use crate::error::Result;
use crate::events::Event;
use crate::fingerprint::Fingerprint;
use crate::process::Process;
use crate::progress::{Meter, Phase, Watch};
use crate::segment::Segment;
use crate::storage::{MemoryBudget, memory_is_short};
use crate::version::Version;

/// The copies of one database: what may be copied, and the thread that copies.
#[derive(Debug)]
pub(crate) struct IndexLoader<F> {
    budget: Arc<MemoryBudget>,
    /// The process that has the thread.
    process: Process,
    /// Whether a thread may copy in the background.
    background: bool,
    stopped: AtomicBool,
    state: Mutex<State<F>>,
    /// Held while segments are copied: one thread at a time.
    copying: Mutex<()>,
    /// The last failure in the background.
    failure: Mutex<Option<String>>,
}

#[derive(Debug)]
struct State<F> {
    /// The segments that the thread is to copy next.
    offered: Option<Vec<Weak<Segment<F>>>>,
    thread: Option<JoinHandle<()>>,
    /// Whether the thread will look for offered segments again before it ends.
    running: bool,
}

impl<F: Fingerprint> IndexLoader<F> {
    pub(crate) fn new(tuning: &Tuning) -> Arc<Self> {
        Arc::new(Self {
            budget: Arc::new(MemoryBudget::new(tuning.index_memory)),
            process: Process::current(),
            background: tuning.background,
            stopped: AtomicBool::new(false),
            state: Mutex::new(State { offered: None, thread: None, running: false }),
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

    /// Loads in the background what this version has and is not loaded yet. The thread ends when
    /// nothing is left to load. If it cannot be started, the files are used as they are. Without
    /// memory for copies, nothing is loaded: the caller expects few queries.
    pub(crate) fn offer(self: &Arc<Self>, version: &Version<F>) {
        let needs =
            |segment: &Arc<Segment<F>>| segment.needs_indexes() || segment.missing_pages_len() > 0;
        let enabled = self.background && self.budget.limit() > 0 && self.process.is_current();
        if !enabled || !version.segments.iter().any(needs) {
            return;
        }
        let mut state = lock(&self.state);
        if self.stopped.load(Ordering::Relaxed) {
            return;
        }
        state.offered = Some(version.segments.iter().map(Arc::downgrade).collect());
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

    /// The thread: copies what is offered until nothing is.
    fn run(&self) {
        loop {
            let mut state = lock(&self.state);
            let Some(segments) = state.offered.take() else {
                state.running = false;
                return;
            };
            drop(state);
            if let Err(error) = self.load_all(segments, &Watch::default()) {
                let path = error.path().unwrap_or(std::path::Path::new("")).to_owned();
                Event::BackgroundFailed { path: &path, error: &error }.report();
                *lock(&self.failure) = Some(error.to_string());
            }
        }
    }

    /// Loads what this version has and is not loaded yet, in this thread. Returns the first error.
    pub(crate) fn load(&self, version: &Version<F>, watch: &Watch) -> Result<()> {
        self.load_all(version.segments.iter().map(Arc::downgrade).collect(), watch)
    }

    /// Loads the largest segments first. They are referenced only while they are being loaded, so
    /// that a segment that is no longer used is freed.
    fn load_all(&self, mut segments: Vec<Weak<Segment<F>>>, watch: &Watch) -> Result<()> {
        let _one = lock(&self.copying);
        let size = |segment: &Weak<Segment<F>>| segment.upgrade().map_or(0, |s| s.index_memory());
        segments.sort_by_cached_key(|segment| std::cmp::Reverse(size(segment)));
        let is_stopped = || self.stopped.load(Ordering::Relaxed);
        let left = || segments.iter().filter_map(Weak::upgrade).take_while(|_| !is_stopped());
        let mut result = Ok(());
        for segment in left() {
            result = result.and(segment.load_indexes(&self.budget, &|| !is_stopped()));
        }
        let total = left().map(|segment| segment.missing_pages_len()).sum();
        let meter = Meter::new(watch, Phase::Copy, Some(total));
        meter.advance(0)?;
        let memory = MemoryLeft::default();
        for segment in left().take_while(|_| !memory.is_short.get()) {
            segment.load_pages(&|bytes| {
                memory.covers(bytes) && !is_stopped() && meter.advance(bytes).is_ok()
            });
            meter.check()?;
        }
        meter.finish();
        result
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
            // If the thread panicked, its message was printed already.
            let _ = thread.join();
        }
    }
}

/// Bytes of files that are read between two looks at how much memory is left.
const LOOK_EACH: u64 = 32 << 20;

/// Whether there is memory left for more. Other programs may need it, or other databases in this
/// process.
#[derive(Default)]
struct MemoryLeft {
    since_look: Cell<u64>,
    is_short: Cell<bool>,
}

impl MemoryLeft {
    /// Counts bytes that were read, and returns whether there is memory for more.
    fn covers(&self, bytes: u64) -> bool {
        self.since_look.set(self.since_look.get() + bytes);
        if self.since_look.get() >= LOOK_EACH {
            self.since_look.set(0);
            self.is_short.set(memory_is_short());
        }
        !self.is_short.get()
    }
}
