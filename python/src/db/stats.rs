//! Statistics as dictionaries.

use fpdb::Stats;
use fpdb::reports::SegmentStats;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::db::source::{AnySource, at_width};

/// Puts fields of a struct into a dictionary, under their own names.
macro_rules! put {
    ($dict:expr, $from:expr, $($field:ident)*) => {
        $($dict.set_item(stringify!($field), &$from.$field)?;)*
    };
}

/// Returns the statistics of a database.
pub(crate) fn stats<'py>(py: Python<'py>, source: &AnySource) -> PyResult<Bound<'py, PyDict>> {
    let stats = py.detach(|| at_width!(source, source => source.stats()));
    let dict = PyDict::new(py);
    let Some(stats) = stats else { return Ok(dict) };
    fill(&dict, &stats)?;
    Ok(dict)
}

fn fill(dict: &Bound<'_, PyDict>, stats: &Stats) -> PyResult<()> {
    let py = dict.py();
    put!(dict, stats, entries rows removed documents duplicates generation);
    put!(dict, stats, bits max_distance layout tables block_size recipe extraction);
    dict.set_item("ids", stats.ids.to_string())?;
    put!(dict, stats, bytes_total bytes_tables bytes_ids bytes_documents bytes_names);
    put!(dict, stats, bytes_tombstones bytes_log bytes_flushed bytes_compacted);
    put!(dict, stats, write_amplification bits_per_fingerprint_per_table entropy_bound_bits);
    put!(dict, stats, bits_per_id ids_bound_bits index_memory_bytes index_budget_bytes);
    put!(dict, stats, index_loaded_bytes page_budget_bytes page_memory_bytes);
    put!(dict, stats, memtable_entries memtable_bytes background_error);
    put!(dict, stats, refused_writes write_error);
    let queries = PyDict::new(py);
    put!(queries, stats.queries, queries lookups filtered rows blocks pages candidates matches);
    dict.set_item("queries", queries)?;
    dict.set_item("stalled_seconds", stats.stalled.as_secs_f64())?;
    let segments = stats.segments.iter().map(|segment| self::segment(py, segment));
    dict.set_item("segments", segments.collect::<PyResult<Vec<_>>>()?)
}

fn segment<'py>(py: Python<'py>, segment: &SegmentStats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    put!(dict, segment, id entries fingerprints removed bytes);
    let files = PyDict::new(py);
    for (name, bytes) in &segment.files {
        files.set_item(name, bytes)?;
    }
    dict.set_item("files", files)?;
    Ok(dict)
}
