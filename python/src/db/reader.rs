//! The class of all handles that can be read from, and the class of snapshots.

use fpdb::{Description, DocId, Jaccard, VerifyLevel};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::base::arrays::{type_error, with_numbers};
use crate::base::errors::{self, OrRaise};
use crate::base::interrupt::cancellable;
use crate::base::numbers::{Distance, Number, within};
use crate::db::answers;
use crate::db::chunks::{EntryIterator, PairIterator};
use crate::db::documents::with_documents;
use crate::db::handle::Handle;
use crate::db::keys::OwnedKey;
use crate::db::options::one_of;
use crate::db::pairs::{self, Other, Search};
use crate::db::results::{Document, Match, named_tuple};
use crate::db::rule::MatchRule;
use crate::db::source::{AnySnapshot, Source, at_width};

const LEVELS: [(&str, VerifyLevel); 3] =
    [("quick", VerifyLevel::Quick), ("full", VerifyLevel::Full), ("deep", VerifyLevel::Deep)];

/// A database that can be read: what Db, ReadOnlyDb and Snapshot have in common.
#[pyclass(frozen, subclass, module = "fpdb_engine")]
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) handle: Handle,
}

#[pymethods]
impl Reader {
    /// The folder of the database.
    #[getter]
    fn path(&self) -> String {
        self.handle.info.path.to_string_lossy().into_owned()
    }

    /// The width of fingerprints: 64, 128, or 1824 for sketches.
    #[getter(bits)]
    fn width(&self) -> PyResult<u32> {
        self.handle.bits()
    }

    /// The distance beyond which fingerprints never match by the database's rule.
    #[getter]
    fn max_distance(&self) -> u32 {
        self.handle.info.description.max_distance
    }

    /// The rule by which sketches match; None without a similarity.
    #[getter]
    fn match_rule(&self) -> Option<MatchRule> {
        let rule = self.handle.info.description.rule;
        rule.bands().map(|_| MatchRule { rule })
    }

    /// How many bands a sketch has, and of how many minima each consists; None without a
    /// similarity.
    #[getter]
    fn sketch_bands(&self) -> Option<(u32, u32)> {
        self.handle.info.description.rule.bands()
    }

    /// The Jaccard similarity that the database was created for; None if it was created for a
    /// distance.
    #[getter]
    fn similarity(&self) -> Option<f64> {
        self.handle.info.description.rule.jaccard().map(Jaccard::similarity)
    }

    /// The share of the pairs of exactly this similarity that are found; None without a similarity.
    #[getter]
    fn recall(&self) -> Option<f64> {
        self.handle.info.description.rule.jaccard().map(Jaccard::expected_recall)
    }

    /// Where ids come from: "user", "unique" or "names".
    #[getter]
    fn id_kind(&self) -> String {
        self.handle.info.description.ids.to_string()
    }

    /// The recipe of the fingerprints, if the database has one.
    #[getter]
    fn recipe(&self) -> Option<&str> {
        self.handle.info.description.recipe.as_deref()
    }

    /// The extraction of the texts, if the database has one.
    #[getter]
    fn extraction(&self) -> Option<&str> {
        self.handle.info.description.extraction.as_deref()
    }

    /// Whether the handle was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.handle.is_closed()
    }

    /// Returns every entry within a distance of a fingerprint, sorted by distance, fingerprint and
    /// id.
    ///
    /// The distance is the number of bits that differ; of sketches, the number of minima. Without
    /// one, it returns what matches by the database's rule. Exact at any distance: microseconds up
    /// to the database's own distance, and more beyond it; with sketches, below their number of
    /// bands. limit is the number of matches to return at most, and since the least stamp of their
    /// documents.
    ///
    /// >>> _ = db.write([0b1100, 0b1111], [1, 2])
    /// >>> db.query(0b1101, 3)
    /// [Match(distance=1, fingerprint=0xc, id=1), Match(distance=1, fingerprint=0xf, id=2)]
    #[pyo3(signature = (fingerprint, distance=None, *, limit=None, since=None))]
    fn query<'py>(
        &self,
        fingerprint: &Bound<'py, PyAny>,
        distance: Option<Distance>,
        limit: Option<Number>,
        since: Option<Number>,
    ) -> PyResult<Bound<'py, PyList>> {
        let options = answers::options(within(distance), limit, since);
        at_width!(self.handle.snapshot_now()?, snapshot => answers::query(&snapshot, fingerprint, options))
    }

    /// Makes the fingerprint of a text by the database's recipe, and returns what query() returns
    /// for it, or None for a text that is too short to be compared.
    ///
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", ids="names", recipe="default") as db:
    /// ...     _ = db.insert_text_if_novel("Trains leave for the airport every ten minutes.", "a")
    /// ...     db.query_text("TRAINS leave for the airport every ten minutes!")
    /// [Match(distance=0, fingerprint=..., id=0)]
    #[pyo3(signature = (text, distance=None, *, limit=None, since=None))]
    fn query_text<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        distance: Option<Distance>,
        limit: Option<Number>,
        since: Option<Number>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let options = answers::options(within(distance), limit, since);
        at_width!(self.handle.snapshot_now()?, snapshot => {
            answers::query_text(py, &snapshot, &self.handle.stored_recipe()?, text, options)
        })
    }

    /// Returns the nearest entry within a distance of a fingerprint, or None.
    ///
    /// If several are equally near, it is the one with the lowest fingerprint and id.
    ///
    /// >>> _ = db.write([0b1100, 0b1000], [1, 2])
    /// >>> db.nearest(0b1101).id
    /// 1
    /// >>> db.nearest(0b1101, 0) is None
    /// True
    #[pyo3(signature = (fingerprint, distance=None))]
    fn nearest(
        &self,
        fingerprint: &Bound<'_, PyAny>,
        distance: Option<Distance>,
    ) -> PyResult<Option<Match>> {
        let within = within(distance);
        at_width!(self.handle.snapshot_now()?, snapshot => answers::nearest(&snapshot, fingerprint, within))
    }

    /// Returns the answers to several queries, as flat arrays.
    ///
    /// Those of query i are ids[offsets[i]:offsets[i + 1]], and the same of distances. A large
    /// batch is faster than one query after another. All answers are in memory at the same time;
    /// join() returns them in chunks. Instead of fingerprints, it takes texts, from which it makes
    /// fingerprints by the database's recipe. A text that is missing or too short to be compared
    /// has no answers.
    ///
    /// >>> _ = db.write([0b1100, 0b1111], [1, 2])
    /// >>> offsets, ids, distances = db.query_batch([0b1101, 2**64 - 1], 3)
    /// >>> offsets.tolist(), ids.tolist(), distances.tolist()
    /// ([0, 2, 2], [1, 2], [1, 1])
    #[pyo3(signature = (fingerprints=None, distance=None, *, texts=None))]
    fn query_batch<'py>(
        &self,
        py: Python<'py>,
        fingerprints: Option<&Bound<'py, PyAny>>,
        distance: Option<Distance>,
        texts: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let within = within(distance);
        at_width!(self.handle.snapshot_now()?, snapshot => {
            with_documents(fingerprints, texts, || self.handle.stored_recipe(), |queries| {
                answers::query_batch(&snapshot, py, queries, within)
            })
        })
    }

    /// Returns the ids of all entries with exactly this fingerprint, ascending.
    ///
    /// >>> _ = db.write([7, 7], [2, 1])
    /// >>> db.ids(7).tolist()
    /// [1, 2]
    fn ids<'py>(&self, fingerprint: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        at_width!(self.handle.snapshot_now()?, snapshot => answers::ids(&snapshot, fingerprint))
    }

    fn __contains__(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        at_width!(self.handle.snapshot_now()?, snapshot => answers::contains(&snapshot, fingerprint))
    }

    fn __len__(&self) -> PyResult<usize> {
        let entries = at_width!(self.handle.snapshot_now()?, snapshot => snapshot.len());
        Ok(usize::try_from(entries).unwrap_or(usize::MAX))
    }

    /// A handle is true even if the database is empty.
    fn __bool__(&self) -> bool {
        true
    }

    /// Returns what the database knows about the document with this name or unique id, or None.
    ///
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", ids="names") as db:
    /// ...     _ = db.insert(0xff, "https://a.example/", stamp=2026)
    /// ...     db.get("https://a.example/")
    /// Document(fingerprint=0xff, id=0, stamp=2026, duplicate_of=None)
    fn get(&self, py: Python<'_>, key: OwnedKey) -> PyResult<Option<Document>> {
        at_width!(self.handle.snapshot_now()?, snapshot => {
            Ok(py.detach(|| snapshot.get(key.key())).or_raise()?.map(Document::from))
        })
    }

    /// Returns the name of the document with this id, or None.
    fn name(&self, py: Python<'_>, id: Number) -> PyResult<Option<String>> {
        at_width!(self.handle.snapshot_now()?, snapshot => {
            py.detach(|| snapshot.name(DocId(id.0))).or_raise()
        })
    }

    /// Returns the names of the documents with these ids, and None for each that has none.
    ///
    /// >>> with fpdb.Db.create(folder / "crawl.fpdb", ids="names") as db:
    /// ...     _ = db.write([1 << 20, 1 << 40], names=["a", "b"])
    /// ...     db.names([1, 0, 7])
    /// ['b', 'a', None]
    fn names(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<Option<String>>> {
        let py = ids.py();
        with_numbers(ids, "id", |ids| {
            let ids: Vec<DocId> = ids.iter().copied().map(DocId).collect();
            at_width!(self.handle.snapshot_now()?, snapshot => {
                py.detach(|| snapshot.names(&ids)).or_raise()
            })
        })
    }

    /// Returns the database as it is now. It never changes, whatever is written.
    ///
    /// >>> before = db.snapshot()
    /// >>> _ = db.insert(7, 1)
    /// >>> len(before), len(db)
    /// (0, 1)
    fn snapshot(&self, py: Python<'_>) -> PyResult<Py<Snapshot>> {
        Py::new(
            py,
            PyClassInitializer::from(Self { handle: self.handle.snapshot()? })
                .add_subclass(Snapshot),
        )
    }

    /// Returns an iterator over all pairs of entries within a distance of each other, as chunks of
    /// arrays.
    ///
    /// An entry whose fingerprint others share is paired with each of them if it has the lowest id,
    /// and stands for all of them in pairs with other fingerprints. So there is a path of pairs
    /// between all near-duplicates, and a thousand equal entries are 999 pairs. With expand, every
    /// pair is passed on, which is half a million for a thousand equal entries. The pairs are in no
    /// particular order.
    ///
    /// memory is the number of bytes for the parts of tables that are compared; 512 MiB by default.
    /// With sketches, a distance must be less than their number of bands.
    ///
    /// >>> _ = db.write([7, 7, 6], [1, 2, 3])
    /// >>> for a, b, distances in db.pairs(3):
    /// ...     print(sorted(zip(a.tolist(), b.tolist(), distances.tolist())))
    /// [(1, 2, 0), (3, 1, 1)]
    /// >>> sum(len(chunk.a) for chunk in db.pairs(3, expand=True))
    /// 3
    #[pyo3(signature = (distance=None, *, expand=false, memory=None, threads=None))]
    fn pairs(
        &self,
        distance: Option<Distance>,
        expand: bool,
        memory: Option<Number>,
        threads: Option<Number>,
    ) -> PyResult<PairIterator> {
        let search = Search::new(distance, memory, threads);
        at_width!(self.handle.snapshot_now()?, snapshot => pairs::pairs(snapshot, search, expand))
    }

    /// Returns the number of pairs of entries at each distance from 0 to the given one.
    ///
    /// >>> _ = db.write([7, 7, 6], [1, 2, 3])
    /// >>> db.count_pairs(3)
    /// [1, 2, 0, 0]
    #[pyo3(signature = (distance=None, *, memory=None, threads=None))]
    fn count_pairs(
        &self,
        py: Python<'_>,
        distance: Option<Distance>,
        memory: Option<Number>,
        threads: Option<Number>,
    ) -> PyResult<Vec<u64>> {
        let search = Search::new(distance, memory, threads);
        at_width!(self.handle.snapshot_now()?, snapshot => pairs::count(py, &snapshot, &search))
    }

    /// Returns an iterator over all pairs of an entry of this database and one of another that are
    /// within a distance of each other, as chunks of arrays: a are ids of this database, and b of
    /// the other. Instead of another database, it takes an array of fingerprints, whose ids are
    /// their positions. Pairs are ordered by the other's fingerprints.
    ///
    /// Fastest if this is the larger one. With nearest, only the nearest entry of this database is
    /// paired with each of the other's. memory is the number of bytes for a batch of entries and
    /// its matches; 512 MiB by default. So, in contrast to query_batch(), not all answers are in
    /// memory.
    ///
    /// >>> _ = db.write([0b0000, 0b0011], [1, 2])
    /// >>> with fpdb.Db.create(folder / "new.fpdb") as new:
    /// ...     _ = new.insert(0b0111, 9)
    /// ...     [(chunk.a.tolist(), chunk.b.tolist()) for chunk in db.join(new, 3)]
    /// [([2, 1], [9, 9])]
    /// >>> [(chunk.a.tolist(), chunk.b.tolist()) for chunk in db.join([2**64 - 1, 0b0011], 3, nearest=True)]
    /// [([2], [1])]
    #[pyo3(signature = (other, distance=None, *, nearest=false, memory=None, threads=None))]
    fn join(
        &self,
        other: &Bound<'_, PyAny>,
        distance: Option<Distance>,
        nearest: bool,
        memory: Option<Number>,
        threads: Option<Number>,
    ) -> PyResult<PairIterator> {
        let search = Search::new(distance, memory, threads);
        let Ok(database) = other.cast::<Self>() else {
            return at_width!(self.handle.snapshot_now()?, snapshot => {
                pairs::join(snapshot, Other::list(other)?, search, nearest)
            });
        };
        match (self.handle.snapshot_now()?, database.get().handle.snapshot_now()?) {
            (AnySnapshot::Bits64(a), AnySnapshot::Bits64(b)) => {
                pairs::join(a, Other::Database(b), search, nearest)
            }
            (AnySnapshot::Bits128(a), AnySnapshot::Bits128(b)) => {
                pairs::join(a, Other::Database(b), search, nearest)
            }
            (AnySnapshot::Sketches(a), AnySnapshot::Sketches(b)) => {
                pairs::join(a, Other::Database(b), search, nearest)
            }
            _ => Err(errors::invalid(format!(
                "cannot join databases of {} and of {} bits",
                self.handle.bits()?,
                database.get().handle.bits()?
            ))),
        }
    }

    /// Returns all clusters of near-duplicates, as flat arrays. The first document of each stands
    /// for the others.
    ///
    /// With the method "keep-first", documents are taken in the order of their ids. Each is kept
    /// unless one that was kept before is within the distance; then it belongs to the cluster of
    /// the earliest of these. So what is kept is what insert_if_novel() would have inserted. With
    /// "components", chains of pairs connect documents, which may be far from each other. memory is
    /// the number of bytes for near fingerprints and pairs; 1 GiB by default. Pairs that do not fit
    /// are written to nameless files in the system's temporary folder, which TMPDIR changes.
    ///
    /// >>> _ = db.write([0b0000, 0b0011, 0b1111], [1, 2, 3])
    /// >>> offsets, ids, radii = db.clusters(3)
    /// >>> [ids[a:b].tolist() for a, b in zip(offsets, offsets[1:])]
    /// [[1, 2]]
    /// >>> db.clusters(3, method="components").ids.tolist()
    /// [1, 2, 3]
    #[pyo3(signature = (distance=None, *, method=None, memory=None, threads=None))]
    fn clusters<'py>(
        &self,
        py: Python<'py>,
        distance: Option<Distance>,
        method: Option<&Bound<'py, PyAny>>,
        memory: Option<Number>,
        threads: Option<Number>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let search = Search::new(distance, memory, threads);
        let method = pairs::cluster_method(method)?;
        at_width!(self.handle.snapshot_now()?, snapshot => {
            pairs::clusters(py, &snapshot, &search, method)
        })
    }

    /// Returns an iterator over all entries, by fingerprint and then id, as chunks of arrays. Those
    /// of sketches are by id or, with names, by name.
    ///
    /// >>> _ = db.write([9, 7], [1, 2])
    /// >>> for fingerprints, ids in db.entries():
    /// ...     print(fingerprints.tolist(), ids.tolist())
    /// [7, 9] [2, 1]
    fn entries(&self) -> PyResult<EntryIterator> {
        EntryIterator::of(self.handle.snapshot_now()?)
    }

    /// Reads every byte of every segment and checks it. A database that is open for writing is
    /// flushed first.
    ///
    /// level: "quick" compares all bytes with their checksums; "full" also decodes everything and
    /// checks that the files of each segment agree; "deep" also compares the segments with each
    /// other, and the answers to 32 queries with a scan.
    ///
    /// Damage is no exception: the report lists it.
    ///
    /// >>> db.verify(level="deep").errors
    /// []
    #[pyo3(signature = (level = None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        level: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let level = level.map(|level| one_of("level", level, &LEVELS)).transpose()?;
        let level = level.unwrap_or_default();
        let source = self.handle.with_source(Clone::clone)?;
        let report = at_width!(&source, source => match source {
            Source::Db(db) => cancellable(py, db, |db| db.verify(level)),
            other => cancellable(py, &other.snapshot(), |snapshot| snapshot.verify(level)),
        })?;
        let errors: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
        named_tuple(py, "VerifyReport", (report.files, report.bytes, errors))
    }

    /// Closes the handle. Closing it again does nothing.
    ///
    /// A database that is open for writing is flushed first. If that fails, an exception is raised;
    /// the handle is closed in any case, and what was acknowledged is safe.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.close(py)
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

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let (handle, class) = (&slf.get().handle, slf.get_type().name()?);
        let path = handle.info.path.display();
        let Ok(snapshot) = handle.snapshot_now() else {
            return Ok(format!("<fpdb_engine.{class} {path}: closed>"));
        };
        let entries = at_width!(snapshot, snapshot => snapshot.len());
        let Description { bits, max_distance, ids, .. } = &handle.info.description;
        Ok(format!(
            "<fpdb_engine.{class} {path}: {entries} entries of {bits} bits, max_distance \
             {max_distance}, ids \"{ids}\">"
        ))
    }
}

/// A database as it was when snapshot() was called. It never changes, whatever is written.
#[pyclass(frozen, extends = Reader, module = "fpdb_engine")]
#[derive(Debug)]
pub(crate) struct Snapshot;

#[pymethods]
impl Snapshot {
    /// Another process cannot open a state that only this one keeps.
    fn __reduce__(&self) -> PyResult<()> {
        Err(type_error(
            "a Snapshot cannot be pickled: pickle the Db or ReadOnlyDb, which is opened again as it is \
             then, or copy it with backup()"
                .to_owned(),
        ))
    }
}
