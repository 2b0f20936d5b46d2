//! The text that a page shows, in blocks of lines.
//!
//! White space is as a browser lays it out: runs of it are one space, `<br>` ends a line, blocks
//! are lines of their own, and `<pre>` keeps its lines. A no-break space counts as a space. A line
//! end between two characters of a script that is written without spaces counts for nothing, so a
//! Chinese text does not depend on where its source is broken.

use super::entities;
use super::html::{Element, Token, Tokens};

/// The text of a page.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// The blocks, with a separator between each and the next.
    pub(super) text: String,
    pub(super) blocks: Vec<Block>,
}

/// A run of text that is laid out as one: a paragraph, an item, a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Bytes of it that stand in links, with the spaces before them.
    pub(super) linked: usize,
    pub(super) kind: Kind,
    pub(super) zone: Zone,
}

/// What a block stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Heading,
    /// An element that is there for text: a paragraph, an item.
    Prose,
    /// A cell of a table, which may be one of data or of the layout.
    Cell,
    Other,
}

/// What a block is part of, by the page's own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    Unsaid,
    Content,
    Surroundings,
}

/// What stands between the text so far and the text to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    /// Spaces.
    Space,
    /// White space with a line end in the source.
    Fold,
    /// A line end in the text.
    Line,
}

struct Writer {
    text: String,
    blocks: Vec<Block>,
    gap: Gap,
    /// The block that is being written, if it has any text.
    block: Option<Block>,
    /// What is to stand before the next block.
    separator: char,
    pre: usize,
    links: usize,
    headings: usize,
    /// What the last tag of a block began, but for headings.
    kind: Kind,
    surrounding: usize,
    header: usize,
    content: usize,
}

/// The text of a page.
pub(super) fn of(html: &str) -> Text {
    let mut writer = Writer::new(html.len());
    for token in Tokens::of(html) {
        match token {
            Token::Text(text) => writer.write(text),
            Token::Open(element) => writer.tag(element, true),
            Token::Close(element) => writer.tag(element, false),
        }
    }
    writer.end_block('\n');
    Text { text: writer.text, blocks: writer.blocks }
}

/// A plain text: its lines, with line feeds and without spaces at their ends.
pub(super) fn plain(text: &str) -> String {
    let mut lines = text.lines().map(str::trim_end);
    let first = lines.next().unwrap_or_default().to_owned();
    let text = lines.fold(first, |mut text, line| {
        text.push('\n');
        text.push_str(line);
        text
    });
    text.trim_matches('\n').to_owned()
}

impl Writer {
    fn new(size: usize) -> Self {
        Self {
            text: String::with_capacity(size / 4),
            blocks: Vec::new(),
            gap: Gap::None,
            block: None,
            separator: '\n',
            pre: 0,
            links: 0,
            headings: 0,
            kind: Kind::Other,
            surrounding: 0,
            header: 0,
            content: 0,
        }
    }

    fn tag(&mut self, element: Element, open: bool) {
        let step = |depth: &mut usize| {
            *depth = if open { *depth + 1 } else { depth.saturating_sub(1) };
        };
        match element {
            Element::Inline | Element::Raw | Element::Hidden => return,
            Element::Break => {
                match self.pre {
                    0 => self.gap = Gap::Line,
                    _ => self.keep('\n'),
                }
                return;
            }
            // Links do not nest: one that is not ended ends with the next.
            Element::Link => {
                self.links = usize::from(open);
                return;
            }
            Element::Cell => self.end_block(' '),
            _ => self.end_block('\n'),
        }
        self.kind = match element {
            Element::Prose | Element::Pre if open => Kind::Prose,
            Element::Cell if open => Kind::Cell,
            _ => Kind::Other,
        };
        match element {
            Element::Pre => step(&mut self.pre),
            Element::Heading => step(&mut self.headings),
            Element::Surrounding => step(&mut self.surrounding),
            Element::Header => step(&mut self.header),
            Element::Content => step(&mut self.content),
            _ => {}
        }
    }

    fn zone(&self) -> Zone {
        match (self.surrounding, self.content, self.header) {
            (0, 0, 0) => Zone::Unsaid,
            (0, 1.., _) => Zone::Content,
            _ => Zone::Surroundings,
        }
    }

    /// Ends the block. What comes next is divided from it by this separator, or a stronger one.
    fn end_block(&mut self, separator: char) {
        self.gap = Gap::None;
        let Some(mut block) = self.block.take() else {
            if separator == '\n' {
                self.separator = separator;
            }
            return;
        };
        let kept = self.text.get(block.start..).unwrap_or_default().trim_end().len();
        block.end = block.start + kept;
        self.text.truncate(block.end);
        self.separator = separator;
        if kept > 0 {
            self.blocks.push(block);
        }
    }

    fn write(&mut self, text: &str) {
        let mut rest = text;
        while let Some(&byte) = rest.as_bytes().first() {
            let taken = match byte {
                // A browser leaves them out.
                0 => 1,
                b'&' => self.reference(rest),
                b' ' | b'\t' | b'\n' | 0x0c | b'\r' => {
                    self.space(char::from(byte));
                    1
                }
                0xc2 if rest.starts_with('\u{a0}') => {
                    self.space(' ');
                    2
                }
                _ => {
                    let length = word(rest.as_bytes());
                    self.visible(rest.get(..length).unwrap_or_default());
                    length
                }
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    /// Writes what the reference stands for, or its `&`. Returns the bytes it took.
    fn reference(&mut self, text: &str) -> usize {
        let found = text.get(1..).and_then(entities::parse);
        let Some((characters, taken)) = found else {
            self.visible("&");
            return 1;
        };
        for c in [Some(characters.first), characters.second].into_iter().flatten() {
            match c {
                ' ' | '\t' | '\n' | '\x0c' | '\r' => self.space(c),
                '\u{a0}' => self.space(' '),
                _ => self.visible(c.encode_utf8(&mut [0; 4])),
            }
        }
        taken + 1
    }

    fn space(&mut self, c: char) {
        if self.pre > 0 {
            return self.keep(c);
        }
        let gap = if c == '\n' || c == '\r' { Gap::Fold } else { Gap::Space };
        self.gap = self.gap.max(gap);
    }

    /// White space that is shown as it is.
    fn keep(&mut self, c: char) {
        // A text begins with none, and a carriage return is one half of a line end.
        let Some(block) = self.block.filter(|_| c != '\r') else { return };
        if c == '\n' {
            let kept = self.text.trim_end_matches([' ', '\t']).len().max(block.start);
            self.text.truncate(kept);
        }
        self.text.push(c);
    }

    fn visible(&mut self, text: &str) {
        if self.block.is_none() {
            self.begin_block();
        }
        let from = self.text.len();
        if self.gap != Gap::None && self.block.is_some_and(|block| block.start < from) {
            self.close_gap(text);
        }
        self.gap = Gap::None;
        self.text.push_str(text);
        if self.links > 0
            && let Some(block) = &mut self.block
        {
            block.linked += self.text.len() - from;
        }
    }

    fn begin_block(&mut self) {
        if !self.text.is_empty() {
            self.text.push(self.separator);
        }
        let start = self.text.len();
        let kind = if self.headings > 0 { Kind::Heading } else { self.kind };
        self.block = Some(Block { start, end: start, linked: 0, kind, zone: self.zone() });
    }

    fn close_gap(&mut self, next: &str) {
        let unspaced = |c: Option<char>| c.is_some_and(is_unspaced);
        match self.gap {
            Gap::None => {}
            Gap::Line => self.text.push('\n'),
            Gap::Fold
                if unspaced(next.chars().next()) && unspaced(self.text.chars().next_back()) => {}
            Gap::Space | Gap::Fold => self.text.push(' '),
        }
    }
}

/// Bytes up to what is not to be copied as it is.
fn word(bytes: &[u8]) -> usize {
    let is_end = |b: &u8| matches!(b, 0 | b' ' | b'\n' | b'\t' | 0x0c | b'\r' | b'&' | 0xc2);
    // The first byte may be one that begins a character as well as a no-break space.
    let rest = bytes.get(1..).unwrap_or_default();
    1 + rest.iter().position(is_end).unwrap_or(rest.len())
}

/// Whether a character is of Chinese or Japanese, with their punctuation and wide forms.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{312f}' | '\u{31a0}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff01}'..='\u{ff60}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        of(html).text
    }

    #[test]
    fn white_space_is_as_a_browser_lays_it_out() {
        for (html, expected) in [
            ("<p> a \r\n\t b </p>", "a b"),
            ("<p>a</p>\n<p>b<div>c</div>d", "a\nb\nc\nd"),
            ("a<br>b<br/><br> c", "a\nb\nc"),
            ("a<b>b</b> <i> c</i>", "ab c"),
            ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</table>d", "a b\nc\nd"),
            ("<div></div><p> </p>", ""),
            ("a&nbsp;\u{a0} &#160;b", "a b"),
            ("a\u{c2}\u{2a0}b", "a\u{c2}\u{2a0}b"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn pre_keeps_lines_but_not_their_trailing_spaces() {
        let html = "x<pre>\n  a  \r\n\n    b &lt;<br>c\n\n</pre> y  z";
        assert_eq!(text(html), "x\na\n\n    b <\nc\ny z");
    }

    #[test]
    fn references_are_read() {
        assert_eq!(
            text("AT&amp;T &lt;b&gt; &copy &#20013;&#x6587; a & b &x;"),
            "AT&T <b> © 中文 a & b &x;"
        );
    }

    #[test]
    fn chinese_does_not_depend_on_where_its_source_is_broken() {
        assert_eq!(
            text("<p>中文\n  排版，\n不加空格 的\nword\n中"),
            "中文排版，不加空格 的 word 中"
        );
    }

    #[test]
    fn zeros_are_left_out() {
        assert_eq!(text("a\0b \0c<p>\0</p>d\0"), "ab c\nd");
    }

    #[test]
    fn blocks_know_their_links_and_zones() {
        let page = of("<nav><a href=x>one</a> | <a href=x>two of them</a></nav>\
             <main><h1>h</h1>t <a href=x>l</a><li>item</li><td>cell</main>");
        let told: Vec<_> = page
            .blocks
            .iter()
            .map(|b| (&page.text[b.start..b.end], b.linked, b.kind, b.zone))
            .collect();
        assert_eq!(
            told,
            [
                ("one | two of them", 15, Kind::Other, Zone::Surroundings),
                ("h", 0, Kind::Heading, Zone::Content),
                ("t l", 2, Kind::Other, Zone::Content),
                ("item", 0, Kind::Prose, Zone::Content),
                ("cell", 0, Kind::Cell, Zone::Content),
            ]
        );
    }
}
