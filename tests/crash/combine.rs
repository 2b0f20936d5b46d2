//! Merges and rebuilds of the database under test. A plain model predicts what they write.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fpdb::reports::BuildReport;
use fpdb::storage::{Fault, Sim, Storage};
use fpdb::{Db, DocId, ErrorKind, Fingerprint, Ids, Source};

use super::common::documents::Model;
use super::documents::with_next_id;
use super::history::{Contents, History, State};
use super::oracle::{self, Verdict, contents, text, unexplained};
use super::runner::{Runner, is_of_the_disk};
use super::script::{COPY, OUT, ROOT, Setup};

/// A way to make a new database of the one under test and its copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Rebuilds the database with the other block code.
    Rebuild,
    /// Merges the copy, if there is one, and the database.
    Merge,
}

/// A merge or rebuild that was begun.
#[derive(Debug, Clone)]
pub(crate) struct Combined<F> {
    way: Way,
    /// The contents of the copy, if that is a source.
    copy: Option<Contents<F>>,
    contents: Contents<F>,
    /// The number of operations before the merge, and at its end if it succeeded.
    pub(crate) requested: usize,
    done: Option<usize>,
    /// The number of calls of the storage before the merge.
    pub(crate) calls: usize,
}

impl<F> Combined<F> {
    /// Returns whether the merge had begun and whether it was acknowledged after `at` operations.
    pub(crate) fn progress(&self, at: usize) -> (bool, bool) {
        (self.requested < at, self.done.is_some_and(|done| done <= at))
    }
}

impl Way {
    fn setup<F: Fingerprint>(self, setup: &Setup<F>) -> Setup<F> {
        match self {
            Way::Rebuild => setup.block_size(512),
            _ => *setup,
        }
    }

    fn run<F: Fingerprint>(
        self,
        setup: &Setup<F>,
        sim: &Arc<Sim>,
        has_copy: bool,
    ) -> fpdb::Result<BuildReport> {
        let options = self.setup(setup).options(sim);
        let sources = if has_copy { &[COPY, ROOT][..] } else { &[ROOT] };
        match self {
            Way::Rebuild => options.build(OUT, Source::databases([ROOT])),
            Way::Merge => options.build(OUT, Source::databases(sources)),
        }
    }

    /// Returns what the new database must contain.
    fn expected<F: Fingerprint>(self, ids: Ids, sources: &[&Contents<F>]) -> Verdict<Contents<F>> {
        let [first, others @ ..] = sources else { return Err("no source".to_owned()) };
        let mut merged = State::clone(first);
        for source in others {
            match ids {
                Ids::User => merged.entries.extend(source.entries.iter().copied()),
                _ => add_documents(&mut merged.documents, &source.documents),
            }
        }
        match ids {
            Ids::User => Ok(Arc::new(merged)),
            _ => State::of_documents(ids, merged.documents).map(Arc::new),
        }
    }
}

/// Adds documents whose ids follow the ids in `merged`. Of two with the same key, the newest stays.
fn add_documents<F: Fingerprint>(merged: &mut Model<F>, source: &Model<F>) {
    let raised = if merged.is_named { merged.next_id } else { 0 };
    let new_id = |(key, id): (&Vec<u8>, DocId)| {
        let there = merged.documents.get(key).map(|there| there.id);
        (id, there.unwrap_or(DocId(id.0 + raised)))
    };
    let ids = source.documents.iter().map(|(key, known)| new_id((key, known.id)));
    let ids: BTreeMap<_, _> = ids.collect();
    for (key, known) in &source.documents {
        let mut known = *known;
        known.id = ids[&known.id];
        // The original may have been removed.
        let original = |id: DocId| ids.get(&id).copied().unwrap_or(DocId(id.0 + raised));
        known.duplicate_of = known.duplicate_of.map(original);
        if merged.documents.get(key).is_none_or(|there| there.stamp <= known.stamp) {
            merged.documents.insert(key.clone(), known);
        }
    }
    merged.next_id += if merged.is_named { source.next_id } else { 0 };
}

fn files_of_sources(sim: &Sim) -> Verdict<BTreeMap<String, Option<Vec<u8>>>> {
    let mut files = BTreeMap::new();
    for path in [ROOT, COPY] {
        let folder = sim.folder(path);
        for name in folder.list().map_err(text("list"))?.unwrap_or_default() {
            let contents = folder.contents(&name);
            files.insert(format!("{path}/{name}"), contents);
        }
    }
    Ok(files)
}

impl<F: Fingerprint> Runner<'_, F> {
    /// Merges or rebuilds, after a flush: a reader does not see the latest commits in the log.
    pub(super) fn combine(&mut self, db: &Db<F>, way: Way) -> Verdict {
        let failures = self.failures;
        self.write(None, true, || db.flush().map(|()| true))?;
        if self.failures > failures || self.setup.options(&self.sim).open_read_only(OUT).is_ok() {
            return Ok(());
        }
        let copy = self.history.backup().filter(|(_, done)| done.is_some() && way != Way::Rebuild);
        let copy = copy.map(|(contents, _)| contents.clone());
        let current = self.history.current().clone();
        let sources: Vec<_> = copy.iter().chain([&current]).collect();
        let contents = way.expected(self.setup.ids, &sources)?;
        let count = |contents: &Contents<F>| match self.setup.ids {
            Ids::User => contents.entries.len() as u64,
            _ => contents.documents.documents.len() as u64,
        };
        let expected = (sources.into_iter().map(count).sum::<u64>(), count(&contents));
        let has_copy = copy.is_some();
        let before = files_of_sources(&self.sim);
        let (requested, calls) = (self.sim.operations(), self.sim.calls());
        self.history.combined =
            Some(Combined { way, copy, contents, requested, done: None, calls });
        let (setup, sim) = (*self.setup, self.sim.clone());
        let mut done = false;
        self.write(None, false, || {
            let report = way.run(&setup, &sim, has_copy)?;
            done = true;
            Ok((report.read, report.written) == expected)
        })?;
        let after = files_of_sources(&self.sim);
        if before.is_ok() && after.is_ok() && before != after {
            return Err("the merge changed a source".to_owned());
        }
        if let Some(combined) = self.history.combined.as_mut().filter(|_| done) {
            combined.done = Some(self.sim.operations());
        }
        if done { Ok(()) } else { nothing_is_left(&setup, &sim) }
    }

    /// Rebuilds while one call of the storage fails.
    pub(super) fn fail_to_rebuild(&mut self, db: &Db<F>, call: usize) -> Verdict {
        self.write(None, true, || db.flush().map(|()| true))?;
        let contents = self.history.current().clone();
        let (copy, requested) = (None, self.sim.operations());
        let (way, done, calls) = (Way::Rebuild, None, self.sim.calls());
        self.history.combined = Some(Combined { way, copy, contents, requested, done, calls });
        self.sim.fail_at(self.sim.calls() + call, Fault::Error, false);
        let result = Way::Rebuild.run(self.setup, &self.sim, false);
        self.sim.fail_no_more();
        match result {
            Err(error) if is_of_the_disk(&error) => nothing_is_left(self.setup, &self.sim),
            other => Err(format!("a call failed, but the rebuild returned {other:?}")),
        }
    }
}

/// Checks that a failed call left nothing, unless the disk still fails, or the call failed after it
/// had finished the new database.
fn nothing_is_left<F: Fingerprint>(setup: &Setup<F>, sim: &Arc<Sim>) -> Verdict {
    let names = sim.folder(OUT).list().unwrap_or_default().unwrap_or_default();
    // The manifest stays if the other removals cannot be made durable.
    if names.is_empty()
        || sim.folder(OUT).sync_dir().is_err()
        || setup.options(sim).open_read_only(OUT).is_ok()
    {
        return Ok(());
    }
    Err(format!("the failed merge left {names:?}"))
}

/// Checks the new database if there is one, or makes it again if the merge was interrupted. The
/// database under test has been opened in this state, with the contents `found`.
pub(crate) fn check_combined<F: Fingerprint>(
    setup: &Setup<F>,
    state: &Arc<Sim>,
    history: &History<F>,
    at: usize,
    found: &Contents<F>,
) -> Verdict {
    let Some(combined) = &history.combined else { return Ok(()) };
    let (has_begun, is_done) = combined.progress(at);
    if !has_begun {
        return Ok(());
    }
    let Combined { way, copy, contents: expected, .. } = combined;
    let new_setup = way.setup(setup);
    let is_unfinished = |error: &fpdb::Error| {
        [ErrorKind::NotFound, ErrorKind::Unfinished].contains(&error.kind()) && !is_done
    };
    let (db, expected) = match oracle::open(&new_setup, state, OUT, true) {
        Ok(db) => (db, expected.clone()),
        Err(error) if is_unfinished(&error) => {
            let sources: Vec<_> = copy.iter().chain([found]).collect();
            let _ = way.run(setup, state, copy.is_some()).map_err(text("repeat the merge"))?;
            let db = oracle::open(&new_setup, state, OUT, true).map_err(text("open it"))?;
            (db, way.expected(setup.ids, &sources)?)
        }
        Err(error) => return Err(text("open the new database")(error)),
    };
    let found = with_next_id(&new_setup, &db, contents(&new_setup, &db)?)?;
    if !found.agrees(&expected) {
        return Err(format!("new database: {}", unexplained(&found, &[&expected])));
    }
    oracle::check_files(&state.folder(Path::new(OUT)), &db)?;
    match db.snapshot().verify(fpdb::VerifyLevel::Full).unwrap().errors.into_iter().next() {
        Some(error) => Err(format!("verify the new database: {error:?}")),
        None => Ok(()),
    }
}
