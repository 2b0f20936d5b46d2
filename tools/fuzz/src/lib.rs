//! Fuzz targets: functions that take any bytes and panic if fpdb breaks a promise.
//!
//! `tools/fuzz/run` runs them with libFuzzer. The test of the crate in `replay` replays the
//! committed corpora, and needs no fuzzer.

mod database;
mod repair;
mod text;
#[cfg(feature = "tool")]
mod tool;
mod web;

use std::time::{Duration, Instant};

use peak_alloc::PeakAlloc;

/// A function that takes any bytes.
pub struct Target {
    /// The name, which the folder of its corpus has too.
    pub name: &'static str,
    run: fn(&[u8]),
    /// Bytes of memory that it may take per byte of its input.
    factor: usize,
    /// Bytes that it may take for any input.
    fixed: usize,
}

const MIB: usize = 1 << 20;

impl Target {
    /// Decodes its input, so its memory is bounded by it.
    const fn decoder(name: &'static str, run: fn(&[u8])) -> Self {
        Self { name, run, factor: 16, fixed: MIB }
    }

    /// Needs memory beside its input, for a database, say.
    const fn with_memory(name: &'static str, run: fn(&[u8]), fixed: usize) -> Self {
        Self { name, run, factor: 16, fixed }
    }
}

/// All targets.
pub const TARGETS: &[Target] = &[
    // A block is padded to its size, up to 4096 bytes.
    Target::with_memory("block", fpdb::fuzzing::block, MIB + 16 * 4096),
    Target::decoder("fingerprints", fpdb::fuzzing::fingerprints),
    Target::decoder("manifest", |bytes| {
        repair::with_and_without(bytes, repair::manifest, fpdb::fuzzing::manifest)
    }),
    Target::decoder("log", |bytes| {
        repair::with_and_without(bytes, repair::log, fpdb::fuzzing::log)
    }),
    // Half of the fixed memory is the buffer of a file that is written again.
    Target::with_memory(
        "documents",
        |bytes| repair::with_and_without(bytes, repair::paged, fpdb::fuzzing::documents),
        8 * MIB,
    ),
    Target::with_memory("folder", database::folder, 64 * MIB),
    Target::with_memory("api", database::api, 64 * MIB),
    // A body of less than 1 MiB may be decompressed whatever its size as it is stored.
    Target::with_memory("warc", web::warc, 24 * MIB),
    Target::with_memory("http", web::http, 24 * MIB),
    Target::decoder("html", web::html),
    Target::decoder("charset", web::charset),
    #[cfg(feature = "tool")]
    Target::with_memory("ndjson", tool::ndjson, 128 * MIB),
    #[cfg(feature = "tool")]
    Target::with_memory("csv", tool::csv, 128 * MIB),
    // The first input loads jieba's dictionaries.
    Target::with_memory("text", text::fingerprint, 128 * MIB),
];

/// Returns seeds made from the files of new databases: names of targets and files, and contents.
/// After a change of the format, `cargo run -p fpdb-fuzz --example seeds` writes them to the
/// corpora again.
#[must_use]
pub fn seeds() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut seeds = Vec::new();
    let sketches = database::base_files_of_sketches().iter().map(|file| ("sketches-", file));
    let all = database::base_files().iter().map(|file| ("", file)).chain(sketches);
    for (of, (name, bytes)) in all {
        let target = match name.rsplit('.').next() {
            Some("MANIFEST") => "manifest",
            Some("log") => "log",
            Some("docs") => "documents",
            _ => continue,
        };
        seeds.push((target, format!("seed-{of}{name}"), [&[1], bytes.as_slice()].concat()));
    }
    seeds
}

/// The longest that an input may take.
const MAX_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 5 });

/// Runs a target, and panics if it takes too much memory or time. `memory` is the program's
/// allocator.
pub fn check(target: &Target, bytes: &[u8], memory: &PeakAlloc) {
    memory.reset_peak_usage();
    let (before, start) = (memory.current_usage(), Instant::now());
    (target.run)(bytes);
    let (peak, time) = (memory.peak_usage().saturating_sub(before), start.elapsed());
    let allowed = target.factor * bytes.len() + target.fixed;
    let name = target.name;
    assert!(peak <= allowed, "{name}: {peak} bytes of memory for {} bytes", bytes.len());
    assert!(time <= MAX_TIME, "{name}: {time:?} for {} bytes", bytes.len());
}
