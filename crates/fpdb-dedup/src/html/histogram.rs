//! The number of dropped rows by their similarity, as an image.

use std::fmt::Write;

use super::measured::{Bar, Measure, Measured};
use super::numbers::grouped;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 160.0;
const MARGIN: f64 = 20.0;
/// The height of the highest bar.
const HIGHEST: f64 = 140.0;
/// Numbers below the bars, at most.
const TICKS: usize = 12;

/// Returns the histogram; nothing if nothing was counted.
pub(super) fn image(measured: &Measured) -> String {
    let bars = measured.bars();
    let (Some(first), Some(last)) = (bars.first(), bars.last()) else { return String::new() };
    if measured.count() == 0 {
        return String::new();
    }
    let (low, high) = (first.begin, last.end);
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(1).max(1);
    let x = |value: f64| MARGIN + (WIDTH - 2.0 * MARGIN) * (value - low) / (high - low);
    let (name, at) = match measured.measure() {
        Measure::Similarity => ("similarity", measured.threshold()),
        Measure::Share => ("share", measured.threshold()),
        Measure::Distance => ("distance", measured.threshold() + 0.5),
    };
    let label = format!(
        "dropped rows by {name}; at most {} in a bar; the threshold is {}",
        grouped(most),
        measured.threshold()
    );
    let mut image = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" width=\"{WIDTH}\" role=\"img\" aria-label=\"{label}\"><title>{label}</title>",
        HEIGHT + 24.0
    );
    for bar in bars.iter().filter(|bar| bar.count > 0) {
        let height = HIGHEST * bar.count as f64 / most as f64;
        let (left, width) = (x(bar.begin), (x(bar.end) - x(bar.begin) - 1.0).max(1.0));
        let _ = write!(
            image,
            "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"var(--bar, #2f6fb3)\"><title>{}: {}</title></rect>",
            HEIGHT - height,
            range(bar, measured.measure()),
            grouped(bar.count)
        );
    }
    let _ = write!(
        image,
        "<line x1=\"{MARGIN}\" x2=\"{}\" y1=\"{HEIGHT}\" y2=\"{HEIGHT}\" stroke=\"currentColor\"/>\
         <line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"6\" y2=\"{HEIGHT}\" stroke=\"currentColor\" stroke-dasharray=\"4 3\"/>",
        WIDTH - MARGIN,
        at = x(at)
    );
    for (value, text) in ticks(&bars, measured.measure()) {
        let _ = write!(
            image,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"13\" fill=\"currentColor\">{text}</text>",
            x(value),
            HEIGHT + 16.0
        );
    }
    image + "</svg>"
}

fn range(bar: &Bar, measure: Measure) -> String {
    match measure {
        Measure::Similarity | Measure::Share => format!("{:.3} to {:.3}", bar.begin, bar.end),
        Measure::Distance => format!("{:.0}", bar.begin + 0.5),
    }
}

/// Returns places below the bars, and the numbers there.
fn ticks(bars: &[Bar], measure: Measure) -> Vec<(f64, String)> {
    match measure {
        Measure::Similarity | Measure::Share => {
            let low = bars.first().map_or(0.0, |bar| bar.begin);
            let at = |part: u32| low + (1.0 - low) * f64::from(part) / 5.0;
            (0..=5).map(|part| (at(part), format!("{:.2}", at(part)))).collect()
        }
        Measure::Distance => {
            let step = bars.len().div_ceil(TICKS).max(1);
            let middles = bars.iter().map(|bar| bar.begin + 0.5).step_by(step);
            middles.map(|middle| (middle, format!("{middle:.0}"))).collect()
        }
    }
}
