//! Charts as SVG: panels of lines, and bars.
//!
//! They are drawn here rather than by the crate `plotters`, because its SVG output writes each
//! colour into each element, so that a chart cannot follow the reader's light or dark theme, and
//! has neither a title for screen readers nor tooltips. Charts made here scale, name no font, and
//! are the same to the byte for the same figures.
//!
//! All lengths are in pixels. All text that comes from outside is escaped, and all numbers written
//! are finite.

mod axis;
mod bars;
mod document;
mod legend;
mod lines;
mod style;

pub(crate) use axis::{Axis, Scale};
pub(crate) use bars::{Bar, BarChart};
pub(crate) use document::escaped;
pub(crate) use lines::{Line, LineChart, Panel};

/// The height of a line of text above the chart.
const LINE_HEIGHT: f64 = 22.0;
const MARGIN: f64 = 12.0;
/// The approximate width of a letter.
const LETTER: f64 = 7.0;
