//! An SVG document under construction: elements, and text escaped for XML.

use std::fmt::Write;

use super::style::STYLE;
use crate::escape::is_unsafe;

/// An SVG document under construction. Positions are in pixels.
pub(super) struct Svg(String);

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<style>{STYLE}</style>\n"
        ))
    }

    /// Appends an element that contains `text`.
    pub(super) fn element(&mut self, name: &str, attributes: &str, text: &str) {
        let space = if attributes.is_empty() { "" } else { " " };
        let _ = writeln!(self.0, "<{name}{space}{attributes}>{}</{name}>", escaped(text));
    }

    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
        let class = attribute_class(class);
        let attributes = format!("{class}x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"");
        self.element("text", &attributes, text);
    }

    pub(super) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let ends = format!("x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"");
        let _ = writeln!(self.0, "<line class=\"{class}\" {ends}/>");
    }

    /// Appends a rectangle. Viewers show `tooltip`, unless it is empty, under the pointer.
    pub(super) fn rect(
        &mut self,
        class: &str,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        tooltip: &str,
    ) {
        let place = format!(
            "class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\""
        );
        self.shape("rect", &place, tooltip);
    }

    pub(super) fn path(&mut self, class: &str, d: &str, tooltip: &str) {
        if !d.is_empty() {
            self.shape("path", &format!("class=\"{class}\" d=\"{d}\""), tooltip);
        }
    }

    pub(super) fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64, tooltip: &str) {
        let place = format!("class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"");
        self.shape("circle", &place, tooltip);
    }

    pub(super) fn cross(&mut self, (x, y): (f64, f64), tooltip: &str) {
        let (left, right, top, bottom) = (x - 5.0, x + 5.0, y - 5.0, y + 5.0);
        let d = format!(
            "M{left:.1} {top:.1}L{right:.1} {bottom:.1}M{left:.1} {bottom:.1}L{right:.1} {top:.1}"
        );
        self.path("mark", &d, tooltip);
    }

    pub(super) fn open_group(&mut self, transform: &str) {
        let _ = writeln!(self.0, "<g transform=\"{transform}\">");
    }

    pub(super) fn close_group(&mut self) {
        self.0 += "</g>\n";
    }

    pub(super) fn finish(self) -> String {
        self.0 + "</svg>\n"
    }

    fn shape(&mut self, name: &str, attributes: &str, tooltip: &str) {
        let _ = match tooltip {
            "" => writeln!(self.0, "<{name} {attributes}/>"),
            _ => {
                let tooltip = escaped(tooltip);
                writeln!(self.0, "<{name} {attributes}><title>{tooltip}</title></{name}>")
            }
        };
    }
}

fn attribute_class(class: &str) -> String {
    if class.is_empty() { String::new() } else { format!("class=\"{class}\" ") }
}

/// Escapes text for XML and HTML. Characters that XML does not allow, and those that would change
/// the order of the text, are written as visible escapes.
pub(crate) fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut xml, c| {
        match c {
            '&' => xml += "&amp;",
            '<' => xml += "&lt;",
            '>' => xml += "&gt;",
            '"' => xml += "&quot;",
            '\t' | '\n' | '\r' => xml.push(' '),
            c if is_unsafe(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                xml.extend(c.escape_default());
            }
            c => xml.push(c),
        }
        xml
    })
}
