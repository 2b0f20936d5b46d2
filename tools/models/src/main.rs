//! Tries the interleavings of small models of fpdb's threads.
//!
//! The models include the library's `src/db/state/group.rs` itself, compiled against the primitives
//! of loom (every interleaving of few threads) and of shuttle (random ones of more threads). The
//! code around it follows `sync.rs`, `rotate.rs` and `close.rs`, without files.
//!
//!     cargo run --release --manifest-path tools/models/Cargo.toml -- 100000
//!
//! The number says how many schedules shuttle tries per model.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Declares the models with the primitives of an explorer.
macro_rules! models_with {
    ($name:ident, $explorer:ident) => {
        #[path = "."]
        mod $name {
            use $explorer as explorer;
            #[path = "../../../src/db/state/group.rs"]
            #[allow(dead_code, reason = "the models use a part")]
            mod group;
            pub mod models;
            mod wake;
        }
    };
}

models_with!(with_loom, loom);
models_with!(with_shuttle, shuttle);

/// Runs a model in every interleaving with at most this many forced switches of threads.
fn exhaustively(name: &str, switches: usize, model: fn()) {
    let runs = std::sync::Arc::new(AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    let counter = runs.clone();
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let runs = runs.load(Ordering::Relaxed);
    println!("loom: {name}: {runs} interleavings, with at most {switches} forced switches");
}

fn randomly(name: &str, schedules: usize, model: fn()) {
    shuttle::check_random(model, schedules / 2);
    shuttle::check_pct(model, schedules - schedules / 2, 4);
    println!("shuttle: {name}: {schedules} schedules");
}

/// Checks that a wrong model is noticed.
fn fails(name: &str, explore: impl FnOnce() + std::panic::UnwindSafe) {
    std::panic::set_hook(Box::new(|_| ()));
    let result = std::panic::catch_unwind(explore);
    let _ = std::panic::take_hook();
    assert!(result.is_err(), "nobody notices {name}");
    println!("noticed: {name}");
}

fn main() {
    let schedules = std::env::args().nth(1).map_or(2000, |count| count.parse().expect("a number"));
    exhaustively("group commit", 3, || with_loom::models::group_commit(2, 1));
    exhaustively("group commit of three", 2, || with_loom::models::group_commit(3, 1));
    exhaustively("failed group commit", 3, || with_loom::models::failed_group_commit(2));
    exhaustively("failed group commit of three", 2, || with_loom::models::failed_group_commit(3));
    exhaustively("publication", 2, || with_loom::models::publication(2, 1));
    exhaustively("close", 3, || with_loom::models::close(2));
    randomly("group commit", schedules, || with_shuttle::models::group_commit(5, 3));
    randomly("failed group commit", schedules, || with_shuttle::models::failed_group_commit(5));
    randomly("publication", schedules, || with_shuttle::models::publication(6, 3));
    randomly("close", schedules, || with_shuttle::models::close(5));
    fails("loom: a reader in the wrong order", || {
        loom::model(with_loom::models::publication_in_the_wrong_order);
    });
    fails("shuttle: a reader in the wrong order", || {
        shuttle::check_pct(with_shuttle::models::publication_in_the_wrong_order, 2000, 3);
    });
}
