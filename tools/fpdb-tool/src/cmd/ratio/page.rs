//! The report as an HTML page with bars.

use super::report::{BOUNDS, COLUMNS, LEGEND, Report, Row};
use crate::output::page::{Bar, Bars, Page};
use crate::output::provenance::Provenance;

/// Returns the report as one HTML file.
pub(super) fn html(report: &Report, provenance: &Provenance) -> String {
    let title = format!("Space per fingerprint: {}, {} bits", report.data, report.bits);
    let mut page = Page::new(&title, provenance);
    page.paragraph(&match report.filter_bits {
        0 => "Measured from tables written without a prefix filter.".to_owned(),
        bits => format!(
            "Measured from tables written with a prefix filter of {bits} bits per fingerprint in \
             layouts that use one."
        ),
    });
    for rows in report.rows.chunk_by(|a, b| a.n == b.n) {
        page.bars(&per_table(rows));
        page.bars(&in_total(rows));
    }
    page.heading("Results");
    page.paragraph(LEGEND);
    page.paragraph(BOUNDS);
    page.table(&COLUMNS, &report.lines());
    page.finish()
}

fn per_table(rows: &[Row]) -> Bars {
    let bar = |row: &Row| {
        let parts = [row.bytes_blocks, row.bytes_index, row.bytes_filters, row.bytes_other];
        let parts = parts.map(|bytes| row.bits_per_table(bytes)).to_vec();
        Bar { label: label(row), parts, mark: Some(row.entropy_bound_bits) }
    };
    Bars {
        title: format!("Bits per fingerprint in one table; n = {}:", n(rows)),
        parts: &["blocks", "index", "filter", "headers and checksums"],
        mark: Some("entropy bound"),
        bars: rows.iter().map(bar).collect(),
    }
}

fn in_total(rows: &[Row]) -> Bars {
    let bar = |row: &Row| {
        let bytes = |part: u64| part as f64 / row.fingerprints.max(1) as f64;
        let parts = vec![bytes(row.bytes_tables), bytes(row.bytes_ids)];
        Bar { label: label(row), parts, mark: None }
    };
    Bars {
        title: format!("Bytes per fingerprint in all tables and the ids; n = {}:", n(rows)),
        parts: &["tables", "ids"],
        mark: None,
        bars: rows.iter().map(bar).collect(),
    }
}

fn n(rows: &[Row]) -> u64 {
    rows.first().map_or(0, |row| row.n)
}

fn label(row: &Row) -> String {
    match (&row.layout, row.block_size) {
        (Some(layout), Some(block)) => format!("{layout}, {block} B"),
        _ => row.codec.to_owned(),
    }
}
