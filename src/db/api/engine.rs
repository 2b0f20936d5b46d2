//! The engine behind the public types, compiled once.
//!
//! The public types are generic, so every program that uses them compiles their methods again.
//! Therefore each method is one call through a table of functions: the traits below, whose methods
//! [`engine`] has compiled for both widths in this crate. A program compiles the calls only, and
//! the engine is as fast in a program that is built without optimisation. A call through the table
//! takes about a nanosecond.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::base::error::Result;
use crate::base::progress::Watch;
use crate::db::build::{self, BuildReport, Kind, Source};
use crate::db::commit::sync;
use crate::db::handle::WriteHandle;
use crate::db::handle::open::{self, Mode};
use crate::db::handle::read_only::ReadOnlyHandle;
use crate::db::options::Options;
use crate::db::read::block::Block;
use crate::db::read::clusters::{self, Cluster, ClusterOptions, ClusterReport};
use crate::db::read::join::{self, JoinOptions, JoinReport, Other};
use crate::db::read::lookup::NamedDocument;
use crate::db::read::pairs::{self, PairOptions, PairsReport};
use crate::db::read::reader::{Entries, Reader};
use crate::db::read::stats::{Description, Stats};
use crate::db::read::verify::{VerifyLevel, VerifyReport};
use crate::db::recovery::recover::RecoveryReport;
use crate::db::repair::{self, repair};
use crate::db::state::key::{Key, Stamped};
use crate::db::upkeep::backup;
use crate::db::upkeep::compact::{self, CompactReport};
use crate::db::write;
use crate::db::write::condition::{Callbacks, Condition};
use crate::db::write::expire::{self, ExpireReport};
use crate::db::write::load::{self, LoadReport};
use crate::db::write::load_space;
use crate::db::write::outcome::Outcome;
use crate::fingerprint::{DocId, Document, Entry, Fingerprint, Match, PerWidth, Sketch};
use crate::query::{Answers, Explanation, QueryOptions, Within};

/// Documents in some order.
pub(super) type NamedDocuments<'a, F> = dyn Iterator<Item = Result<NamedDocument<F>>> + Send + 'a;

/// What a [`Snapshot`](crate::Snapshot) does.
pub(crate) trait ReadEngine<F: Fingerprint>: Send + Sync {
    fn reader(&self) -> &Reader<F>;

    fn watched(&self, watch: Watch) -> Arc<dyn ReadEngine<F>> {
        Arc::new(Reader { watch, ..self.reader().clone() })
    }

    fn query(&self, fingerprint: F, options: QueryOptions) -> Result<Vec<Match<F>>> {
        self.reader().query(fingerprint, options)
    }

    fn explain(&self, fingerprint: F, options: QueryOptions) -> Result<Explanation<F>> {
        self.reader().explain(fingerprint, options)
    }

    fn query_batch(&self, fingerprints: &[F], within: Within) -> Result<Answers<F>> {
        self.reader().query_batch(fingerprints, within)
    }

    fn nearest(&self, fingerprint: F, within: Within) -> Result<Option<Match<F>>> {
        self.reader().nearest(fingerprint, within)
    }

    fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        self.reader().ids(fingerprint)
    }

    fn iter(&self) -> Box<Entries<'_, F>> {
        self.reader().iter()
    }

    fn len(&self) -> u64 {
        self.reader().len()
    }

    fn get(&self, key: Key<'_>) -> Result<Option<Document<F>>> {
        self.reader().get(key)
    }

    fn name(&self, id: DocId) -> Result<Option<String>> {
        self.reader().name(id)
    }

    fn names(&self, ids: &[DocId]) -> Result<Vec<Option<String>>> {
        self.reader().names(ids)
    }

    fn documents(&self, after: Option<Key<'_>>) -> Result<Box<NamedDocuments<'_, F>>> {
        Ok(Box::new(self.reader().documents(after)?))
    }

    fn pairs(&self, options: PairOptions, visit: &mut pairs::Visit<'_, F>) -> Result<PairsReport> {
        pairs::Search { reader: self.reader(), options }.visit(visit)
    }

    fn count_pairs(&self, options: PairOptions) -> Result<Vec<u64>> {
        pairs::Search { reader: self.reader(), options }.count()
    }

    fn clusters(
        &self,
        options: &ClusterOptions,
        visit: &mut dyn FnMut(Cluster<'_, F>) -> ControlFlow<()>,
    ) -> Result<ClusterReport> {
        clusters::Search { reader: self.reader(), options }.visit(visit)
    }

    fn join(
        &self,
        other: &Other<'_, F>,
        options: JoinOptions,
        visit: &mut join::Visit<'_, F>,
    ) -> Result<JoinReport> {
        join::join(self.reader(), other, options, visit)
    }

    fn verify(&self, level: VerifyLevel) -> Result<VerifyReport> {
        self.reader().verify(level)
    }

    fn block(&self, segment: u64, table: usize, block: u64) -> Result<Block<F>> {
        self.reader().block(segment, table, block)
    }
}

impl<F: Fingerprint> ReadEngine<F> for Reader<F> {
    fn reader(&self) -> &Self {
        self
    }
}

/// What a [`ReadOnlyDb`](crate::ReadOnlyDb) does in addition to its snapshots.
pub(crate) trait FollowEngine<F: Fingerprint>: Debug + Send + Sync {
    fn handle(&self) -> &ReadOnlyHandle<F>;

    fn watched(&self, watch: Watch) -> Arc<dyn FollowEngine<F>> {
        Arc::new(self.handle().watched(watch))
    }

    fn snapshot(&self) -> Arc<dyn ReadEngine<F>> {
        Arc::new(self.handle().reader())
    }

    fn refresh(&self) -> Result<bool> {
        self.handle().refresh()
    }

    fn warm(&self) -> Result<()> {
        self.handle().warm()
    }

    fn release_memory(&self) {
        self.handle().release_memory();
    }

    fn fit_memory(&self) {
        self.handle().fit_memory();
    }

    fn backup(&self, path: &Path) -> Result<()> {
        self.handle().backup(path)
    }

    fn stats(&self) -> Stats {
        self.handle().stats()
    }

    fn description(&self) -> &Description {
        self.handle().description()
    }
}

impl<F: Fingerprint> FollowEngine<F> for ReadOnlyHandle<F> {
    fn handle(&self) -> &Self {
        self
    }
}

/// What a [`Db`](crate::Db) does.
pub(crate) trait WriteEngine<F: Fingerprint>: Send + Sync {
    fn handle(&self) -> &WriteHandle<F>;

    fn watched(&self, watch: Watch) -> Arc<dyn WriteEngine<F>> {
        Arc::new(self.handle().watched(watch))
    }

    fn snapshot(&self) -> Arc<dyn ReadEngine<F>> {
        Arc::new(self.handle().reader())
    }

    fn query(&self, fingerprint: F, options: QueryOptions) -> Result<Vec<Match<F>>> {
        self.handle().read()?.query(fingerprint, options)
    }

    fn query_batch(&self, fingerprints: &[F], within: Within) -> Result<Answers<F>> {
        self.handle().read()?.query_batch(fingerprints, within)
    }

    fn nearest(&self, fingerprint: F, within: Within) -> Result<Option<Match<F>>> {
        self.handle().read()?.nearest(fingerprint, within)
    }

    fn get(&self, key: Key<'_>) -> Result<Option<Document<F>>> {
        self.handle().read()?.get(key)
    }

    fn write(
        &self,
        documents: &[(F, Stamped<'_>)],
        condition: Condition,
        callbacks: Callbacks<'_, F>,
    ) -> Result<Vec<Outcome<F>>> {
        write::write(self.handle().writable()?, documents, condition, callbacks)
    }

    fn write_one(
        &self,
        fingerprint: F,
        key: Stamped<'_>,
        condition: Condition,
    ) -> Result<Outcome<F>> {
        write::write_one(self.handle().writable()?, (fingerprint, key), condition)
    }

    fn remove(&self, keys: &[Key<'_>]) -> Result<Vec<bool>> {
        write::remove(self.handle().writable()?, &self.handle().reader(), keys)
    }

    fn remove_entries(&self, entries: &[Entry<F>]) -> Result<Vec<bool>> {
        write::remove_entries(self.handle().writable()?, entries)
    }

    /// Writes entries of an index of passages, whatever [`writable`](WriteHandle::writable) says.
    #[cfg(feature = "text")]
    fn write_to_index(&self, entries: &[(F, Stamped<'_>)]) -> Result<Vec<Outcome<F>>> {
        write::write(
            self.handle().in_own_process()?,
            entries,
            Condition::default(),
            Callbacks::NONE,
        )
    }

    /// The same for removals.
    #[cfg(feature = "text")]
    fn remove_from_index(&self, entries: &[Entry<F>]) -> Result<Vec<bool>> {
        write::remove_entries(self.handle().in_own_process()?, entries)
    }

    fn touch(&self, documents: &[(Key<'_>, u64)]) -> Result<Vec<bool>> {
        write::touch(self.handle().in_own_process()?, documents)
    }

    fn expire(&self, before: u64) -> Result<ExpireReport> {
        expire::expire(self.handle().in_own_process()?, &self.handle().reader(), before)
    }

    fn bulk_load(&self, entries: &mut dyn Iterator<Item = Result<Entry<F>>>) -> Result<LoadReport> {
        load::load(self.handle().writable()?, entries, &self.handle().watch)
    }

    fn bulk_load_space(&self, entries: u64) -> u64 {
        load_space::most_space(self.handle().core(), entries)
    }

    fn sync(&self) -> Result<()> {
        sync::sync_log(self.handle().in_own_process()?)
    }

    fn warm(&self) -> Result<()> {
        self.handle().warm()
    }

    fn release_memory(&self) {
        self.handle().release_memory();
    }

    fn fit_memory(&self) {
        self.handle().fit_memory();
    }

    fn flush(&self) -> Result<()> {
        self.handle().flush()
    }

    fn compact(&self) -> Result<CompactReport> {
        let handle = self.handle();
        compact::flush_and_compact_all(handle.in_own_process()?, &handle.watch)
    }

    fn compact_space(&self) -> u64 {
        compact::most_space(self.handle().core())
    }

    fn verify(&self, level: VerifyLevel) -> Result<VerifyReport> {
        let handle = self.handle();
        if !handle.core().poison.is_set() {
            handle.flush()?;
        }
        handle.reader().verify(level)
    }

    fn backup(&self, path: &Path) -> Result<()> {
        let handle = self.handle();
        backup::backup(handle.in_own_process()?, path, &handle.watch)
    }

    fn stats(&self) -> Stats {
        self.handle().stats()
    }

    fn recovery(&self) -> RecoveryReport {
        self.handle().recovery()
    }

    fn path(&self) -> &Path {
        self.handle().path()
    }

    fn description(&self) -> &Description {
        self.handle().description()
    }

    fn close(&self) -> Result<()> {
        self.handle().close()
    }
}

impl<F: Fingerprint> WriteEngine<F> for WriteHandle<F> {
    fn handle(&self) -> &Self {
        self
    }
}

/// What [`Options`] do.
pub(super) trait OpenEngine<F: Fingerprint> {
    fn open(
        &self,
        options: Options<F>,
        path: &Path,
        mode: Mode,
    ) -> Result<Arc<dyn WriteEngine<F>>> {
        Ok(Arc::new(open::open(options, path, mode)?))
    }

    fn open_in_memory(&self, options: Options<F>) -> Result<Arc<dyn WriteEngine<F>>> {
        Ok(Arc::new(open::open_in_memory(options)?))
    }

    fn open_read_only(&self, options: Options<F>, path: &Path) -> Result<Arc<dyn FollowEngine<F>>> {
        Ok(Arc::new(open::open_read_only(options, path)?))
    }

    fn build(
        &self,
        options: Options<F>,
        path: &Path,
        source: Source<'_, F>,
    ) -> Result<BuildReport> {
        match source.0 {
            Kind::Databases(sources) => build::of_databases(options, &sources, path),
            Kind::Damaged(broken) => repair(options, &broken, path),
            Kind::Entries(count, mut entries) => {
                build::of_entries(options, path, count, &mut entries)
            }
            Kind::Documents(next_id, count, mut documents) => {
                build::of_documents(options, path, next_id, count, &mut documents)
            }
        }
    }

    fn verify(&self, options: Options<F>, path: &Path, level: VerifyLevel) -> Result<VerifyReport> {
        repair::verify(options, path, level)
    }
}

/// The engine, of both widths.
struct Engine;

impl<F: Fingerprint> OpenEngine<F> for Engine {}

impl PerWidth for Engine {
    type At<F: Fingerprint> = &'static dyn OpenEngine<F>;
}

// If one of these was inlined into another crate, that crate would compile the engine again.

#[inline(never)]
fn engine_of_64_bits() -> &'static dyn OpenEngine<u64> {
    &Engine
}

#[inline(never)]
fn engine_of_128_bits() -> &'static dyn OpenEngine<u128> {
    &Engine
}

#[inline(never)]
fn engine_of_sketches() -> &'static dyn OpenEngine<Sketch> {
    &Engine
}

/// Returns the functions that make everything else, as this crate has compiled them.
pub(super) fn engine<F: Fingerprint>() -> &'static dyn OpenEngine<F> {
    F::choose::<Engine>(engine_of_64_bits(), engine_of_128_bits(), engine_of_sketches())
}
