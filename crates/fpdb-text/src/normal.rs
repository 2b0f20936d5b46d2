//! Normalisation: the forms of a text that are to make no difference.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// A step of normalisation. Steps are taken in the order in which they are given.
///
/// # Examples
///
/// ```
/// use fpdb_text::{Normal, Recipe};
///
/// let steps = [Normal::Nfkc, Normal::LowerCase, Normal::StripInvisible];
/// let recipe = Recipe::<u64>::builder("mine/1").normal(&steps).build()?;
/// let a = recipe.fingerprint("Ｏｎｅ two three four co\u{ad}operative days");
/// assert_eq!(a, recipe.fingerprint("one two three four cooperative days"));
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Normal {
    // The numbers go into the names of recipes, see builder.rs.
    /// Unicode's NFKC, which makes one of full-width and other variants of a character.
    Nfkc = 1,
    /// Lower case by Unicode's full mapping, as Python's `str.lower` has it.
    LowerCase = 2,
    /// Lower case character by character, each to one, as Go's `bytes.ToLower` has it.
    LowerCaseSimple = 3,
    /// Takes out what is not seen: soft hyphens, zero-width spaces, joiners and non-joiners, word
    /// joiners and byte order marks.
    StripInvisible = 4,
}

impl Normal {
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

/// All steps, one after the other.
pub(crate) fn normalised<'t>(text: &'t str, steps: &[Normal]) -> Cow<'t, str> {
    steps.iter().fold(Cow::Borrowed(text), |text, step| step.apply(text))
}

/// The normal form in which recipes of version 1 of our own compare text.
pub(crate) const NFKC_LOWER_CASE: &[Normal] = &[Normal::Nfkc, Normal::LowerCase];

/// Whether NFKC is sure to make no difference.
fn is_nfkc(text: &str) -> bool {
    text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes
}

/// Only U+0130 has a mapping of several characters, whose first is that of the simple mapping.
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
    fn steps_are_taken_in_order() {
        let text = "\u{feff}ＡB\u{ad}Ｃ\u{200b}";
        assert_eq!(normalised(text, &[]), text);
        assert_eq!(normalised(text, NFKC_LOWER_CASE), "\u{feff}ab\u{ad}c\u{200b}");
        let all = [Normal::StripInvisible, Normal::Nfkc, Normal::LowerCase];
        assert_eq!(normalised(text, &all), "abc");
        // The Kelvin sign and I with a dot above.
        assert_eq!(normalised("\u{212a}\u{130}", &[Normal::LowerCase]), "ki\u{307}");
        assert_eq!(normalised("\u{212a}\u{130}", &[Normal::LowerCaseSimple]), "ki");
    }

    #[test]
    fn one_character_alone_has_a_lower_case_of_several() {
        let several: Vec<char> =
            ('\0'..=char::MAX).filter(|c| c.to_lowercase().count() > 1).collect();
        assert_eq!(several, ['\u{130}']);
    }
}
