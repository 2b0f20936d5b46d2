//! Character references, such as `&amp;`, `&#20013;` and `&eacute`, as the HTML standard defines
//! them for text.

use std::collections::HashMap;
use std::sync::OnceLock;

use entities::ENTITIES;

/// A bound on the bytes of a name.
const MAX_NAME: usize = 32;

/// The one or two characters that a reference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Characters {
    pub(super) first: char,
    pub(super) second: Option<char>,
}

impl From<char> for Characters {
    fn from(first: char) -> Self {
        Self { first, second: None }
    }
}

/// Parses the reference that `text` begins with, after its `&`. Returns its characters and its
/// length in bytes, or None if it is not a reference.
pub(super) fn parse(text: &str) -> Option<(Characters, usize)> {
    match text.strip_prefix('#') {
        Some(number) => numeric(number).map(|(c, taken)| (c.into(), taken + 1)),
        None => named(text),
    }
}

fn named(text: &str) -> Option<(Characters, usize)> {
    let length = text.bytes().take(MAX_NAME).take_while(u8::is_ascii_alphanumeric).count();
    let name = text.get(..length)?;
    if text.as_bytes().get(length) == Some(&b';')
        && let Some(characters) = common(name).or_else(|| names().get(name).map(|n| n.0))
    {
        return Some((characters, length + 1));
    }
    // The longest name without semicolon: `&notit` is `¬it`.
    (2..=length).rev().find_map(|length| {
        let (characters, bare) = names().get(name.get(..length)?)?;
        bare.then_some((*characters, length))
    })
}

/// The names that most references use.
fn common(name: &str) -> Option<Characters> {
    let c = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "nbsp" => '\u{a0}',
        _ => return None,
    };
    Some(c.into())
}

/// Returns the names of the standard with their characters, and whether they may be written without
/// a semicolon.
fn names() -> &'static HashMap<&'static str, (Characters, bool)> {
    static MAP: OnceLock<HashMap<&str, (Characters, bool)>> = OnceLock::new();
    MAP.get_or_init(|| {
        let mut names = HashMap::with_capacity(ENTITIES.len());
        for entity in &ENTITIES {
            let name = entity.entity.trim_start_matches('&');
            let mut characters = entity.characters.chars();
            let Some(first) = characters.next() else { continue };
            let characters = Characters { first, second: characters.next() };
            let is_bare = !name.ends_with(';');
            names.entry(name.trim_end_matches(';')).or_insert((characters, false)).1 |= is_bare;
        }
        names
    })
}

fn numeric(text: &str) -> Option<(char, usize)> {
    let hex = text.starts_with(['x', 'X']);
    let digits = text.get(usize::from(hex)..)?;
    let is_digit = |b: &u8| if hex { b.is_ascii_hexdigit() } else { b.is_ascii_digit() };
    let length = digits.bytes().take_while(is_digit).count();
    if length == 0 {
        return None;
    }
    let digits = digits.get(..length)?;
    // A number that does not fit is not a character either.
    let value = u32::from_str_radix(digits, if hex { 16 } else { 10 }).unwrap_or(u32::MAX);
    let taken = usize::from(hex) + length;
    let semicolon = text.as_bytes().get(taken) == Some(&b';');
    Some((character(value), taken + usize::from(semicolon)))
}

/// Returns the character of a number. Numbers of C1 control characters mean the characters that
/// windows-1252 has there.
fn character(value: u32) -> char {
    match value {
        0 => char::REPLACEMENT_CHARACTER,
        0x80..=0x9f => {
            let byte = [u8::try_from(value).unwrap_or_default()];
            let text = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&byte).0;
            text.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        _ => char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(String, usize)> {
        let (characters, taken) = parse(text)?;
        let text = [Some(characters.first), characters.second].into_iter().flatten().collect();
        Some((text, taken))
    }

    #[test]
    fn names_and_numbers_are_parsed() {
        for (text, characters, taken) in [
            ("amp;x", "&", 4),
            ("ampx", "&", 3),
            ("nbsp;", "\u{a0}", 5),
            ("eacute", "é", 6),
            ("notit;", "¬", 3),
            ("notin;", "∉", 6),
            ("NotEqualTilde;", "≂\u{338}", 14),
            ("CounterClockwiseContourIntegral;", "∳", 32),
            ("#20013;", "中", 7),
            ("#x4E2d;", "中", 7),
            ("#65B", "A", 3),
            ("#150;", "–", 5),
            ("#0;", "\u{fffd}", 3),
            ("#xD800;", "\u{fffd}", 7),
            ("#99999999999999999999;", "\u{fffd}", 22),
        ] {
            assert_eq!(parsed(text), Some((characters.to_owned(), taken)), "{text}");
        }
        for text in ["", ";", "#", "#;", "#x;", "#xg;", " amp;", "unknown;", "中", "hearts"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn the_list_of_names_is_complete() {
        assert_eq!(names().len(), 2125);
        assert_eq!(names().values().filter(|(_, bare)| *bare).count(), 106);
        assert_eq!(names().keys().map(|name| name.len()).max(), Some(MAX_NAME - 1));
    }
}
