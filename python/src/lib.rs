//! The extension module `fpdb_engine._native`: fpdb's handles as Python classes.
//!
//! Every operation that takes longer than a dictionary lookup releases the interpreter's lock. An
//! operation that can take seconds runs on another thread, while the calling thread looks for
//! signals: see [`base::interrupt`].
//!
//! | folder or file | concern |
//! | --- | --- |
//! | `base` | what all others use: errors, threads and signals, and values of Python as those of Rust |
//! | `db` | the classes of handles, and what their methods take and return |
//! | `text` | fingerprints of texts, and how similar they are |
//! | `dedup` | which texts to keep, and what they repeat |
//! | `web` `tool` | web pages and archives; the command-line tool |
//!
//! A folder's `mod.rs` says what each of its files holds. `dedup` uses `db`, which uses `text`, and
//! all use `base`.

mod base;
mod db;
mod dedup;
mod text;
mod tool;
mod web;

use pyo3::prelude::*;

/// The parts of `fpdb_engine` that are written in Rust.
#[pymodule(gil_used = true)]
mod _native {
    use super::base::fork;
    #[pymodule_export]
    use super::db::chunks::{EntryIterator, PairIterator};
    #[pymodule_export]
    use super::db::read_only::ReadOnlyDb;
    #[pymodule_export]
    use super::db::reader::{Reader, Snapshot};
    #[pymodule_export]
    use super::db::repair::repair;
    #[pymodule_export]
    use super::db::results::{Document, Match, Outcome};
    #[pymodule_export]
    use super::db::rule::MatchRule;
    #[pymodule_export]
    use super::db::writer::Db;
    #[pymodule_export]
    use super::dedup::compare::Comparer;
    #[pymodule_export]
    use super::dedup::nearest::Nearest;
    #[pymodule_export]
    use super::dedup::passage_index::PassageIndex;
    #[pymodule_export]
    use super::dedup::passages::{find_contained, find_lines, find_passages, parts_to_remove};
    #[pymodule_export]
    use super::dedup::repetition::repetitions;
    #[pymodule_export]
    use super::dedup::report::{excerpts, pair_html, report_html};
    #[pymodule_export]
    use super::text::fingerprints::{estimate_jaccard, fingerprint, fingerprint_batch, recipes};
    #[pymodule_export]
    use super::text::jaccard::{jaccard, jaccard_pairs};
    #[pymodule_export]
    use super::text::minhash::{Bands, jaccard_of_minima, jaccard_of_smallest, minima, smallest};
    #[pymodule_export]
    use super::tool::run_tool;
    #[pymodule_export]
    use super::web::{Page, WarcFile, WarcPages, WarcRecord, WarcRecords, extract_html};
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        fork::watch(module.py())
    }
}
