//! What a page says of itself, for search engines and previews.

use memchr::memmem;

use crate::html::attributes;

/// Returns the name or the property of a `<meta>`, and its content.
pub(super) fn meta(attributes: &[u8]) -> (&str, &str) {
    let (mut name, mut content) = ("", "");
    for (attribute, value) in attributes::pairs(attributes) {
        let value = std::str::from_utf8(value).unwrap_or_default();
        match attribute.to_ascii_lowercase().as_slice() {
            b"name" | b"property" if name.is_empty() => name = value.trim(),
            b"content" if content.is_empty() => content = value,
            _ => {}
        }
    }
    (name, content)
}

/// Whether a `<meta>` of this name describes the page.
pub(super) fn is_description(name: &str) -> bool {
    ["description", "og:description", "twitter:description"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether linked data has an object that is an article, by its type.
pub(super) fn says_article(script: &str) -> bool {
    const TYPE: &str = "\"@type\"";
    memmem::find_iter(script.as_bytes(), TYPE).any(|at| {
        let rest = script.get(at + TYPE.len()..).unwrap_or_default();
        types(rest).split('"').any(is_article)
    })
}

/// Returns the names at the beginning of a text, after a colon: a string, or a list of strings.
/// Only the first bytes count, so that long data takes no longer.
fn types(text: &str) -> &str {
    const MOST: usize = 200;
    let text = (0..4).find_map(|less| text.get(..MOST - less)).unwrap_or(text);
    let text = text.trim_start().strip_prefix(':').unwrap_or_default().trim_start();
    let end = match text.strip_prefix('[') {
        Some(list) => list.find(']').map(|end| end + 1),
        None => text.get(1..).and_then(|string| string.find('"')).map(|end| end + 1),
    };
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// The types of articles have long names, such as `ReportageNewsArticle` and `LiveBlogPosting`.
fn is_article(name: &str) -> bool {
    name.ends_with("Article") || name.ends_with("BlogPosting")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_type_says_that_linked_data_is_an_article() {
        for data in [
            r#"{"@type":"NewsArticle","headline":"A"}"#,
            r#"{"@graph":[{"@type":"WebSite"},{ "@type" : [ "Thing", "BlogPosting" ] }]}"#,
        ] {
            assert!(says_article(data), "{data}");
        }
        for data in [
            r#"{"@type":"WebPage","name":"Article"}"#,
            r#"{"@type":"Product","articleSection":"NewsArticle"}"#,
            r#"{"@type":"ArticleList"}"#,
            r#"{"@type":["WebPage"],"x":["Article"]}"#,
            r#"{"@type"}"#,
            r#"{"@type":"Article"#,
            r#"{"@type":["#,
            "",
        ] {
            assert!(!says_article(data), "{data}");
        }
    }
}
