//! The class of databases that are open for reading and writing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpdb::Options;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::base::errors::OrRaise;
use crate::base::interrupt::cancellable;
use crate::base::numbers::{Near, Number};
use crate::base::width::Bits;
use crate::db::documents::with_documents;
use crate::db::handle::{Handle, Info};
use crate::db::keys::{Keys, OwnedKey};
use crate::db::options;
use crate::db::reader::Reader;
use crate::db::results::{Outcome, named_tuple};
use crate::db::source::{AnySource, AnyWidth, Source, at_width, map_width};
use crate::db::stats::stats;
use crate::db::writes::{self, Conditions};

/// A database that is open for reading and writing.
#[pyclass(frozen, extends = Reader, module = "fpdb_engine")]
#[derive(Debug)]
pub(crate) struct Db;

/// How a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Create,
    Open,
    OpenOrCreate,
}

#[pymethods]
impl Db {
    /// Creates a database. Fails if there is anything at the path.
    ///
    /// Stored: bits is the width of fingerprints, 64 (the default) or 128. max_distance, 3 by
    /// default, from 0 to 12 (10 at 128 bits), is the distance within which two documents are
    /// near-duplicates. With similarity, from 0.5 to 1, they are near-duplicates if their Jaccard
    /// similarity is at least this; recall, 0.95 by default, is the share of the pairs of exactly
    /// this similarity that is found. Such a database has sketches, which are fingerprints of 1824
    /// bits. ids is "user", the default, if the caller gives each fingerprint an id; "unique", the
    /// default with a similarity, if an id identifies one document, which is updated when it is
    /// inserted again; "names" if documents have names, such as URLs, and the database assigns ids.
    /// layout is the name of the tables: "half-2" and the others that fpdb-tool recommend lists,
    /// among them the paper's, "paper-4" to "paper-20"; by default, max_distance and
    /// expected_entries decide. recipe says how fingerprints are made of texts: a name of
    /// recipes(), or custom_recipe, any name of your own; extraction, how texts are made of pages.
    ///
    /// Not stored: with durability "sync", the default, a write returns once it is on the disk;
    /// with "buffered", once the operating system has it, and the log is synced every sync_interval
    /// seconds, 1 by default. expected_entries, a million by default, helps to choose the tables.
    /// threads is the number of threads for long work; by default the number of processors. With
    /// background=False, flushes and merges are done by the thread that writes, and not by threads
    /// in the background. memtable_entries, 131,072 by default, is the number of recent entries in
    /// memory, of 150 to 500 bytes each, before they are written as a segment. In bytes:
    /// page_memory for pages of files that queries have read, by default seven tenths of the
    /// machine's memory or of the container's limit, as far as it is available; index_memory, as a
    /// part of this, for what every query needs, where 0 means to load nothing before it is asked
    /// for; bulk_memory for a bulk load, by default 256 MiB. With trust_file_system=True, also
    /// writes on a file system whose locks and syncs may not work, such as NFS, SMB, Ceph, 9P and
    /// FUSE: set it only if you know that they do.
    ///
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", max_distance=6, ids="names") as db:
    /// ...     db.insert(0xff, "https://a.example/")
    /// 0
    #[staticmethod]
    #[pyo3(signature = (path, **options))]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Self>> {
        let bits = options::new_bits(options)?;
        start(py, Mode::Create, &path, bits, options)
    }

    /// Opens a database. The options are those of create(). Stored ones must agree with it.
    ///
    /// >>> fpdb.Db.create(folder / "crawl.fpdb", bits=128).close()
    /// >>> with fpdb.Db.open(folder / "crawl.fpdb") as db:
    /// ...     db.bits
    /// 128
    #[staticmethod]
    #[pyo3(signature = (path, **options))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Self>> {
        let bits = options::bits(&path, options)?;
        start(py, Mode::Open, &path, bits, options)
    }

    /// Opens a database, or creates it if there is none. The options are those of create().
    #[staticmethod]
    #[pyo3(signature = (path, **options))]
    fn open_or_create(
        py: Python<'_>,
        path: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Self>> {
        let bits = options::bits(&path, options)?;
        start(py, Mode::OpenOrCreate, &path, bits, options)
    }

    /// Inserts a document, and returns its id. The key is its id or its name.
    ///
    /// >>> db.insert(0x2c2a1290908a898a, 17)
    /// 17
    #[pyo3(signature = (fingerprint, key, *, stamp=None))]
    fn insert(
        slf: &Bound<'_, Self>,
        fingerprint: &Bound<'_, PyAny>,
        key: OwnedKey,
        stamp: Option<Number>,
    ) -> PyResult<u64> {
        let (py, stamp) = (slf.py(), stamp.map(|Number(stamp)| stamp));
        at_width!(source(slf)?, source => {
            let (db, fingerprint) = (source.db()?, Bits::from_object(fingerprint)?);
            Ok(py.detach(|| db.insert(fingerprint, key.stamped(stamp))).or_raise()?.0)
        })
    }

    /// Writes documents, and returns what became of each, as arrays.
    ///
    /// ids, names and stamps have one item per fingerprint. The documents are decided in turn, as
    /// if each were written by itself; a document that has a greater stamp keeps it. There is one
    /// commit per 65,536 documents. If this is interrupted, the commits before that remain.
    ///
    /// With unless_near, a document is written only if none is within this distance of it;
    /// otherwise it is a duplicate. Nor is it written if its key exists: its kind is then EXISTS,
    /// and novel is true, because it is no duplicate of another one. With or_update, too, a key
    /// that exists is updated. If another document makes the new version a duplicate, or_update
    /// says what becomes of the key: "keep" keeps the old version that it has, if any; "remove"
    /// removes that; "remember" keeps the key, so that get() knows of which document it is a
    /// duplicate. or_update needs names or unique ids.
    ///
    /// Instead of fingerprints, it takes texts, from which it makes fingerprints by the database's
    /// recipe. A text that is missing or too short to be compared is not written: it is no
    /// duplicate: novel is true, kind is TOO_SHORT, and id is 2**64 - 1, which no document has.
    ///
    /// >>> db.write(np.array([1, 0xff00], np.uint64), [7, 8]).ids.tolist()
    /// [7, 8]
    /// >>> novel, ids, distances, kinds = db.write([0b11, 0xff0000], [9, 10], unless_near=3)
    /// >>> novel.tolist(), ids.tolist(), distances.tolist()
    /// ([False, True], [7, 10], [1, 0])
    /// >>> (kinds == fpdb.OutcomeKind.DUPLICATE).tolist()
    /// [True, False]
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", ids="names", recipe="default") as texts:
    /// ...     pages = ["Trains leave for the airport every ten minutes.", "Not found"]
    /// ...     [fpdb.OutcomeKind(k).name for k in texts.write(texts=pages, names=["a", "b"]).kinds]
    /// ['INSERTED', 'TOO_SHORT']
    #[pyo3(signature = (fingerprints=None, ids=None, *, texts=None, names=None, stamps=None, unless_near=None, or_update=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn write<'py>(
        slf: &Bound<'py, Self>,
        fingerprints: Option<&Bound<'py, PyAny>>,
        ids: Option<&Bound<'py, PyAny>>,
        texts: Option<&Bound<'py, PyAny>>,
        names: Option<&Bound<'py, PyAny>>,
        stamps: Option<&Bound<'py, PyAny>>,
        unless_near: Option<Near>,
        or_update: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (keys, conditions) = (
            Keys { ids, names, stamps },
            Conditions::new(unless_near.map(|Near(within)| within), or_update)?,
        );
        let handle = &slf.as_super().get().handle;
        at_width!(source(slf)?, source => {
            with_documents(fingerprints, texts, || handle.stored_recipe(), |documents| {
                writes::write(source.db()?, slf.py(), documents, keys, conditions)
            })
        })
    }

    /// Inserts a document unless there is one within the database's distance, or with its key.
    /// write() takes other distances.
    ///
    /// Compares and inserts in one step: of two threads with near-duplicates, only one inserts.
    ///
    /// >>> if db.insert_if_novel(0b1100, 1):
    /// ...     print("new")
    /// new
    /// >>> db.insert_if_novel(0b1110, 2).duplicate_of
    /// Match(distance=1, fingerprint=0xc, id=1)
    /// >>> db.insert_if_novel(0b1100, 1)
    /// Outcome('exists', id=1, distance=0)
    #[pyo3(signature = (fingerprint, key, *, stamp=None))]
    fn insert_if_novel(
        slf: &Bound<'_, Self>,
        fingerprint: &Bound<'_, PyAny>,
        key: OwnedKey,
        stamp: Option<Number>,
    ) -> PyResult<Outcome> {
        let (py, stamp) = (slf.py(), stamp.map(|Number(stamp)| stamp));
        at_width!(source(slf)?, source => {
            let (db, fingerprint) = (source.db()?, Bits::from_object(fingerprint)?);
            let outcome = py.detach(|| db.insert_if_novel(fingerprint, key.stamped(stamp)));
            Ok(outcome.or_raise()?.into())
        })
    }

    /// Inserts or updates a document, unless another one is within the database's distance. Only
    /// with names or unique ids. The same as write() with or_update="keep".
    ///
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", ids="names") as db:
    /// ...     print(db.upsert_if_novel(0b0000, "a"))
    /// ...     print(db.upsert_if_novel(0b0001, "a"))
    /// ...     print(db.upsert_if_novel(0b0011, "b"))
    /// Outcome('inserted', id=0)
    /// Outcome('updated', id=0, replaced=0x0, distance=1)
    /// Outcome('duplicate', duplicate_of=Match(distance=1, fingerprint=0x1, id=0))
    #[pyo3(signature = (fingerprint, key, *, stamp=None))]
    fn upsert_if_novel(
        slf: &Bound<'_, Self>,
        fingerprint: &Bound<'_, PyAny>,
        key: OwnedKey,
        stamp: Option<Number>,
    ) -> PyResult<Outcome> {
        let (py, stamp) = (slf.py(), stamp.map(|Number(stamp)| stamp));
        at_width!(source(slf)?, source => {
            let (db, fingerprint) = (source.db()?, Bits::from_object(fingerprint)?);
            let outcome = py.detach(|| db.upsert_if_novel(fingerprint, key.stamped(stamp)));
            Ok(outcome.or_raise()?.into())
        })
    }

    /// Makes the fingerprint of a text by the database's recipe, and inserts the document unless
    /// there is one within the database's distance. Returns None for a text that is too short to be
    /// compared; then nothing was inserted.
    ///
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", ids="names", recipe="default") as db:
    /// ...     print(db.insert_text_if_novel("Trains leave for the airport every ten minutes.", "a"))
    /// ...     print(db.insert_text_if_novel("TRAINS leave for the airport every ten minutes!", "b"))
    /// ...     print(db.insert_text_if_novel("", "c"))
    /// Outcome('inserted', id=0)
    /// Outcome('duplicate', duplicate_of=Match(distance=0, fingerprint=..., id=0))
    /// None
    #[pyo3(signature = (text, key, *, stamp=None))]
    fn insert_text_if_novel(
        slf: &Bound<'_, Self>,
        text: &str,
        key: OwnedKey,
        stamp: Option<Number>,
    ) -> PyResult<Option<Outcome>> {
        let (py, stamp) = (slf.py(), stamp.map(|Number(stamp)| stamp));
        let handle = &slf.as_super().get().handle;
        at_width!(source(slf)?, source => {
            let (db, recipe) = (source.db()?, handle.stored_recipe()?);
            let outcome =
                py.detach(|| db.insert_text_if_novel(&recipe, text, key.stamped(stamp)));
            Ok(outcome.or_raise()?.map(Outcome::from))
        })
    }

    /// Makes the fingerprint of a text by the database's recipe, and inserts or updates the
    /// document, unless another one is within the database's distance. Returns None for a text that
    /// is too short to be compared; then nothing was changed.
    ///
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", ids="names", recipe="default") as db:
    /// ...     print(db.upsert_text_if_novel("Trains leave for the airport every ten minutes.", "a"))
    /// ...     print(db.upsert_text_if_novel("TRAINS leave for the airport every ten minutes!", "a"))
    /// Outcome('inserted', id=0)
    /// Outcome('unchanged', id=0)
    #[pyo3(signature = (text, key, *, stamp=None))]
    fn upsert_text_if_novel(
        slf: &Bound<'_, Self>,
        text: &str,
        key: OwnedKey,
        stamp: Option<Number>,
    ) -> PyResult<Option<Outcome>> {
        let (py, stamp) = (slf.py(), stamp.map(|Number(stamp)| stamp));
        let handle = &slf.as_super().get().handle;
        at_width!(source(slf)?, source => {
            let (db, recipe) = (source.db()?, handle.stored_recipe()?);
            let outcome =
                py.detach(|| db.upsert_text_if_novel(&recipe, text, key.stamped(stamp)));
            Ok(outcome.or_raise()?.map(Outcome::from))
        })
    }

    /// Removes the document with this key, or with this id. Returns whether there was one.
    ///
    /// With user ids, this removes all entries with the id, and reads all entries to find them:
    /// remove_entry() is faster.
    ///
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", ids="names") as db:
    /// ...     _ = db.insert(7, "a")
    /// ...     db.remove("a"), db.remove("a")
    /// (True, False)
    fn remove(slf: &Bound<'_, Self>, key: OwnedKey) -> PyResult<bool> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            py.detach(|| db.remove(key.key())).or_raise()
        })
    }

    /// Removes one entry, and returns whether it existed. Other entries with the same id stay.
    ///
    /// >>> _ = db.write([7, 9], [1, 1])
    /// >>> db.remove_entry(7, 1), db.remove_entry(7, 1), len(db)
    /// (True, False, 1)
    fn remove_entry(
        slf: &Bound<'_, Self>,
        fingerprint: &Bound<'_, PyAny>,
        id: Number,
    ) -> PyResult<bool> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let (db, fingerprint) = (source.db()?, Bits::from_object(fingerprint)?);
            py.detach(|| db.remove_entry(fingerprint, id.0)).or_raise()
        })
    }

    /// Raises the stamp of a document, if it is lower. Returns whether the document exists.
    fn touch(slf: &Bound<'_, Self>, key: OwnedKey, stamp: Number) -> PyResult<bool> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            py.detach(|| db.touch(key.key(), stamp.0)).or_raise()
        })
    }

    /// Removes all documents whose stamp is less than the given one. Only with names or unique ids.
    ///
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", ids="names") as db:
    /// ...     _ = db.write([1 << 8, 1 << 30], names=["old", "new"], stamps=[7, 8])
    /// ...     db.expire(8)
    /// ExpireReport(examined=2, removed=1)
    fn expire<'py>(slf: &Bound<'py, Self>, before: Number) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let report = at_width!(source(slf)?, source => {
            let db = source.db()?;
            cancellable(py, db, |db| db.expire(before.0))?
        });
        named_tuple(py, "ExpireReport", (report.examined, report.removed))
    }

    /// Loads entries as one segment, without the log. This is the fastest way to fill a database,
    /// and works only with user ids; write() fills one with names. Entries that are there already
    /// are not loaded again.
    ///
    /// Without ids, fingerprints is an iterator of chunks, each a pair of fingerprints and ids,
    /// such as entries() of another database. They are together larger than memory, and become one
    /// segment. If the iterator raises an exception, nothing is loaded.
    ///
    /// >>> db.bulk_load(np.arange(1000, dtype=np.uint64) << 32, np.arange(1000))
    /// LoadReport(read=1000, inserted=1000)
    /// >>> db.bulk_load(([n << 20, n << 40], [n, n]) for n in range(1000, 1010))
    /// LoadReport(read=20, inserted=20)
    #[pyo3(signature = (fingerprints, ids=None))]
    fn bulk_load<'py>(
        slf: &Bound<'py, Self>,
        fingerprints: &Bound<'py, PyAny>,
        ids: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        at_width!(source(slf)?, source => match ids {
            Some(ids) => writes::bulk_load(source.db()?, fingerprints, ids),
            None => writes::bulk_load_chunks(source.db()?, fingerprints),
        })
    }

    /// Reads into memory what queries need, as far as it fits into index_memory and page_memory.
    /// The background does the same, so call this only to wait for it. Ctrl-C ends it.
    fn warm(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            cancellable(py, db, fpdb::Db::warm)
        })
    }

    /// Drops all pages of files from memory, whatever other programs need. Queries read again what
    /// they use. For a process that asks nothing for some time.
    ///
    /// >>> db.release_memory()
    /// >>> db.stats()["page_memory_bytes"]
    /// 0
    fn release_memory(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            py.detach(|| db.release_memory());
            Ok(())
        })
    }

    /// Drops pages of files if other programs need the memory that page_memory, where nobody set
    /// it, leaves free. Reads and flushes do the same from time to time. So call it, about once a
    /// second, in a process whose database is idle.
    ///
    /// >>> db.fit_memory()
    fn fit_memory(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            py.detach(|| db.fit_memory());
            Ok(())
        })
    }

    /// Makes everything written so far durable: it survives a loss of power.
    fn sync(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            py.detach(|| db.sync()).or_raise()
        })
    }

    /// Writes all recent entries as a segment.
    fn flush(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            py.detach(|| db.flush()).or_raise()
        })
    }

    /// Merges everything into one segment, and frees the space of removed entries. Others can read
    /// and write meanwhile.
    fn compact(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            cancellable(py, db, fpdb::Db::compact)?;
            Ok(())
        })
    }

    /// Copies the database, as it is now, into an empty or missing folder.
    ///
    /// >>> _ = db.insert(7, 1)
    /// >>> db.backup(folder / "copy.fpdb")
    /// >>> 7 in fpdb.ReadOnlyDb.open(folder / "copy.fpdb")
    /// True
    fn backup(slf: &Bound<'_, Self>, path: PathBuf) -> PyResult<()> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            cancellable(py, db, |db| db.backup(path))
        })
    }

    /// Returns statistics about the database. Sizes are in bytes.
    ///
    /// >>> db.stats()["entries"]
    /// 0
    fn stats<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        stats(slf.py(), &source(slf)?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.as_super().get().handle.reduce(slf.py())
    }
}

/// Returns the open database.
fn source(db: &Bound<'_, Db>) -> PyResult<AnySource> {
    db.as_super().get().handle.with_source(Clone::clone)
}

fn start(
    py: Python<'_>,
    mode: Mode,
    path: &Path,
    bits: u32,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<Db>> {
    let source = match bits {
        64 => AnyWidth::Bits64(open(py, mode, path, options::parse(given)?)?),
        128 => AnyWidth::Bits128(open(py, mode, path, options::parse(given)?)?),
        _ => AnyWidth::Sketches(open(py, mode, path, options::parse(given)?)?),
    };
    let info = at_width!(&source, db => Info::new(py, path, given, db.description())?);
    let source = map_width!(source, db => Source::Db(db));
    let reader = Reader { handle: Handle::new(Arc::new(info), source) };
    Py::new(py, PyClassInitializer::from(reader).add_subclass(Db))
}

fn open<F: Bits>(
    py: Python<'_>,
    mode: Mode,
    path: &Path,
    options: Options<F>,
) -> PyResult<fpdb::Db<F>> {
    py.detach(|| match mode {
        Mode::Create => options.create(path),
        Mode::Open => options.open(path),
        Mode::OpenOrCreate => options.open_or_create(path),
    })
    .or_raise()
}
