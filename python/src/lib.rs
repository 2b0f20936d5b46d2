//! The extension module `fpdb_engine._native`: fpdb's handles as Python classes.
//!
//! Every operation that takes longer than a dictionary lookup releases the interpreter's lock. An
//! operation that can take seconds runs on another thread, while the calling thread looks for
//! signals: see [`interrupt`].
//!
//! | module | concern |
//! | --- | --- |
//! | `errors` | kinds of errors as exception classes |
//! | `interrupt` `fork` `chunks` `parallel` | Ctrl-C; children of the process; iterators filled by a thread; work divided among threads |
//! | `width` `arrays` `strings` `keys` `numbers` | what callers pass, as Rust values; results as arrays |
//! | `documents` | the documents of a batch: fingerprints, or texts |
//! | `source` `options` `handle` | what is read from, at any width; how it is opened; until when it is open |
//! | `results` | what methods return |
//! | `answers` `pairs` `writes` `stats` | queries; searches for pairs; writes of batches; statistics |
//! | `reader` `db` `read_only` | the classes of handles |
//! | `repair` | repair of damaged databases |
//! | `text` `jaccard` | fingerprints of texts; their exact similarity |
//! | `compare` `nearest` | which rows are duplicates; the documents that are near them |
//! | `report` | what was found, as HTML |
//! | `minhash` | minima, the similarity that they estimate, and bands |
//! | `passages` `passage_index` | passages that texts repeat; an index of them that lasts |
//! | `windows` `repetition` | what texts have in common; lines, paragraphs, and what a text repeats of itself |
//! | `web` `tool` | web pages and archives; the command-line tool |

mod answers;
mod arrays;
mod chunks;
mod compare;
mod db;
mod documents;
mod errors;
mod fork;
mod handle;
mod interrupt;
mod jaccard;
mod keys;
mod minhash;
mod names;
mod nearest;
mod numbers;
mod options;
mod pairs;
mod parallel;
mod passage_index;
mod passages;
mod read_only;
mod reader;
mod repair;
mod repetition;
mod report;
mod results;
mod rule;
mod source;
mod stats;
mod strings;
mod text;
mod tool;
mod web;
mod width;
mod writes;

use pyo3::prelude::*;

/// The parts of `fpdb_engine` that are written in Rust.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use super::chunks::{EntryIterator, PairIterator};
    #[pymodule_export]
    use super::compare::Comparer;
    #[pymodule_export]
    use super::db::Db;
    #[pymodule_export]
    use super::jaccard::{jaccard, jaccard_pairs};
    #[pymodule_export]
    use super::minhash::{Bands, jaccard_of_minima, jaccard_of_smallest, minima, smallest};
    #[pymodule_export]
    use super::nearest::Nearest;
    #[pymodule_export]
    use super::passage_index::PassageIndex;
    #[pymodule_export]
    use super::passages::{find_contained, find_lines, find_passages, parts_to_remove};
    #[pymodule_export]
    use super::read_only::ReadOnlyDb;
    #[pymodule_export]
    use super::reader::{Reader, Snapshot};
    #[pymodule_export]
    use super::repair::repair;
    #[pymodule_export]
    use super::repetition::repetitions;
    #[pymodule_export]
    use super::report::{excerpts, pair_html, report_html};
    #[pymodule_export]
    use super::results::{Document, Match, Outcome};
    #[pymodule_export]
    use super::rule::MatchRule;
    #[pymodule_export]
    use super::text::{estimate_jaccard, fingerprint, fingerprint_batch, recipes};
    #[pymodule_export]
    use super::tool::run_tool;
    #[pymodule_export]
    use super::web::{Page, WarcFile, WarcPages, WarcRecord, WarcRecords, extract_html};
    use super::{Bound, PyModule, PyModuleMethods, PyResult, fork};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        fork::watch(module.py())
    }
}
