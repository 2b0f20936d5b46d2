//! Line charts as SVG: panels with axes, lines and marks, under one title and one legend.
//!
//! Made by hand rather than by a crate, because of what the result must be: text that scales, readable on
//! light and dark pages alike (colours are classes of a style sheet), deterministic to the byte,
//! and the same wherever it is opened, for it names no font.
//!
//! Distances on the page are in pixels. What must hold: every text from outside is escaped, and
//! every number written is finite.

mod axis;
mod document;
mod style;

use std::fmt::Write;

use document::Svg;
use style::STYLES;

pub(crate) use axis::{Axis, Scale};
pub(crate) use document::escaped;

const PANEL_WIDTH: f64 = 480.0;
const PANEL_HEIGHT: f64 = 320.0;
/// Around the plotted area of a panel: room for its title, labels and ticks.
const LEFT: f64 = 58.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 48.0;
/// Height of a line of text above the panels.
const LINE: f64 = 22.0;
const MARGIN: f64 = 12.0;
/// Width of a line's sample in the legend, with the room behind it, and of a letter, about.
const SAMPLE: f64 = 34.0;
const LETTER: f64 = 7.0;

/// A picture.
pub(crate) struct Figure {
    pub(crate) title: String,
    /// Names of the lines: line i of each panel is `legend[i]`.
    pub(crate) legend: Vec<String>,
    /// What the ring around a point means, if there is one.
    pub(crate) ring: Option<&'static str>,
    /// A cross drawn in each panel, and what it means.
    pub(crate) cross: Option<(f64, f64, &'static str)>,
    /// Side by side, two a row.
    pub(crate) panels: Vec<Panel>,
}

/// One system of axes.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
}

/// Points joined in their order. Those without a finite value make a gap.
pub(crate) struct Line {
    pub(crate) points: Vec<(f64, Option<f64>)>,
    /// A dot at each point, which tells its value when it is pointed at.
    pub(crate) dots: bool,
    /// The point with a ring around it.
    pub(crate) ring: Option<usize>,
}

/// Where the names of the lines stand: above the panels, in columns of one width.
struct Legend {
    columns: usize,
    /// Of a column.
    width: f64,
    rows: usize,
}

impl Figure {
    /// The SVG document.
    pub(crate) fn render(&self) -> String {
        let columns = self.panels.len().clamp(1, 2);
        let rows = self.panels.len().div_ceil(columns);
        let width = 2.0 * MARGIN + PANEL_WIDTH * 2f64.min(columns as f64).max(1.25);
        let legend = Legend::of(self, width - 2.0 * MARGIN);
        let lines = 2 + legend.rows + usize::from(self.cross.is_some());
        let head = MARGIN + lines as f64 * LINE;
        let height = head + PANEL_HEIGHT * rows as f64 + MARGIN;
        let mut svg = Svg::new(width, height);
        svg.element("title", "", &self.title);
        svg.rect("page", 0.0, 0.0, width, height);
        svg.text("title", MARGIN, MARGIN + 14.0, "start", &self.title);
        legend.draw(self, &mut svg);
        for (i, panel) in self.panels.iter().enumerate() {
            let (column, row) = ((i % columns) as f64, (i / columns) as f64);
            let left = MARGIN + column * PANEL_WIDTH;
            svg.open(&format!("translate({left:.1} {:.1})", head + row * PANEL_HEIGHT));
            panel.draw(&self.legend, self.cross, &mut svg);
            svg.close();
        }
        svg.finish()
    }
}

impl Legend {
    /// That of a figure as wide as this.
    fn of(figure: &Figure, width: f64) -> Self {
        let longest = figure.legend.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let column = SAMPLE + (LETTER * longest as f64).max(76.0);
        let columns = (1..).take_while(|&n| f64::from(n) * column <= width).count().max(1);
        let cells = figure.legend.len() + usize::from(figure.ring.is_some());
        Self { columns, width: column, rows: cells.div_ceil(columns) }
    }

    /// Left end and height of a cell.
    fn place(&self, cell: usize) -> (f64, f64) {
        let (column, row) = ((cell % self.columns) as f64, (cell / self.columns) as f64);
        (MARGIN + column * self.width, MARGIN + (1.75 + row) * LINE)
    }

    fn draw(&self, figure: &Figure, svg: &mut Svg) {
        for (i, name) in figure.legend.iter().enumerate() {
            let (x, y) = self.place(i);
            svg.line(&format!("sample s{}", i % STYLES), (x, y), (x + 28.0, y));
            svg.text("", x + SAMPLE, y + 4.0, "start", name);
        }
        if let Some(meaning) = figure.ring {
            let (x, y) = self.place(figure.legend.len());
            svg.circle("ring", (x + 8.0, y), 6.5, "");
            svg.text("", x + 22.0, y + 4.0, "start", meaning);
        }
        if let Some((_, _, meaning)) = figure.cross {
            let (x, y) = self.place(self.columns * self.rows);
            svg.cross((x + 14.0, y), meaning);
            svg.text("", x + SAMPLE, y + 4.0, "start", meaning);
        }
    }
}

impl Panel {
    fn draw(&self, names: &[String], cross: Option<(f64, f64, &str)>, svg: &mut Svg) {
        let (right, bottom) = (PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM);
        let place = |x, y| (self.x.place(x, LEFT, right), self.y.place(y, bottom, TOP));
        svg.text("panel", LEFT, TOP - 10.0, "start", &self.title);
        for (value, label) in &self.y.ticks {
            let y = self.y.place(*value, bottom, TOP);
            svg.line("grid", (LEFT, y), (right, y));
            if !label.is_empty() {
                svg.text("", LEFT - 8.0, y + 4.0, "end", label);
            }
        }
        for (value, label) in &self.x.ticks {
            let x = self.x.place(*value, LEFT, right);
            svg.line("axis", (x, bottom), (x, bottom + 5.0));
            if !label.is_empty() {
                svg.text("", x, bottom + 18.0, "middle", label);
            }
        }
        svg.line("axis", (LEFT, bottom), (right, bottom));
        svg.text("", (LEFT + right) / 2.0, bottom + 36.0, "middle", &self.x.label);
        let (x, y) = (16.0, (TOP + bottom) / 2.0);
        svg.open(&format!("rotate(-90 {x:.1} {y:.1})"));
        svg.text("", x, y, "middle", &self.y.label);
        svg.close();
        for (i, line) in self.lines.iter().enumerate() {
            line.draw(i % STYLES, names.get(i).map_or("", String::as_str), place, svg);
        }
        if let Some((x, y, meaning)) = cross {
            svg.cross(place(x, y), meaning);
        }
    }
}

impl Line {
    fn draw(
        &self,
        style: usize,
        name: &str,
        place: impl Fn(f64, f64) -> (f64, f64),
        svg: &mut Svg,
    ) {
        let mut path = String::new();
        let mut pen_down = false;
        for (x, value) in self.finite() {
            if let Some(value) = value {
                let (x, y) = place(x, value);
                let _ = write!(path, "{}{x:.1} {y:.1}", if pen_down { 'L' } else { 'M' });
            }
            pen_down = value.is_some();
        }
        svg.path(&format!("s{style}"), &path);
        for (i, (x, value)) in self.finite().enumerate() {
            let Some(value) = value else { continue };
            if self.dots {
                let told = format!("{name} {value:.3} at {x}");
                svg.circle(&format!("d{style}"), place(x, value), 2.5, &told);
            }
            if self.ring == Some(i) {
                svg.circle("ring", place(x, value), 6.5, "");
            }
        }
    }

    /// The points, without values that are none.
    fn finite(&self) -> impl Iterator<Item = (f64, Option<f64>)> {
        self.points.iter().map(|&(x, y)| (x, y.filter(|y| y.is_finite() && x.is_finite())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(first: f64, last: f64) -> Axis {
        let ticks = vec![(first, "first".into()), (last, "last".into())];
        Axis { label: "a < b".into(), scale: Scale::Linear, ticks }
    }

    fn figure(points: Vec<(f64, Option<f64>)>) -> Figure {
        let line = Line { points, dots: true, ring: Some(1) };
        let panel =
            Panel { title: "<p>".into(), x: axis(0.0, 10.0), y: axis(0.0, 1.0), lines: vec![line] };
        Figure {
            title: "A & \"B\"\u{1}".into(),
            legend: vec!["line".into()],
            ring: Some("best"),
            cross: Some((5.0, 0.5, "there")),
            panels: vec![panel],
        }
    }

    #[test]
    fn points_lie_where_the_axes_say() {
        let svg = figure(vec![(0.0, Some(0.0)), (10.0, Some(1.0)), (5.0, Some(0.5))]).render();
        let (right, bottom) = (PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM);
        let (x, y) = ((LEFT + right) / 2.0, (TOP + bottom) / 2.0);
        let d = format!("M{LEFT:.1} {bottom:.1}L{right:.1} {TOP:.1}L{x:.1} {y:.1}");
        assert!(svg.contains(&format!("<path class=\"s0\" d=\"{d}\"/>")), "{svg}");
        assert!(svg.contains(&format!("<circle class=\"ring\" cx=\"{right:.1}\" cy=\"{TOP:.1}\"")));
    }

    #[test]
    fn a_missing_value_is_a_gap() {
        let svg = figure(vec![(0.0, Some(0.0)), (5.0, None), (10.0, Some(0.0))]).render();
        let lines = svg.lines().find(|line| line.contains("class=\"s0\"")).unwrap();
        assert_eq!((lines.matches('M').count(), lines.matches('L').count()), (2, 0), "{lines}");
        assert!(!figure(vec![(0.0, None)]).render().contains("class=\"s0\" d"));
    }

    #[test]
    fn text_is_escaped_and_elements_are_closed() {
        let svg = figure(vec![(0.0, Some(f64::from(1u8)))]).render();
        assert!(svg.contains("<title>A &amp; &quot;B&quot;</title>"), "{svg}");
        assert!(svg.contains(">&lt;p&gt;<") && svg.contains(">a &lt; b<"));
        let opened = svg.matches('<').count() - 2 * svg.matches("</").count();
        assert_eq!(opened, svg.matches("/>").count());
    }

    #[test]
    fn a_value_that_is_no_number_is_a_gap() {
        let svg = figure(vec![(0.0, Some(f64::NAN)), (f64::INFINITY, Some(1.0))]).render();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn names_that_do_not_fit_beside_each_other_stand_below() {
        let mut figure = figure(Vec::new());
        let heights = [1, 5, 9].map(|lines| {
            figure.legend = (0..lines).map(|i| format!("a line with a long name {i}")).collect();
            let svg = figure.render();
            assert_eq!(svg.matches("class=\"sample").count(), lines);
            let height = svg.split("height=\"").nth(1).and_then(|rest| rest.split('"').next());
            height.and_then(|height| height.parse::<u32>().ok()).unwrap()
        });
        assert!(heights.is_sorted_by(|a, b| a < b), "{heights:?}");
    }

    #[test]
    fn lines_without_dots_are_a_path_each() {
        let mut figure = figure(vec![(0.0, Some(0.0)), (10.0, Some(1.0))]);
        figure.panels[0].lines[0] =
            Line { points: vec![(0.0, Some(0.0)), (10.0, Some(1.0))], dots: false, ring: None };
        let svg = figure.render();
        assert_eq!(
            (
                svg.matches("<path class=\"s0\"").count(),
                svg.matches("<circle class=\"d0\"").count()
            ),
            (1, 0)
        );
    }
}
