//! The text that a page holds in its data, for scripts or search engines: linked data (JSON-LD),
//! and the states from which frameworks build pages in the browser.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::json::{self, Event};
use super::phrases;
use super::units::TITLE_CHARS;
use crate::html::all_text;

/// Properties of linked data through which the page's own article is reached. What is behind others
/// is a comment on it, or another article.
const OWN: [&str; 5] = ["", "@graph", "@list", "mainEntity", "mainEntityOfPage"];
/// Properties that hold a title, and bytes from which it names an article.
const TITLES: [&str; 3] = ["headline", "title", "name"];
const TITLE: usize = 8;

/// Bytes from which a string of a state can be a paragraph.
const PARAGRAPH: usize = 70;
/// Objects of a state with the title of the page that are looked at.
const MAX_TITLED: usize = 16;

/// An object of linked data with a text.
#[derive(Default)]
struct Object<'a> {
    /// Whether it is about the page, and not about something that belongs to it.
    is_own: bool,
    is_titled: bool,
    body: Vec<&'a str>,
    text: Vec<&'a str>,
}

/// The text of the page's own article.
#[derive(Debug)]
pub(super) struct Article {
    pub(super) text: String,
    /// Whether it is the body of an object with the title of the page.
    pub(super) is_titled: bool,
}

/// Returns the text of the page's own article, from scripts of linked data. It belongs to the
/// object that has the title of the page, or else to the first object with a body.
pub(super) fn article(scripts: &[&str], title: &str) -> Option<Article> {
    let title = folded_title(title);
    let mut best: Option<Object> = None;
    let rank = |object: &Object| (object.is_titled, !object.body.is_empty());
    for script in scripts {
        let mut open: Vec<Object> = Vec::new();
        for event in json::events(script) {
            match event {
                Event::Open { key } => {
                    let is_own = open.last().is_none_or(|above| above.is_own) && OWN.contains(&key);
                    open.push(Object { is_own, ..Object::default() });
                }
                Event::Close => {
                    let has_text =
                        |object: &Object| !object.body.is_empty() || !object.text.is_empty();
                    let object = open.pop().filter(|object| object.is_own && has_text(object));
                    if best.as_ref().map(rank) < object.as_ref().map(rank) {
                        best = object;
                    }
                }
                Event::Text { key, text } => {
                    let Some(object) = open.last_mut() else { continue };
                    match key {
                        _ if text.is_empty() => {}
                        "articleBody" => object.body.push(text),
                        "text" => object.text.push(text),
                        key if TITLES.contains(&key) => {
                            object.is_titled |=
                                name(text).is_some_and(|name| title.contains(&name));
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    let best = best?;
    let is_titled = best.is_titled && !best.body.is_empty();
    let text = all_shown(if best.body.is_empty() { best.text } else { best.body });
    Some(Article { text, is_titled })
}

/// Returns the beginning of the title of the page, folded.
fn folded_title(title: &str) -> String {
    phrases::folded(&all_text(title).chars().take(TITLE_CHARS).collect::<String>())
}

/// Returns a string that can be a title, folded.
fn name(text: &str) -> Option<String> {
    /// Bytes of the longest escape of a character: two units of UTF-16.
    const ESCAPE: usize = 12;
    let text = Some(text).filter(|text| text.len() <= ESCAPE * TITLE_CHARS)?;
    let name = phrases::folded(&all_text(&json::unescape(text)));
    (name.len() >= TITLE).then_some(name)
}

/// Returns whether a string of a state is the title of the page, and not the name of the site,
/// which most pages write behind their title.
fn is_title(text: &str, title: &str) -> bool {
    let is_title = |name: String| {
        title.starts_with(&name) || title.contains(&name) && 2 * name.len() >= title.len()
    };
    name(text).is_some_and(is_title)
}

/// Returns the text that states hold: of the property that holds the most prose, within an object
/// that has the title of the page, if there is one. Other JSON counts only if there is.
pub(super) fn state(states: &[&str], others: &[&str], title: &str) -> Option<String> {
    let title = folded_title(title);
    let mut all: Vec<(Cow<str>, bool)> = Vec::new();
    for (scripts, needs_title) in [(states, false), (others, true)] {
        for script in scripts {
            all.push((Cow::Borrowed(script), needs_title));
            let strings = json::events(script).filter_map(json_of);
            all.extend(strings.map(|json| (Cow::Owned(json), needs_title)));
        }
    }
    let mut best: Option<(bool, usize, Vec<&str>)> = None;
    for (script, needs_title) in &all {
        let events: Vec<Event> = json::events(script).collect();
        let paragraphs: Vec<Option<(&str, &str)>> = events.iter().map(paragraph).collect();
        for (is_titled, range) in titled(&events, &title) {
            let found = most_prose(paragraphs.get(range).unwrap_or_default());
            if let Some((size, texts)) = found.filter(|_| is_titled || !*needs_title)
                && best.as_ref().is_none_or(|best| (best.0, best.1) < (is_titled, size))
            {
                best = Some((is_titled, size, texts));
            }
        }
    }
    best.map(|(.., texts)| all_shown(texts))
}

/// Returns the JSON that is in a string, which a script parses.
fn json_of(event: Event) -> Option<String> {
    match event {
        Event::Text { text, .. } if is_json(text) => Some(json::unescape(text)),
        _ => None,
    }
}

/// Returns whether a string, as it is written, is JSON itself.
fn is_json(text: &str) -> bool {
    text.starts_with(['{', '[']) && ["\":", "\\u0022:"].iter().any(|end| text.contains(end))
}

/// Returns the places of the objects that have a title, and that of everything, with whether they
/// have it.
fn titled(events: &[Event], title: &str) -> Vec<(bool, std::ops::Range<usize>)> {
    let mut found = vec![(false, 0..events.len())];
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Open { .. } => open.push((at, false)),
            Event::Close => {
                if let Some((start, true)) = open.pop()
                    && found.len() <= MAX_TITLED
                {
                    found.push((true, start..at));
                }
            }
            Event::Text { key, text } => {
                if let Some((_, is_titled)) = open.last_mut()
                    && TITLES.contains(key)
                {
                    *is_titled |= is_title(text, title);
                }
            }
        }
    }
    found
}

/// Returns the key and the text of a paragraph of a state.
fn paragraph<'a>(event: &Event<'a>) -> Option<(&'a str, &'a str)> {
    match event {
        Event::Text { key, text } if is_prose(text) => Some((key, text)),
        _ => None,
    }
}

/// Returns the texts of the property that has the most prose, each once, and their size.
fn most_prose<'a>(paragraphs: &[Option<(&'a str, &'a str)>]) -> Option<(usize, Vec<&'a str>)> {
    let mut properties: HashMap<&str, (usize, Vec<&str>)> = HashMap::new();
    for (key, text) in paragraphs.iter().flatten() {
        let (size, texts) = properties.entry(key).or_default();
        *size += text.len();
        texts.push(text);
    }
    let most = properties.into_iter().max_by_key(|(key, (size, _))| (*size, Reverse(*key)));
    let (_, (size, mut texts)) = most?;
    let mut seen = HashSet::new();
    texts.retain(|text| seen.insert(*text));
    Some((size, texts))
}

/// Returns whether a string of a state is a paragraph, or markup with paragraphs, and not an
/// address or a program.
fn is_prose(text: &str) -> bool {
    let count = |wanted: fn(&u8) -> bool| text.bytes().filter(wanted).count();
    let words = count(|b| *b == b' ') + count(|b| *b >= 0xe0) / 2;
    text.len() >= PARAGRAPH
        && !is_json(text)
        && 14 * words >= text.len()
        && 100 * count(|b| matches!(b, b'{' | b'}' | b'|')) <= text.len()
        && phrases::count(text).points > 0
}

/// Returns what a page would show of these strings.
fn all_shown(texts: Vec<&str>) -> String {
    texts.into_iter().map(shown).collect::<Vec<_>>().join("\n")
}

/// Returns what a page would show of a string: without tags, and with one line per paragraph.
fn shown(text: &str) -> String {
    let text = json::unescape(text);
    let lines = |text: &str| {
        let has_blocks = ["<p", "<br", "<div", "<li"].iter().any(|tag| text.contains(tag));
        let lines: Vec<String> =
            if has_blocks { vec![all_text(text)] } else { text.lines().map(all_text).collect() };
        lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    };
    let shown = lines(&text);
    // Markup that is written as text was escaped twice, unless there was other markup.
    if !text.contains("</") && shown.contains("</") { lines(&shown) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn article(scripts: &[&str], title: &str) -> Option<String> {
        super::article(scripts, title).map(|article| article.text)
    }

    const LONG: &str =
        "The river rose again in the night, and the people carried sand to the dam. ";

    #[test]
    fn the_article_of_the_page_is_found_among_others() {
        let own = r#"{"@type":"Article","headline":"The flood","articleBody":"own text"}"#;
        let other = format!(r#"{{"@type":"Article","headline":"A storm","articleBody":"{LONG}"}}"#);
        let comment = format!(r#"{{"comment":[{{"text":"{LONG}"}}],"hasPart":{other}}}"#);
        for scripts in [
            vec![own.to_owned()],
            vec![other.clone(), own.to_owned()],
            vec![format!("[{other},{own}]")],
            vec![comment, own.to_owned()],
            vec![format!(r#"{{"@graph":[{{"@type":"WebPage","text":"{LONG}"}},{own}]}}"#)],
            vec![format!(r#"{{"mainEntity":{own},"name":"The flood","text":"{LONG}"}}"#)],
        ] {
            let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
            assert_eq!(
                article(&scripts, "The flood - News").as_deref(),
                Some("own text"),
                "{scripts:?}"
            );
        }
        // Nothing has the title: the first that has a body.
        assert_eq!(article(&[&other, own], "News").as_deref(), Some(LONG.trim_end()));
        assert_eq!(
            article(&[r#"{"comment":{"text":"x"}}"#, r#"{"text":1}"#, "\"text\""], ""),
            None
        );
    }

    #[test]
    fn tags_and_references_in_data_are_not_part_of_the_text() {
        for (written, text) in [
            (r"<p>a &amp; b<\/p><p>c<\/p>", "a & b\nc"),
            (r"a &quot;b&quot;\n\nc <b>d<\/b>", "a \"b\"\nc d"),
            (r"&lt;p&gt;a&lt;/p&gt;\n&lt;p&gt;b&lt;/p&gt;", "a\nb"),
            ("1 < 2, and 3 > 2", "1 < 2, and 3 > 2"),
            (r"<p>Close it with &lt;/p&gt;<\/p>", "Close it with </p>"),
        ] {
            assert_eq!(shown(written), text, "{written}");
        }
    }

    #[test]
    fn the_prose_of_a_state_is_that_of_the_property_with_most_of_it() {
        let paragraphs =
            format!(r#"[{{"type":"p","text":"1 {LONG}"}},{{"type":"p","text":"2 {LONG}"}}]"#);
        let expected = format!("1 {0}\n2 {0}", LONG.trim_end());
        let teasers = format!(r#"[{{"title":"A storm","text":"{0}{0}{0}{0}"}}]"#, LONG);
        for script in [
            format!(r#"{{"props":{{"summary":"{LONG}","body":{paragraphs}}}}}"#),
            format!(r#"window.__NUXT__={{data:[{{summary:"{LONG}",body:{paragraphs}}}]}}"#),
            format!(
                r#"{{"article":{{"title":"The flood","body":{paragraphs}}},"more":{teasers}}}"#
            ),
            format!(r#"["Reactive",{{"a":1}},"1 {LONG}","2 {LONG}","1 {LONG}"]"#),
        ] {
            assert_eq!(
                state(&[&script], &[], "The flood - News").as_deref(),
                Some(&*expected),
                "{script}"
            );
        }
        assert_eq!(state(&[r#"{"a":"short","b":"https://a.example/x"}"#], &[], ""), None);
    }

    #[test]
    fn a_body_of_several_strings_is_read_whole() {
        let script = r#"{"articleBody":["<p>one<\/p>","","two"]}"#;
        assert_eq!(article(&[script], "").as_deref(), Some("one\ntwo"));
    }

    /// The description of the site was taken for the text of all of its pages.
    #[test]
    fn an_object_that_is_named_as_the_site_is_not_that_of_the_article() {
        let site = format!(r#"{{"name":"The Valley Messenger","about":"{0}{0}{0}"}}"#, LONG);
        for (own, title) in [
            ("The flood", "The flood - News of the week - The Valley Messenger"),
            (
                "The great flood on the lower river",
                "News: The great flood on the lower river - The Valley Messenger",
            ),
        ] {
            let page = format!(r#"{{"title":"{own}","body":"{LONG}"}}"#);
            let script = format!(r#"{{"site":{site},"page":{page}}}"#);
            assert_eq!(state(&[&script], &[], title).as_deref(), Some(LONG.trim_end()), "{title}");
        }
    }

    #[test]
    fn a_state_within_a_string_is_read() {
        let own = format!(r#"{{"page":{{"title":"The flood","body":"{LONG}<br>{LONG}"}}}}"#);
        let expected = format!("{0}\n{0}", LONG.trim_end());
        for string in [
            format!("\"{}\"", own.replace('"', "\\\"")),
            format!("'{own}'"),
            format!("\"{}\"", own.replace('"', "\\u0022")),
        ] {
            let script = format!("window.__INITIAL_STATE__ = JSON.parse({string});");
            assert_eq!(
                state(&[&script], &[], "The flood - News").as_deref(),
                Some(&*expected),
                "{script}"
            );
        }
        let text = format!("[Update] {LONG}");
        let script = format!(r#"{{"body":"{text}"}}"#);
        assert_eq!(state(&[&script], &[], "").as_deref(), Some(text.trim_end()));
    }
}
