//! Runs the target that the environment variable `FUZZ_TARGET` names.

#![no_main]

use std::sync::OnceLock;

use fpdb_fuzz::{Target, check};
use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fn target() -> &'static Target {
    static TARGET: OnceLock<&'static Target> = OnceLock::new();
    TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let found = fpdb_fuzz::TARGETS.iter().find(|target| target.name == name);
        found.unwrap_or_else(|| panic!("no target {name:?}"))
    })
}

fuzz_target!(|data: &[u8]| check(target(), data, &MEMORY));
