//! The attributes of a start tag that say what an element is for.

/// The values that matter, as they are written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Attributes<'a> {
    pub(crate) class: &'a [u8],
    pub(crate) id: &'a [u8],
    pub(crate) role: &'a [u8],
    pub(crate) itemprop: &'a [u8],
    pub(crate) itemtype: &'a [u8],
    pub(crate) style: &'a [u8],
    pub(crate) is_hidden: bool,
    /// A hash of the first class.
    pub(crate) key: u64,
}

/// Returns whether attributes have this word, in any case, wherever it is.
pub(crate) fn mention(attributes: &[u8], word: &[u8]) -> bool {
    attributes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

/// Returns the names and values of what a tag holds after its name.
pub(crate) fn pairs(mut rest: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        let start = rest.iter().position(|b| !b.is_ascii_whitespace() && *b != b'/')?;
        let name = rest.get(start..)?;
        let is_end = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'=' | b'/');
        let length = name.iter().position(is_end).unwrap_or(name.len()).max(1);
        let (name, after) = name.split_at(length);
        let (value, after) = value(after);
        rest = after;
        Some((name, value))
    })
}

/// Parses what a tag holds after its name. An attribute counts once, as in a browser.
pub(crate) fn parse(attributes: &[u8]) -> Attributes<'_> {
    let mut found = Attributes::default();
    for (name, value) in pairs(attributes) {
        let field = match name.len() {
            5 if name.eq_ignore_ascii_case(b"class") => &mut found.class,
            2 if name.eq_ignore_ascii_case(b"id") => &mut found.id,
            4 if name.eq_ignore_ascii_case(b"role") => &mut found.role,
            8 if name.eq_ignore_ascii_case(b"itemprop") => &mut found.itemprop,
            8 if name.eq_ignore_ascii_case(b"itemtype") => &mut found.itemtype,
            5 if name.eq_ignore_ascii_case(b"style") => &mut found.style,
            6 if name.eq_ignore_ascii_case(b"hidden") => {
                found.is_hidden |= !value.eq_ignore_ascii_case(b"until-found");
                continue;
            }
            _ => continue,
        };
        if field.is_empty() {
            *field = value;
        }
    }
    let first = found.class.split(u8::is_ascii_whitespace).find(|class| !class.is_empty());
    let bytes = first.unwrap_or_default().iter();
    found.key = bytes.fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    found.is_hidden |= is_hidden(found.style);
    found
}

/// Returns the value of an attribute whose name ends here, and what follows it.
fn value(after: &[u8]) -> (&[u8], &[u8]) {
    let Some(value) = after.trim_ascii_start().strip_prefix(b"=") else { return (b"", after) };
    let value = value.trim_ascii_start();
    let (value, is_end): (_, fn(&u8) -> bool) = match value.first() {
        Some(b'"') => (value.get(1..).unwrap_or_default(), |b| *b == b'"'),
        Some(b'\'') => (value.get(1..).unwrap_or_default(), |b| *b == b'\''),
        _ => (value, u8::is_ascii_whitespace),
    };
    let length = value.iter().position(is_end).unwrap_or(value.len());
    let (value, after) = value.split_at(length);
    match after {
        [b'"' | b'\'', after @ ..] => (value, after),
        _ => (value, after),
    }
}

/// Returns whether a style hides its element.
fn is_hidden(style: &[u8]) -> bool {
    style.split(|&b| b == b';').any(|declaration| {
        let mut parts = declaration.splitn(2, |&b| b == b':').map(<[u8]>::trim_ascii);
        let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let value =
            value.split(|b| b.is_ascii_whitespace() || *b == b'!').next().unwrap_or_default();
        let is = |n: &[u8], v: &[u8]| name.eq_ignore_ascii_case(n) && value.eq_ignore_ascii_case(v);
        is(b"display", b"none") || is(b"visibility", b"hidden")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_parsed_as_browsers_do() {
        let found = parse(
            b" CLASS = \"a b\" id=x class=c role='main'/itemprop=y style hidden=until-found =",
        );
        assert_eq!((found.class, found.id, found.role), (&b"a b"[..], &b"x"[..], &b"main"[..]));
        assert_eq!((found.itemprop, found.style, found.is_hidden), (&b"y"[..], &b""[..], false));
        assert_eq!(found.key, parse(b"class='a c'").key);
        assert_ne!(found.key, parse(b"class='c a'").key);
    }

    #[test]
    fn elements_are_hidden_by_attribute_or_style() {
        for (attributes, hidden) in [
            ("hidden", true),
            ("style='color: red; Display : none !important'", true),
            ("style=visibility:hidden", true),
            ("style='display:nonesuch'", false),
            ("class=hidden", false),
        ] {
            assert_eq!(parse(attributes.as_bytes()).is_hidden, hidden, "{attributes}");
        }
    }
}
