//! The main content of a page, as `main/1` defines it.
//!
//! The page becomes a tree of elements and blocks ([`tree`]), which have marks by their attributes
//! ([`marks`]). The blocks and the elements are measured ([`units`], [`survey`]). Decision trees
//! ([`forest`]) score each block twice: by itself ([`features`]), and together with the others
//! ([`second`]). Lists beside the text are recognised ([`lists`]), and the blocks with the best
//! scores are kept ([`score`]).

mod data;
mod features;
#[cfg(test)]
mod fit_tests;
mod forest;
mod lists;
mod marks;
mod phrases;
mod score;
mod second;
mod survey;
mod tree;
mod units;
mod weights;
mod words;

use crate::html::{all_text, plain_text, writer};

/// Bytes of text below which a page may keep its text in its data.
const FEW: usize = 200;

/// The largest number of blocks that are judged one by one. A page with more is all content: no
/// real page is near it.
const MAX_BLOCKS: usize = 1 << 16;

/// Returns the main content of a page.
pub(crate) fn main_content(html: &str) -> String {
    let page = tree::build(html);
    if page.len() < FEW
        && let Some(text) = data::longest_text(&page.data).filter(|text| text.len() > page.len())
    {
        return plain_text(&text);
    }
    if page.blocks.len() > MAX_BLOCKS {
        return writer::join(&page.text, page.blocks.iter());
    }
    let survey = survey::Survey::of(&page);
    let chosen = score::choose(&survey);
    let kept = page.blocks.iter().zip(chosen).filter_map(|(block, chosen)| chosen.then_some(block));
    let text = writer::join(&page.text, kept);
    // A page that shows text has one.
    if text.is_empty() { all_text(html) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTENCE: &str = "The river rose again in the night, and the people of the village carried sand to the dam. ";

    /// Two different articles were nearly equal because a notice was all that was kept of them.
    #[test]
    fn an_unclosed_nav_does_not_hide_the_article() {
        let page = |article: &str| {
            format!(
                "<p class=notice>This site uses cookies, as its privacy policy says.</p><nav><ul>\
                 <li><a href=/>Home</a></ul><main><h1>Title</h1><p>{}</p></main>",
                article.repeat(5)
            )
        };
        let other = "Researchers found an unknown species of fish near the coast of the island. ";
        assert_eq!(
            main_content(&page(SENTENCE)),
            format!("Title\n{}", SENTENCE.repeat(5).trim_end())
        );
        assert_eq!(main_content(&page(other)), format!("Title\n{}", other.repeat(5).trim_end()));
    }

    /// One layout shows it beside the content, and another as its first line.
    #[test]
    fn a_title_is_dropped_if_there_is_other_text() {
        let page =
            |text: &str| format!("<title>The flood - News</title><h1>The flood</h1><p>{text}");
        assert_eq!(main_content(&page(&SENTENCE.repeat(5))), SENTENCE.repeat(5).trim_end());
        assert_eq!(main_content(&page("Closed.")), "The flood\nClosed.");
    }

    #[test]
    fn a_page_of_very_many_blocks_is_kept_entirely() {
        let html = format!("<nav>menu</nav>{}", "<p>a".repeat(MAX_BLOCKS));
        assert_eq!(main_content(&html).len(), "menu".len() + 2 * MAX_BLOCKS);
    }

    #[test]
    fn text_in_data_counts_only_if_the_page_shows_nearly_none() {
        let data = format!(
            "<script type='application/ld+json'>{{\"articleBody\":\"{SENTENCE}\"}}</script>"
        );
        assert_eq!(main_content(&format!("{data}<p>Loading")), SENTENCE.trim_end());
        assert!(
            !main_content(&format!("{data}<p>{}", "Other words. ".repeat(20))).contains("river")
        );
        assert_eq!(main_content(""), "");
    }
}
