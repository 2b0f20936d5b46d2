//! Passages that texts repeat from earlier ones.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use fpdb::passages::{Change, Contained, Found, Lines, Passages, Span, Texts};
use fpdb::text::removal;
use fpdb::text::units::Unit;
use fpdb::{Phase, Progress};
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;

use crate::base::arrays::{array, with_numbers};
use crate::base::errors::OrRaise;
use crate::base::numbers::Number;
use crate::base::parallel;
use crate::base::strings::Strings;

/// What ends a search: what reading the texts raised, or an error of the search.
enum Ended {
    Raised(PyErr),
    Failed(fpdb::Error),
}

impl From<fpdb::Error> for Ended {
    fn from(error: fpdb::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<PyErr> for Ended {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

/// Takes a chunk of texts, and replaces lone surrogates.
pub(crate) fn strings<'py>(chunk: &Bound<'py, PyAny>) -> PyResult<Strings<'py>> {
    let py = chunk.py();
    Strings::new(chunk, "text").or_else(|error| {
        if !error.is_instance_of::<PyUnicodeEncodeError>(py) {
            return Err(error);
        }
        let columns = PyModule::import(py, "fpdb_engine._columns")?;
        let mended = columns.getattr("without_surrogates")?.call1((chunk,))?;
        Strings::new(&mended.get_item(0)?, "text")
    })
}

/// Lets a signal end a search between two readings of the texts, too, and says how many texts were
/// compared. The threads of a search take turns to report. Python runs signal handlers on its main
/// thread only, and a caller expects calls from its own thread.
struct Signals {
    caller: ThreadId,
    /// Called with the number of texts that were compared, and of all.
    compared: Option<Py<PyAny>>,
    is_raised: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

impl Signals {
    fn check(&self, progress: Progress) -> ControlFlow<()> {
        if !self.is_raised.load(Relaxed) {
            if thread::current().id() != self.caller {
                return ControlFlow::Continue(());
            }
            let Err(error) = Python::attach(|py| self.report(py, progress)) else {
                return ControlFlow::Continue(());
            };
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            self.is_raised.store(true, Relaxed);
        }
        ControlFlow::Break(())
    }

    fn report(&self, py: Python<'_>, progress: Progress) -> PyResult<()> {
        py.check_signals()?;
        match (&self.compared, progress.phase, progress.total) {
            (Some(compared), Phase::Search, Some(total)) => {
                compared.call1(py, (progress.done, total)).map(drop)
            }
            _ => Ok(()),
        }
    }
}

/// Returns what looks for signals, and the progress function that does so.
fn signals(
    compared: Option<Py<PyAny>>,
) -> (Arc<Signals>, impl Fn(Progress) -> ControlFlow<()> + Send + Sync) {
    let signals = Arc::new(Signals {
        caller: thread::current().id(),
        compared,
        is_raised: AtomicBool::new(false),
        raised: Mutex::new(None),
    });
    let watched = signals.clone();
    (signals, move |progress| watched.check(progress))
}

/// Passes chunks of texts on. It is called twice.
type Reader<'a> = dyn FnMut(&mut Texts<'_>) -> Result<(), Ended> + Send + 'a;

/// Searches the chunks of texts that the iterators have which `read` returns. Also returns the
/// length of each text in bytes.
fn searched<T: Send>(
    py: Python<'_>,
    read: &Bound<'_, PyAny>,
    signals: &Signals,
    find: impl FnOnce(&mut Reader<'_>) -> Result<T, Ended> + Send,
) -> PyResult<(T, Vec<u64>)> {
    let read = read.clone().unbind();
    let mut lengths = None;
    let found = py.detach(|| {
        find(&mut |each| {
            let mut read_now = Vec::new();
            Python::attach(|py| {
                for chunk in read.call0(py)?.bind(py).try_iter()? {
                    let chunk = strings(&chunk?)?;
                    let texts: Vec<&str> =
                        chunk.all()?.into_iter().map(Option::unwrap_or_default).collect();
                    read_now.extend(texts.iter().map(|text| text.len() as u64));
                    py.detach(|| each(&texts))?;
                    py.check_signals()?;
                }
                Ok::<_, Ended>(())
            })?;
            lengths.get_or_insert(read_now);
            Ok(())
        })
    });
    match found {
        Ok(found) => Ok((found, lengths.unwrap_or_default())),
        Err(Ended::Raised(error)) => Err(error),
        Err(Ended::Failed(error)) => {
            let raised = signals.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
            raised.map_or_else(|| Err(error).or_raise(), Err)
        }
    }
}

/// Returns a list of columns: of each span the row, the begin, the end, the source, its begin and
/// its end; then the length of each text in bytes.
fn spans<'py>(
    py: Python<'py>,
    read: &Bound<'py, PyAny>,
    signals: &Signals,
    find: impl FnOnce(&mut Reader<'_>) -> Result<Found, Ended> + Send,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let (found, lengths) = searched(py, read, signals, find)?;
    let columns: [fn(&Span) -> u64; 6] = [
        |span| span.row,
        |span| span.begin.into(),
        |span| span.end.into(),
        |span| span.source,
        |span| span.source_begin.into(),
        |span| span.source_end.into(),
    ];
    let columns = columns.map(|column| array::<u64>(py, found.spans.iter().map(column).collect()));
    Ok(columns.into_iter().chain([array::<u64>(py, lengths)]).collect())
}

/// What stands in other texts: the rows, the rows in which they stand and the shares; then the
/// number of texts, and how many were compared with some only.
type InOthers<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, u64, u64);

/// Finds texts of which at least this share stands in another one.
#[pyfunction]
pub(crate) fn find_contained<'py>(
    py: Python<'py>,
    read: &Bound<'py, PyAny>,
    share: f64,
    priorities: Option<&Bound<'py, PyAny>>,
    threads: Option<Number>,
    compared: Option<Py<PyAny>>,
) -> PyResult<InOthers<'py>> {
    let mut search = Contained::new(share).or_raise()?.threads(parallel::threads(threads));
    if let Some(priorities) = priorities {
        let all = with_numbers(priorities, "score", |it| Ok(it.to_vec()))?;
        search = search.priorities(all);
    }
    let (signals, watched) = signals(compared);
    let search = search.on_progress(watched);
    let (found, _) = searched(py, read, &signals, |each| search.find(each))?;
    let texts = &found.texts;
    let rows = array(py, texts.iter().map(|it| it.row).collect());
    let sources = array(py, texts.iter().map(|it| it.source).collect());
    let shares = array(py, texts.iter().map(|it| it.share).collect::<Vec<f64>>());
    Ok((rows, sources, shares, found.rows, found.crowded))
}

/// Finds passages, and quotes with at most `gaps` changed words between their runs. Returns columns
/// of spans, and then the row, the begin and the end of what differs within them.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "only called by dedup_passages")]
pub(crate) fn find_passages<'py>(
    py: Python<'py>,
    read: &Bound<'py, PyAny>,
    min_words: Number,
    gaps: u16,
    memory: Number,
    seed: Number,
    threads: Option<Number>,
    compared: Option<Py<PyAny>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let search = Passages::new(min_words.count()).or_raise()?.gaps(gaps).or_raise()?;
    let search = search.memory(memory.0).seed(seed.0).threads(parallel::threads(threads));
    let (signals, watched) = signals(compared);
    let search = search.on_progress(watched);
    let mut changes = Vec::new();
    let mut columns = spans(py, read, &signals, |each| {
        let mut found = search.find(each)?;
        changes = std::mem::take(&mut found.changes);
        Ok(found)
    })?;
    let of_changes: [fn(&Change) -> u64; 3] =
        [|it| it.row, |it| it.begin.into(), |it| it.end.into()];
    columns.extend(of_changes.map(|column| array::<u64>(py, changes.iter().map(column).collect())));
    Ok(columns)
}

/// Finds lines or paragraphs that more than `most` texts have. Returns columns of spans.
#[pyfunction]
pub(crate) fn find_lines<'py>(
    py: Python<'py>,
    read: &Bound<'py, PyAny>,
    paragraphs: bool,
    most: Number,
    min_words: Number,
    threads: Option<Number>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let unit = if paragraphs { Unit::Paragraph } else { Unit::Line };
    let search = Lines::default().unit(unit).most(most.0).min_words(min_words.count());
    let search = search.threads(parallel::threads(threads));
    let (signals, watched) = signals(None);
    let search = search.on_progress(watched);
    spans(py, read, &signals, |each| search.find(each))
}

/// Returns the parts of a text to remove, so that all sentences and lines go that are in spans of
/// bytes as a whole. The parts are in characters.
#[pyfunction]
pub(crate) fn parts_to_remove(text: &str, spans: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let is_inside = |&(begin, end): &(usize, usize)| begin <= end && end <= text.len();
    let spans: Vec<_> =
        spans.into_iter().filter(is_inside).map(|(begin, end)| begin..end).collect();
    let (mut place, mut characters) = (0, 0);
    let mut in_characters = |at: usize| {
        characters += text[place..at].chars().count();
        place = at;
        characters
    };
    let parts = removal::parts_to_remove(text, &spans);
    parts.into_iter().map(|it| (in_characters(it.start), in_characters(it.end))).collect()
}
