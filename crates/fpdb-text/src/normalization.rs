//! Normalization: removing differences that should not matter.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// A step of normalization. A [`Builder`](crate::Builder) applies its steps in the given order.
///
/// # Examples
///
/// ```
/// use fpdb_text::{Normalization, Recipe};
///
/// let steps = [Normalization::Nfkc, Normalization::LowerCase, Normalization::StripInvisible];
/// let recipe = Recipe::<u64>::builder("mine/1").normalization(&steps).build()?;
/// let a = recipe.fingerprint("Ｏｎｅ two three four co\u{ad}operative days");
/// assert_eq!(a, recipe.fingerprint("one two three four cooperative days"));
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Normalization {
    // The numbers are part of recipe names: see `Builder::definition`.
    /// Unicode's NFKC, which unifies full-width and other variants of a character.
    Nfkc = 1,
    /// Lower case by Unicode's full mapping, as in Python's `str.lower`.
    LowerCase = 2,
    /// Lower case by Unicode's simple mapping, one character to one, as in Go's `bytes.ToLower`.
    LowerCaseSimple = 3,
    /// Removes invisible characters: soft hyphens, zero-width spaces, joiners and non-joiners, word
    /// joiners and byte order marks.
    StripInvisible = 4,
}

impl Normalization {
    fn apply<'t>(self, text: Cow<'t, str>) -> Cow<'t, str> {
        match self {
            Self::Nfkc if is_nfkc(&text) => text,
            Self::Nfkc => text.nfkc().collect(),
            Self::LowerCase => text.to_lowercase().into(),
            Self::LowerCaseSimple if text.is_ascii() => text.to_ascii_lowercase().into(),
            Self::LowerCaseSimple => text.chars().map(lower_case).collect(),
            Self::StripInvisible if !text.contains(is_invisible) => text,
            Self::StripInvisible => text.chars().filter(|&c| !is_invisible(c)).collect(),
        }
    }
}

/// Applies all steps, one after the other.
pub(crate) fn normalized<'t>(text: &'t str, steps: &[Normalization]) -> Cow<'t, str> {
    steps.iter().fold(Cow::Borrowed(text), |text, step| step.apply(text))
}

/// The normalization of this crate's own recipes, version 1.
pub(crate) const NFKC_LOWER_CASE: &[Normalization] =
    &[Normalization::Nfkc, Normalization::LowerCase];

/// Returns whether it is certain that NFKC would change nothing.
fn is_nfkc(text: &str) -> bool {
    text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes
}

/// Returns the simple mapping. Only the full mapping of U+0130 has several characters, and the
/// first of them is the simple mapping.
fn lower_case(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_applied_in_order() {
        let text = "\u{feff}ＡB\u{ad}Ｃ\u{200b}";
        assert_eq!(normalized(text, &[]), text);
        assert_eq!(normalized(text, NFKC_LOWER_CASE), "\u{feff}ab\u{ad}c\u{200b}");
        let all = [Normalization::StripInvisible, Normalization::Nfkc, Normalization::LowerCase];
        assert_eq!(normalized(text, &all), "abc");
        // The Kelvin sign and I with a dot above.
        assert_eq!(normalized("\u{212a}\u{130}", &[Normalization::LowerCase]), "ki\u{307}");
        assert_eq!(normalized("\u{212a}\u{130}", &[Normalization::LowerCaseSimple]), "ki");
    }

    #[test]
    fn lower_case_of_one_character_only_has_several_characters() {
        let several: Vec<char> =
            ('\0'..=char::MAX).filter(|c| c.to_lowercase().count() > 1).collect();
        assert_eq!(several, ['\u{130}']);
    }
}
