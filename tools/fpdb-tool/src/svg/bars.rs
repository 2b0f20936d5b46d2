//! Bar charts: horizontal bars, one below the other, each made of parts in a row.

use super::axis::Axis;
use super::document::Svg;
use super::legend::{Legend, Sample};
use super::style::STYLES;
use super::{LETTER, LINE_HEIGHT, MARGIN};

/// The width of the plotted area.
const PLOT: f64 = 560.0;
/// Space to the right of it, for the value of the longest bar.
const RIGHT: f64 = 64.0;
const BAR_HEIGHT: f64 = 14.0;
const ROW_HEIGHT: f64 = 20.0;
/// Space above a bar that starts a group.
const GROUP_GAP: f64 = 10.0;
/// Space below the bars, for the axis.
const BOTTOM: f64 = 48.0;

/// Bars that share one axis, which starts at 0.
pub(crate) struct BarChart {
    pub(crate) title: String,
    /// The names of the parts: part i of each bar is `parts[i]`.
    pub(crate) parts: Vec<&'static str>,
    pub(crate) axis_label: &'static str,
    /// A line through all bars, and what it means.
    pub(crate) bound: Option<(f64, String)>,
    /// What the marks of the bars mean.
    pub(crate) mark: &'static str,
    pub(crate) bars: Vec<Bar>,
}

pub(crate) struct Bar {
    pub(crate) label: String,
    /// Whether there is a gap above the bar.
    pub(crate) starts_group: bool,
    pub(crate) parts: Vec<f64>,
    /// A value of its own to compare the bar with, drawn as a tick across it.
    pub(crate) mark: Option<f64>,
}

impl BarChart {
    /// Returns the SVG document.
    pub(crate) fn render(&self) -> String {
        let longest = self.bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
        let left = MARGIN + LETTER * longest as f64 + 8.0;
        let width = left + PLOT + RIGHT;
        let legend = Legend::new(self.legend_entries(), width - 2.0 * MARGIN);
        let top = MARGIN + (2 + legend.rows()) as f64 * LINE_HEIGHT;
        let gaps = self.bars.iter().skip(1).filter(|bar| bar.starts_group).count() as f64;
        let bottom = top + self.bars.len() as f64 * ROW_HEIGHT + gaps * GROUP_GAP;
        let height = bottom + BOTTOM + MARGIN;
        let mut svg = Svg::new(width, height);
        svg.element("title", "", &self.title);
        svg.rect("page", (0.0, 0.0), (width, height), "");
        svg.text("title", MARGIN, MARGIN + 14.0, "start", &self.title);
        legend.draw(&mut svg);
        let axis = self.axis();
        draw_axis(&axis, left, top, bottom, &mut svg);
        let mut y = top;
        for (i, bar) in self.bars.iter().enumerate() {
            y += if i > 0 && bar.starts_group { GROUP_GAP } else { 0.0 };
            self.draw_bar(bar, &axis, left, y, &mut svg);
            y += ROW_HEIGHT;
        }
        if let Some((value, _)) = &self.bound {
            let x = axis.position(*value, left, left + PLOT);
            svg.line("bound", (x, top - 4.0), (x, bottom));
        }
        svg.finish()
    }

    fn legend_entries(&self) -> Vec<(Sample, &str)> {
        let occurs =
            |part: usize| self.bars.iter().any(|bar| bar.parts.get(part).is_some_and(|&v| v > 0.0));
        let parts = self.parts.iter().enumerate().filter(|(part, _)| occurs(*part));
        let mut entries: Vec<_> = parts.map(|(part, &name)| (Sample::Area(part), name)).collect();
        if self.bars.iter().any(|bar| bar.mark.is_some()) {
            entries.push((Sample::Tick, self.mark));
        }
        entries.extend(self.bound.iter().map(|(_, meaning)| (Sample::Bound, meaning.as_str())));
        entries
    }

    /// Returns an axis that covers everything in the chart.
    fn axis(&self) -> Axis {
        let ends = self.bars.iter().map(|bar| bar.parts.iter().sum());
        let marks = self.bars.iter().filter_map(|bar| bar.mark);
        let bound = self.bound.iter().map(|(value, _)| *value);
        let values = ends.chain(marks).chain(bound).filter(|value: &f64| value.is_finite());
        Axis::whole(self.axis_label, 0.0, values.fold(0.0, f64::max))
    }

    fn draw_bar(&self, bar: &Bar, axis: &Axis, left: f64, row: f64, svg: &mut Svg) {
        let position = |value: f64| axis.position(value, left, left + PLOT);
        let y = row + (ROW_HEIGHT - BAR_HEIGHT) / 2.0;
        svg.text("", left - 8.0, y + 11.0, "end", &bar.label);
        let mut end = 0.0;
        let finite = bar.parts.iter().enumerate().filter(|(_, v)| v.is_finite() && **v > 0.0);
        for (part, value) in finite {
            let (from, to) = (position(end), position(end + value));
            let name = self.parts.get(part).copied().unwrap_or_default();
            let tooltip = format!("{}: {name} {value:.2}", bar.label);
            let class = format!("f{}", part % STYLES);
            svg.rect(&class, (from, y), (to - from, BAR_HEIGHT), &tooltip);
            end += value;
        }
        let mark = bar.mark.filter(|mark| mark.is_finite());
        if let Some(mark) = mark {
            let x = position(mark);
            svg.line("mark", (x, y - 2.0), (x, y + BAR_HEIGHT + 2.0));
        }
        // The bar's value is written after whatever is drawn at its end.
        let after = position(end.max(mark.unwrap_or(0.0)));
        svg.text("", after + 6.0, y + 11.0, "start", &format!("{end:.2}"));
    }
}

fn draw_axis(axis: &Axis, left: f64, top: f64, bottom: f64, svg: &mut Svg) {
    for (value, label) in &axis.ticks {
        let x = axis.position(*value, left, left + PLOT);
        svg.line("grid", (x, top), (x, bottom));
        svg.text("", x, bottom + 18.0, "middle", label);
    }
    svg.line("axis", (left, top), (left, bottom));
    svg.text("", left + PLOT / 2.0, bottom + 36.0, "middle", &axis.label);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, parts: &[f64]) -> Bar {
        Bar { label: label.to_owned(), starts_group: false, parts: parts.to_vec(), mark: None }
    }

    fn chart(bars: Vec<Bar>) -> BarChart {
        BarChart {
            title: "A & B".to_owned(),
            parts: vec!["first", "second"],
            axis_label: "bits",
            bound: Some((5.0, "limit".to_owned())),
            mark: "other",
            bars,
        }
    }

    #[test]
    fn parts_of_a_bar_adjoin_and_add_up() {
        // The axis ends at 10.
        let svg = chart(vec![bar("x", &[2.5, 5.0]), bar("y", &[9.5])]).render();
        let left = MARGIN + LETTER + 8.0;
        let (first, second) = (PLOT * 0.25, PLOT * 0.5);
        assert!(svg.contains(&format!("<rect class=\"f0\" x=\"{left:.1}\"")), "{svg}");
        let at = format!("<rect class=\"f1\" x=\"{:.1}\"", left + first);
        assert!(svg.contains(&at) && svg.contains(&format!("width=\"{second:.1}\"")), "{svg}");
        assert!(svg.contains(">7.50</text>") && svg.contains("<title>x: second 5.00</title>"));
    }

    #[test]
    fn legend_names_only_what_is_drawn() {
        let legend = |bars| -> Vec<String> {
            let chart = chart(bars);
            chart.legend_entries().iter().map(|(_, text)| (*text).to_owned()).collect()
        };
        assert_eq!(legend(vec![bar("x", &[1.0, 0.0])]), ["first", "limit"]);
        let marked = Bar { mark: Some(3.0), ..bar("y", &[0.0, 1.0]) };
        assert_eq!(legend(vec![marked]), ["second", "other", "limit"]);
    }

    #[test]
    fn values_that_are_not_finite_are_left_out() {
        let broken = Bar { mark: Some(f64::NAN), ..bar("<x>", &[f64::NAN, f64::INFINITY]) };
        let svg = chart(vec![broken]).render();
        assert!(!svg.contains("NaN") && !svg.contains("inf") && svg.contains("&lt;x&gt;"), "{svg}");
    }
}
