//! The legend: what each line, area or mark means, in columns of equal width above the chart.

use super::document::Svg;
use super::style::STYLES;
use super::{LETTER, LINE_HEIGHT, MARGIN};

/// The width of a sample, with the space after it.
const SAMPLE: f64 = 34.0;
const MIN_TEXT: f64 = 76.0;

/// What is drawn next to a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    /// The line of this series.
    Line(usize),
    /// The area of this series.
    Area(usize),
    Ring,
    Cross,
    /// A tick across a bar.
    Tick,
    /// A dashed line through the chart.
    Bound,
}

pub(super) struct Legend<'a> {
    entries: Vec<(Sample, &'a str)>,
    columns: usize,
    column_width: f64,
}

impl<'a> Legend<'a> {
    /// Arranges the entries in a chart of this width, margins excluded.
    pub(super) fn new(entries: Vec<(Sample, &'a str)>, width: f64) -> Self {
        // A cross has a sentence of its own in the last row, which must not widen the columns.
        let in_columns = entries.iter().filter(|(sample, _)| *sample != Sample::Cross);
        let longest = in_columns.map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let column_width = SAMPLE + (LETTER * longest as f64).max(MIN_TEXT);
        let columns = (1..).take_while(|&n| f64::from(n) * column_width <= width).count().max(1);
        Self { entries, columns, column_width }
    }

    pub(super) fn rows(&self) -> usize {
        let crosses = self.entries.iter().filter(|(sample, _)| *sample == Sample::Cross).count();
        (self.entries.len() - crosses).div_ceil(self.columns) + crosses
    }

    pub(super) fn draw(&self, svg: &mut Svg) {
        let mut cell = 0_usize;
        for &(sample, text) in &self.entries {
            if sample == Sample::Cross {
                cell = cell.next_multiple_of(self.columns);
            }
            let (column, row) = ((cell % self.columns) as f64, (cell / self.columns) as f64);
            let at = (MARGIN + column * self.column_width, MARGIN + (1.75 + row) * LINE_HEIGHT);
            sample.draw(at, text, svg);
            svg.text("", at.0 + SAMPLE, at.1 + 4.0, "start", text);
            cell += 1;
        }
    }
}

impl Sample {
    fn draw(self, (x, y): (f64, f64), text: &str, svg: &mut Svg) {
        let middle = (x + 14.0, y);
        match self {
            Self::Line(series) => {
                svg.line(&format!("sample s{}", series % STYLES), (x, y), (x + 28.0, y));
            }
            Self::Area(series) => {
                let class = format!("sample f{}", series % STYLES);
                svg.rect(&class, (x + 7.0, y - 7.0), (14.0, 14.0), "");
            }
            Self::Ring => svg.circle("ring", middle, 6.5, ""),
            Self::Cross => svg.cross(middle, text),
            Self::Tick => svg.line("mark", (x + 14.0, y - 7.0), (x + 14.0, y + 7.0)),
            Self::Bound => svg.line("bound", (x, y), (x + 28.0, y)),
        }
    }
}
