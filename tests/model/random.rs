//! Random runs from seeds. `FPDB_ROUNDS=n` does n runs of each kind (by default, one per preset);
//! `FPDB_SEED=n` sets the first seed.

use fpdb::Layout;

use crate::runner::{Setup, run_on_disk, run_on_sim};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// Runs `kind` for each preset in turn, and for the default layout.
fn rounds(salt: u64, default: u64, mut kind: impl FnMut(Setup)) {
    let layouts: Vec<&'static str> =
        Layout::preset_names().iter().copied().chain(["auto"]).collect();
    let first = number("FPDB_SEED").unwrap_or(0);
    for round in first..first + number("FPDB_ROUNDS").unwrap_or(default) {
        let layout = layouts[usize::try_from(round).unwrap() % layouts.len()];
        kind(Setup::new(salt << 32 | round, layout));
    }
}

#[test]
fn answers_equal_the_model_at_64_bits() {
    rounds(1, 12, |setup| run_on_sim::<u64>(&setup));
}

#[test]
fn answers_equal_the_model_at_128_bits() {
    rounds(2, 12, |setup| run_on_sim::<u128>(&setup));
}

#[test]
fn answers_equal_the_model_while_flush_and_compaction_run_in_the_background() {
    rounds(4, 12, |mut setup| {
        setup.background = true;
        run_on_sim::<u64>(&setup);
    });
}

#[test]
fn answers_equal_the_model_on_disk() {
    rounds(5, 3, |mut setup| {
        setup.background = setup.seed % 2 == 0;
        setup.memtable = setup.memtable.max(8);
        run_on_disk::<u64>(&setup);
    });
}
