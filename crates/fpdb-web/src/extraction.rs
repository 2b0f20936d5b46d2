//! Extractions: named, versioned ways from HTML to text.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};
use crate::{content, html};

/// A way from the HTML of a page to its text, with a name and a version.
///
/// Fingerprints can be compared only if their texts were made in the same way, so an extraction
/// never changes: a version gives the same text for the same page in every release. A better rule
/// gets a new version.
///
/// | name | what it keeps |
/// | --- | --- |
/// | `main/1` | the main content: without menus, headers, footers and other parts that surround it |
/// | `strip/1` | everything that the page shows |
///
/// Both lay out the text in the same way: one line per paragraph, item, heading or row of a table;
/// no white space at the ends of lines; runs of white space as one space, except in `<pre>`. Both
/// treat plain text in the same way: they keep its lines.
///
/// # Examples
///
/// ```
/// use fpdb_web::Extraction;
///
/// let html = "<nav><a href='/'>Home</a></nav><main><p>All about cats.</main>";
/// assert_eq!(Extraction::named("main/1")?.text(html), "All about cats.");
/// assert_eq!(Extraction::named("strip/1")?.text(html), "Home\nAll about cats.");
/// # Ok::<(), fpdb_web::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Extraction(Rule);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Rule {
    #[default]
    Main1,
    Strip1,
}

impl Extraction {
    /// `main/1`: the main content of a page. This is the default.
    pub const MAIN_1: Self = Self(Rule::Main1);
    /// `strip/1`: everything that a page shows.
    pub const STRIP_1: Self = Self(Rule::Strip1);

    /// All extractions.
    const ALL: [Self; 2] = [Self::MAIN_1, Self::STRIP_1];

    /// Returns the extraction of this name. The names without a version, `main` and `strip`, are
    /// aliases of the newest versions. An application that stores texts or fingerprints should
    /// store the full [`name`](Self::name), because an alias may mean another version in a later
    /// release.
    ///
    /// # Errors
    ///
    /// An error of kind [`UnknownExtraction`](ErrorKind::UnknownExtraction), whose message lists
    /// the names that exist.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_web::Extraction;
    ///
    /// assert_eq!(Extraction::named("main/1")?, Extraction::MAIN_1);
    /// assert_eq!(Extraction::named("main")?.name(), "main/1");
    /// assert!(Extraction::named("main/999").is_err());
    /// assert!(Extraction::all().map(Extraction::name).eq(["main/1", "strip/1"]));
    /// # Ok::<(), fpdb_web::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<Self> {
        let found = match name {
            "main" => Some(Self::MAIN_1),
            "strip" => Some(Self::STRIP_1),
            _ => Self::all().find(|extraction| extraction.name() == name),
        };
        found.ok_or_else(|| {
            let names = Self::all().map(Self::name).collect::<Vec<_>>().join(", ");
            let message = format!("no extraction {name:?}, only {names}");
            Error::new(ErrorKind::UnknownExtraction, message)
        })
    }

    /// Returns all extractions.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter()
    }

    /// Returns the name with the version.
    pub fn name(self) -> &'static str {
        match self.0 {
            Rule::Main1 => "main/1",
            Rule::Strip1 => "strip/1",
        }
    }

    /// Returns the text of an HTML page that is already decoded to characters.
    /// [`Extractor`](crate::Extractor) also decodes bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_web::Extraction;
    /// assert_eq!(Extraction::MAIN_1.text("<p>Caf&eacute;<br>closed"), "Café\nclosed");
    /// ```
    pub fn text(self, html: &str) -> String {
        match self.0 {
            Rule::Main1 => content::main_content(html),
            Rule::Strip1 => html::all_text(html),
        }
    }
}

impl fmt::Display for Extraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
