//! Checks that a page is well-formed and self-contained.

/// Panics unless elements nest correctly, text is escaped, numbers are finite, and the page neither
/// runs nor loads anything.
pub(crate) fn check(page: &str) {
    for foreign in ["<script", "javascript:", "\"refresh\"", "<link", "<img", "<iframe", "@import"]
    {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let addresses = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    assert!(!addresses.contains("://") && !addresses.contains("url("), "an address");
    assert!(!page.contains("NaN") && !page.contains("inf\""), "a number that is not finite");
    let body = page.strip_prefix("<!DOCTYPE html>\n").unwrap_or(page);
    let mut open = Vec::new();
    let mut rest = body;
    while let Some((text, tag)) = rest.split_once('<') {
        check_text(text);
        let (tag, after) = tag.split_once('>').expect("the end of a tag");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
            None if tag.ends_with('/') => {}
            None => open.push(tag.split(' ').next().expect("a name")),
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        rest = after;
    }
    assert_eq!((open, rest.trim()), (Vec::new(), ""));
}

fn check_text(text: &str) {
    assert!(!text.contains('>'), "{text}");
    let entities = ["&amp;", "&lt;", "&gt;", "&quot;"];
    for (at, _) in text.match_indices('&') {
        assert!(entities.iter().any(|entity| text[at..].starts_with(entity)), "{text}");
    }
}
