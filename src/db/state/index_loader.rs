//! Copies the indexes and filters of segments to memory, in the background.
//!
//! Queries read a few dozen random words of filters and slots of directories. In huge pages of
//! memory, translating their addresses takes much less time, and the system cannot drop them as it
//! drops pages of its cache. Small segments are also decoded, so that queries need not decode
//! blocks. Opening a database does not wait for the copies: a query uses the pages of each table
//! that is not copied yet.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;

use crate::db::state::locks::lock;
use crate::db::state::options::Tuning;
use crate::error::Result;
use crate::events::Event;
use crate::fingerprint::Fingerprint;
use crate::process::Process;
use crate::segment::Segment;
use crate::storage::{Access, MemoryBudget};
use crate::version::Version;

/// The copies of one database: what may be copied, and the thread that copies.
#[derive(Debug)]
pub(crate) struct IndexLoader<F> {
    budget: Arc<MemoryBudget>,
    /// The process that has the thread.
    process: Process,
    /// Whether a thread may copy in the background.
    background: bool,
    /// Whether files are read in single pages, so that what is not copied is read into the system's
    /// cache.
    cold: bool,
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
            cold: tuning.access == Access::Cold,
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

    /// Copies in the background what this version has and is not copied yet. The thread ends when
    /// nothing is left to copy. If it cannot be started, the files are used as they are.
    pub(crate) fn offer(self: &Arc<Self>, version: &Version<F>) {
        let needed = version.segments.iter().any(|segment| segment.needs_indexes());
        let enabled = self.budget.limit() > 0 || self.cold;
        if !needed || !enabled || !self.process.is_current() {
            return;
        }
        if !self.background {
            // Without a thread, indexes of cold files would be read in single pages forever.
            if self.cold {
                let _ = self.copy(version);
            }
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
            if let Err(error) = self.copy_all(segments) {
                let path = error.path().unwrap_or(std::path::Path::new("")).to_owned();
                Event::BackgroundFailed { path: &path, error: &error }.report();
                *lock(&self.failure) = Some(error.to_string());
            }
        }
    }

    /// Copies what this version has and is not copied yet, in this thread. Returns the first error.
    pub(crate) fn copy(&self, version: &Version<F>) -> Result<()> {
        self.copy_all(version.segments.iter().map(Arc::downgrade).collect())
    }

    /// Copies the largest segments first. They are referenced only while they are being copied, so
    /// that a segment that is no longer used is freed.
    fn copy_all(&self, mut segments: Vec<Weak<Segment<F>>>) -> Result<()> {
        let _one = lock(&self.copying);
        let size = |segment: &Weak<Segment<F>>| segment.upgrade().map_or(0, |s| s.index_memory());
        segments.sort_by_cached_key(|segment| std::cmp::Reverse(size(segment)));
        let goes_on = || !self.stopped.load(Ordering::Relaxed);
        let mut result = Ok(());
        for segment in segments.iter().filter_map(Weak::upgrade).take_while(|_| goes_on()) {
            result = result.and(segment.load_indexes(&self.budget, &goes_on));
        }
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
