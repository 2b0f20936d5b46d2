//! Crashes, on a simulated file system and on a real one.
//!
//! A workload runs once on [`fpdb::storage::Sim`]. Then the database is opened in every state that
//! a loss of power could have left, at each operation, and compared with what had been
//! acknowledged. `mutants` skips syncs and renames, which shows that these tests notice a missing
//! one; `faults` makes every call fail in every way, and `read_faults` every read of an open file;
//! `kill` ends real processes, and `soak` mixes all. Every violation is printed with a command that
//! checks the same state again (`replay`); one of `read_faults` occurs in each run with the same
//! seed.
//!
//! `FPDB_CRASH_STATES` sets the approximate number of states that are checked in total (200,000).
//! `FPDB_CRASH_SEED` sets another seed (0), which long runs should vary.

#![expect(clippy::print_stdout, reason = "how many states were checked is part of the result")]

mod combine;
#[path = "../common/mod.rs"]
mod common;
mod documents;
mod faults;
mod history;
mod key_faults;
mod kill;
mod matrix;
mod mutants;
mod oracle;
mod read_faults;
mod replay;
mod runner;
mod script;
mod seen;
mod soak;

use fpdb::{Durability, Fingerprint, Ids, Sketch};

use matrix::{Workload, explore};
use script::{BANDS, Setup, random_letters};

const USER: Setup<u64> = Setup::new("half-2", Ids::User, Durability::Sync);
const NAMES: Setup<u64> = Setup::new("half-2", Ids::Names, Durability::Sync);
const BUFFERED: Setup<u64> = Setup::new("single", Ids::User, Durability::Buffered);
const BUFFERED_NAMES: Setup<u64> = Setup::new("single", Ids::Names, Durability::Buffered);
const UNIQUE: Setup<u64> = Setup::new("half-2", Ids::Unique, Durability::Sync).block_size(256);
const WIDE: Setup<u128> = Setup::new("half-2", Ids::User, Durability::Sync);
const SKETCHES: Setup<Sketch> = Setup::new(BANDS, Ids::Names, Durability::Sync);

/// Every step, some in several places.
const ALL_STEPS: &str = "inNbrfnirNsclirnxnbrdiikrnblcux";

/// The same, with those that only a database that keeps documents has.
const DOCUMENT_STEPS: &str = "inQprfqiPNstcvirxQbtdpikeqrnPvcQteux";

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Returns the approximate number of states that are checked in total.
fn states() -> usize {
    setting("FPDB_CRASH_STATES", 200_000)
}

pub(crate) fn seed() -> u64 {
    setting("FPDB_CRASH_SEED", 0) as u64
}

pub(crate) fn workload<F: Fingerprint>(setup: Setup<F>, letters: &str) -> Workload<F> {
    Workload::new(setup, letters, seed())
}

/// The parts of the budget: there are about this many tests of equal weight.
const TESTS: usize = 12;

fn survives<F: Fingerprint>(setup: Setup<F>, letters: &str) {
    check(&workload(setup, letters), states() / TESTS);
}

/// Checks fewer states: each of them merges or opens another database.
fn survives_briefly<F: Fingerprint>(setup: Setup<F>, letters: &str) {
    check(&workload(setup, letters), states() / 8 / TESTS);
}

fn survives_random<F: Fingerprint>(setup: Setup<F>) {
    for seed in seed()..seed() + 4 {
        let workload = Workload::new(setup, &random_letters(seed, 24), seed);
        check(&workload, states() / TESTS / 4);
    }
}

fn check<F: Fingerprint>(workload: &Workload<F>, states: usize) {
    if let Err(violation) = explore(workload, states) {
        panic!("{violation}");
    }
}

#[test]
fn creation_and_the_first_writes_survive() {
    survives(USER, "");
    survives(NAMES.memtable(2), "nnx");
}

#[test]
fn every_step_survives_with_user_ids() {
    survives(USER, ALL_STEPS);
}

#[test]
fn every_step_survives_with_names() {
    survives(NAMES, DOCUMENT_STEPS);
}

#[test]
fn every_step_survives_with_unique_ids_and_larger_blocks() {
    survives(UNIQUE, DOCUMENT_STEPS);
}

#[test]
fn every_step_survives_buffered() {
    survives(BUFFERED, ALL_STEPS);
}

#[test]
fn every_step_survives_buffered_with_names() {
    survives(BUFFERED_NAMES, DOCUMENT_STEPS);
}

#[test]
fn every_step_survives_with_wide_fingerprints() {
    survives(WIDE, ALL_STEPS);
}

#[test]
fn every_step_survives_with_sketches() {
    survives(SKETCHES, DOCUMENT_STEPS);
}

#[test]
fn merges_that_are_divided_among_segments_survive() {
    survives(SKETCHES.segment(3), DOCUMENT_STEPS);
    survives_briefly(SKETCHES.segment(3), "inQpuqvtWm");
}

#[test]
fn merge_survives_with_sketches() {
    survives_briefly(SKETCHES, "inQpuqvtWm");
}

#[test]
fn random_steps_survive_with_user_ids() {
    survives_random(USER);
}

#[test]
fn random_steps_survive_with_names() {
    survives_random(NAMES);
}

#[test]
fn random_steps_survive_buffered() {
    survives_random(BUFFERED.memtable(7));
}

#[test]
fn rebuild_survives_with_user_ids() {
    survives_briefly(USER, "inNrbfrnw");
}

#[test]
fn merge_survives_with_names() {
    survives_briefly(NAMES, "inQpuqvtWm");
}

#[test]
fn merge_survives_with_unique_ids() {
    survives_briefly(UNIQUE, "inQptuqvprm");
}

#[test]
fn log_of_many_commits_survives_buffered() {
    survives(BUFFERED_NAMES.memtable(1000), "iipNbsqinQrtknPirdQbvepik");
}

#[test]
fn load_that_is_sorted_on_disk_survives() {
    check(&workload(BUFFERED, "iLrx"), states() / 400);
}
