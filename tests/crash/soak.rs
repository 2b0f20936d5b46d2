//! The soak test: crashes, failing calls, full disks and killed processes, at random, for as long
//! as wanted.
//!
//! `FPDB_SOAK_SECONDS` sets the time (10), and `FPDB_CRASH_SEED` the seed. Each round has a seed of
//! its own, which follows from the first.

use std::time::{Duration, Instant};

use fpdb::storage::Fault;
use fpdb::{Durability, Fingerprint, Ids};

use super::faults::Case;
use super::kill::kill_at_random;
use super::matrix::{Workload, explore};
use super::script::{Random, Setup, random_letters};
use super::{SKETCHES, seed, setting};

/// Returns one of the kinds of database.
fn setup<F: Fingerprint>(random: &mut Random) -> Setup<F> {
    let layout = ["half-2", "single"][random.below(2)];
    let ids = [Ids::User, Ids::Unique, Ids::Names][random.below(3)];
    let durability = [Durability::Sync, Durability::Buffered][random.below(2)];
    let block_size = [128, 256][random.below(2)];
    Setup::new(layout, ids, durability).memtable(2 + random.below(8)).block_size(block_size)
}

fn crashes<F: Fingerprint>(random: &mut Random, setup: Setup<F>) -> usize {
    let seed = random.next() >> 1;
    let workload = Workload::new(setup, &random_letters(seed, 24), seed);
    explore(&workload, 300).unwrap_or_else(|violation| panic!("{violation}"))
}

/// Makes calls fail at random places of one workload. Returns the number of cases.
fn faults(random: &mut Random, possible: &[Fault]) -> usize {
    let (setup, seed) = (setup::<u64>(random), random.next() >> 1);
    let letters = random_letters(seed, 24).replace('k', "x");
    let workload = Workload::new(setup, &letters, seed);
    let calls = workload.run().unwrap_or_else(|violation| panic!("{violation}")).sim.calls();
    for _ in 0..10 {
        let fault = possible[random.below(possible.len())];
        let case = Case { call: random.below(calls), fault, persistent: random.chance(0.5) };
        case.run(&workload).unwrap_or_else(|violation| panic!("{violation}"));
    }
    10
}

#[test]
fn random_mix_of_all_faults_breaks_no_promise() {
    let (seed, seconds) = (seed(), setting("FPDB_SOAK_SECONDS", 10));
    let end = Instant::now() + Duration::from_secs(seconds as u64);
    let (mut rounds, mut states, mut cases, mut full, mut kills) = (0, 0, 0, 0, 0);
    while Instant::now() < end {
        let mut random = Random::of(&[seed, rounds]);
        // If this panics, the seed and the number of the round are in the last line.
        print!("\rseed {seed}, round {rounds}");
        let (narrow, wide) = (setup::<u64>(&mut random), setup::<u128>(&mut random));
        let sketches = SKETCHES.memtable(2 + random.below(8));
        match random.below(8) {
            0..3 => states += crashes(&mut random, narrow),
            3 => states += crashes(&mut random, wide),
            4 => states += crashes(&mut random, sketches),
            5 => cases += faults(&mut random, &Case::FAULTS),
            6 => full += faults(&mut random, &[Fault::NoSpace, Fault::Quota]),
            _ => kills += kill_at_random(10, 2, &mut random),
        }
        rounds += 1;
    }
    println!(
        "\nseed {seed}: {rounds} rounds, {states} states, {cases} failing calls, {full} full disks, \
         {kills} kills"
    );
}
