//! A report: what it says, and how it is written as HTML.

use std::fmt::Write;
use std::ops::Range;

use super::histogram;
use super::measured::{Measure, Measured};
use super::numbers::grouped;
use super::texts::{escaped, excerpt_of_passage, marked};

/// Clusters, and passages of a text, that a report lists.
pub(super) const CLUSTERS: usize = 20;
const PASSAGES: usize = 5;

/// What a deduplication found, for a person who looks at it.
///
/// [`document`](Self::document) makes one file of HTML that loads nothing from elsewhere. No text
/// becomes markup. Its size does not grow with the number of rows.
///
/// # Examples
///
/// ```
/// use fpdb_dedup::html::{Measure, Measured, Pair, Report};
///
/// let mut measured = Measured::new(Measure::Similarity, 0.8);
/// measured.add(0.85);
/// let pair = Pair {
///     row: "row 1".into(),
///     of: "row 0".into(),
///     measured: "similarity 0.85".into(),
///     text: Some("One & two.".into()),
///     other: Some("One & three.".into()),
/// };
/// let report = Report {
///     title: "May".into(),
///     figures: vec![("rows".into(), "2".into())],
///     rows: 2,
///     kept: 1,
///     measured: Some(measured),
///     pairs: vec![pair],
///     ..Report::default()
/// };
/// assert!(report.document().contains("One &amp; <b>two</b>."));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The headline.
    pub title: String,
    /// Names and values, in this order.
    pub figures: Vec<(String, String)>,
    /// The number of rows, and how many of them are kept.
    pub rows: u64,
    /// See [`rows`](Self::rows).
    pub kept: u64,
    /// How similar the dropped rows are to what they are like, if that was measured.
    pub measured: Option<Measured>,
    /// What rows are like, and how many are like each. The 20 largest are shown.
    pub clusters: Vec<(String, u64)>,
    /// Dropped rows.
    pub pairs: Vec<Pair>,
    /// Rows of which parts stand elsewhere, too.
    pub repeated: Vec<Repeated>,
}

/// A dropped row, and what it is like.
///
/// See the example of [`Report`].
#[derive(Debug, Clone, Default)]
pub struct Pair {
    /// The name of the row.
    pub row: String,
    /// The name of what it is like.
    pub of: String,
    /// How similar they are, in words.
    pub measured: String,
    /// A part of its text, if that is known.
    pub text: Option<String>,
    /// The same part of the other text. Words that only one of the two has are marked, unless one
    /// has more than 2,000 words.
    pub other: Option<String>,
}

/// A row of which parts stand elsewhere, too.
///
/// # Examples
///
/// ```
/// use fpdb_dedup::html::{Repeated, Report};
///
/// let text = "Home | About\nOnce upon a time".to_owned();
/// let repeated = Repeated { row: "row 1".into(), text, parts: vec![(0..12, "in row 0".into())] };
/// let report = Report { repeated: vec![repeated], ..Report::default() };
/// assert!(report.document().contains("<mark>Home | About</mark>\nOnce upon a time"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Repeated {
    /// The name of the row.
    pub row: String,
    /// Its text.
    pub text: String,
    /// The bytes of each part, in ascending order, and where it stands, too, in words. Of parts
    /// that overlap, the first says where.
    pub parts: Vec<(Range<usize>, String)>,
}

impl Report {
    /// Returns the report as a file of HTML.
    ///
    /// See the example of [`Report`].
    #[must_use]
    pub fn document(&self) -> String {
        let title = escaped(&self.title);
        let parts = [
            format!("<h1>{title}</h1>"),
            self.table(),
            self.histogram_section(),
            self.thresholds(),
            self.clusters(),
            self.pairs(),
            self.repeated(),
        ];
        let style = include_str!("style.css");
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{}\n</main>\n</body>\n</html>\n",
            parts
                .iter()
                .filter(|part| !part.is_empty())
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join("\n")
        )
    }

    /// Returns the figures, the histogram and the pairs as a part of another document, such as a
    /// notebook.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_dedup::html::Report;
    /// let report = Report { figures: vec![("rows".into(), "2".into())], ..Report::default() };
    /// assert!(report.summary().starts_with("<table><tr><td>rows</td>"));
    /// ```
    #[must_use]
    pub fn summary(&self) -> String {
        let mut summary = self.table();
        summary.extend(self.measured.as_ref().map(histogram::image));
        if !self.pairs.is_empty() {
            summary += "<table>";
            summary.extend(self.pairs.iter().map(Pair::table_row));
            summary += "</table>";
        }
        summary
    }

    fn table(&self) -> String {
        let mut table = String::from("<table>");
        for (name, value) in &self.figures {
            let (name, value) = (escaped(name), escaped(value));
            let _ = write!(table, "<tr><td>{name}</td><td class=number>{value}</td></tr>");
        }
        table + "</table>"
    }

    fn histogram_section(&self) -> String {
        let Some(measured) = self.measured.as_ref().filter(|it| it.count() > 0) else {
            return String::new();
        };
        let (title, what) = match measured.measure() {
            Measure::Similarity => (
                "Similarities of dropped rows",
                "The similarity of each dropped row to what it is like.",
            ),
            Measure::Share => {
                ("Shares of dropped rows", "How much of each dropped row stands in another one.")
            }
            Measure::Distance => (
                "Distances of dropped rows",
                "The distance of each dropped row from what it is like.",
            ),
        };
        let about = format!("{what} The dashed line is the threshold, {}.", measured.threshold());
        section(title, &about, &histogram::image(measured))
    }

    /// Lists how many rows stay at stricter thresholds.
    fn thresholds(&self) -> String {
        let Some(measured) = self.measured.as_ref().filter(|it| it.count() > 0) else {
            return String::new();
        };
        let (name, stricter, less) = match measured.measure() {
            Measure::Similarity => ("threshold", "higher", "less similar than"),
            Measure::Share => ("threshold", "higher", "contained to a lesser share than"),
            Measure::Distance => ("greatest distance", "lower", "farther than"),
        };
        let mut table = String::from("<table><tr>");
        for head in [name, "kept", "dropped", "share kept"] {
            let _ = write!(table, "<th class=number>{head}</th>");
        }
        table += "</tr>";
        for (threshold, back) in measured.returning() {
            let kept = self.kept + back;
            let dropped = self.rows.saturating_sub(kept);
            let share = 100.0 * kept as f64 / self.rows.max(1) as f64;
            table += "<tr>";
            for cell in
                [threshold.to_string(), grouped(kept), grouped(dropped), format!("{share:.1}%")]
            {
                let _ = write!(table, "<td class=number>{cell}</td>");
            }
            table += "</tr>";
        }
        table += "</table>";
        let about = format!(
            "How many rows would stay at a {stricter} threshold, if the dropped rows that are {less} that came back."
        );
        section("Rows by threshold", &about, &table)
    }

    fn clusters(&self) -> String {
        let mut largest: Vec<&(String, u64)> = self.clusters.iter().collect();
        largest.sort_by_key(|it| std::cmp::Reverse(it.1));
        largest.truncate(CLUSTERS);
        if largest.is_empty() {
            return String::new();
        }
        let mut table = String::from("<table><tr><th>kept</th><th class=number>dropped</th></tr>");
        for (of, count) in largest {
            let (of, count) = (name(of), grouped(*count));
            let _ = write!(table, "<tr><td>{of}</td><td class=number>{count}</td></tr>");
        }
        table += "</table>";
        let about =
            "Kept rows and documents of earlier runs, and how many dropped rows are like each.";
        section("Largest clusters", about, &table)
    }

    fn pairs(&self) -> String {
        if self.pairs.is_empty() {
            return String::new();
        }
        let (title, relation) = match self.measured.as_ref().map(Measured::measure) {
            Some(Measure::Share) => ("Pairs with the least shares", "stands in"),
            Some(Measure::Similarity | Measure::Distance) | None => {
                ("Least similar pairs", IS_LIKE)
            }
        };
        let mut pairs = String::new();
        for pair in &self.pairs {
            let (about, (a, b)) = (pair.about(relation), pair.marked());
            let _ = write!(
                pairs,
                "<div class=pair>{about}<div class=texts><p dir=\"auto\">{a}</p><p dir=\"auto\">{b}</p></div></div>"
            );
        }
        let about = format!(
            "Dropped rows on the left, and what each {relation}. Words that only one of the two parts has are marked."
        );
        section(title, &about, &pairs)
    }

    fn repeated(&self) -> String {
        if self.repeated.is_empty() {
            return String::new();
        }
        let rows: String = self.repeated.iter().map(Repeated::shown).collect();
        let about = "The rows of which the most stands elsewhere, too. This is marked.";
        section("Repeated text", about, &rows)
    }
}

impl Pair {
    fn about(&self, relation: &str) -> String {
        let Self { row, of, measured, .. } = self;
        format!("{} {relation} {}<br>{}", name(row), name(of), escaped(measured))
    }

    fn marked(&self) -> (String, String) {
        marked(self.text.as_deref(), self.other.as_deref())
    }

    /// Returns the pair as a row of a table.
    ///
    /// # Examples
    ///
    /// ```
    /// let pair = fpdb_dedup::html::Pair { row: "row 1".into(), of: "a & b".into(), ..Default::default() };
    /// assert!(pair.table_row().starts_with("<tr><td><bdi>row 1</bdi> is like <bdi>a &amp; b</bdi><br></td>"));
    /// ```
    #[must_use]
    pub fn table_row(&self) -> String {
        let (about, (a, b)) = (self.about(IS_LIKE), self.marked());
        let cell = |text| format!("<td style=\"text-align:left\">{text}</td>");
        format!("<tr><td>{about}</td>{}{}</tr>", cell(a), cell(b))
    }
}

impl Repeated {
    /// Returns the repeated parts, with a little of the text around each.
    fn shown(&self) -> String {
        let parts = self.apart();
        let mut shown = format!("<div class=pair>{}", name(&self.row));
        for (place, whereabouts) in parts.iter().take(PASSAGES) {
            let part = excerpt_of_passage(&self.text, place.clone());
            let whereabouts = name(whereabouts);
            let _ =
                write!(shown, "<p dir=\"auto\">{part}<br><small>also {whereabouts}</small></p>");
        }
        if let Some(more) = parts.len().checked_sub(PASSAGES + 1) {
            let _ = write!(shown, "<p>and {} more</p>", grouped(more as u64 + 1));
        }
        shown + "</div>"
    }

    /// Joins parts that overlap.
    fn apart(&self) -> Vec<(Range<usize>, &str)> {
        let mut apart: Vec<(Range<usize>, &str)> = Vec::new();
        for (place, whereabouts) in &self.parts {
            match apart.last_mut() {
                Some((last, _)) if place.start < last.end => last.end = last.end.max(place.end),
                _ => apart.push((place.clone(), whereabouts)),
            }
        }
        apart
    }
}

/// What a dropped row and another one are to each other.
const IS_LIKE: &str = "is like";

/// Returns a name, whose direction of writing does not change that of what follows.
fn name(name: &str) -> String {
    format!("<bdi>{}</bdi>", escaped(name))
}

fn section(title: &str, about: &str, content: &str) -> String {
    format!("<section><h2>{title}</h2><p class=about>{about}</p>{content}</section>")
}
