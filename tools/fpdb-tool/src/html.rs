//! Reports as one HTML file: text, tables and charts, in the reader's light or dark theme.
//!
//! A report has no script and loads nothing, and its policy forbids both. It is well-formed XML
//! too.

use crate::output::{is_number, printable};
use crate::provenance::Provenance;
use crate::svg;

const STYLE: &str = "\
:root{color-scheme:light dark}
body{font-family:sans-serif;font-size:14px;line-height:1.45;margin:24px;color:#222;background:#fff}
h1{font-size:20px}h2{font-size:16px;margin-top:28px}figure{margin:16px 0;overflow-x:auto}
p{max-width:110ch}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:3px 10px;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
th{font-weight:bold}tbody th{font-weight:normal}.n{text-align:right;white-space:nowrap}
@media(prefers-color-scheme:dark){body{color:#eee;background:#16181c}th,td{border-color:#383b42}}";

/// Styles are the only thing that a report needs, and they are in the file itself.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Replaces a missing value.
const NO_VALUE: &str = "-";

/// A page under construction. Its methods escape the text that they are given.
pub(crate) struct Page(String);

impl Page {
    pub(crate) fn new(title: &str) -> Self {
        let title = svg::escaped(title);
        Self(format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width\"/>\n<title>{title}</title>\n\
             <style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        ))
    }

    /// Appends what made the report, when, and from what.
    pub(crate) fn provenance(&mut self, provenance: &Provenance) {
        self.paragraph(&printable(&provenance.sentence()));
    }

    pub(crate) fn heading(&mut self, text: &str) {
        self.element("h2", text);
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.element("p", text);
    }

    /// Appends a chart, which is an SVG document.
    pub(crate) fn chart(&mut self, svg: &str) {
        self.0 += "<figure>\n";
        self.0 += svg;
        self.0 += "</figure>\n";
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

    pub(crate) fn finish(self) -> String {
        self.0 + "</body>\n</html>\n"
    }

    fn cell(&mut self, name: &str, right: bool, text: &str) {
        let class = if right { " class=\"n\"" } else { "" };
        self.0 += &format!("<{name}{class}>{}</{name}>", svg::escaped(text));
    }

    fn element(&mut self, name: &str, text: &str) {
        self.0 += &format!("<{name}>{}</{name}>\n", svg::escaped(text));
    }
}

/// Whether all values of a column are numbers. A column without values counts as one of numbers.
fn is_numeric(lines: &[impl AsRef<[String]>], column: usize) -> bool {
    let cells = lines.iter().filter_map(|line| line.as_ref().get(column));
    let mut values = cells.filter(|cell| *cell != NO_VALUE);
    values.all(|cell| is_number(cell.strip_prefix('-').unwrap_or(cell)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_text_is_escaped() {
        let mut page = Page::new("a < b");
        page.heading("<h>");
        page.paragraph("<p>");
        page.facts(&[("<f>", "<w>".to_owned())]);
        page.table(&["<c>"], &[["<v>".to_owned()]]);
        let html = page.finish();
        assert_eq!(html.matches("a &lt; b").count(), 2, "{html}");
        for text in [
            "<h2>&lt;h&gt;</h2>",
            "<p>&lt;p&gt;</p>",
            "<th>&lt;f&gt;</th><td>&lt;w&gt;</td>",
            "<th>&lt;c&gt;</th>",
            "<td>&lt;v&gt;</td>",
        ] {
            assert!(html.contains(text), "{text}: {html}");
        }
    }

    #[test]
    fn columns_of_numbers_are_aligned_to_the_right() {
        let line = |cells: [&str; 4]| cells.map(str::to_owned);
        let mut page = Page::new("t");
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
}
