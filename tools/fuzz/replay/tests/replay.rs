//! Replays the corpora that the fuzzers found and real web archives, and a few changes of each
//! input.

use std::path::{Path, PathBuf};

use fpdb_fuzz::{TARGETS, check};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Changes per input.
const CHANGES: u64 = 8;

/// Parts that the formats of the web give a meaning.
const PARTS: &[&[u8]] = &[
    b"WARC/1.0\r\n",
    b"\r\n\r\n",
    b"Content-Length: 99999999999\r\n",
    b"Content-Encoding: gzip, br, zstd\r\n",
    b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    b"http://a/ 1.2.3.4 20140216050221 text/html 9\n",
    b"\x1f\x8b\x08\0\0\0\0\0",
    b"\x28\xb5\x2f\xfd",
    b"<table><tr><td>",
    b"<script>",
    b"<!--",
    b"<div class=\"nav ",
    b"<svg><template>",
    b"&#x10ffff;",
    b"<meta charset=utf-16>",
    b"\xff\xfe\0",
];

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
        match random(5) {
            0 => bytes.truncate(at),
            4 => drop(bytes.splice(at..at, PARTS[random(PARTS.len())].repeat(1 + random(3000)))),
            1 => bytes.insert(at, [0, 1, 0x7f, 0xff][random(4)]),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|b| *b ^= 1 << (seed & 7)),
        }
    }
    bytes
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder);
    let files = files.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    files.map(|file| file.unwrap().path()).collect()
}

/// Returns the inputs of a target. Those of web archives include real ones.
fn inputs(target: &str) -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut inputs = files(&here.join("../corpus").join(target));
    assert!(!inputs.is_empty(), "the corpus of {target} is empty");
    if target == "warc" {
        let tests = here.join("../../../crates/fpdb-web/tests");
        let archives = ["edge", "pages"].into_iter().flat_map(|folder| files(&tests.join(folder)));
        inputs.extend(archives.filter(|file| file.to_string_lossy().contains(".warc")));
    }
    inputs.sort();
    inputs
}

// One test: the allocator counts for all threads.
#[test]
fn corpora_of_the_fuzzers_and_their_neighbours_break_no_promise() {
    for target in TARGETS {
        // What is initialised once does not count.
        for _ in 0..2 {
            check(target, b"\x01", &PeakAlloc);
        }
        for file in inputs(target.name) {
            let input = std::fs::read(&file).unwrap();
            eprintln!("{}", file.display());
            check(target, &input, &MEMORY);
            (0..CHANGES).for_each(|seed| check(target, &changed(&input, seed), &MEMORY));
        }
    }
}
