//! Reports as one HTML file: text, tables and charts, on light and dark pages alike; no script,
//! nothing from elsewhere, and the same bytes for the same figures. It is well-formed XML too.

use crate::output::is_number;
use crate::svg::{self, Figure};

const STYLE: &str = "\
:root{color-scheme:light dark}
body{font-family:sans-serif;font-size:14px;line-height:1.45;margin:24px;color:#222;background:#fff}
h1{font-size:20px}h2{font-size:16px;margin-top:28px}figure{margin:16px 0;overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:3px 10px;border-bottom:1px solid #ddd;text-align:left}.n{text-align:right}
@media(prefers-color-scheme:dark){body{color:#eee;background:#16181c}th,td{border-color:#383b42}}";

/// A page that is being written. Whatever text it is given is escaped.
pub(crate) struct Page(String);

impl Page {
    pub(crate) fn new(title: &str) -> Self {
        let title = svg::escaped(title);
        Self(format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width\"/>\n<title>{title}</title>\n\
             <style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        ))
    }

    pub(crate) fn heading(&mut self, text: &str) {
        self.element("h2", text);
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.element("p", text);
    }

    pub(crate) fn figure(&mut self, figure: &Figure) {
        self.0 += "<figure>\n";
        self.0 += &figure.render();
        self.0 += "</figure>\n";
    }

    /// A table; numbers stand to the right.
    pub(crate) fn table<const N: usize>(&mut self, header: [&str; N], lines: &[[String; N]]) {
        self.0 += "<table>\n<thead>\n<tr>";
        for (column, title) in header.iter().enumerate() {
            let numbers = lines.first().is_some_and(|line| is_number(&line[column]));
            self.cell("th", numbers, title);
        }
        self.0 += "</tr>\n</thead>\n<tbody>\n";
        for line in lines {
            self.0 += "<tr>";
            line.iter().for_each(|cell| self.cell("td", is_number(cell), cell));
            self.0 += "</tr>\n";
        }
        self.0 += "</tbody>\n</table>\n";
    }

    pub(crate) fn finish(self) -> String {
        self.0 + "</body>\n</html>\n"
    }

    fn cell(&mut self, name: &str, is_number: bool, text: &str) {
        let class = if is_number { " class=\"n\"" } else { "" };
        self.0 += &format!("<{name}{class}>{}</{name}>", svg::escaped(text));
    }

    fn element(&mut self, name: &str, text: &str) {
        self.0 += &format!("<{name}>{}</{name}>\n", svg::escaped(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_wherever_it_stands() {
        let mut page = Page::new("a < b");
        page.heading("<h>");
        page.paragraph("<p>");
        page.table(["<c>"], &[["<v>".to_owned()], ["1.5".to_owned()]]);
        let html = page.finish();
        assert_eq!(html.matches("a &lt; b").count(), 2, "{html}");
        for text in ["<h2>&lt;h&gt;</h2>", "<p>&lt;p&gt;</p>", ">&lt;c&gt;</th>", ">&lt;v&gt;</td>"]
        {
            assert!(html.contains(text), "{text}: {html}");
        }
        assert!(html.contains("<td class=\"n\">1.5</td>"), "{html}");
    }
}
