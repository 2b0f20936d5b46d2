//! The class of an index of passages that lasts.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use fpdb::DocId;
use fpdb::passages::{Index, Novelty, Origins};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::base::arrays;
use crate::base::arrays::array;
use crate::base::errors::{self, OrRaise};
use crate::base::fork::Process;
use crate::base::numbers::Number;
use crate::db::options;
use crate::db::results::named_tuple;
use crate::dedup::passages::strings;

/// Documents that are written in one commit.
const COMMIT: usize = 4096;

/// An index of passages that lasts: for a text, which earlier documents have passages of it.
///
/// It stores hashes of some windows of 13 words, not texts. A run of min_words words that stands in
/// an earlier document is always found, unless it is common. Where it begins and ends, and changes
/// between two windows, it cannot see. A window remembers the first 8 documents that have it; then
/// it is common, and leads to these only, also after some of them were removed.
#[pyclass(frozen, module = "fpdb_engine")]
#[derive(Debug)]
pub(crate) struct PassageIndex {
    path: PathBuf,
    process: Process,
    /// `None` once it is closed.
    index: RwLock<Option<Arc<Index>>>,
}

impl PassageIndex {
    fn new(path: PathBuf, index: Index) -> Self {
        Self { path, process: Process::current(), index: RwLock::new(Some(Arc::new(index))) }
    }

    /// Returns the index, in the process that opened it, until it is closed.
    fn get(&self) -> PyResult<Arc<Index>> {
        self.process.expect_current()?;
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.clone().ok_or_else(|| {
            errors::closed(format!("{} was closed: open it again", self.path.display()))
        })
    }

    /// Does something with documents, a commit at a time.
    fn with_documents<T: Send>(
        &self,
        ids: &Bound<'_, PyAny>,
        texts: &Bound<'_, PyAny>,
        work: impl Fn(&Index, &[(DocId, &str)]) -> fpdb::Result<Vec<T>> + Sync,
    ) -> PyResult<Vec<T>> {
        let (py, index) = (ids.py(), self.get()?);
        let texts = strings(texts)?;
        let texts = texts.all()?;
        arrays::with_numbers(ids, "id", |ids| {
            if ids.len() != texts.len() {
                let message =
                    format!("{} ids and {} texts: expected equal numbers", ids.len(), texts.len());
                return Err(errors::invalid(message));
            }
            let texts = texts.iter().map(|text| text.unwrap_or_default());
            let documents: Vec<_> = ids.iter().map(|&id| DocId(id)).zip(texts).collect();
            let mut results = Vec::new();
            for documents in documents.chunks(COMMIT) {
                results.extend(py.detach(|| work(&index, documents)).or_raise()?);
                py.check_signals()?;
            }
            Ok(results)
        })
    }
}

#[pymethods]
impl PassageIndex {
    /// Creates an index for runs of at least min_words words, 14 to 1000. In scripts that are
    /// written without spaces, 1.6 times as many characters. The options are those of Db.create()
    /// that say how it is stored. The seed decides the hashes of windows; by default it is random.
    /// Whoever knows it can write texts that seem to have passages of others.
    ///
    /// >>> with fpdb.PassageIndex.create(folder / "passages.fpdb", min_words=14) as index:
    /// ...     index.insert([7], ["the mills were closed in spring because the new owners had found cheaper coal"])
    /// ...     index.find("He said: the mills were closed in spring because the new owners had found cheaper coal.")
    /// [Origin(id=7, share=1.0, share_of_origin=1.0, places=[Place(begin=9, end=81, is_long=True)])]
    #[staticmethod]
    #[pyo3(signature = (path, min_words=Number(50), seed=None, **options), text_signature = "(path, min_words=50, seed=None, **options)")]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        min_words: Number,
        seed: Option<Number>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let options = options::parse::<u64>(options)?;
        let min_words = min_words.count();
        let create = || match seed {
            Some(Number(seed)) => Index::create_with_seed(&path, min_words, seed, options),
            None => Index::create(&path, min_words, options),
        };
        let index = py.detach(create).or_raise()?;
        Ok(Self::new(path, index))
    }

    /// Opens an index.
    #[staticmethod]
    #[pyo3(signature = (path, **options))]
    fn open(py: Python<'_>, path: PathBuf, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = options::parse::<u64>(options)?;
        let index = py.detach(|| Index::open(&path, options)).or_raise()?;
        Ok(Self::new(path, index))
    }

    /// Inserts documents, 4,096 in a commit. A text that is missing has no windows.
    fn insert(&self, ids: &Bound<'_, PyAny>, texts: &Bound<'_, PyAny>) -> PyResult<()> {
        self.with_documents(ids, texts, |index, documents| {
            index.insert(documents).map(|()| Vec::<()>::new())
        })
        .map(drop)
    }

    /// Inserts those documents of which less than this share of the windows stands in one earlier
    /// document, 4,096 in a commit. Returns arrays, with an item per document: whether it was
    /// inserted; whether its windows decide, which they do not if it has any in common with another
    /// document and is shorter than 200 words; the earlier document that has most of it, if it was
    /// not inserted; and the share.
    ///
    /// >>> words = [f"word{n}" for n in range(1200)]
    /// >>> texts = [" ".join(words[:400]), " ".join(words), " ".join(words[100:400])]
    /// >>> with fpdb.PassageIndex.create(folder / "passages.fpdb") as index:
    /// ...     found = index.insert_if_novel([1, 2, 3], texts, share=0.8)
    /// >>> found.novel.tolist(), found.ids.tolist()[2]
    /// ([True, True, False], 1)
    #[pyo3(signature = (ids, texts, share=0.8))]
    fn insert_if_novel<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        texts: &Bound<'py, PyAny>,
        share: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = self.with_documents(ids, texts, |index, documents| {
            index.insert_if_novel(documents, share)
        })?;
        let py = ids.py();
        let parts = found.iter().map(|&found| match found {
            Novelty::Novel => (true, true, 0, 0.0),
            Novelty::Known { id, share } => (false, true, id.0, share),
            Novelty::TooShort { id, share } => (false, false, id.0, share),
        });
        let parts: Vec<_> = parts.collect();
        let columns = (
            array::<bool>(py, parts.iter().map(|part| part.0).collect()),
            array::<bool>(py, parts.iter().map(|part| part.1).collect()),
            array::<u64>(py, parts.iter().map(|part| part.2).collect()),
            array::<f64>(py, parts.iter().map(|part| part.3).collect()),
        );
        named_tuple(py, "Novelties", columns)
    }

    /// Returns the earlier documents that have passages of a text, those with the largest share
    /// first.
    #[pyo3(signature = (text, limit=Number(10)), text_signature = "($self, text, limit=10)")]
    fn find<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyString>,
        limit: Number,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let index = self.get()?;
        let texts = strings(PyList::new(py, [text])?.as_any())?;
        let text = texts.all()?.into_iter().flatten().next().unwrap_or_default();
        let found = py.detach(|| index.find(text, limit.count())).or_raise()?;
        origins(py, &found)
    }

    /// Removes documents, given with the texts that were inserted. Returns for each whether it was
    /// in the index. Other texts are refused. A window that was common does not learn of the
    /// documents that it has forgotten: what stands only in these is not found afterwards.
    fn remove<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        texts: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let removed = self.with_documents(ids, texts, Index::remove)?;
        Ok(array::<bool>(ids.py(), removed))
    }

    /// Removes documents whose texts are not at hand. Reads the whole index. Returns how many there
    /// were.
    fn remove_all(&self, ids: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (py, index) = (ids.py(), self.get()?);
        arrays::with_numbers(ids, "id", |ids| {
            let ids: Vec<_> = ids.iter().map(|&id| DocId(id)).collect();
            py.detach(|| index.remove_all(&ids)).or_raise()
        })
    }

    fn __contains__(&self, id: Number) -> PyResult<bool> {
        self.get()?.contains(DocId(id.0)).or_raise()
    }

    /// The length of the runs that are always found, in words.
    #[getter]
    fn min_words(&self) -> PyResult<usize> {
        Ok(self.get()?.min_words())
    }

    /// The seed of the hashes of windows.
    #[getter]
    fn seed(&self) -> PyResult<u64> {
        Ok(self.get()?.seed())
    }

    /// Merges all files into few.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        let index = self.get()?;
        py.detach(|| index.database().compact()).or_raise().map(drop)
    }

    /// Writes what is in memory, and closes the index.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.process.expect_current()?;
        let index = self.index.write().unwrap_or_else(PoisonError::into_inner).take();
        match index {
            Some(index) => py.detach(|| index.database().clone().close()).or_raise(),
            None => Ok(()),
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
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

    fn __repr__(&self) -> String {
        format!("<fpdb_engine.PassageIndex {:?}>", self.path)
    }
}

fn origins<'py>(py: Python<'py>, found: &Origins) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let place = |place: &fpdb::passages::Place| {
        named_tuple(py, "Place", (place.begin, place.end, place.is_long))
    };
    let origin = |origin: &fpdb::passages::Origin| {
        let places = origin.places.iter().map(place).collect::<PyResult<Vec<_>>>()?;
        named_tuple(py, "Origin", (origin.id.0, origin.share, origin.share_of_origin, places))
    };
    found.documents.iter().map(origin).collect()
}
