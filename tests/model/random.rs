//! Random runs from seeds. `FPDB_ROUNDS=n` does n runs of each kind (by default, one per layout,
//! and fewer on disk); `FPDB_SEED=n` sets the first seed.

use fpdb::Layout;

use crate::runner::{Setup, run_on_disk, run_on_sim};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// As many rounds as there are layouts.
const ALL: usize = usize::MAX;

/// Runs `kind` for the default layout and each preset in turn, at most `most` times by default.
fn rounds(salt: u64, most: usize, mut kind: impl FnMut(Setup)) {
    let layouts: Vec<&'static str> =
        ["auto"].into_iter().chain(Layout::preset_names().iter().copied()).collect();
    let default = layouts.len().min(most) as u64;
    let first = number("FPDB_SEED").unwrap_or(0);
    for round in first..first + number("FPDB_ROUNDS").unwrap_or(default) {
        let layout = layouts[usize::try_from(round).unwrap() % layouts.len()];
        kind(Setup::new(salt << 32 | round, layout));
    }
}

#[test]
fn answers_equal_the_model_at_64_bits() {
    rounds(1, ALL, |setup| run_on_sim::<u64>(&setup));
}

#[test]
fn answers_equal_the_model_at_128_bits() {
    rounds(2, ALL, |setup| run_on_sim::<u128>(&setup));
}

#[test]
fn answers_equal_the_model_while_flush_and_compaction_run_in_the_background() {
    rounds(4, ALL, |mut setup| {
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
