//! Line charts: panels with axes, lines and marks, under one title and one legend.

use std::fmt::Write;

use super::axis::Axis;
use super::document::Svg;
use super::legend::{Legend, Sample};
use super::style::STYLES;
use super::{LINE_HEIGHT, MARGIN};

const PANEL_WIDTH: f64 = 480.0;
const PANEL_HEIGHT: f64 = 320.0;
/// Space around the plotted area of a panel, for its title, labels and ticks.
const LEFT: f64 = 58.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 48.0;

/// Panels with the same lines, two side by side.
pub(crate) struct LineChart {
    pub(crate) title: String,
    /// The names of the lines: line i of each panel is `legend[i]`.
    pub(crate) legend: Vec<String>,
    /// What a ring around a point means, if there is one.
    pub(crate) ring: Option<&'static str>,
    /// A cross in each panel, and what it means.
    pub(crate) cross: Option<(f64, f64, &'static str)>,
    pub(crate) panels: Vec<Panel>,
}

/// One coordinate system.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
}

/// Points, each joined to the next. Those without a finite value make a gap.
pub(crate) struct Line {
    pub(crate) points: Vec<(f64, Option<f64>)>,
    /// Whether each point has a dot, with its value as a tooltip.
    pub(crate) dots: bool,
    /// The index of the point with a ring around it.
    pub(crate) ring: Option<usize>,
}

impl LineChart {
    /// Returns the SVG document.
    pub(crate) fn render(&self) -> String {
        self.render_with("")
    }

    /// Returns the chart as a file of its own, with a description of where it comes from.
    pub(crate) fn render_with(&self, description: &str) -> String {
        let columns = self.panels.len().clamp(1, 2);
        let rows = self.panels.len().div_ceil(columns);
        let width = 2.0 * MARGIN + PANEL_WIDTH * 2f64.min(columns as f64).max(1.25);
        let legend = Legend::new(self.legend_entries(), width - 2.0 * MARGIN);
        let head = MARGIN + (2 + legend.rows()) as f64 * LINE_HEIGHT;
        let height = head + PANEL_HEIGHT * rows as f64 + MARGIN;
        let mut svg = Svg::new(width, height);
        svg.element("title", "", &self.title);
        if !description.is_empty() {
            svg.element("desc", "", description);
        }
        svg.rect("page", (0.0, 0.0), (width, height), "");
        svg.text("title", MARGIN, MARGIN + 14.0, "start", &self.title);
        legend.draw(&mut svg);
        for (i, panel) in self.panels.iter().enumerate() {
            let (column, row) = ((i % columns) as f64, (i / columns) as f64);
            let left = MARGIN + column * PANEL_WIDTH;
            svg.open_group(&format!("translate({left:.1} {:.1})", head + row * PANEL_HEIGHT));
            panel.draw(&self.legend, self.cross, &mut svg);
            svg.close_group();
        }
        svg.finish()
    }

    fn legend_entries(&self) -> Vec<(Sample, &str)> {
        let lines = self.legend.iter().enumerate();
        let mut entries: Vec<_> = lines.map(|(i, name)| (Sample::Line(i), name.as_str())).collect();
        entries.extend(self.ring.map(|meaning| (Sample::Ring, meaning)));
        entries.extend(self.cross.map(|(_, _, meaning)| (Sample::Cross, meaning)));
        entries
    }
}

impl Panel {
    fn draw(&self, names: &[String], cross: Option<(f64, f64, &str)>, svg: &mut Svg) {
        let (right, bottom) = (PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM);
        let position = |x, y| (self.x.position(x, LEFT, right), self.y.position(y, bottom, TOP));
        svg.text("panel", LEFT, TOP - 10.0, "start", &self.title);
        self.draw_axes(svg);
        for (i, line) in self.lines.iter().enumerate() {
            line.draw(i % STYLES, names.get(i).map_or("", String::as_str), position, svg);
        }
        if let Some((x, y, meaning)) = cross {
            svg.cross(position(x, y), meaning);
        }
    }

    fn draw_axes(&self, svg: &mut Svg) {
        let (right, bottom) = (PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM);
        for (value, label) in &self.y.ticks {
            let y = self.y.position(*value, bottom, TOP);
            svg.line("grid", (LEFT, y), (right, y));
            if !label.is_empty() {
                svg.text("", LEFT - 8.0, y + 4.0, "end", label);
            }
        }
        for (value, label) in &self.x.ticks {
            let x = self.x.position(*value, LEFT, right);
            svg.line("axis", (x, bottom), (x, bottom + 5.0));
            if !label.is_empty() {
                svg.text("", x, bottom + 18.0, "middle", label);
            }
        }
        svg.line("axis", (LEFT, bottom), (right, bottom));
        svg.text("", (LEFT + right) / 2.0, bottom + 36.0, "middle", &self.x.label);
        let (x, y) = (16.0, (TOP + bottom) / 2.0);
        svg.open_group(&format!("rotate(-90 {x:.1} {y:.1})"));
        svg.text("", x, y, "middle", &self.y.label);
        svg.close_group();
    }
}

impl Line {
    fn draw(
        &self,
        style: usize,
        name: &str,
        position: impl Fn(f64, f64) -> (f64, f64),
        svg: &mut Svg,
    ) {
        let mut path = String::new();
        let mut pen_down = false;
        for (x, value) in self.finite() {
            if let Some(value) = value {
                let (x, y) = position(x, value);
                let _ = write!(path, "{}{x:.1} {y:.1}", if pen_down { 'L' } else { 'M' });
            }
            pen_down = value.is_some();
        }
        svg.path(&format!("s{style}"), &path, "");
        for (i, (x, value)) in self.finite().enumerate() {
            let Some(value) = value else { continue };
            if self.dots {
                let tooltip = format!("{name} {value:.3} at {x}");
                svg.circle(&format!("f{style}"), position(x, value), 2.5, &tooltip);
            }
            if self.ring == Some(i) {
                svg.circle("ring", position(x, value), 6.5, "");
            }
        }
    }

    /// The points, without values that are not finite.
    fn finite(&self) -> impl Iterator<Item = (f64, Option<f64>)> {
        self.points.iter().map(|&(x, y)| (x, y.filter(|y| y.is_finite() && x.is_finite())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::Scale;

    fn axis(first: f64, last: f64) -> Axis {
        let ticks = vec![(first, "first".into()), (last, "last".into())];
        Axis { label: "a < b".into(), scale: Scale::Linear, ticks }
    }

    fn chart(points: Vec<(f64, Option<f64>)>) -> LineChart {
        let line = Line { points, dots: true, ring: Some(1) };
        let panel =
            Panel { title: "<p>".into(), x: axis(0.0, 10.0), y: axis(0.0, 1.0), lines: vec![line] };
        LineChart {
            title: "A & \"B\"\u{1}\u{202e}".into(),
            legend: vec!["line".into()],
            ring: Some("best"),
            cross: Some((5.0, 0.5, "there")),
            panels: vec![panel],
        }
    }

    #[test]
    fn points_are_drawn_where_the_axes_place_them() {
        let svg = chart(vec![(0.0, Some(0.0)), (10.0, Some(1.0)), (5.0, Some(0.5))]).render();
        let (right, bottom) = (PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM);
        let (x, y) = ((LEFT + right) / 2.0, (TOP + bottom) / 2.0);
        let d = format!("M{LEFT:.1} {bottom:.1}L{right:.1} {TOP:.1}L{x:.1} {y:.1}");
        assert!(svg.contains(&format!("<path class=\"s0\" d=\"{d}\"/>")), "{svg}");
        assert!(svg.contains(&format!("<circle class=\"ring\" cx=\"{right:.1}\" cy=\"{TOP:.1}\"")));
    }

    #[test]
    fn missing_value_makes_a_gap() {
        let svg = chart(vec![(0.0, Some(0.0)), (5.0, None), (10.0, Some(0.0))]).render();
        let lines = svg.lines().find(|line| line.contains("class=\"s0\"")).unwrap();
        assert_eq!((lines.matches('M').count(), lines.matches('L').count()), (2, 0), "{lines}");
        assert!(!chart(vec![(0.0, None)]).render().contains("class=\"s0\" d"));
    }

    #[test]
    fn text_is_escaped_and_elements_are_closed() {
        let svg = chart(vec![(0.0, Some(f64::from(1u8)))]).render();
        assert!(svg.contains("<title>A &amp; &quot;B&quot;\\u{1}\\u{202e}</title>"), "{svg}");
        assert!(svg.contains(">&lt;p&gt;<") && svg.contains(">a &lt; b<"));
        let opened = svg.matches('<').count() - 2 * svg.matches("</").count();
        assert_eq!(opened, svg.matches("/>").count());
    }

    #[test]
    fn value_that_is_not_finite_makes_a_gap() {
        let svg = chart(vec![(0.0, Some(f64::NAN)), (f64::INFINITY, Some(1.0))]).render();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn long_legends_continue_in_another_row() {
        let mut chart = chart(Vec::new());
        let heights = [1, 5, 9].map(|lines| {
            chart.legend = (0..lines).map(|i| format!("a line with a long name {i}")).collect();
            let svg = chart.render();
            assert_eq!(svg.matches("class=\"sample").count(), lines);
            let height = svg.split("height=\"").nth(1).and_then(|rest| rest.split('"').next());
            height.and_then(|height| height.parse::<u32>().ok()).unwrap()
        });
        assert!(heights.is_sorted_by(|a, b| a < b), "{heights:?}");
    }

    #[test]
    fn lines_without_dots_are_one_path_each() {
        let mut chart = chart(vec![(0.0, Some(0.0)), (10.0, Some(1.0))]);
        chart.panels[0].lines[0] =
            Line { points: vec![(0.0, Some(0.0)), (10.0, Some(1.0))], dots: false, ring: None };
        let svg = chart.render();
        assert_eq!(
            (
                svg.matches("<path class=\"s0\"").count(),
                svg.matches("<circle class=\"f0\"").count()
            ),
            (1, 0)
        );
    }
}
