//! A scanner of HTML: tags and text, in one pass, tolerating the errors that pages have.
//!
//! It finds the same tags and text as a browser, but builds no tree. The caller tracks nesting as
//! far as it matters.

use memchr::{memchr, memchr3, memmem};

use super::attributes;

/// A piece of a page.
#[derive(Debug)]
pub(crate) enum Token<'a> {
    /// Text as it is written, with its character references.
    Text(&'a str),
    Tag(Tag<'a>),
}

/// A start or end tag.
#[derive(Debug)]
pub(crate) struct Tag<'a> {
    pub(crate) close: bool,
    pub(crate) element: Element,
    pub(crate) name: Name,
    /// Whether the name has a hyphen, as those have that pages define themselves.
    pub(crate) custom: bool,
    /// What the tag holds after its name, as it is written.
    pub(crate) attributes: &'a [u8],
    /// The content of an element of the kind [`Raw`](Element::Raw).
    pub(crate) raw: &'a str,
}

/// What an element means for the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    /// Part of a line, or unknown.
    Inline,
    /// Begins and ends a block of lines.
    Block,
    /// A cell of a table.
    Cell,
    /// Ends a line.
    Break,
    /// Text whose line ends and spaces are kept.
    Pre,
    /// `<a>` with an `href`.
    Link,
    /// An element whose content is not shown and contains no tags except its own end tag.
    Raw,
    /// An element whose content is not shown; such elements may nest.
    Hidden,
}

impl Element {
    fn of(name: &[u8]) -> Self {
        match name {
            b"script" | b"style" | b"title" | b"noscript" | b"textarea" | b"iframe"
            | b"noframes" | b"noembed" => Self::Raw,
            b"template" | b"svg" | b"select" | b"datalist" | b"object" | b"audio" | b"video"
            | b"canvas" => Self::Hidden,
            b"a" => Self::Link,
            b"br" => Self::Break,
            b"td" | b"th" => Self::Cell,
            b"pre" | b"listing" | b"xmp" | b"plaintext" => Self::Pre,
            b"p" | b"li" | b"dt" | b"dd" | b"blockquote" | b"caption" | b"figcaption" | b"h1"
            | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"nav" | b"aside" | b"footer" | b"header"
            | b"main" | b"article" | b"div" | b"tr" | b"ul" | b"ol" | b"table" | b"section"
            | b"dl" | b"hr" | b"body" | b"html" | b"head" | b"form" | b"address" | b"center"
            | b"details" | b"summary" | b"dialog" | b"dir" | b"fieldset" | b"legend"
            | b"figure" | b"frameset" | b"hgroup" | b"menu" | b"search" | b"tbody" | b"thead"
            | b"tfoot" | b"option" | b"optgroup" => Self::Block,
            _ => Self::Inline,
        }
    }
}

/// Bytes of the longest name in [`Element::of`].
const MAX_NAME: usize = 10;

/// The name of a tag in lower case. It is empty if the name is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name {
    bytes: [u8; MAX_NAME],
    length: usize,
}

impl Name {
    fn of(written: &[u8]) -> Self {
        let mut name = Self { bytes: [0; MAX_NAME], length: 0 };
        if let Some(bytes) = name.bytes.get_mut(..written.len()) {
            bytes.copy_from_slice(written);
            bytes.make_ascii_lowercase();
            name.length = written.len();
        }
        name
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// The tokens of a page.
pub(crate) struct Tokens<'a> {
    html: &'a str,
    at: usize,
    /// Whether the page is XML, where `<script/>` has no content. In HTML it is a start tag.
    xml: bool,
    /// Names of hidden elements without an end tag. Searching for the end tag of each of them again
    /// would take quadratic time.
    unended: Vec<[u8; MAX_NAME]>,
    /// Whether the content of `<noscript>` counts as markup.
    noscript: bool,
    /// Where the `<noscript>` ends that the tokens are in. Comments and raw text end there, too.
    noscript_end: Option<usize>,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(html: &'a str) -> Self {
        let xml = html.trim_start_matches('\u{feff}').trim_start().starts_with("<?xml");
        Self { html, at: 0, xml, unended: Vec::new(), noscript: false, noscript_end: None }
    }

    /// The tokens of a page as a browser without scripts shows it.
    pub(crate) fn with_noscript(html: &'a str) -> Self {
        Self { noscript: true, ..Self::new(html) }
    }

    /// Returns where the next token begins.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Goes on at this place, which must not be before the next token.
    pub(crate) fn skip_to(&mut self, at: usize) {
        self.at = at.min(self.html.len());
    }

    fn rest(&self) -> &'a [u8] {
        self.html.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Returns what a comment or raw text can take up.
    fn inner(&self) -> &'a [u8] {
        let end = self.noscript_end.filter(|&end| end >= self.at).unwrap_or(self.html.len());
        self.html.as_bytes().get(self.at..end).unwrap_or_default()
    }

    /// Skips everything up to and including `end`, or to the end of what can be skipped.
    fn skip_past(&mut self, end: &[u8]) {
        let inner = self.inner();
        self.at += memmem::find(inner, end).map_or(inner.len(), |at| at + end.len());
    }

    /// Notes where a `<noscript>` ends that begins here.
    fn enter_noscript(&mut self) {
        let is_known = self.noscript_end.is_some_and(|end| end >= self.at);
        if !is_known {
            let end = memmem::find(self.rest(), b"</noscript");
            self.noscript_end = Some(end.map_or(self.html.len(), |end| self.at + end));
        }
    }

    /// Returns the text up to the next tag. A `<` that begins no tag is text.
    fn text(&mut self) -> Token<'a> {
        let start = self.at;
        let rest = self.rest();
        let mut from = 1;
        let end = loop {
            let Some(at) = rest.get(from..).and_then(|rest| memchr(b'<', rest)) else {
                break rest.len();
            };
            if is_markup(rest.get(from + at..).unwrap_or_default()) {
                break from + at;
            }
            from += at + 1;
        };
        self.at = start + end;
        Token::Text(self.html.get(start..self.at).unwrap_or_default())
    }

    fn tag(&mut self) -> Token<'a> {
        let close = self.rest().get(1) == Some(&b'/');
        self.at += 1 + usize::from(close);
        let is_end = |b: &u8| b.is_ascii_whitespace() || *b == b'/' || *b == b'>';
        let rest = self.rest();
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        let written = rest.get(..length).unwrap_or_default();
        let name = Name::of(written);
        self.at += length;
        let attributes = self.attributes();
        let empty = attributes.ends_with(b"/");
        let element = match Element::of(name.as_bytes()) {
            Element::Link if !close && !has_href(attributes) => Element::Inline,
            Element::Raw if self.noscript && name.as_bytes() == b"noscript" => Element::Block,
            Element::Hidden if !close && is_shadow_root(&name, attributes) => Element::Block,
            element => element,
        };
        let start = self.at;
        match element {
            _ if close => {}
            Element::Block if name.as_bytes() == b"noscript" => self.enter_noscript(),
            Element::Raw | Element::Hidden if empty && self.xml => {}
            Element::Raw => self.skip_raw(&name),
            Element::Hidden => self.skip_hidden(&name),
            _ => {}
        }
        let raw = match element {
            Element::Raw => self.html.get(start..self.at).unwrap_or_default(),
            _ => "",
        };
        let custom = memchr(b'-', written).is_some();
        Token::Tag(Tag { close, element, name, custom, attributes, raw })
    }

    /// Skips the `>` that ends a tag, which may also occur in its values. Returns what is before
    /// it.
    fn attributes(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let mut from = 0;
        let end = loop {
            let Some(at) = memchr3(b'>', b'"', b'\'', rest.get(from..).unwrap_or_default()) else {
                self.at = self.html.len();
                return rest;
            };
            let at = from + at;
            let before = rest.get(..at).unwrap_or_default().trim_ascii_end();
            let quote = rest.get(at).copied().unwrap_or_default();
            from = at + 1;
            if quote == b'>' {
                break at;
            }
            // Except after `=`, a quote is part of a name.
            if before.ends_with(b"=") {
                let value = rest.get(from..).unwrap_or_default();
                // A value without an end would take up the rest of the page, so its quote is
                // ignored.
                from += memchr(quote, value).map_or(0, |end| end + 1);
            }
        };
        self.at += end + 1;
        rest.get(..end).unwrap_or_default()
    }

    /// Moves to the end tag of this name, or to the end of what can be skipped.
    fn skip_raw(&mut self, name: &Name) {
        let rest = self.inner();
        let mut from = 0;
        while let Some(at) = rest.get(from..).and_then(|rest| memmem::find(rest, b"</")) {
            from += at;
            if is_named(rest.get(from + 2..).unwrap_or_default(), name) {
                self.at += from;
                return;
            }
            from += 2;
        }
        self.at += rest.len();
    }

    /// Moves to the end tag of a hidden element, if it has one.
    fn skip_hidden(&mut self, name: &Name) {
        if self.unended.contains(&name.bytes) {
            return;
        }
        let rest = self.rest();
        let (mut from, mut depth) = (0, 1);
        while let Some(at) = rest.get(from..).and_then(|rest| memchr(b'<', rest)) {
            from += at + 1;
            let tag = rest.get(from..).unwrap_or_default();
            match tag.strip_prefix(b"/") {
                Some(end) if is_named(end, name) => depth -= 1,
                None if is_named(tag, name) => depth += 1,
                _ => {}
            }
            if depth == 0 {
                self.at += from - 1;
                return;
            }
        }
        self.unended.push(name.bytes);
    }
}

/// Returns whether an `<a>` has an address. One without is the target of other links, and pages
/// that mix HTML and XML never end it.
fn has_href(attributes: &[u8]) -> bool {
    attributes::mention(attributes, b"href")
}

/// Returns whether a template is a shadow root, whose content a page shows. Until 2023, browsers
/// called its attribute `shadowroot`.
fn is_shadow_root(name: &Name, attributes: &[u8]) -> bool {
    let is_mode = |name: &[u8]| {
        name.eq_ignore_ascii_case(b"shadowrootmode") || name.eq_ignore_ascii_case(b"shadowroot")
    };
    name.as_bytes() == b"template" && attributes::pairs(attributes).any(|(name, _)| is_mode(name))
}

/// Returns whether this begins a tag, a comment or anything else that is not text.
fn is_markup(rest: &[u8]) -> bool {
    match rest {
        [b'<', b'/', next, ..] => *next != b'<',
        [b'<', next, ..] => next.is_ascii_alphabetic() || matches!(next, b'!' | b'?'),
        _ => false,
    }
}

/// Returns whether a tag has exactly this name.
fn is_named(tag: &[u8], name: &Name) -> bool {
    let name = name.as_bytes();
    let ends = |b: &u8| b.is_ascii_whitespace() || *b == b'/' || *b == b'>';
    tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        && tag.get(name.len()).is_some_and(ends)
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                return None;
            }
            if !is_markup(rest) {
                return Some(self.text());
            }
            match rest {
                [b'<', b'!', b'-', b'-', ..] => {
                    // `<!-->` and `<!--->` are complete comments: the dashes serve as both ends.
                    let short = rest.starts_with(b"<!-->") || rest.starts_with(b"<!--->");
                    self.at += if short { 2 } else { 4 };
                    self.skip_past(if short { b">" } else { b"-->" });
                }
                [b'<', b'/', name, ..] if !name.is_ascii_alphabetic() => self.skip_past(b">"),
                [b'<', b'!' | b'?', ..] => self.skip_past(b">"),
                _ => return Some(self.tag()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text, with `[` and `]` for the tags of paragraphs and links.
    fn scanned(html: &str) -> String {
        Tokens::new(html).fold(String::new(), |mut out, token| {
            match token {
                Token::Text(text) => out += text,
                Token::Tag(tag) if tag.name.as_bytes() == b"p" || tag.element == Element::Link => {
                    out.push(if tag.close { ']' } else { '[' });
                }
                Token::Tag(_) => {}
            }
            out
        })
    }

    #[test]
    fn tags_end_where_a_browser_ends_them() {
        for (html, text) in [
            ("<P\nclass=x>a</P >", "[a]"),
            ("<a href=\"a>b\" title='>'>x</a>", "[x]"),
            ("<a href=\"a\"\"b>x</a>", "[x]"),
            ("<a href title=it's>x</a> it's", "[x] it's"),
            ("<a href title=\"never ended>x</a>", "[x]"),
            ("a <b>b</b> <unknown-tag>c", "a b c"),
            ("1 < 2 <3 << <p>4", "1 < 2 <3 << [4"),
            ("a</>b</ >c", "abc"),
            ("<p", "["),
            ("x <", "x <"),
        ] {
            assert_eq!(scanned(html), text, "{html}");
        }
    }

    #[test]
    fn comments_scripts_and_hidden_elements_are_skipped() {
        for (html, text) in [
            ("<!doctype html><?xml version='1.0'?>x", "x"),
            ("a<!-- <p>b --c> -->d<!-->e<!--->f", "adef"),
            ("<script>if (a<b) '</p>' </SCRIPT >x", "x"),
            ("<style>p > a {}</style><title>t</title>x", "x"),
            ("<svg><g><svg></svg><text>t</text></g></svg>x", "x"),
            ("<svg><p>never ended</p><svg>", "[never ended]"),
            ("<script>never ended <p>", ""),
            ("<?xml version='1.0'?><script src='a'/>x", "x"),
            ("<noscript>turn it on</noscript><scripts>x", "x"),
            ("<template><p>t</p></template>x", "x"),
            ("<template data-x='no-shadowrootmode' shadowrootmodes><p>t</p></template>x", "x"),
            (
                "<a-b><template shadowrootmode=open><style>p{}</style><p>t</p></template></a-b>x",
                "[t]x",
            ),
            ("<template ShadowRoot=open><template>t</template><p>u", "[u"),
        ] {
            assert_eq!(scanned(html), text, "{html}");
        }
    }
}
