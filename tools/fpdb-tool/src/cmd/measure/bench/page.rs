//! The report as an HTML page with a chart.

use super::report::{COLUMNS, KindReport, Report};
use crate::html::Page;
use crate::svg::{Axis, Line, LineChart, Panel, Scale};

/// Returns the report as one HTML file.
pub(super) fn html(report: &Report) -> String {
    let mut page = Page::new("Latencies of queries and inserts");
    page.facts(&report.facts());
    page.heading("Times in microseconds");
    page.table(&COLUMNS, &report.lines());
    page.chart(&chart(&report.kinds).render());
    page.heading("Distribution");
    let titles: Vec<String> =
        report.kinds.iter().map(|kind| format!("{}, within us", kind.kind)).collect();
    let header: Vec<&str> =
        ["share of the operations"].into_iter().chain(titles.iter().map(String::as_str)).collect();
    page.table(&header, &report.distribution());
    if !report.notes.is_empty() {
        page.heading("Notes");
        page.list(&report.notes);
    }
    page.finish()
}

/// Returns a chart with two curves for each kind: the share of the operations that were done within
/// a time, and the share that took longer, which shows the few slow ones.
fn chart(kinds: &[KindReport]) -> LineChart {
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
    LineChart {
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

/// Returns an axis that covers all times.
fn times(kinds: &[KindReport]) -> Axis {
    /// For a shorter time, the clock may not have advanced.
    const SHORTEST: f64 = 0.01;
    let times = || kinds.iter().flat_map(|kind| kind.distribution.iter().map(|p| p.up_to_us));
    let (least, most) = (times().fold(f64::MAX, f64::min), times().fold(SHORTEST, f64::max));
    Axis::log("time in microseconds", least.clamp(SHORTEST, most), most, |tick| tick.to_string())
}
