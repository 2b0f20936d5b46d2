//! The keys of documents: ids or names, with stamps.

use fpdb::{DocId, Key, Stamped};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;

use crate::base::arrays;
use crate::base::errors;
use crate::base::strings::Strings;
use crate::base::width::Bits;
use crate::db::documents::Documents;

/// A document's id or name.
#[derive(Debug)]
pub(crate) enum OwnedKey {
    Id(u64),
    Name(PyBackedStr),
}

impl OwnedKey {
    pub(crate) fn key(&self) -> Key<'_> {
        match self {
            Self::Id(id) => Key::Id(DocId(*id)),
            Self::Name(name) => Key::Name(name),
        }
    }

    pub(crate) fn stamped(&self, stamp: Option<u64>) -> Stamped<'_> {
        Stamped { key: self.key(), stamp }
    }
}

impl<'py> FromPyObject<'_, 'py> for OwnedKey {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(name) = object.cast::<PyString>() {
            return PyBackedStr::try_from(name.to_owned()).map(Self::Name);
        }
        if arrays::is_integer(&object) {
            return arrays::number(&object, "id").map(Self::Id);
        }
        let name = arrays::type_name(&object);
        Err(arrays::type_error(format!("a key must be an id (int) or a name (str), not {name}")))
    }
}

/// Documents that are written in one commit.
const COMMIT: usize = 1 << 16;

/// The keys of a batch of documents, as the caller passed them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys<'a, 'py> {
    pub(crate) ids: Option<&'a Bound<'py, PyAny>>,
    pub(crate) names: Option<&'a Bound<'py, PyAny>>,
    pub(crate) stamps: Option<&'a Bound<'py, PyAny>>,
}

impl Keys<'_, '_> {
    /// Lets `write` write the documents that have these fingerprints and keys, a commit at a time.
    /// Looks for signals in between.
    pub(crate) fn write<F: Bits>(
        self,
        py: Python<'_>,
        documents: Documents<'_, F>,
        write: impl FnMut(&[(F, Stamped<'_>)]) -> PyResult<()>,
    ) -> PyResult<()> {
        match (self.ids, self.names) {
            (Some(ids), None) => arrays::with_numbers(ids, "id", |ids| {
                expect_as_many(documents.len(), ids.len(), "ids")?;
                let keys = ids.iter().map(|&id| Key::Id(DocId(id)));
                self.with_stamps(py, documents, keys, write)
            }),
            (None, Some(names)) => {
                let names = Strings::new(names, "name")?;
                expect_as_many(documents.len(), names.len(), "names")?;
                let names = names.all_present()?;
                self.with_stamps(py, documents, names.into_iter().map(Key::Name), write)
            }
            (Some(_), Some(_)) => Err(errors::invalid("give either ids or names, not both")),
            (None, None) => Err(errors::invalid("give ids=... or names=...")),
        }
    }

    fn with_stamps<'k, F: Bits>(
        self,
        py: Python<'_>,
        documents: Documents<'_, F>,
        keys: impl Iterator<Item = Key<'k>>,
        write: impl FnMut(&[(F, Stamped<'_>)]) -> PyResult<()>,
    ) -> PyResult<()> {
        let with_keys = documents.fingerprints.iter().copied().zip(documents.of_those(keys));
        let Some(stamps) = self.stamps else {
            return commits(py, with_keys.map(|(f, key)| (f, key.into())), write);
        };
        arrays::with_numbers(stamps, "stamp", |stamps| {
            expect_as_many(documents.len(), stamps.len(), "stamps")?;
            let stamped = with_keys.zip(documents.of_those(stamps.iter()));
            let stamped = stamped.map(|((f, key), &stamp)| (f, Stamped::new(key, stamp)));
            commits(py, stamped, write)
        })
    }
}

fn commits<'k, F>(
    py: Python<'_>,
    mut documents: impl Iterator<Item = (F, Stamped<'k>)>,
    mut write: impl FnMut(&[(F, Stamped<'_>)]) -> PyResult<()>,
) -> PyResult<()> {
    loop {
        let some: Vec<_> = documents.by_ref().take(COMMIT).collect();
        if some.is_empty() {
            return Ok(());
        }
        write(&some)?;
        py.check_signals()?;
    }
}

/// Raises an exception unless there is one of the others for each document.
pub(crate) fn expect_as_many(documents: usize, others: usize, what: &str) -> PyResult<()> {
    if documents == others {
        return Ok(());
    }
    Err(errors::invalid(format!("{documents} documents, but {others} {what}")))
}
