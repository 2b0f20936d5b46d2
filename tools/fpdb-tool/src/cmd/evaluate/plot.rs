//! Precision, recall and F1 against distance, as a chart.

use super::report::{RecipeReport, Report};
use super::score::Score;
use crate::svg::{Axis, Line, LineChart, Panel, Scale};

/// What the paper reports for 64-bit fingerprints of web pages (Manku, Jain, Das Sarma 2007).
const PAPER: (f64, f64, &str) =
    (3.0, 0.75, "Manku et al. 2007, web pages, 64 bits: k = 3, precision and recall about 0.75");

/// Returns a chart with a panel for each recipe.
pub(super) fn chart(report: &Report) -> LineChart {
    LineChart {
        title: format!("Duplicates within k of {} bits", report.bits),
        legend: ["precision", "recall", "F1"].map(str::to_owned).to_vec(),
        ring: Some("best F1"),
        cross: Some(PAPER),
        panels: report.recipes.iter().map(panel).collect(),
    }
}

fn panel(report: &RecipeReport) -> Panel {
    let scores = &report.all.scores;
    let line = |value: fn(&Score) -> Option<f64>| {
        scores.iter().map(|score| (f64::from(score.k), value(score))).collect()
    };
    let best = scores.iter().position(|score| Some(score.k) == report.best_k);
    Panel {
        title: report.recipe.clone(),
        x: Axis {
            label: "k in bits".to_owned(),
            scale: Scale::Linear,
            ticks: distances(scores.last().map_or(0, |score| score.k)),
        },
        y: Axis {
            label: "share".to_owned(),
            scale: Scale::Linear,
            ticks: (0..=5u32)
                .map(|i| f64::from(i) / 5.0)
                .map(|value| (value, format!("{value:.1}")))
                .collect(),
        },
        lines: vec![
            Line { points: line(|score| score.precision), dots: true, ring: None },
            Line { points: line(|score| score.recall), dots: true, ring: None },
            Line { points: line(|score| score.f1), dots: true, ring: best },
        ],
    }
}

/// Returns ticks from 0 to at least `max` and at least 4, which includes the paper's k.
fn distances(max: u32) -> Vec<(f64, String)> {
    let max = max.max(4);
    let step = max.div_ceil(16).next_power_of_two();
    (0..=max.div_ceil(step)).map(|i| (f64::from(i * step), (i * step).to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_reach_the_largest_distance() {
        for max in 0..=128 {
            let ticks = distances(max);
            assert!(ticks.last().unwrap().0 >= f64::from(max) && ticks.len() <= 17, "{max}");
        }
    }
}
