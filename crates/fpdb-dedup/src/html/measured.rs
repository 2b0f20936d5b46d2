//! How similar dropped rows are to what they are like.

/// By what rows are compared.
///
/// See the example of [`Measured`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// By a similarity, which is from 0 to 1. The threshold is the least one.
    Similarity,
    /// By the share of a text that stands in another one, from 0 to 1. The threshold is the least
    /// one.
    Share,
    /// By a distance in bits. The threshold is the greatest one.
    Distance,
}

/// Cells of a similarity of 1.
const CELLS: u32 = 10_000;
/// Thresholds that are listed.
const THRESHOLDS: u32 = 11;
/// Bars of similarities.
const BARS: u32 = 50;

/// How similar dropped rows are to what they are like: similarities as counts of 10,000 cells.
///
/// # Examples
///
/// ```
/// use fpdb_dedup::html::{Measure, Measured};
///
/// let mut measured = Measured::new(Measure::Distance, 3.0);
/// [0.0, 1.0, 3.0, 3.0].into_iter().for_each(|distance| measured.add(distance));
/// assert_eq!((measured.count(), measured.threshold()), (4, 3.0));
/// ```
#[derive(Debug, Clone)]
pub struct Measured {
    measure: Measure,
    threshold: f64,
    counts: Vec<u64>,
}

/// Rows that are about as similar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bar {
    pub(super) begin: f64,
    pub(super) end: f64,
    pub(super) count: u64,
}

impl Measured {
    /// Prepares to count. `threshold` is the one by which rows were dropped.
    #[must_use]
    pub fn new(measure: Measure, threshold: f64) -> Self {
        Self { measure, threshold, counts: Vec::new() }
    }

    /// Counts a dropped row.
    pub fn add(&mut self, value: f64) {
        let cell = self.cell(value) as usize;
        if self.counts.len() <= cell {
            self.counts.resize(cell + 1, 0);
        }
        self.counts.get_mut(cell).into_iter().for_each(|count| *count += 1);
    }

    /// Returns by what rows are compared.
    #[must_use]
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Returns the threshold of the comparison.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Returns how many rows were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the cell of a value. What is not a number is in the first one.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is limited")]
    fn cell(&self, value: f64) -> u32 {
        match self.measure {
            // A number with few digits is in the cell that begins with it, whatever its last bits.
            Measure::Similarity | Measure::Share => {
                (value.clamp(0.0, 1.0) * f64::from(CELLS) + 1e-2) as u32
            }
            Measure::Distance => value.clamp(0.0, 1024.0).round() as u32,
        }
    }

    /// Returns how many cells there are: there is none beyond the greatest value.
    fn cells(&self) -> u32 {
        self.counts.len().try_into().unwrap_or(CELLS)
    }

    fn in_cells(&self, begin: u32, end: u32) -> u64 {
        let cells = self.counts.get(begin as usize..).unwrap_or_default();
        cells.iter().take(end.saturating_sub(begin) as usize).sum()
    }

    /// Returns the bars of a histogram: they are next to each other, and some may be empty.
    pub(super) fn bars(&self) -> Vec<Bar> {
        match self.measure {
            Measure::Similarity | Measure::Share => {
                let low = self.low();
                let edge = |bar: u32| low + (CELLS - low) * bar / BARS;
                let bar = |bar: u32| Bar {
                    begin: similarity(edge(bar)),
                    end: similarity(edge(bar + 1)),
                    // 1 is in the last bar.
                    count: self.in_cells(edge(bar), edge(bar + 1) + u32::from(bar + 1 == BARS)),
                };
                (0..BARS).map(bar).collect()
            }
            Measure::Distance => {
                let most = self.cell(self.threshold).max(self.cells().saturating_sub(1));
                let bar = |at: u32| Bar {
                    begin: f64::from(at) - 0.5,
                    end: f64::from(at) + 0.5,
                    count: self.in_cells(at, at + 1),
                };
                (0..=most.min(255)).map(bar).collect()
            }
        }
    }

    /// Returns the cell where the bars begin: a multiple of .05 below all that was counted, and
    /// below the threshold.
    fn low(&self) -> u32 {
        let empty = (0..self.cells()).take_while(|&cell| self.in_cells(cell, cell + 1) == 0);
        let least = u32::try_from(empty.count()).unwrap_or(CELLS);
        let step = CELLS / 20;
        least.min(self.cell(self.threshold)).saturating_sub(1) / step * step
    }

    /// Returns thresholds that are as strict as that of the comparison, or stricter, and for each
    /// how many rows that were dropped are not similar enough for it.
    pub(super) fn returning(&self) -> Vec<(f64, u64)> {
        match self.measure {
            Measure::Similarity | Measure::Share => {
                let step = |step: u32| {
                    let between =
                        (1.0 - self.threshold) * f64::from(step) / f64::from(THRESHOLDS - 1);
                    ((self.threshold + between) * 1e3).round() / 1e3
                };
                let mut thresholds = vec![self.threshold];
                thresholds.extend((1..THRESHOLDS).map(step));
                thresholds.dedup();
                // Estimates may be below the threshold that decided.
                let back =
                    |at: f64| if at > self.threshold { self.in_cells(0, self.cell(at)) } else { 0 };
                thresholds.into_iter().map(|threshold| (threshold, back(threshold))).collect()
            }
            Measure::Distance => {
                let most = self.cell(self.threshold);
                let least = (most + 1).saturating_sub(THRESHOLDS);
                let back = |at: u32| self.in_cells(at + 1, u32::MAX);
                (least..=most)
                    .rev()
                    .map(|at| (f64::from(at), if at == most { 0 } else { back(at) }))
                    .collect()
            }
        }
    }
}

fn similarity(cell: u32) -> f64 {
    f64::from(cell) / f64::from(CELLS)
}
