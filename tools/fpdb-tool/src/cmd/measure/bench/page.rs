//! The figures as a page with a chart.

use super::report::{COLUMNS, KindReport, Report};
use crate::html::Page;
use crate::svg::{Axis, Figure, Line, Panel, Scale};

/// The report as one HTML file.
pub(super) fn html(report: &Report) -> String {
    let mut page = Page::new("Latencies of queries and inserts");
    let rows = report.rows().into_iter().map(|(label, value)| [label.to_owned(), value]);
    page.table(["measured", ""], &rows.collect::<Vec<_>>());
    page.heading("Times");
    page.table(COLUMNS, &report.lines());
    report.notes.iter().for_each(|note| page.paragraph(note));
    page.figure(&curves(&report.kinds));
    page.heading("Distribution");
    page.table(["kind", "share of the operations", "within, us"], &report.distribution());
    page.finish()
}

/// Two curves a kind: the share of the operations that was done within a time, and, to see the
/// few that took long, the share that was not.
fn curves(kinds: &[KindReport]) -> Figure {
    let lines = |value: fn(f64) -> Option<f64>| {
        let points = |kind: &KindReport| {
            kind.distribution.iter().map(|p| (p.up_to_us, value(p.share))).collect()
        };
        kinds.iter().map(|kind| Line { points: points(kind), dots: false, ring: None }).collect()
    };
    let fifths = (0..=5u32).map(|i| f64::from(i) / 5.0).map(|tick| (tick, format!("{tick:.1}")));
    let done = Axis { label: "share".to_owned(), scale: Scale::Linear, ticks: fifths.collect() };
    let most = kinds.iter().map(|kind| kind.count).max().unwrap_or(1);
    let longer = Axis::log("share", 1.0 / most.max(10) as f64, 1.0, |tick| tick.to_string());
    let panel =
        |title: &str, y, lines| Panel { title: title.to_owned(), x: times(kinds), y, lines };
    Figure {
        title: "Share of the operations by time".to_owned(),
        legend: kinds.iter().map(|kind| kind.kind.to_owned()).collect(),
        ring: None,
        cross: None,
        panels: vec![
            panel("done within", done, lines(Some)),
            panel(
                "took longer than",
                longer,
                lines(|share| Some(1.0 - share).filter(|&s| s > 0.0)),
            ),
        ],
    }
}

/// The axis of all times that came.
fn times(kinds: &[KindReport]) -> Axis {
    /// Below, the clock may have seen no time pass.
    const SHORTEST: f64 = 0.01;
    let times = || kinds.iter().flat_map(|kind| kind.distribution.iter().map(|p| p.up_to_us));
    let (least, most) = (times().fold(f64::MAX, f64::min), times().fold(SHORTEST, f64::max));
    Axis::log("microseconds", least.clamp(SHORTEST, most), most, |tick| tick.to_string())
}
