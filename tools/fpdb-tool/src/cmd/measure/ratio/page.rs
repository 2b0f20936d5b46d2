//! The figures as a page with charts.

use super::bound;
use super::codec::RAW;
use super::report::{COLUMNS, LEGEND, Report, Row};
use crate::html::Page;
use crate::svg::{Axis, Figure, Line, Panel};

/// The paper's block size in bytes.
const PAPER_BLOCK: usize = 1024;

/// The report as one HTML file.
pub(super) fn html(report: &Report) -> String {
    let mut page =
        Page::new(&format!("Bytes a fingerprint: {}, {} bits", report.data, report.bits));
    page.paragraph(&format!(
        "Measured from tables that were written, with {} bits a fingerprint of prefix filter.",
        report.filter_bits
    ));
    page.figure(&per_table(report));
    page.figure(&in_total(report));
    page.heading("Figures");
    page.paragraph(LEGEND);
    page.table(COLUMNS, &report.lines());
    page.finish()
}

/// Bits a fingerprint in one table against n: a panel a layout and code, a line a block size or other
/// code.
fn per_table(report: &Report) -> Figure {
    let blocks = distinct(report.rows.iter().filter_map(|row| row.block_size));
    let others =
        distinct(report.rows.iter().filter(|row| row.layout.is_none()).map(|row| row.codec));
    let of_blocks = blocks.iter().map(|block| format!("fpdb, blocks of {block}"));
    let legend: Vec<String> =
        ["entropy bound".to_owned(), format!("paper, blocks of {PAPER_BLOCK}")]
            .into_iter()
            .chain(of_blocks)
            .chain(others.iter().map(|&codec| codec.to_owned()))
            .collect();
    let panel = |written: &Written<'_>| {
        let theory = |bits: fn(u32, u64) -> f64| {
            let rows = report.rows.iter().filter(|row| row.codec == RAW);
            line(rows, |row| bits(report.bits, row.fingerprints))
        };
        let ours = blocks.iter().map(|&block| {
            line(rows_of(report, written, block), |row| row.bits_per_fingerprint_per_table)
        });
        let other = others.iter().map(|&codec| {
            let rows = report.rows.iter().filter(move |row| row.codec == codec);
            line(rows, |row| row.bits_per_fingerprint_per_table)
        });
        let lines = [theory(bound::entropy), theory(|bits, n| bound::paper(bits, n, PAPER_BLOCK))]
            .into_iter()
            .chain(ours)
            .chain(other)
            .collect();
        panel(report, written.told(), "bits a fingerprint and table", f64::MAX, lines)
    };
    Figure {
        title: "Bits a fingerprint in one table, index and checksums counted".to_owned(),
        legend,
        ring: None,
        cross: None,
        panels: written(report).iter().map(panel).collect(),
    }
}

/// Bytes a fingerprint in all tables, with ids, against n: a panel a block size, a line a layout
/// and code.
fn in_total(report: &Report) -> Figure {
    let blocks = distinct(report.rows.iter().filter_map(|row| row.block_size));
    let written = written(report);
    let panel = |&block: &usize| {
        let ours = written
            .iter()
            .map(|written| line(rows_of(report, written, block), |row| row.bytes_per_fingerprint));
        let raw = report.rows.iter().filter(|row| row.codec == RAW);
        let raw = line(raw, |row| row.bytes_per_fingerprint);
        let title = format!("blocks of {block} bytes");
        panel(report, title, "bytes a fingerprint", 0.0, ours.chain([raw]).collect())
    };
    Figure {
        title: "Bytes a fingerprint: all tables, with the ids".to_owned(),
        legend: written
            .iter()
            .map(Written::told)
            .chain(["raw, no index, no ids".to_owned()])
            .collect(),
        ring: None,
        cross: None,
        panels: blocks.iter().map(panel).collect(),
    }
}

/// `from`: a value that the axis of `measure` shows too.
fn panel(report: &Report, title: String, measure: &str, from: f64, lines: Vec<Line>) -> Panel {
    let sizes = || report.rows.iter().map(|row| row.n as f64);
    let values = || lines.iter().flat_map(|line| line.points.iter().filter_map(|(_, y)| *y));
    let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    Panel {
        title,
        x: Axis::log("n", sizes().fold(f64::MAX, f64::min), sizes().fold(1.0, f64::max), count),
        y: Axis::whole(measure, least.min(from), most),
        lines,
    }
}

fn line<'a>(rows: impl Iterator<Item = &'a Row>, value: impl Fn(&Row) -> f64) -> Line {
    let mut points: Vec<_> = rows.map(|row| (row.n as f64, Some(value(row)))).collect();
    points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    Line { points, dots: true, ring: None }
}

/// How tables are written, whatever their blocks' size.
#[derive(PartialEq)]
struct Written<'a> {
    layout: &'a str,
    codec: &'static str,
}

impl<'a> Written<'a> {
    /// Nothing of what is no database.
    fn of(row: &'a Row) -> Option<Self> {
        Some(Self { layout: row.layout.as_deref()?, codec: row.codec })
    }

    fn told(&self) -> String {
        format!("{}, {}", self.layout, self.codec)
    }
}

fn written(report: &Report) -> Vec<Written<'_>> {
    distinct(report.rows.iter().filter_map(Written::of))
}

fn rows_of<'a>(
    report: &'a Report,
    written: &Written<'_>,
    block: usize,
) -> impl Iterator<Item = &'a Row> {
    report.rows.iter().filter(move |row| {
        row.block_size == Some(block) && Written::of(row).is_some_and(|of| of == *written)
    })
}

/// Each value once, where it comes first.
pub(super) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut all, value| {
        if !all.contains(&value) {
            all.push(value);
        }
        all
    })
}

/// A number as a tick has room for it: 20k, 5M.
fn count(value: f64) -> String {
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
    fn ticks_are_short() {
        let told = [1.0, 500.0, 2e4, 1e8, 5e9].map(count);
        assert_eq!(told, ["1", "500", "20k", "100M", "5G"]);
    }
}
