//! Iterators over results that may not fit into memory. A thread searches and fills a short queue of
//! chunks, and Python takes them from it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use fpdb::{DocId, Entry, Snapshot};
use pyo3::prelude::*;

use crate::arrays::array;
use crate::errors::OrRaise;
use crate::fork::Process;
use crate::interrupt::{Cancel, receive};
use crate::results::named_tuple;
use crate::source::AnyWidth;
use crate::width::Bits;

/// Most rows of a chunk.
pub(crate) const ROWS: usize = 1 << 16;
/// Chunks that the thread may be ahead.
const AHEAD: usize = 2;

type Message<T> = fpdb::Result<T>;

/// Takes a chunk. Returns false if nobody wants more.
pub(crate) type Sink<'a, T> = &'a mut (dyn FnMut(T) -> bool + Send);

/// Chunks that a thread makes.
#[derive(Debug)]
struct Chunks<T> {
    process: Process,
    cancel: Arc<Cancel>,
    /// `None` once everything was taken.
    receiver: Mutex<Option<Receiver<Message<T>>>>,
}

impl<T: Send + 'static> Chunks<T> {
    /// Begins the search. It gets what it has to look at to notice that nobody wants more, and the
    /// function that takes its chunks and returns false then.
    fn start(
        search: impl FnOnce(&Cancel, Sink<'_, T>) -> fpdb::Result<()> + Send + 'static,
    ) -> Self {
        let (sender, receiver) = sync_channel(AHEAD);
        let cancel = Arc::new(Cancel::default());
        let seen = cancel.clone();
        thread::spawn(move || fill(&seen, &sender, search));
        Self { process: Process::current(), cancel, receiver: Mutex::new(Some(receiver)) }
    }

    fn next(&self, py: Python<'_>) -> PyResult<Option<T>> {
        self.process.expect_current()?;
        // Taken, so that no lock is held while another thread may have the interpreter's.
        let lock = || self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut receiver) = lock().take() else { return Ok(None) };
        let received = receive(py, &mut receiver);
        if !matches!(received, Ok(None | Some(Err(_)))) {
            *lock() = Some(receiver);
        }
        received?.transpose().or_raise()
    }

    fn close(&self) {
        self.cancel.cancel();
        drop(self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl<T> Drop for Chunks<T> {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

fn fill<T: Send>(
    cancel: &Cancel,
    sender: &SyncSender<Message<T>>,
    search: impl FnOnce(&Cancel, Sink<'_, T>) -> fpdb::Result<()>,
) {
    let mut send = |chunk| {
        let sent = !cancel.is_cancelled() && sender.send(Ok(chunk)).is_ok();
        if !sent {
            cancel.cancel();
        }
        sent
    };
    if let Err(error) = search(cancel, &mut send) {
        // Nobody may be there to hear it.
        let _ = sender.send(Err(error));
    }
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
        search: impl FnOnce(&Cancel, Sink<'_, PairChunk>) -> fpdb::Result<()> + Send + 'static,
    ) -> Self {
        Self(Chunks::start(search))
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

    /// Ends the search.
    fn close(&self) {
        self.0.close();
    }
}

type Columns<F> = (Vec<F>, Vec<u64>);

/// An iterator over the entries of a database, as chunks of arrays.
#[pyclass(frozen, module = "fpdb_engine")]
#[derive(Debug)]
pub(crate) struct EntryIterator(AnyWidth<Chunks<Columns<u64>>, Chunks<Columns<u128>>>);

impl EntryIterator {
    pub(crate) fn of_64(snapshot: Snapshot<u64>) -> Self {
        Self(AnyWidth::Bits64(entries(snapshot)))
    }

    pub(crate) fn of_128(snapshot: Snapshot<u128>) -> Self {
        Self(AnyWidth::Bits128(entries(snapshot)))
    }
}

fn entries<F: Bits>(snapshot: Snapshot<F>) -> Chunks<Columns<F>> {
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
        match &self.0 {
            AnyWidth::Bits64(chunks) => next_entries(py, chunks),
            AnyWidth::Bits128(chunks) => next_entries(py, chunks),
        }
    }

    /// Ends the iteration.
    fn close(&self) {
        crate::source::at_width!(&self.0, chunks => chunks.close());
    }
}

fn next_entries<'py, F: Bits>(
    py: Python<'py>,
    chunks: &Chunks<Columns<F>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some((fingerprints, ids)) = chunks.next(py)? else { return Ok(None) };
    named_tuple(py, "Entries", (F::into_array(fingerprints, py), array(py, ids))).map(Some)
}
