//! Reports as one HTML file: text, tables and bars, in the reader's light or dark theme.
//!
//! A report has no script and loads nothing, and its policy forbids both.

use std::fmt::Write;

use crate::output::provenance::Provenance;
use crate::output::{is_number, printable_lines};

const STYLE: &str = "\
:root{color-scheme:light dark}
body{font-family:sans-serif;font-size:14px;line-height:1.45;margin:24px;color:#222;background:#fff}
h1{font-size:20px}h2{font-size:16px;margin-top:28px}figure{margin:16px 0;overflow-x:auto}
p{max-width:110ch}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:3px 10px;border-bottom:1px solid #8888;text-align:left;vertical-align:top}
tbody th{font-weight:normal}.n{text-align:right;white-space:nowrap}
svg{font-size:12px;fill:currentColor;stroke:none}line{stroke:currentColor;stroke-width:2}
.p0{fill:#4c78a8}.p1{fill:#f58518}.p2{fill:#54a24b}.p3{fill:#b279a2}
@media(prefers-color-scheme:dark){body{color:#eee;background:#16181c}}";

/// Styles are the only thing that a report needs, and they are in the file itself.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Replaces a missing value.
const NO_VALUE: &str = "-";

/// The widths of the longest bar, of a letter of a label, and of the text after a bar, in pixels.
const BAR: f64 = 560.0;
const LETTER: f64 = 7.0;
const VALUE: f64 = 80.0;
/// The heights of a bar, and of a bar with the gap below it.
const HEIGHT: f64 = 14.0;
const ROW: f64 = 20.0;

/// Horizontal bars on one scale, which starts at 0, one below the other.
pub(crate) struct Bars {
    pub(crate) title: String,
    /// The names of the parts that each bar is made of, at most four.
    pub(crate) parts: &'static [&'static str],
    /// What the marks of the bars mean.
    pub(crate) mark: Option<&'static str>,
    pub(crate) bars: Vec<Bar>,
}

pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) parts: Vec<f64>,
    /// A value to compare the bar with, drawn as a line across it.
    pub(crate) mark: Option<f64>,
}

/// A page under construction. Its methods escape the text that they are given.
pub(crate) struct Page(String);

impl Page {
    /// Begins a page that says what made it, when, and from what.
    pub(crate) fn new(title: &str, provenance: &Provenance) -> Self {
        let escaped = escaped(title);
        let mut page = Self(format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width\"/>\n<title>{escaped}</title>\n\
             <style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>{escaped}</h1>\n"
        ));
        page.paragraph(&provenance.sentence());
        page
    }

    pub(crate) fn heading(&mut self, text: &str) {
        self.element("h2", text);
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.element("p", text);
    }

    /// Appends a table of labels and values.
    pub(crate) fn facts(&mut self, facts: &[(&str, String)]) {
        self.0 += "<table>\n<tbody>\n";
        for (label, value) in facts {
            self.0 += "<tr>";
            self.cell("th", false, label);
            self.cell("td", false, value);
            self.0 += "</tr>\n";
        }
        self.0 += "</tbody>\n</table>\n";
    }

    /// Appends a table. Columns of numbers are aligned to the right.
    pub(crate) fn table(&mut self, header: &[&str], lines: &[impl AsRef<[String]>]) {
        let right: Vec<bool> = (0..header.len()).map(|column| is_numeric(lines, column)).collect();
        self.0 += "<table>\n<thead>\n<tr>";
        header.iter().zip(&right).for_each(|(title, &right)| self.cell("th", right, title));
        self.0 += "</tr>\n</thead>\n<tbody>\n";
        for line in lines {
            self.0 += "<tr>";
            let cells = line.as_ref().iter().zip(&right);
            cells.for_each(|(cell, &right)| self.cell("td", right, cell));
            self.0 += "</tr>\n";
        }
        self.0 += "</tbody>\n</table>\n";
    }

    /// Appends bars. Each is followed by its value.
    pub(crate) fn bars(&mut self, bars: &Bars) {
        let letters = bars.bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
        let left = letters as f64 * LETTER + 8.0;
        let longest = bars.bars.iter().map(Bar::longest).fold(0.0, f64::max);
        let scale = if longest > 0.0 { BAR / longest } else { 0.0 };
        let (width, height) = (left + BAR + VALUE, bars.bars.len() as f64 * ROW);
        self.0 += &format!("<figure>\n<figcaption>{}", escaped(&bars.title));
        if bars.parts.len() > 1 {
            for (i, part) in bars.parts.iter().enumerate() {
                let text = escaped(part);
                self.0 += &format!(
                    " <svg width=\"12\" height=\"12\"><rect class=\"p{i}\" width=\"12\" \
                     height=\"12\"/></svg> {text}"
                );
            }
        }
        if let Some(meaning) = bars.mark {
            self.0 += &format!(" | {}", escaped(meaning));
        }
        self.0 += &format!("</figcaption>\n<svg width=\"{width:.0}\" height=\"{height:.0}\">\n");
        for (i, bar) in bars.bars.iter().enumerate() {
            self.0 += &bar.draw(bars.parts, left, i as f64 * ROW, scale);
        }
        self.0 += "</svg>\n</figure>\n";
    }

    pub(crate) fn finish(self) -> String {
        self.0 + "</body>\n</html>\n"
    }

    fn cell(&mut self, name: &str, right: bool, text: &str) {
        let class = if right { " class=\"n\"" } else { "" };
        self.0 += &format!("<{name}{class}>{}</{name}>", escaped(text));
    }

    fn element(&mut self, name: &str, text: &str) {
        self.0 += &format!("<{name}>{}</{name}>\n", escaped(text));
    }
}

impl Bar {
    fn longest(&self) -> f64 {
        self.parts.iter().sum::<f64>().max(self.mark.unwrap_or(0.0))
    }

    /// Returns the bar as SVG. Its label ends at `left`, and a value of 1 is `scale` pixels long.
    fn draw(&self, names: &[&str], left: f64, top: f64, scale: f64) -> String {
        let (base, end) = (top + HEIGHT - 3.0, left - 6.0);
        let mut svg = format!(
            "<text x=\"{end:.1}\" y=\"{base:.1}\" text-anchor=\"end\">{}</text>",
            escaped(&self.label)
        );
        let mut x = left;
        for (i, (&value, name)) in self.parts.iter().zip(names).enumerate() {
            let width = value * scale;
            let _ = write!(
                svg,
                "<rect class=\"p{i}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
                 height=\"{HEIGHT}\"><title>{} {}</title></rect>",
                escaped(name),
                shown(value)
            );
            x += width;
        }
        if let Some(mark) = self.mark {
            let (x, bottom) = (left + mark * scale, top + HEIGHT);
            let _ = write!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>"
            );
        }
        let x = left + self.longest() * scale + 6.0;
        let value = shown(self.parts.iter().sum());
        svg + &format!("<text x=\"{x:.1}\" y=\"{base:.1}\">{value}</text>\n")
    }
}

fn shown(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// Whether all values of a column are numbers. A column without values counts as one of numbers.
fn is_numeric(lines: &[impl AsRef<[String]>], column: usize) -> bool {
    let cells = lines.iter().filter_map(|line| line.as_ref().get(column));
    let mut values = cells.filter(|cell| *cell != NO_VALUE);
    values.all(|cell| is_number(cell.strip_prefix('-').unwrap_or(cell)))
}

/// Returns the text as it must be written in HTML, with control characters escaped.
fn escaped(text: &str) -> String {
    let entities = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;")];
    entities.iter().fold(printable_lines(text), |text, (c, entity)| text.replace(*c, entity))
}

#[cfg(test)]
mod tests {
    use clap::{ArgMatches, Command};

    use super::*;

    fn page(title: &str) -> Page {
        let provenance =
            Provenance::of(&["<o>".into()], &Command::new("t"), &ArgMatches::default());
        Page::new(title, &provenance)
    }

    fn bar(label: &str, parts: &[f64], mark: Option<f64>) -> Bar {
        Bar { label: label.to_owned(), parts: parts.to_vec(), mark }
    }

    #[test]
    fn all_text_is_escaped() {
        let mut page = page("a < b");
        page.heading("<h>");
        page.paragraph("<p> & \"q\" \u{202e}");
        page.facts(&[("<f>", "<w>".to_owned())]);
        page.table(&["<c>"], &[["<v>".to_owned()]]);
        let (parts, bars) = (&["<x>", "<y>"], vec![bar("<l>", &[1.0, 2.0], None)]);
        page.bars(&Bars { title: "<t>".to_owned(), parts, mark: Some("<m>"), bars });
        let html = page.finish();
        assert_eq!(html.matches("a &lt; b").count(), 2, "{html}");
        for name in ["o", "h", "p", "f", "w", "c", "v", "x", "y", "l", "t", "m"] {
            assert!(html.contains(&format!("&lt;{name}&gt;")), "{name}: {html}");
        }
        assert!(html.contains("<p>&lt;p&gt; &amp; &quot;q&quot; \\u{202e}</p>"), "{html}");
        assert!(!html.contains("<script"), "{html}");
    }

    #[test]
    fn columns_of_numbers_are_aligned_to_the_right() {
        let line = |cells: [&str; 4]| cells.map(str::to_owned);
        let mut page = page("t");
        page.table(
            &["number", "mixed", "signed", "none"],
            &[line(["1.5", "7", "-2", "-"]), line(["-", "a", "3 %", "-"])],
        );
        let html = page.finish();
        let expected =
            "<td class=\"n\">1.5</td><td>7</td><td class=\"n\">-2</td><td class=\"n\">-</td>";
        assert!(html.contains(expected), "{html}");
        assert!(html.contains("<th class=\"n\">number</th><th>mixed</th>"), "{html}");
    }

    #[test]
    fn lengths_of_bars_are_in_proportion_to_their_values() {
        let mut page = page("t");
        let bars = vec![bar("a", &[1.0, 1.5], Some(5.0)), bar("b", &[0.0, 2.0], None)];
        page.bars(&Bars { title: "t".to_owned(), parts: &["x", "y"], mark: Some("m"), bars });
        let html = page.finish();
        for width in ["112.0", "168.0", "0.0", "224.0"] {
            assert_eq!(html.matches(&format!("width=\"{width}\"")).count(), 1, "{width}: {html}");
        }
        // The mark is where a bar of its value would end; it is the longest.
        assert!(html.contains("<line x1=\"575.0\""), "{html}");
        assert!(html.contains(">2.50</text>") && html.contains(">2</text>"), "{html}");
    }

    #[test]
    fn bars_without_values_are_empty() {
        let mut page = page("t");
        page.bars(&Bars { title: "t".to_owned(), parts: &["x"], mark: None, bars: Vec::new() });
        let bars = vec![bar("a", &[0.0], None)];
        page.bars(&Bars { title: "t".to_owned(), parts: &["x"], mark: None, bars });
        let html = page.finish();
        assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
    }
}
