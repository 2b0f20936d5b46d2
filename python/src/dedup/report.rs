//! What a deduplication found, as HTML.

use fpdb_dedup::html::{self, Measure, Measured, Pair, Repeated, Report};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// The names of a row and of what it is like, how similar they are, and parts of their texts.
type Shown = (String, String, String, Option<String>, Option<String>);

/// The name of a row, its text, and where its parts begin and end and stand, too.
type Parts = (String, String, Vec<(usize, usize, String)>);

/// Returns a report as a document, or without a title, as a part of a notebook.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "only called by Deduplicated")]
pub(crate) fn report_html(
    title: Option<String>,
    figures: Vec<(String, String)>,
    similarities: PyReadonlyArray1<'_, f64>,
    threshold: f64,
    rows: u64,
    kept: u64,
    clusters: Vec<(String, u64)>,
    pairs: Vec<Shown>,
    repeated: Vec<Parts>,
) -> String {
    let mut measured = Measured::new(Measure::Similarity, threshold);
    similarities.as_array().iter().for_each(|&similarity| measured.add(similarity));
    let report = Report {
        title: title.clone().unwrap_or_default(),
        figures,
        rows,
        kept,
        measured: Some(measured),
        clusters,
        pairs: pairs.into_iter().map(pair).collect(),
        repeated: repeated.into_iter().map(parts).collect(),
    };
    if title.is_some() { report.document() } else { report.summary() }
}

/// Returns a pair as a row of a table.
#[pyfunction]
pub(crate) fn pair_html(shown: Shown) -> String {
    pair(shown).table_row()
}

/// Shortens two texts to where they begin to differ.
#[pyfunction]
#[pyo3(signature = (a, b))]
pub(crate) fn excerpts(a: Option<&str>, b: Option<&str>) -> (Option<String>, Option<String>) {
    html::excerpts(a, b)
}

fn pair((row, of, measured, text, other): Shown) -> Pair {
    Pair { row, of, measured, text, other }
}

fn parts((row, text, parts): Parts) -> Repeated {
    let parts = parts.into_iter().map(|(begin, end, also)| (begin..end, also)).collect();
    Repeated { row, text, parts }
}
