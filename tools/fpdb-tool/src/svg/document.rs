//! The SVG document as it grows: elements, and text as XML holds it.

use std::fmt::Write;

use super::style::STYLE;

/// A document that is being written. Places are in pixels.
pub(super) struct Svg(String);

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<style>{STYLE}</style>\n"
        ))
    }

    /// An element, or nothing but its start and end if there is no text in it.
    pub(super) fn element(&mut self, name: &str, attributes: &str, text: &str) {
        let space = if attributes.is_empty() { "" } else { " " };
        let _ = writeln!(self.0, "<{name}{space}{attributes}>{}</{name}>", escaped(text));
    }

    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
        let at = format!("class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"");
        self.element("text", &at, text);
    }

    pub(super) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let ends = format!("x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"");
        let _ = writeln!(self.0, "<line class=\"{class}\" {ends}/>");
    }

    pub(super) fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        let place =
            format!("x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"");
        let _ = writeln!(self.0, "<rect class=\"{class}\" {place}/>");
    }

    pub(super) fn path(&mut self, class: &str, d: &str) {
        if !d.is_empty() {
            let _ = writeln!(self.0, "<path class=\"{class}\" d=\"{d}\"/>");
        }
    }

    /// A circle; `told` is shown by viewers that are pointed at it.
    pub(super) fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64, told: &str) {
        let place = format!("class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"");
        let _ = match told {
            "" => writeln!(self.0, "<circle {place}/>"),
            told => writeln!(self.0, "<circle {place}><title>{}</title></circle>", escaped(told)),
        };
    }

    pub(super) fn cross(&mut self, (x, y): (f64, f64), told: &str) {
        let (left, right, top, bottom) = (x - 5.0, x + 5.0, y - 5.0, y + 5.0);
        let d = format!(
            "M{left:.1} {top:.1}L{right:.1} {bottom:.1}M{left:.1} {bottom:.1}L{right:.1} {top:.1}"
        );
        let told = escaped(told);
        let _ = writeln!(self.0, "<path class=\"mark\" d=\"{d}\"><title>{told}</title></path>");
    }

    pub(super) fn open(&mut self, transform: &str) {
        let _ = writeln!(self.0, "<g transform=\"{transform}\">");
    }

    pub(super) fn close(&mut self) {
        self.0 += "</g>\n";
    }

    pub(super) fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

/// Text as XML and HTML hold it. Characters that XML cannot hold are left out.
pub(crate) fn escaped(text: &str) -> String {
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
