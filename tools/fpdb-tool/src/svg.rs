//! Line charts as SVG: panels with axes, lines and marks, under one title and one legend.
//!
//! Made by hand rather than by a crate, because of what the result must be: text that scales, readable on
//! light and dark pages alike (colours are classes of a style sheet), deterministic to the byte,
//! and the same wherever it is opened, for it names no font.
//!
//! Distances on the page are in pixels. What must hold: every text from outside is escaped, and
//! every number written is finite.

use std::fmt::Write;

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

/// Colours are those of Okabe and Ito, which people with any colour vision can tell apart; lines
/// differ in dashes too.
const STYLE: &str = "\
svg{font-family:sans-serif;font-size:12px}
text{fill:#222}.title{font-size:15px;font-weight:bold}.panel{font-size:13px;font-weight:bold}
.page{fill:#fff}.grid{stroke:#ddd}.axis{stroke:#666}
path,.sample,.mark{fill:none;stroke-width:2}.ring{fill:none;stroke-width:1.5;stroke:#222}.mark{stroke:#222}
.s0{stroke:#0072b2}.s1{stroke:#d55e00;stroke-dasharray:7 3}.s2{stroke:#009e73;stroke-width:3}
.d0{fill:#0072b2}.d1{fill:#d55e00}.d2{fill:#009e73}
@media(prefers-color-scheme:dark){text{fill:#eee}.page{fill:#16181c}.grid{stroke:#383b42}.axis{stroke:#999}
.ring,.mark{stroke:#eee}.s0{stroke:#56b4e9}.s1{stroke:#e69f00}.s2{stroke:#2fd0a0}
.d0{fill:#56b4e9}.d1{fill:#e69f00}.d2{fill:#2fd0a0}}";

/// Number of styles that lines can have.
const STYLES: usize = 3;

/// A picture.
pub(crate) struct Figure {
    pub(crate) title: String,
    /// Names of the lines: line i of each panel is `legend[i]`. At most [`STYLES`].
    pub(crate) legend: Vec<&'static str>,
    /// What the ring around a point means.
    pub(crate) ring: &'static str,
    /// A cross drawn in each panel, and what it means.
    pub(crate) cross: (f64, f64, &'static str),
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

/// An axis from its first to its last tick.
pub(crate) struct Axis {
    pub(crate) label: &'static str,
    /// Rising, at least two; each with what is written at it.
    pub(crate) ticks: Vec<(f64, String)>,
}

/// Points joined in their order. Those without a value make a gap.
pub(crate) struct Line {
    pub(crate) points: Vec<(f64, Option<f64>)>,
    /// The point with a ring around it.
    pub(crate) ring: Option<usize>,
}

impl Figure {
    /// The SVG document.
    pub(crate) fn render(&self) -> String {
        let columns = self.panels.len().clamp(1, 2);
        let rows = self.panels.len().div_ceil(columns);
        let head = MARGIN + 4.0 * LINE;
        let width = 2.0 * MARGIN + PANEL_WIDTH * 2f64.min(columns as f64).max(1.25);
        let height = head + PANEL_HEIGHT * rows as f64 + MARGIN;
        let mut svg = Svg::new(width, height);
        svg.element("title", "", &self.title);
        svg.rect("page", 0.0, 0.0, width, height);
        svg.text("title", MARGIN, MARGIN + 14.0, "start", &self.title);
        self.legend(&mut svg);
        for (i, panel) in self.panels.iter().enumerate() {
            let (column, row) = ((i % columns) as f64, (i / columns) as f64);
            let left = MARGIN + column * PANEL_WIDTH;
            svg.open(&format!("translate({left:.1} {:.1})", head + row * PANEL_HEIGHT));
            panel.draw(&self.legend, self.cross, &mut svg);
            svg.close();
        }
        svg.finish()
    }

    fn legend(&self, svg: &mut Svg) {
        let y = MARGIN + 1.75 * LINE;
        for (i, name) in self.legend.iter().enumerate() {
            let x = MARGIN + 110.0 * i as f64;
            svg.line(&format!("sample s{}", i % STYLES), (x, y), (x + 28.0, y));
            svg.text("", x + 34.0, y + 4.0, "start", name);
        }
        let x = MARGIN + 110.0 * self.legend.len() as f64;
        svg.circle("ring", (x + 8.0, y), 6.5, "");
        svg.text("", x + 22.0, y + 4.0, "start", self.ring);
        svg.cross((MARGIN + 14.0, y + LINE), self.cross.2);
        svg.text("", MARGIN + 34.0, y + LINE + 4.0, "start", self.cross.2);
    }
}

impl Panel {
    fn draw(&self, names: &[&str], cross: (f64, f64, &str), svg: &mut Svg) {
        let (right, bottom) = (PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM);
        let place = |x, y| (self.x.place(x, LEFT, right), self.y.place(y, bottom, TOP));
        svg.text("panel", LEFT, TOP - 10.0, "start", &self.title);
        for (value, label) in &self.y.ticks {
            let y = self.y.place(*value, bottom, TOP);
            svg.line("grid", (LEFT, y), (right, y));
            svg.text("", LEFT - 8.0, y + 4.0, "end", label);
        }
        for (value, label) in &self.x.ticks {
            let x = self.x.place(*value, LEFT, right);
            svg.line("axis", (x, bottom), (x, bottom + 5.0));
            svg.text("", x, bottom + 18.0, "middle", label);
        }
        svg.line("axis", (LEFT, bottom), (right, bottom));
        svg.text("", (LEFT + right) / 2.0, bottom + 36.0, "middle", self.x.label);
        let (x, y) = (16.0, (TOP + bottom) / 2.0);
        svg.open(&format!("rotate(-90 {x:.1} {y:.1})"));
        svg.text("", x, y, "middle", self.y.label);
        svg.close();
        for (i, line) in self.lines.iter().enumerate() {
            line.draw(i % STYLES, names.get(i).copied().unwrap_or_default(), place, svg);
        }
        let (x, y, meaning) = cross;
        svg.cross(place(x, y), meaning);
    }
}

impl Axis {
    /// Where a value lies, if the first tick lies at `from` and the last at `to`. Values beyond
    /// lie at the ends.
    fn place(&self, value: f64, from: f64, to: f64) -> f64 {
        let at = |tick: Option<&(f64, String)>| tick.map_or(0.0, |(value, _)| *value);
        let (first, last) = (at(self.ticks.first()), at(self.ticks.last()));
        let share = if last > first { (value - first) / (last - first) } else { 0.5 };
        from + share.clamp(0.0, 1.0) * (to - from)
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
        for &(x, value) in &self.points {
            if let Some(value) = value {
                let (x, y) = place(x, value);
                let _ = write!(path, "{}{x:.1} {y:.1}", if pen_down { 'L' } else { 'M' });
            }
            pen_down = value.is_some();
        }
        svg.path(&format!("s{style}"), &path);
        for (i, &(x, value)) in self.points.iter().enumerate() {
            let Some(value) = value else { continue };
            let told = format!("{name} {value:.3} at {x}");
            svg.circle(&format!("d{style}"), place(x, value), 2.5, &told);
            if self.ring == Some(i) {
                svg.circle("ring", place(x, value), 6.5, "");
            }
        }
    }
}

/// The document as it grows.
struct Svg(String);

impl Svg {
    fn new(width: f64, height: f64) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<style>{STYLE}</style>\n"
        ))
    }

    /// An element, or nothing but its start and end if there is no text in it.
    fn element(&mut self, name: &str, attributes: &str, text: &str) {
        let space = if attributes.is_empty() { "" } else { " " };
        let _ = writeln!(self.0, "<{name}{space}{attributes}>{}</{name}>", escaped(text));
    }

    fn text(&mut self, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
        let at = format!("class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"");
        self.element("text", &at, text);
    }

    fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let ends = format!("x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"");
        let _ = writeln!(self.0, "<line class=\"{class}\" {ends}/>");
    }

    fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        let place =
            format!("x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"");
        let _ = writeln!(self.0, "<rect class=\"{class}\" {place}/>");
    }

    fn path(&mut self, class: &str, d: &str) {
        if !d.is_empty() {
            let _ = writeln!(self.0, "<path class=\"{class}\" d=\"{d}\"/>");
        }
    }

    /// A circle; `told` is shown by viewers that are pointed at it.
    fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64, told: &str) {
        let place = format!("class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"");
        let _ = match told {
            "" => writeln!(self.0, "<circle {place}/>"),
            told => writeln!(self.0, "<circle {place}><title>{}</title></circle>", escaped(told)),
        };
    }

    fn cross(&mut self, (x, y): (f64, f64), told: &str) {
        let (left, right, top, bottom) = (x - 5.0, x + 5.0, y - 5.0, y + 5.0);
        let d = format!(
            "M{left:.1} {top:.1}L{right:.1} {bottom:.1}M{left:.1} {bottom:.1}L{right:.1} {top:.1}"
        );
        let told = escaped(told);
        let _ = writeln!(self.0, "<path class=\"mark\" d=\"{d}\"><title>{told}</title></path>");
    }

    fn open(&mut self, transform: &str) {
        let _ = writeln!(self.0, "<g transform=\"{transform}\">");
    }

    fn close(&mut self) {
        self.0 += "</g>\n";
    }

    fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

/// Text as XML holds it. Characters that XML cannot hold are left out.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut xml, c| {
        match c {
            '&' => xml += "&amp;",
            '<' => xml += "&lt;",
            '>' => xml += "&gt;",
            '"' => xml += "&quot;",
            '\t' | '\n' | '\r' => xml.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => xml.push(c),
        }
        xml
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(first: f64, last: f64) -> Axis {
        Axis { label: "a < b", ticks: vec![(first, "first".into()), (last, "last".into())] }
    }

    fn figure(points: Vec<(f64, Option<f64>)>) -> Figure {
        let line = Line { points, ring: Some(1) };
        let panel =
            Panel { title: "<p>".into(), x: axis(0.0, 10.0), y: axis(0.0, 1.0), lines: vec![line] };
        Figure {
            title: "A & \"B\"\u{1}".into(),
            legend: vec!["line"],
            ring: "best",
            cross: (5.0, 0.5, "there"),
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
}
