//! The report as an HTML page with charts.

use super::codec::RAW;
use super::report::{BOUNDS, COLUMNS, LEGEND, Report, Row};
use crate::html::Page;
use crate::provenance::Provenance;
use crate::svg::{Axis, Bar, BarChart, Line, LineChart, Panel};

/// The paper's block size in bytes.
const PAPER_BLOCK: usize = 1024;

const PER_TABLE: &str = "Bits per fingerprint in one table, index and checksums included";
const IN_TOTAL: &str = "Bytes per fingerprint: all tables, and the ids";

/// Returns the report as one HTML file. Its charts have lines if there are several n to draw them
/// through, and bars otherwise.
pub(super) fn html(report: &Report, provenance: &Provenance) -> String {
    let title = format!("Space per fingerprint: {}, {} bits", report.data, report.bits);
    let mut page = Page::new(&title);
    page.provenance(provenance);
    page.paragraph(&match report.filter_bits {
        0 => "Measured from tables written without a prefix filter.".to_owned(),
        bits => format!(
            "Measured from tables written with a prefix filter of {bits} bits per fingerprint in \
             layouts that use one."
        ),
    });
    let charts = match distinct(report.rows.iter().map(|row| row.n)).as_slice() {
        [n] => bar_charts(report, *n),
        _ => line_charts(report),
    };
    charts.iter().for_each(|chart| page.chart(chart));
    page.heading("Results");
    page.paragraph(LEGEND);
    page.paragraph(BOUNDS);
    page.table(&COLUMNS, &report.lines());
    page.finish()
}

/// Returns charts with a bar for each row of the only `n`.
fn bar_charts(report: &Report, n: u64) -> [String; 2] {
    let bound = report.rows.first().map(|row| row.entropy_bound_bits);
    let per_table = |row: &Row| {
        let other_code = if row.layout.is_none() { row.bytes_blocks } else { 0 };
        let parts = [
            row.bytes_blocks - other_code,
            row.bytes_index,
            row.bytes_filters,
            row.bytes_other,
            other_code,
        ];
        (parts.map(|bytes| row.bits_per_table(bytes)).to_vec(), row.paper_bits)
    };
    let in_total = |row: &Row| {
        let bytes = |part: u64| part as f64 / row.fingerprints.max(1) as f64;
        (vec![bytes(row.bytes_tables), bytes(row.bytes_ids)], None)
    };
    let per_table = BarChart {
        title: format!("{PER_TABLE}; n = {n}"),
        parts: vec!["blocks", "index", "filter", "headers, checksums", "other code, no index"],
        axis_label: "bits per fingerprint and table",
        bound: bound.map(|bits| (bits, format!("entropy bound, {bits:.2}"))),
        mark: "paper's code, no index",
        bars: bars(report, per_table),
    };
    let in_total = BarChart {
        title: format!("{IN_TOTAL}; n = {n}"),
        parts: vec!["tables", "ids"],
        axis_label: "bytes per fingerprint",
        bound: None,
        mark: "",
        bars: bars(report, in_total),
    };
    [per_table.render(), in_total.render()]
}

/// Returns the bars of all rows, in a group for each way of writing tables. `value` returns a row's
/// parts and mark.
fn bars(report: &Report, value: impl Fn(&Row) -> (Vec<f64>, Option<f64>)) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    let mut group = None;
    for row in &report.rows {
        let tables = Tables::of(row);
        let label = match (&tables, row.block_size) {
            (Some(tables), Some(block)) => format!("{}, {block} B", tables.name()),
            _ => row.codec.to_owned(),
        };
        let (parts, mark) = value(row);
        let starts_group = group.as_ref() != Some(&tables);
        bars.push(Bar { label, starts_group, parts, mark });
        group = Some(tables);
    }
    bars
}

fn line_charts(report: &Report) -> [String; 2] {
    [per_table(report), in_total(report)].map(|chart| chart.render())
}

/// Bits per fingerprint in one table by n: a panel for each layout, a line for each block
/// size or other code.
fn per_table(report: &Report) -> LineChart {
    let blocks = blocks(report);
    let others =
        distinct(report.rows.iter().filter(|row| row.layout.is_none()).map(|row| row.codec));
    let paper_block = match blocks.iter().max() {
        Some(&largest) if !blocks.contains(&PAPER_BLOCK) => largest,
        _ => PAPER_BLOCK,
    };
    let of_blocks = blocks.iter().map(|block| format!("fpdb, blocks of {block} B"));
    let legend = ["entropy bound".to_owned(), format!("paper, blocks of {paper_block} B")]
        .into_iter()
        .chain(of_blocks)
        .chain(others.iter().map(|&codec| codec.to_owned()));
    let panel = |tables: &Tables<'_>| {
        let bound =
            report.rows.iter().filter(|row| row.codec == RAW).map(|row| row.entropy_bound_bits);
        let bound = sizes(report).into_iter().zip(bound).map(|(n, bits)| (n, Some(bits)));
        let paper = line(rows_of(report, tables, paper_block), |row| row.paper_bits);
        let ours = blocks.iter().map(|&block| {
            line(rows_of(report, tables, block), |row| Some(row.bits_per_fingerprint_per_table))
        });
        let other = others.iter().map(|&codec| {
            let rows = report.rows.iter().filter(move |row| row.codec == codec);
            line(rows, |row| Some(row.bits_per_fingerprint_per_table))
        });
        let bound = Line { points: bound.collect(), dots: true, ring: None };
        let lines = [bound, paper].into_iter().chain(ours).chain(other).collect();
        panel(report, tables.name(), "bits per fingerprint and table", f64::MAX, lines)
    };
    LineChart {
        title: PER_TABLE.to_owned(),
        legend: legend.collect(),
        ring: None,
        cross: None,
        panels: all_tables(report).iter().map(panel).collect(),
    }
}

/// Bytes per fingerprint in all tables, with ids, by n: a panel for each block size, a line for
/// each layout.
fn in_total(report: &Report) -> LineChart {
    let tables = all_tables(report);
    let panel = |&block: &usize| {
        let ours = tables.iter().map(|tables| {
            line(rows_of(report, tables, block), |row| Some(row.bytes_per_fingerprint))
        });
        let raw = report.rows.iter().filter(|row| row.codec == RAW);
        let raw = line(raw, |row| Some(row.bytes_per_fingerprint));
        let title = format!("blocks of {block} B");
        panel(report, title, "bytes per fingerprint", 0.0, ours.chain([raw]).collect())
    };
    let names = tables.iter().map(Tables::name);
    LineChart {
        title: IN_TOTAL.to_owned(),
        legend: names.chain(["raw, no index, no ids".to_owned()]).collect(),
        ring: None,
        cross: None,
        panels: blocks(report).iter().map(panel).collect(),
    }
}

/// Returns a panel whose vertical axis, labelled `unit`, covers the lines and `from`.
fn panel(report: &Report, title: String, unit: &str, from: f64, lines: Vec<Line>) -> Panel {
    let sizes = sizes(report);
    let values = || lines.iter().flat_map(|line| line.points.iter().filter_map(|(_, y)| *y));
    let (min, max) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    let (first, last) = (sizes.first().copied(), sizes.last().copied());
    Panel {
        title,
        x: Axis::log("entries", first.unwrap_or(1.0), last.unwrap_or(1.0), count_label),
        y: Axis::whole(unit, min.min(from), max),
        lines,
    }
}

/// Returns a line through the values of the rows, whose n ascend.
fn line<'a>(rows: impl Iterator<Item = &'a Row>, value: impl Fn(&Row) -> Option<f64>) -> Line {
    Line { points: rows.map(|row| (row.n as f64, value(row))).collect(), dots: true, ring: None }
}

/// A way to write tables, apart from the block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tables<'a> {
    layout: &'a str,
}

impl<'a> Tables<'a> {
    /// Returns `None` for a row that is not about a database.
    fn of(row: &'a Row) -> Option<Self> {
        Some(Self { layout: row.layout.as_deref()? })
    }

    fn name(&self) -> String {
        self.layout.to_owned()
    }
}

fn all_tables(report: &Report) -> Vec<Tables<'_>> {
    distinct(report.rows.iter().filter_map(Tables::of))
}

fn blocks(report: &Report) -> Vec<usize> {
    distinct(report.rows.iter().filter_map(|row| row.block_size))
}

fn sizes(report: &Report) -> Vec<f64> {
    distinct(report.rows.iter().map(|row| row.n as f64))
}

fn rows_of<'a>(
    report: &'a Report,
    tables: &Tables<'a>,
    block: usize,
) -> impl Iterator<Item = &'a Row> {
    report.rows.iter().filter(move |row| {
        row.block_size == Some(block) && Tables::of(row).is_some_and(|of| of == *tables)
    })
}

/// Returns each value once, where it comes first.
pub(super) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut all, value| {
        if !all.contains(&value) {
            all.push(value);
        }
        all
    })
}

/// Formats a number of entries so that it fits below a tick: 20k, 5M.
fn count_label(value: f64) -> String {
    let units = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units.into_iter().find(|(size, _)| value >= *size) {
        Some((size, unit)) => format!("{:.0}{unit}", value / size),
        None => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tick_labels_are_short() {
        let labels = [1.0, 500.0, 2e4, 1e8, 5e9].map(count_label);
        assert_eq!(labels, ["1", "500", "20k", "100M", "5G"]);
    }
}
