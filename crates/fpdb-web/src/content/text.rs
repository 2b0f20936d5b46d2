//! The text of a page: its chosen blocks, or the text in its data if that is fuller.

use super::data::{self, Article};
use super::phrases;
use super::tree::Page;
use crate::html::writer;

/// Bytes of text below which the data of a page can be its text without being like it.
const LITTLE: usize = 500;
/// Bytes of text below which a page shows nothing, so that a state can be its text.
const NOTHING: usize = 200;

/// Returns the text of a page of which these blocks are chosen.
pub(super) fn text(page: &Page, chosen: &[bool]) -> String {
    let kept = page.blocks.iter().zip(chosen).filter_map(|(block, chosen)| chosen.then_some(block));
    or_of_data(writer::join(&page.text, kept), page)
}

/// Returns the chosen text, or the text in the data of the page if that is fuller.
fn or_of_data(chosen: String, page: &Page) -> String {
    let article = data::article(&page.data, page.title);
    if let Some(article) = article.filter(|article| is_fuller(article, &chosen)) {
        return article.text;
    }
    if chosen.len() < NOTHING
        && let Some(state) = data::state(&page.states, &page.json, page.title)
        && state.len() > 2 * chosen.len().max(NOTHING)
    {
        return state;
    }
    chosen
}

/// Returns whether the article in the data replaces the chosen text: the chosen text is a part of
/// it, or is short and much shorter, or the article has the title of the page and is at least three
/// times as long.
fn is_fuller(article: &Article, chosen: &str) -> bool {
    /// How many lines are compared, how many bytes a line has at least, and how many of its
    /// characters are compared.
    const LINES: usize = 20;
    const LINE: usize = 40;
    const START: usize = 60;
    /// How many times as long the article with the title is.
    const OTHER: usize = 3;
    if chosen.len() < LITTLE && article.text.len() >= 2 * chosen.len() {
        return true;
    }
    if article.is_titled && article.text.len() >= OTHER * chosen.len() {
        return true;
    }
    let article = &article.text;
    if article.len() * 5 < chosen.len() * 6 {
        return false;
    }
    let article = phrases::folded(article);
    let (mut shared, mut all) = (0, 0);
    for line in chosen.lines().filter(|line| line.len() >= LINE).take(LINES) {
        let start: String = line.chars().take(START).collect();
        all += line.len();
        shared += if article.contains(&phrases::folded(&start)) { line.len() } else { 0 };
    }
    shared > 0 && shared * 5 >= all * 4
}
