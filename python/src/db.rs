//! The class of databases that are open for reading and writing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpdb::{DocId, Entry, Novelty as Decision, OnDuplicate, Options, UpsertOptions};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::{array, with_numbers};
use crate::errors::OrRaise;
use crate::interrupt::interruptible;
use crate::keys::{Keys, OwnedKey, expect_as_many};
use crate::numbers::{Distance, Number};
use crate::options;
use crate::reader::{Info, Reader, byte};
use crate::results::{Novelty, Outcome, named_tuple};
use crate::source::{AnySource, AnyWidth, Source, at_width, map_width};
use crate::stats::stats;
use crate::width::Bits;

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
    /// Stored: bits is the width of fingerprints, 64 or 128. max_distance, from 0 to 10, is the distance
    /// within which two documents are near-duplicates. ids is "user" if the caller gives each fingerprint an
    /// id; "unique" if an id identifies one document, which is updated when it is inserted again; "names" if
    /// documents have names, such as URLs, and the database assigns ids. recipe says how fingerprints are
    /// made of texts: a name of recipes(), or custom_recipe, any name of your own. extraction says how texts
    /// are made of pages.
    ///
    /// Not stored: with durability "sync", a write returns once it is on the disk; with "buffered", once the
    /// operating system has it, and the log is synced every sync_interval seconds. expected_entries helps to
    /// choose the tables. threads, background, access, memtable_entries, index_memory, page_memory and
    /// bulk_memory are those of the Rust library.
    ///
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", max_distance=6, ids="names") as db:
    /// ...     db.insert(0xff, "https://a.example/")
    /// 0
    #[staticmethod]
    #[pyo3(
        signature = (path, **options),
        text_signature = "(path, *, bits=64, max_distance=3, ids='user', recipe=None, custom_recipe=None, extraction=None, expected_entries=1000000, durability='sync', sync_interval=1.0, threads=None, background=True, access='cached', memtable_entries=131072, index_memory=None, page_memory=None, bulk_memory=None)"
    )]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Self>> {
        let bits = options::given_bits(options)?.unwrap_or(64);
        start(py, Mode::Create, &path, bits, options)
    }

    /// Opens a database. Stored options that are given must agree with it.
    ///
    /// >>> fpdb.Db.create(folder / "crawl.fpdb", bits=128).close()
    /// >>> with fpdb.Db.open(folder / "crawl.fpdb") as db:
    /// ...     db.bits
    /// 128
    #[staticmethod]
    #[pyo3(
        signature = (path, **options),
        text_signature = "(path, *, bits=None, max_distance=None, ids=None, recipe=None, custom_recipe=None, extraction=None, expected_entries=None, durability='sync', sync_interval=1.0, threads=None, background=True, access='cached', memtable_entries=131072, index_memory=None, page_memory=None, bulk_memory=None)"
    )]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Self>> {
        let bits = options::bits(&path, options)?;
        start(py, Mode::Open, &path, bits, options)
    }

    /// Opens a database, or creates it if there is none.
    #[staticmethod]
    #[pyo3(
        signature = (path, **options),
        text_signature = "(path, *, bits=None, max_distance=None, ids=None, recipe=None, custom_recipe=None, extraction=None, expected_entries=None, durability='sync', sync_interval=1.0, threads=None, background=True, access='cached', memtable_entries=131072, index_memory=None, page_memory=None, bulk_memory=None)"
    )]
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
            let (db, fingerprint) = (source.db()?, Bits::from_int(fingerprint)?);
            Ok(py.detach(|| db.insert(fingerprint, key.stamped(stamp))).or_raise()?.0)
        })
    }

    /// Inserts documents, and returns their ids.
    ///
    /// ids, names and stamps have one item per fingerprint. There is one commit per 65,536 documents. If
    /// this is interrupted, the commits before that remain.
    ///
    /// >>> db.insert_batch(np.array([1, 2], np.uint64), [7, 8]).tolist()
    /// [7, 8]
    #[pyo3(signature = (fingerprints, ids=None, *, names=None, stamps=None))]
    fn insert_batch<'py>(
        slf: &Bound<'py, Self>,
        fingerprints: &Bound<'py, PyAny>,
        ids: Option<&Bound<'py, PyAny>>,
        names: Option<&Bound<'py, PyAny>>,
        stamps: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        at_width!(source(slf)?, source => {
            insert_batch(source.db()?, fingerprints, Keys { ids, names, stamps })
        })
    }

    /// Inserts a document unless there is one within k bits.
    ///
    /// Compares and inserts in one step: of two threads with near-duplicates, only one inserts.
    ///
    /// >>> if db.insert_if_novel(0b1100, 1):
    /// ...     print("new")
    /// new
    /// >>> db.insert_if_novel(0b1110, 2).duplicate_of
    /// Match(distance=1, fingerprint=0xc, id=1)
    #[pyo3(signature = (fingerprint, key, *, k=None, stamp=None))]
    fn insert_if_novel(
        slf: &Bound<'_, Self>,
        fingerprint: &Bound<'_, PyAny>,
        key: OwnedKey,
        k: Option<Distance>,
        stamp: Option<Number>,
    ) -> PyResult<Novelty> {
        let (py, stamp) = (slf.py(), stamp.map(|Number(stamp)| stamp));
        let distance = slf.as_super().get().distance(k);
        at_width!(source(slf)?, source => {
            let (db, fingerprint) = (source.db()?, Bits::from_int(fingerprint)?);
            let novelty = py.detach(|| {
                db.insert_if_novel_within(fingerprint, key.stamped(stamp), distance)
            });
            Ok(novelty.or_raise()?.into())
        })
    }

    /// Does the same as insert_if_novel() for many documents, in their order.
    ///
    /// >>> novel, ids, distances = db.insert_if_novel_batch([0b1100, 0b1110, 0], [1, 2, 3], k=1)
    /// >>> novel.tolist(), ids.tolist(), distances.tolist()
    /// ([True, False, True], [1, 1, 3], [0, 1, 0])
    #[pyo3(signature = (fingerprints, ids=None, *, names=None, stamps=None, k=None))]
    fn insert_if_novel_batch<'py>(
        slf: &Bound<'py, Self>,
        fingerprints: &Bound<'py, PyAny>,
        ids: Option<&Bound<'py, PyAny>>,
        names: Option<&Bound<'py, PyAny>>,
        stamps: Option<&Bound<'py, PyAny>>,
        k: Option<Distance>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let distance = slf.as_super().get().distance(k);
        at_width!(source(slf)?, source => {
            insert_if_novel_batch(source.db()?, fingerprints, Keys { ids, names, stamps }, distance)
        })
    }

    /// Inserts or updates a document, unless another one is within k bits. Only with names or unique ids.
    ///
    /// on_duplicate says what becomes of the key of a duplicate: "keep" keeps the old version that it has,
    /// if any; "remove" removes that; "remember" keeps the key, so that get() knows of which document it is
    /// a duplicate.
    ///
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", ids="names") as db:
    /// ...     print(db.upsert_if_novel(0b0000, "a"))
    /// ...     print(db.upsert_if_novel(0b0001, "a"))
    /// ...     print(db.upsert_if_novel(0b0011, "b"))
    /// Outcome('inserted', id=0)
    /// Outcome('updated', replaced=0x0, distance=1)
    /// Outcome('duplicate', duplicate_of=Match(distance=1, fingerprint=0x1, id=0))
    #[pyo3(signature = (fingerprint, key, *, k=None, stamp=None, on_duplicate=None))]
    fn upsert_if_novel(
        slf: &Bound<'_, Self>,
        fingerprint: &Bound<'_, PyAny>,
        key: OwnedKey,
        k: Option<Distance>,
        stamp: Option<Number>,
        on_duplicate: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Outcome> {
        let (py, stamp) = (slf.py(), stamp.map(|Number(stamp)| stamp));
        let options = upsert_options(k, on_duplicate)?;
        at_width!(source(slf)?, source => {
            let (db, fingerprint) = (source.db()?, Bits::from_int(fingerprint)?);
            let outcome = py.detach(|| {
                db.upsert_if_novel_with(fingerprint, key.stamped(stamp), &options)
            });
            Ok(outcome.or_raise()?.into())
        })
    }

    /// Does the same as upsert_if_novel() for many documents, in their order.
    #[pyo3(signature = (fingerprints, ids=None, *, names=None, stamps=None, k=None, on_duplicate=None))]
    fn upsert_if_novel_batch<'py>(
        slf: &Bound<'py, Self>,
        fingerprints: &Bound<'py, PyAny>,
        ids: Option<&Bound<'py, PyAny>>,
        names: Option<&Bound<'py, PyAny>>,
        stamps: Option<&Bound<'py, PyAny>>,
        k: Option<Distance>,
        on_duplicate: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let options = upsert_options(k, on_duplicate)?;
        at_width!(source(slf)?, source => {
            upsert_batch(source.db()?, fingerprints, Keys { ids, names, stamps }, &options)
        })
    }

    /// Makes the fingerprint of a text by the database's recipe, and inserts the document unless there is
    /// one within k bits. Returns None for a text that is too short to be compared; then nothing was
    /// inserted.
    ///
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", ids="names", recipe="default") as db:
    /// ...     print(db.insert_text_if_novel("Trains leave for the airport every ten minutes.", "a"))
    /// ...     print(db.insert_text_if_novel("TRAINS leave for the airport every ten minutes!", "b"))
    /// ...     print(db.insert_text_if_novel("", "c"))
    /// Novelty(id=0)
    /// Novelty(duplicate_of=Match(distance=0, fingerprint=..., id=0))
    /// None
    #[pyo3(signature = (text, key, *, k=None, stamp=None))]
    fn insert_text_if_novel(
        slf: &Bound<'_, Self>,
        text: &str,
        key: OwnedKey,
        k: Option<Distance>,
        stamp: Option<Number>,
    ) -> PyResult<Option<Novelty>> {
        let (py, stamp) = (slf.py(), stamp.map(|Number(stamp)| stamp));
        let reader = slf.as_super().get();
        let distance = reader.distance(k);
        at_width!(source(slf)?, source => {
            let (db, recipe) = (source.db()?, crate::text::stored_recipe(reader)?);
            let novelty = py.detach(|| {
                let fingerprint = recipe.fingerprint(text).fingerprint;
                let insert = |fingerprint| {
                    db.insert_if_novel_within(fingerprint, key.stamped(stamp), distance)
                };
                fingerprint.map(insert).transpose()
            });
            Ok(novelty.or_raise()?.map(Novelty::from))
        })
    }

    /// Removes an entry. Returns whether it existed.
    ///
    /// >>> _ = db.insert(7, 1)
    /// >>> db.remove(7, 1), db.remove(7, 1)
    /// (True, False)
    fn remove(slf: &Bound<'_, Self>, fingerprint: &Bound<'_, PyAny>, id: Number) -> PyResult<bool> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let (db, fingerprint) = (source.db()?, Bits::from_int(fingerprint)?);
            py.detach(|| db.remove(fingerprint, DocId(id.0))).or_raise()
        })
    }

    /// Removes the document with this name or unique id. Returns whether it existed.
    fn remove_key(slf: &Bound<'_, Self>, key: OwnedKey) -> PyResult<bool> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            py.detach(|| match &key {
                OwnedKey::Id(id) => db.remove_by_id(DocId(*id)),
                OwnedKey::Name(name) => db.remove_by_name(name),
            }).or_raise()
        })
    }

    /// Gives a document a new stamp. Returns whether the document exists.
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
    /// ...     _ = db.insert_batch([1 << 8, 1 << 30], names=["old", "new"], stamps=[7, 8])
    /// ...     db.expire(8)
    /// ExpireReport(examined=2, removed=1)
    fn expire<'py>(slf: &Bound<'py, Self>, before: Number) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let report = at_width!(source(slf)?, source => {
            let db = source.db()?;
            interruptible(py, |cancel| db.expire_with(before.0, cancel.progress()))?.or_raise()?
        });
        named_tuple(py, "ExpireReport", (report.examined, report.removed))
    }

    /// Loads entries as one segment, without the log. This is the fastest way to fill a database, and works
    /// only with user ids. Entries that are there already are not loaded again.
    ///
    /// >>> db.bulk_load(np.arange(1000, dtype=np.uint64) << 32, np.arange(1000))
    /// LoadReport(read=1000, inserted=1000)
    fn bulk_load<'py>(
        slf: &Bound<'py, Self>,
        fingerprints: &Bound<'py, PyAny>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        at_width!(source(slf)?, source => bulk_load(source.db()?, fingerprints, ids))
    }

    /// Copies the directories and filters of all tables to memory, and returns how many bytes they
    /// take. The background does the same, so this is only needed before measuring.
    fn load_index(slf: &Bound<'_, Self>) -> PyResult<u64> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            py.detach(|| db.load_index()).or_raise()
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

    /// Merges everything into one segment, and frees the space of removed entries. Reads and writes go on
    /// during this.
    fn compact(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            interruptible(py, |cancel| db.compact_with(cancel.progress()))?.or_raise()?;
            Ok(())
        })
    }

    /// Copies the database, as it is now, into an empty or missing folder.
    ///
    /// >>> _ = db.insert(7, 1)
    /// >>> db.backup(folder / "copy.fpdb")
    /// >>> 7 in fpdb.open(folder / "copy.fpdb")
    /// True
    fn backup(slf: &Bound<'_, Self>, path: PathBuf) -> PyResult<()> {
        let py = slf.py();
        at_width!(source(slf)?, source => {
            let db = source.db()?;
            interruptible(py, |cancel| db.backup_with(path, cancel.progress()))?.or_raise()
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
        slf.as_super().get().reduce(slf.py())
    }
}

/// Returns the open database.
fn source(db: &Bound<'_, Db>) -> PyResult<AnySource> {
    db.as_super().get().with_source(Clone::clone)
}

fn start(
    py: Python<'_>,
    mode: Mode,
    path: &Path,
    bits: u32,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<Db>> {
    let source = match bits {
        128 => AnyWidth::Bits128(open(py, mode, path, options::parse::<u128>(given)?)?),
        _ => AnyWidth::Bits64(open(py, mode, path, options::parse::<u64>(given)?)?),
    };
    let info = at_width!(&source, db => Info {
        path: options::absolute(path)?,
        reading: options::for_reading(py, given)?,
        max_distance: db.max_distance(),
        ids: db.id_kind(),
        recipe: db.recipe().map(str::to_owned),
        extraction: db.extraction().map(str::to_owned),
    });
    let source = map_width!(source, db => Source::Db(db));
    let reader = Reader::new(Arc::new(info), source);
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

fn insert_batch<'py, F: Bits>(
    db: &fpdb::Db<F>,
    fingerprints: &Bound<'py, PyAny>,
    keys: Keys<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = fingerprints.py();
    let mut inserted = Vec::new();
    keys.write(fingerprints, |documents| {
        let ids = py.detach(|| db.insert_batch(documents)).or_raise()?;
        inserted.extend(ids.into_iter().map(|DocId(id)| id));
        Ok(())
    })?;
    Ok(array(py, inserted))
}

fn bulk_load<'py, F: Bits>(
    db: &fpdb::Db<F>,
    fingerprints: &Bound<'py, PyAny>,
    ids: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = fingerprints.py();
    let report = F::with_batch(fingerprints, |fingerprints| {
        with_numbers(ids, "id", |ids| {
            expect_as_many(fingerprints.len(), ids.len(), "ids")?;
            let entries = fingerprints.iter().zip(ids);
            let entries = entries.map(|(&f, &id)| Ok(Entry { fingerprint: f, id: DocId(id) }));
            interruptible(py, |cancel| db.bulk_load_with(entries, cancel.progress()))?.or_raise()
        })
    })?;
    named_tuple(py, "LoadReport", (report.read, report.inserted))
}

fn insert_if_novel_batch<'py, F: Bits>(
    db: &fpdb::Db<F>,
    fingerprints: &Bound<'py, PyAny>,
    keys: Keys<'_, 'py>,
    distance: u32,
) -> PyResult<Bound<'py, PyAny>> {
    let py = fingerprints.py();
    let (mut novel, mut ids, mut distances) = (Vec::new(), Vec::new(), Vec::new());
    keys.write(fingerprints, |documents| {
        let decided = py.detach(|| db.insert_if_novel_batch_with(documents, distance, |_| Ok(())));
        for decision in decided.or_raise()? {
            let (is_novel, DocId(id), distance) = match decision {
                Decision::Inserted(id) => (true, id, 0),
                Decision::Duplicate(earlier) => (false, earlier.id, earlier.distance),
            };
            novel.push(is_novel);
            ids.push(id);
            distances.push(byte(distance));
        }
        Ok(())
    })?;
    named_tuple(py, "Novelties", (array(py, novel), array(py, ids), array(py, distances)))
}

fn upsert_batch<'py, F: Bits>(
    db: &fpdb::Db<F>,
    fingerprints: &Bound<'py, PyAny>,
    keys: Keys<'_, 'py>,
    options: &UpsertOptions,
) -> PyResult<Bound<'py, PyList>> {
    let py = fingerprints.py();
    let mut outcomes = Vec::new();
    keys.write(fingerprints, |documents| {
        let decided = py.detach(|| db.upsert_if_novel_batch(documents, options, |_| Ok(())));
        outcomes.extend(decided.or_raise()?.into_iter().map(Outcome::from));
        Ok(())
    })?;
    PyList::new(py, outcomes)
}

fn upsert_options(
    k: Option<Distance>,
    on_duplicate: Option<&Bound<'_, PyAny>>,
) -> PyResult<UpsertOptions> {
    const CHOICES: [(&str, OnDuplicate); 3] = [
        ("keep", OnDuplicate::Keep),
        ("remove", OnDuplicate::Remove),
        ("remember", OnDuplicate::Remember),
    ];
    let mut options = UpsertOptions::new();
    if let Some(Distance(distance)) = k {
        options = options.within(distance);
    }
    if let Some(name) = on_duplicate {
        options = options.on_duplicate(options::one_of("on_duplicate", name, &CHOICES)?);
    }
    Ok(options)
}
