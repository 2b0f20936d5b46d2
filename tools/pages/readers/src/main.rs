//! Extracts the text of pages with other programs: `readers PROGRAM` reads lines of `{"id",
//! "html"}` and writes lines of `{"id", "text"}`, for tools/pages/score.py.

use std::io::{BufRead, Write};
use std::panic;

use serde_json::{Value, json};

fn main() -> anyhow::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let reader: fn(&str) -> Option<String> = match name.as_str() {
        "dom_smoothie" => dom_smoothie,
        "legible" => legible,
        "rs-trafilatura" => rs_trafilatura,
        "trafilatura" => trafilatura,
        _ => anyhow::bail!(
            "no program {name:?}, only dom_smoothie, legible, rs-trafilatura, trafilatura"
        ),
    };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let page: Value = serde_json::from_str(&line?)?;
        let html = page["html"].as_str().unwrap_or_default();
        // A page on which a program fails has no text.
        let text = panic::catch_unwind(|| reader(html)).ok().flatten().unwrap_or_default();
        writeln!(out, "{}", json!({ "id": page["id"], "text": text }))?;
    }
    Ok(())
}

/// Returns the text of HTML, each block in lines of its own.
fn text(html: &str) -> String {
    fpdb_web::Extraction::STRIP_1.text(html)
}

fn dom_smoothie(html: &str) -> Option<String> {
    let article = dom_smoothie::Readability::new(html, None, None).ok()?.parse().ok()?;
    Some(text(&article.content))
}

fn legible(html: &str) -> Option<String> {
    let article = legible::parse(html, Some("https://example.com/"), None).ok()?;
    Some(text(&article.content))
}

fn rs_trafilatura(html: &str) -> Option<String> {
    rs_trafilatura::extract(html).ok().map(|found| found.content_text)
}

fn trafilatura(html: &str) -> Option<String> {
    trafilatura::extract(html, &trafilatura::Options::default())
        .ok()
        .map(|found| found.content_text)
}
