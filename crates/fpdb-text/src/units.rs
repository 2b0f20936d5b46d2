//! The lines and paragraphs of a text.

use std::ops::Range;

/// What texts are divided into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Unit {
    /// Lines, each with the line feed that ends it.
    #[default]
    Line,
    /// Paragraphs. The lines without text after a paragraph belong to it.
    Paragraph,
}

impl Unit {
    /// Returns the places of the units of a text, in bytes. Each begins where the one before ends,
    /// and together they are the whole text.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::units::Unit;
    ///
    /// let text = "One.\nTwo.\n\nThree.";
    /// let units = |unit: Unit| unit.places(text).into_iter().map(|it| &text[it]).collect::<Vec<_>>();
    /// assert_eq!(units(Unit::Line), ["One.\n", "Two.\n", "\n", "Three."]);
    /// assert_eq!(units(Unit::Paragraph), ["One.\nTwo.\n\n", "Three."]);
    /// ```
    #[must_use]
    pub fn places(self, text: &str) -> Vec<Range<usize>> {
        let (mut places, mut begin, mut end, mut is_ended) = (Vec::new(), 0, 0, false);
        for line in text.split_inclusive('\n') {
            let is_blank = line.trim().is_empty();
            let is_next = self == Self::Line || is_ended && !is_blank;
            if is_next && end > begin {
                places.push(begin..end);
                begin = end;
            }
            is_ended = is_blank;
            end += line.len();
        }
        if end > begin {
            places.push(begin..end);
        }
        places
    }
}
