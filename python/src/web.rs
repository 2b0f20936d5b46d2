//! Web pages, and the archives that hold them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use fpdb_web::{Archive, Extracted, Extraction, Extractor, SkipReason};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};

use crate::base::errors::{self, OrRaise};
use crate::base::fork::Process;

/// Returns the text of an HTML page.
///
/// >>> extract_html("<nav><a href='/'>Home</a></nav><main><p>All about cats.</main>")
/// 'All about cats.'
#[pyfunction]
#[pyo3(signature = (html, *, url="", content_type="text/html", extraction="main"))]
pub(crate) fn extract_html(
    html: &Bound<'_, PyAny>,
    url: &str,
    content_type: &str,
    extraction: &str,
) -> PyResult<String> {
    let py = html.py();
    let extraction = Extraction::named(extraction).or_raise()?;
    if let Ok(html) = html.cast::<PyString>() {
        let html = html.to_str()?;
        return Ok(py.detach(|| extraction.text(html)));
    }
    let bytes = html.extract::<PyBackedBytes>().map_err(|_| {
        let name = crate::base::arrays::type_name(html);
        crate::base::arrays::type_error(format!("html must be bytes or str, not {name}"))
    })?;
    let extractor = Extractor::new(extraction);
    match py.detach(|| extractor.document(url, content_type, &bytes)) {
        Extracted::Page(page) => Ok(page.text),
        Extracted::Skipped(SkipReason::NoText) => Ok(String::new()),
        Extracted::Skipped(reason) => Err(errors::invalid(format!("no page: {reason}"))),
    }
}

/// A web page as text.
#[pyclass(frozen, get_all, module = "fpdb_engine")]
#[derive(Debug)]
pub(crate) struct Page {
    /// Its URL.
    url: String,
    /// Its text.
    text: String,
    /// The name of its encoding.
    charset: &'static str,
    /// The extraction that made the text.
    extraction: &'static str,
    /// Where its record begins in the archive.
    offset: u64,
}

#[pymethods]
impl Page {
    fn __repr__(&self) -> String {
        format!("<Page {}: {} bytes of text>", self.url, self.text.len())
    }
}

/// A record of a WARC or ARC file.
#[pyclass(frozen, module = "fpdb_engine")]
#[derive(Debug)]
pub(crate) struct WarcRecord(fpdb_web::Record);

#[pymethods]
impl WarcRecord {
    /// What it holds: "response", "request", "resource", "warcinfo", ...
    #[getter]
    fn kind(&self) -> String {
        format!("{:?}", self.0.kind()).to_lowercase()
    }

    /// The URL that was captured; empty if the record names none.
    #[getter]
    fn url(&self) -> &str {
        self.0.url()
    }

    /// Where it begins in the file as it is stored.
    #[getter]
    fn offset(&self) -> u64 {
        self.0.offset()
    }

    /// The media type of the block.
    #[getter]
    fn content_type(&self) -> &str {
        self.0.content_type()
    }

    /// The block: an HTTP message with its header, or a document.
    #[getter]
    fn block<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.block())
    }

    /// Whether the block is larger than the limit and was skipped.
    #[getter]
    fn is_truncated(&self) -> bool {
        self.0.is_truncated()
    }

    /// Returns the value of the first header field of this name, ignoring case.
    fn header(&self, name: &str) -> Option<&str> {
        self.0.header(name)
    }

    /// Makes a page of the record, if it holds one.
    #[pyo3(signature = (*, extraction="main"))]
    fn page(&self, py: Python<'_>, extraction: &str) -> PyResult<Option<Page>> {
        let extractor = Extractor::new(Extraction::named(extraction).or_raise()?);
        match py.detach(|| extractor.record(&self.0)).or_raise()? {
            Extracted::Page(found) => Ok(Some(page(found, self.0.offset()))),
            Extracted::Skipped(_) => Ok(None),
        }
    }

    fn __repr__(&self) -> String {
        format!("<WarcRecord {} {} at byte {}>", self.kind(), self.0.url(), self.0.offset())
    }
}

fn page(page: fpdb_web::Page, offset: u64) -> Page {
    let (charset, extraction) = (page.charset, page.extraction.name());
    Page { url: page.url, text: page.text, charset, extraction, offset }
}

/// Where an archive is read from: a file, or a binary file object of Python's.
enum Input {
    File(File),
    Object(Py<PyAny>),
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Object(object) => Python::attach(|py| read(object.bind(py), buffer))
                .map_err(|error| io::Error::other(error.to_string())),
        }
    }
}

fn read(object: &Bound<'_, PyAny>, buffer: &mut [u8]) -> PyResult<usize> {
    let bytes = object.call_method1("read", (buffer.len(),))?.extract::<PyBackedBytes>()?;
    let Some(buffer) = buffer.get_mut(..bytes.len()) else {
        return Err(errors::invalid("read() returned more bytes than requested"));
    };
    buffer.copy_from_slice(&bytes);
    Ok(bytes.len())
}

/// What was read of an archive.
struct State {
    archive: Archive<Input>,
    errors: Vec<String>,
    skipped: BTreeMap<String, u64>,
}

/// Most messages that are kept.
const MAX_ERRORS: usize = 1000;

/// An open WARC or ARC file: what WarcPages and WarcRecords have in common.
#[pyclass(frozen, subclass, module = "fpdb_engine")]
pub(crate) struct WarcFile {
    /// Its path, or what Python prints for the object.
    name: String,
    process: Process,
    /// `None` once it is closed. Locked only without the interpreter's lock, which reading from an
    /// object of Python's needs.
    state: Mutex<Option<State>>,
}

impl WarcFile {
    fn open(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = source.py();
        let input = if source.hasattr("read")? {
            Input::Object(source.clone().unbind())
        } else {
            let path = source.extract::<PathBuf>()?;
            let opened = py.detach(|| File::open(&path));
            Input::File(opened.map_err(|error| errors::from_io(&path, &error))?)
        };
        let archive = py.detach(|| Archive::new(input)).or_raise()?;
        let state = State { archive, errors: Vec::new(), skipped: BTreeMap::new() };
        let name = source.str()?.to_string();
        Ok(Self { name, process: Process::current(), state: Mutex::new(Some(state)) })
    }

    /// Lets `work` use the state, without the interpreter's lock.
    fn with_state<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> T + Send,
    ) -> PyResult<T> {
        self.process.expect_current()?;
        let lock = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        py.detach(|| lock().as_mut().map(work))
            .ok_or_else(|| errors::closed("the archive was closed: open it again"))
    }

    /// Returns what `take` makes of the next record of which it makes anything. Damage is noted,
    /// and what comes after it is still read.
    fn next<T: Send>(
        &self,
        py: Python<'_>,
        take: impl Fn(fpdb_web::Record, &mut State) -> fpdb_web::Result<Option<T>> + Sync,
    ) -> PyResult<Option<T>> {
        loop {
            let next = self.with_state(py, |state| {
                let record = state.archive.next()?;
                let taken = record.and_then(|record| take(record, state));
                Some(taken.unwrap_or_else(|error| {
                    if state.errors.len() < MAX_ERRORS {
                        state.errors.push(error.to_string());
                    }
                    None
                }))
            })?;
            match next {
                None => return Ok(None),
                Some(Some(taken)) => return Ok(Some(taken)),
                Some(None) => py.check_signals()?,
            }
        }
    }
}

#[pymethods]
impl WarcFile {
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<fpdb_engine.{} {}>", slf.get_type().name()?, slf.get().name))
    }

    /// Messages about the records that could not be read, at most 1000.
    #[getter]
    fn errors(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with_state(py, |state| state.errors.clone())
    }

    /// Closes the file. A file object is left open. Closing it again does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        // In a child, the lock may be held by a thread that does not exist there.
        self.process.expect_current()?;
        py.detach(|| drop(self.state.lock().unwrap_or_else(PoisonError::into_inner).take()));
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _class: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }
}

/// An iterator over the pages of a WARC or ARC file, compressed with gzip or not.
#[pyclass(frozen, extends = WarcFile, module = "fpdb_engine")]
pub(crate) struct WarcPages(Extractor);

#[pymethods]
impl WarcPages {
    /// Opens an archive: a path, or a binary file object.
    #[new]
    #[pyo3(signature = (source, *, extraction="main"))]
    fn new(source: &Bound<'_, PyAny>, extraction: &str) -> PyResult<PyClassInitializer<Self>> {
        let extractor = Extractor::new(Extraction::named(extraction).or_raise()?);
        Ok(PyClassInitializer::from(WarcFile::open(source)?).add_subclass(Self(extractor)))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(slf: &Bound<'_, Self>) -> PyResult<Option<Page>> {
        let Self(extractor) = slf.get();
        slf.as_super().get().next(slf.py(), |record, state| {
            Ok(match extractor.record(&record)? {
                Extracted::Page(found) => Some(page(found, record.offset())),
                Extracted::Skipped(reason) => {
                    *state.skipped.entry(reason.to_string()).or_default() += 1;
                    None
                }
            })
        })
    }

    /// How many records so far hold no page, by reason.
    #[getter]
    fn skipped(slf: &Bound<'_, Self>) -> PyResult<BTreeMap<String, u64>> {
        slf.as_super().get().with_state(slf.py(), |state| state.skipped.clone())
    }
}

/// An iterator over the records of a WARC or ARC file, compressed with gzip or not.
#[pyclass(frozen, extends = WarcFile, module = "fpdb_engine")]
pub(crate) struct WarcRecords;

#[pymethods]
impl WarcRecords {
    /// Opens an archive: a path, or a binary file object.
    #[new]
    fn new(source: &Bound<'_, PyAny>) -> PyResult<PyClassInitializer<Self>> {
        Ok(PyClassInitializer::from(WarcFile::open(source)?).add_subclass(Self))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(slf: &Bound<'_, Self>) -> PyResult<Option<WarcRecord>> {
        slf.as_super().get().next(slf.py(), |record, _| Ok(Some(WarcRecord(record))))
    }
}
