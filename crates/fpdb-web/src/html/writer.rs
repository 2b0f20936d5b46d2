//! Text in blocks of lines.
//!
//! White space is laid out as in a browser: a run of it is one space, `<br>` ends a line, each
//! block has its own lines, and `<pre>` keeps its lines. A no-break space counts as a space. A line
//! end between two characters of a script that is written without spaces is dropped, so a Chinese
//! text does not depend on where the lines of its source end.

use super::entities;

/// The text of a page.
#[derive(Debug, Default)]
pub(crate) struct Text {
    /// The text of the blocks, with a separator between each two.
    pub(crate) text: String,
    pub(crate) blocks: Vec<Block>,
}

/// A run of text that is laid out as a unit: a paragraph, an item, a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Bytes of it that are in links, with the spaces before them.
    pub(crate) linked: usize,
    /// The element that it is in.
    pub(crate) element: u32,
}

impl Block {
    /// Returns the bytes of its text.
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }
}

/// The white space between the text so far and the text to come.
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

/// Writes the text of a page. The caller tells it where blocks end and what the text is in.
pub(crate) struct Writer {
    text: String,
    blocks: Vec<Block>,
    gap: Gap,
    /// The block that is being written, once it has text.
    block: Option<Block>,
    /// The separator before the next block.
    separator: char,
    /// Whether white space is kept.
    pub(crate) is_pre: bool,
    pub(crate) is_link: bool,
    /// The element that the blocks to come are in, for callers that number the elements.
    pub(crate) element: u32,
}

/// Lays out a plain text: its lines, with line feeds and without white space at their ends.
pub(crate) fn plain_text(text: &str) -> String {
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
    /// Makes a writer for a page of about `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        Self {
            text: String::with_capacity(size / 4),
            blocks: Vec::new(),
            gap: Gap::None,
            block: None,
            separator: '\n',
            is_pre: false,
            is_link: false,
            element: 0,
        }
    }

    /// Returns how many blocks have ended.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Ends the last block and returns the text.
    pub(crate) fn finish(mut self) -> Text {
        self.end_block('\n');
        Text { text: self.text, blocks: self.blocks }
    }

    /// Ends a line.
    pub(crate) fn break_line(&mut self) {
        if self.is_pre { self.keep('\n') } else { self.gap = Gap::Line }
    }

    /// Ends the block. This separator, or a stronger one, divides it from the next block.
    pub(crate) fn end_block(&mut self, separator: char) {
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

    pub(crate) fn write(&mut self, text: &str) {
        let mut rest = text;
        while let Some(&byte) = rest.as_bytes().first() {
            let taken = match byte {
                // Browsers drop zero characters.
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

    /// Writes the characters of a reference, or its `&`. Returns the number of bytes consumed.
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
        if self.is_pre {
            return self.keep(c);
        }
        let gap = if c == '\n' || c == '\r' { Gap::Fold } else { Gap::Space };
        self.gap = self.gap.max(gap);
    }

    /// Writes white space that is kept as it is.
    fn keep(&mut self, c: char) {
        // A block does not begin with white space, and a carriage return is half of a line end.
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
        if self.is_link
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
        self.block = Some(Block { start, end: start, linked: 0, element: self.element });
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

/// Joins blocks of a text, each with the separator that it has there before it.
pub(crate) fn join<'a>(text: &str, blocks: impl Iterator<Item = &'a Block>) -> String {
    let mut joined = String::with_capacity(text.len());
    for block in blocks {
        let from = if joined.is_empty() { block.start } else { block.start.saturating_sub(1) };
        joined.push_str(text.get(from..block.end).unwrap_or_default());
    }
    joined
}

/// Returns the number of bytes up to the next that cannot be copied as it is.
fn word(bytes: &[u8]) -> usize {
    let is_end = |b: &u8| matches!(b, 0 | b' ' | b'\n' | b'\t' | 0x0c | b'\r' | b'&' | 0xc2);
    // The first byte may be one that begins either a no-break space or another character.
    let rest = bytes.get(1..).unwrap_or_default();
    1 + rest.iter().position(is_end).unwrap_or(rest.len())
}

/// Returns whether a character belongs to Chinese or Japanese, including punctuation and wide
/// forms.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{312f}' | '\u{31a0}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff01}'..='\u{ff60}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use crate::html::all_text as text;

    #[test]
    fn white_space_is_laid_out_as_in_a_browser() {
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
    fn references_are_decoded() {
        assert_eq!(
            text("AT&amp;T &lt;b&gt; &copy &#20013;&#x6587; a & b &x;"),
            "AT&T <b> © 中文 a & b &x;"
        );
    }

    #[test]
    fn chinese_does_not_depend_on_line_ends_in_its_source() {
        assert_eq!(
            text("<p>中文\n  排版，\n不加空格 的\nword\n中"),
            "中文排版，不加空格 的 word 中"
        );
    }

    #[test]
    fn zero_characters_are_dropped() {
        assert_eq!(text("a\0b \0c<p>\0</p>d\0"), "ab c\nd");
    }
}
