//! Damage of every kind, at every place of every file of a database that has every kind of file.
//!
//! Each damaged database is opened read-only and for writing, queried, verified, written to and
//! compacted. There are two permitted outcomes: an error that names the damaged file, or the same
//! answers as from the undamaged database. One loss cannot be told from a crash: a log that ends
//! early looks as if no more had been written. Then the answers are right for an earlier commit.
//!
//! `FPDB_DAMAGE_ENTRIES` sets the size of the database (60: about 8 KiB in each block code; 600 is
//! more than 64 KiB).

#[path = "../common/mod.rs"]
mod common;
mod errors;
mod identity;
mod intact;
mod places;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use fpdb::storage::Storage;
use fpdb::{Error, ErrorKind, Fingerprint, Sketch};

use intact::{Intact, options};

fn entries() -> u32 {
    std::env::var("FPDB_DAMAGE_ENTRIES").map_or(60, |value| value.parse().unwrap())
}

fn with_blocks() -> Intact<u64> {
    Intact::make(entries(), 0)
}

fn with_keys() -> Intact<Sketch> {
    Intact::make(entries() / 2, 0)
}

/// Calls a function with databases of every kind, and returns what was found in all of them.
macro_rules! check_every_kind {
    ($check:ident) => {{
        let counts = crate::Counts::default();
        $check(&crate::with_blocks(), &counts);
        $check(&crate::with_keys(), &counts);
        counts
    }};
}
pub(crate) use check_every_kind;

/// What was found, over all damages.
#[derive(Debug, Default)]
struct Counts {
    damages: AtomicUsize,
    refused_read_only: AtomicUsize,
    refused_for_writing: AtomicUsize,
    found_later: AtomicUsize,
    harmless: AtomicUsize,
    /// The end of the log is reported as torn, and nothing is lost.
    torn: AtomicUsize,
    /// A log that ends early.
    prefixes: AtomicUsize,
}

impl Counts {
    fn add(count: &AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a damage may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    /// An error only: nothing is lost, and the damage is found by the time that the database was
    /// verified and opened for writing.
    Found,
    /// Also that nothing differs, for example if bytes are appended to a log.
    FoundOrHarmless,
    /// Also the answers after an earlier commit of the log.
    Prefix,
}

/// A set of files that replace files of the database.
struct Damage<'a, F: Fingerprint> {
    intact: &'a Intact<F>,
    /// The files that an error may name.
    names: &'a [&'a str],
    files: BTreeMap<&'a str, Option<&'a [u8]>>,
    allowed: Allowed,
    what: &'a str,
}

impl<'a, F: Fingerprint> Damage<'a, F> {
    fn new(intact: &'a Intact<F>, name: &'a &'a str, bytes: &'a [u8], what: &'a str) -> Self {
        let files = BTreeMap::from([(*name, Some(bytes))]);
        let allowed = Allowed::Found;
        Self { intact, names: std::slice::from_ref(name), files, allowed, what }
    }

    fn allow(self, allowed: Allowed) -> Self {
        Self { allowed, ..self }
    }

    fn assert_names_the_file(&self, error: &Error) {
        let file = error.path().and_then(|path| path.file_name()).and_then(|name| name.to_str());
        let is_right = file.is_some_and(|file| self.names.contains(&file));
        assert!(
            error.kind() == ErrorKind::Corruption && is_right,
            "{}: the error is about {file:?}: {error}",
            self.what
        );
    }

    /// Returns the state that the log gives, if it may end early.
    fn states(&self) -> &[common::Oracle<F>] {
        let Intact { states, flushed, .. } = self.intact;
        let last = states.len() - 1;
        if self.allowed == Allowed::Prefix { &states[*flushed..] } else { &states[last..] }
    }

    fn check(&self, counts: &Counts) {
        Counts::add(&counts.damages);
        let is_found = self.read_only(counts) | self.for_writing(counts);
        assert!(is_found || self.allowed != Allowed::Found, "{} went unnoticed", self.what);
        if !is_found {
            Counts::add(&counts.harmless);
        }
    }

    /// Returns whether the damage was found.
    fn read_only(&self, counts: &Counts) -> bool {
        let reader = match options::<F>(&self.intact.with(&self.files)).open_read_only("sim") {
            Ok(reader) => reader,
            Err(error) => {
                self.assert_names_the_file(&error);
                Counts::add(&counts.refused_read_only);
                return true;
            }
        };
        let snapshot = reader.snapshot();
        // Of a damaged log, a reader sees only what is certainly durable.
        let has_log = self.names.iter().any(|name| name.ends_with(".log"));
        let states = if has_log { &self.intact.states[..] } else { self.states() };
        let state = states.iter().rev().find(|state| state.0.len() as u64 == snapshot.len());
        let state = state.unwrap_or_else(|| panic!("{}: {} entries", self.what, snapshot.len()));
        let checked = self.intact.check(&snapshot, state, self.what);
        let errors = reader.snapshot().verify(fpdb::VerifyLevel::Full).unwrap().errors;
        errors.iter().for_each(|error| self.assert_names_the_file(error));
        if let Err(error) = &checked {
            self.assert_names_the_file(error);
            assert!(!errors.is_empty(), "{}: verify does not find what a query finds", self.what);
        }
        if !errors.is_empty() {
            Counts::add(&counts.found_later);
        }
        !errors.is_empty()
    }

    fn for_writing(&self, counts: &Counts) -> bool {
        let sim = self.intact.with(&self.files);
        let before = sim.list().unwrap();
        let db = match options::<F>(&sim).open("sim") {
            Ok(db) => db,
            Err(error) => {
                self.assert_names_the_file(&error);
                assert_eq!(sim.list().unwrap(), before, "{}: files were removed", self.what);
                Counts::add(&counts.refused_for_writing);
                return true;
            }
        };
        // The last frame of a log says only how far the log is durable.
        let is_torn = db.recovery().torn_tail;
        let len = db.snapshot().len();
        let state = self.states().iter().rev().find(|state| state.0.len() as u64 == len);
        let state = state.unwrap_or_else(|| panic!("{}: {len} entries", self.what));
        let is_prefix = state.0.len() != self.intact.last().0.len();
        if is_prefix {
            Counts::add(&counts.prefixes);
        }
        // Both write everything again, so they must find the damage, or pass nothing on.
        let changed = db.compact().map(drop).and_then(|()| db.flush());
        let checked = self.intact.check(&db.snapshot(), state, self.what);
        for error in [&changed, &checked].into_iter().filter_map(|result| result.as_ref().err()) {
            self.assert_names_the_file(error);
        }
        drop(db);
        if changed.is_ok() && checked.is_ok() {
            let reader = options::<F>(&sim).open_read_only("sim").unwrap();
            assert!(
                reader.snapshot().verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty(),
                "{}",
                self.what
            );
            self.intact.check(&reader.snapshot(), state, self.what).unwrap();
        }
        if is_torn && !is_prefix {
            Counts::add(&counts.torn);
        }
        changed.is_err() || checked.is_err() || is_prefix || is_torn
    }
}

/// Runs `check` for all numbers below `count`, on all cores.
fn in_parallel(count: usize, check: impl Fn(usize) + Sync) {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(n) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < count)
                {
                    check(n);
                }
            });
        }
    });
}

fn check_undamaged<F: Fingerprint>(intact: &Intact<F>, _: &Counts) {
    let sim = intact.with(&BTreeMap::new());
    let reader = options::<F>(&sim).open_read_only("sim").unwrap();
    assert!(reader.snapshot().verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
    intact.check(&reader.snapshot(), intact.last(), "undamaged").unwrap();
    let db = options::<F>(&sim).open("sim").unwrap();
    assert_eq!(db.recovery().commits, 3);
    intact.check(&db.snapshot(), intact.last(), "undamaged").unwrap();
}

#[test]
fn undamaged_database_has_no_errors() {
    check_every_kind!(check_undamaged);
}
