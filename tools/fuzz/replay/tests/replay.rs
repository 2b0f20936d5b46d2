//! Replays the corpora that the fuzzers found, and a few changes of each input.

use std::path::Path;

use fpdb_fuzz::{TARGETS, check};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Changes per input.
const CHANGES: u64 = 8;

/// Returns the input with a few bytes changed, in a way that depends only on `seed`.
fn changed(input: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below.max(1)
    };
    let mut bytes = input.to_vec();
    for _ in 0..=random(3) {
        let at = random(bytes.len());
        match random(4) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, [0, 1, 0x7f, 0xff][random(4)]),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|b| *b ^= 1 << (seed & 7)),
        }
    }
    bytes
}

// One test: the allocator counts for all threads.
#[test]
fn corpora_of_the_fuzzers_and_their_neighbours_break_no_promise() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for target in TARGETS {
        // What is initialised once does not count.
        for _ in 0..2 {
            check(target, b"\x01", &PeakAlloc);
        }
        let mut files: Vec<_> = std::fs::read_dir(corpora.join(target.name))
            .unwrap_or_else(|error| panic!("the corpus of {}: {error}", target.name))
            .map(|file| file.unwrap().path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "the corpus of {} is empty", target.name);
        for file in files {
            let input = std::fs::read(&file).unwrap();
            eprintln!("{}", file.display());
            check(target, &input, &MEMORY);
            (0..CHANGES).for_each(|seed| check(target, &changed(&input, seed), &MEMORY));
        }
    }
}
