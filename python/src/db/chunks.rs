//! Iterators over results that may not fit into memory. A thread searches and fills a short queue
//! of chunks, and Python takes them from it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use fpdb::{DocId, Entry, Sketch, Snapshot};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::base::arrays::array;
use crate::base::errors::{self, OrRaise};
use crate::base::fork::Process;
use crate::base::interrupt::{Cancel, INTERVAL};
use crate::base::width::Bits;
use crate::db::results::named_tuple;
use crate::db::source::{AnySnapshot, AnyWidth, at_width, map_width};

/// Most rows of a chunk.
pub(crate) const ROWS: usize = 1 << 16;
/// Chunks that the thread may be ahead.
const AHEAD: usize = 2;

/// A chunk; or `None` after the last one. A thread that panics sends neither.
type Message<T> = fpdb::Result<Option<T>>;

/// Takes a chunk. Returns false if nobody wants more.
pub(crate) type Sink<'a, T> = &'a mut (dyn FnMut(T) -> bool + Send);

/// Chunks that a thread makes.
#[derive(Debug)]
struct Chunks<T> {
    process: Process,
    cancel: Arc<Cancel>,
    /// `None` once everything was taken. Locked only without the interpreter's lock: a thread that
    /// waits for a chunk holds it.
    receiver: Mutex<Option<Receiver<Message<T>>>>,
}

impl<T: Send + 'static> Chunks<T> {
    /// Begins the search. It gets what it has to look at to notice that nobody wants more, and what
    /// takes its chunks.
    fn start(
        search: impl FnOnce(&Arc<Cancel>, Sink<'_, T>) -> fpdb::Result<()> + Send + 'static,
    ) -> PyResult<Self> {
        let (sender, receiver) = sync_channel(AHEAD);
        let cancel = Arc::new(Cancel::default());
        let seen = cancel.clone();
        let started = thread::Builder::new().spawn(move || fill(&seen, &sender, search));
        started.map_err(|error| errors::no_thread(&error))?;
        Ok(Self { process: Process::current(), cancel, receiver: Mutex::new(Some(receiver)) })
    }

    fn next(&self, py: Python<'_>) -> PyResult<Option<T>> {
        self.process.expect_current()?;
        loop {
            match py.detach(|| self.wait()) {
                Ok(message) => return message.or_raise(),
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the thread that searches has panicked"));
                }
            }
        }
    }

    /// Waits a short time for the next message.
    fn wait(&self) -> Result<Message<T>, RecvTimeoutError> {
        let mut receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = &*receiver else { return Ok(Ok(None)) };
        let received = open.recv_timeout(INTERVAL);
        if matches!(received, Ok(Ok(None) | Err(_))) {
            *receiver = None;
        }
        received
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        // In a child, the lock may be held by a thread that does not exist there.
        self.process.expect_current()?;
        self.cancel.cancel();
        py.detach(|| drop(self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()));
        Ok(())
    }
}

impl<T> Drop for Chunks<T> {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

fn fill<T: Send>(
    cancel: &Arc<Cancel>,
    sender: &SyncSender<Message<T>>,
    search: impl FnOnce(&Arc<Cancel>, Sink<'_, T>) -> fpdb::Result<()>,
) {
    let mut send = |chunk| {
        let sent = !cancel.is_cancelled() && sender.send(Ok(Some(chunk))).is_ok();
        if !sent {
            cancel.cancel();
        }
        sent
    };
    let ended = search(cancel, &mut send).map(|()| None);
    // Nobody may be there to receive it.
    let _ = sender.send(ended);
}

/// Columns of pairs.
#[derive(Debug, Default)]
pub(crate) struct PairChunk {
    pub(crate) a: Vec<u64>,
    pub(crate) b: Vec<u64>,
    pub(crate) distances: Vec<u8>,
}

/// An iterator over pairs of documents, as chunks of arrays.
#[pyclass(frozen, module = "fpdb_engine")]
#[derive(Debug)]
pub(crate) struct PairIterator(Chunks<PairChunk>);

impl PairIterator {
    /// Begins a search for pairs.
    pub(crate) fn start(
        search: impl FnOnce(&Arc<Cancel>, Sink<'_, PairChunk>) -> fpdb::Result<()> + Send + 'static,
    ) -> PyResult<Self> {
        Chunks::start(search).map(Self)
    }
}

#[pymethods]
impl PairIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(PairChunk { a, b, distances }) = self.0.next(py)? else { return Ok(None) };
        named_tuple(py, "Pairs", (array(py, a), array(py, b), array(py, distances))).map(Some)
    }

    fn __repr__(&self) -> &'static str {
        "<fpdb_engine.PairIterator: chunks of arrays a, b and distances>"
    }

    /// Ends the search.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.close(py)
    }
}

/// Chunks of fingerprints and their ids.
type Entries<F> = Chunks<(Vec<F>, Vec<u64>)>;

/// An iterator over the entries of a database, as chunks of arrays.
#[pyclass(frozen, module = "fpdb_engine")]
#[derive(Debug)]
pub(crate) struct EntryIterator(AnyWidth<Entries<u64>, Entries<u128>, Entries<Sketch>>);

impl EntryIterator {
    pub(crate) fn of(snapshot: AnySnapshot) -> PyResult<Self> {
        Ok(Self(map_width!(snapshot, snapshot => entries(snapshot)?)))
    }
}

fn entries<F: Bits>(snapshot: Snapshot<F>) -> PyResult<Entries<F>> {
    Chunks::start(move |_, send| {
        let mut columns = (Vec::new(), Vec::new());
        for entry in &snapshot {
            let Entry { fingerprint, id: DocId(id) } = entry?;
            columns.0.push(fingerprint);
            columns.1.push(id);
            if columns.0.len() == ROWS && !send(std::mem::take(&mut columns)) {
                return Ok(());
            }
        }
        if !columns.0.is_empty() {
            send(columns);
        }
        Ok(())
    })
}

#[pymethods]
impl EntryIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        at_width!(&self.0, chunks => next_entries(py, chunks))
    }

    fn __repr__(&self) -> &'static str {
        "<fpdb_engine.EntryIterator: chunks of arrays fingerprints and ids>"
    }

    /// Ends the iteration.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        at_width!(&self.0, chunks => chunks.close(py))
    }
}

fn next_entries<'py, F: Bits>(
    py: Python<'py>,
    chunks: &Entries<F>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some((fingerprints, ids)) = chunks.next(py)? else { return Ok(None) };
    named_tuple(py, "Entries", (F::into_array(fingerprints, py)?, array(py, ids))).map(Some)
}
