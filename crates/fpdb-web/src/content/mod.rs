//! The main content of a page, as `main/1` defines it.
//!
//! The page becomes a tree of elements and blocks ([`tree`]), which have marks by their attributes
//! ([`marks`]). What repeats or numbers the text is taken out ([`sift`]). The blocks and the
//! elements are measured ([`units`], [`places`], [`survey`]). Decision trees ([`forest`]) score
//! each block twice: by itself ([`features`]), and together with the others ([`second`]). Lists
//! beside the text are recognised ([`lists`]), and the blocks with the best scores are kept
//! ([`score`]), unless the page seems to have no content ([`promise`], [`whole`]), or its data has
//! a fuller text ([`text`], [`data`]).

mod about;
mod boxes;
mod choice;
mod data;
mod features;
#[cfg(test)]
mod fit_tests;
mod forest;
mod inside;
mod json;
mod lists;
mod marks;
mod numbers;
mod phrases;
mod places;
mod promise;
mod score;
mod second;
mod sift;
mod survey;
mod text;
mod tree;
mod units;
mod weights;
mod whole;
mod within;
mod words;

use survey::Survey;

/// The largest number of blocks that are judged one by one. A page with more loses its links, and
/// if it still has more, it is all content: no real page is near it.
const MAX_BLOCKS: usize = 1 << 17;

/// Returns the main content of a page. It is empty if the page shows none.
pub(crate) fn main_content(html: &str) -> String {
    let mut page = tree::build(html);
    sift::sift(&mut page);
    if page.blocks.len() > MAX_BLOCKS {
        sift::drop_links(&mut page);
    }
    let chosen = match page.blocks.len() {
        count if count > MAX_BLOCKS => vec![true; count],
        _ => score::choose(&Survey::of(&page)),
    };
    text::text(&page, &chosen)
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
    fn a_page_of_very_many_blocks_is_kept_without_its_links() {
        let html = format!("<nav><a href=x>menu</a></nav>{}", "<p>a".repeat(MAX_BLOCKS + 1));
        assert_eq!(main_content(&html).len(), 2 * MAX_BLOCKS + 1);
    }

    #[test]
    fn an_article_beside_very_many_links_or_items_is_the_text() {
        let article = format!("<article><h1>The flood</h1><p>{}</article>", SENTENCE.repeat(7));
        for (item, count) in [
            ("<a href=x>A link to another page</a> ", 120_000),
            ("<li><a href=x>A link to another page</a>", 120_000),
            ("<li><a href=x>A link</a>", 250_000),
            ("<li>A line of a log without a link, 12:30", 70_000),
            ("<div><a href=x>A link to a page</a></div>", 150),
        ] {
            for html in [
                format!("<title>The flood</title>{article}<ul>{}</ul>", item.repeat(count)),
                format!("<title>The flood</title><ul>{}</ul>{article}", item.repeat(count)),
            ] {
                let text = main_content(&html);
                assert!(text == SENTENCE.repeat(7).trim_end(), "{item}: {}", text.len());
            }
        }
    }

    /// Its lines were taken for a list beside the article that they are.
    #[test]
    fn an_article_of_very_many_lines_is_the_text() {
        let lines: String =
            (0..12_000).map(|line| format!("<div>{line}. {SENTENCE}</div>")).collect();
        let footer = "<footer><p>© 2026 The Valley Messenger. All rights reserved.</p></footer>";
        for article in [lines.clone(), format!("<h1>The flood</h1>{lines}")] {
            let html = format!("<title>The flood</title><article>{article}</article>{footer}");
            assert_eq!(
                main_content(&html).lines().filter(|line| line.contains("dam.")).count(),
                12_000
            );
        }
    }

    #[test]
    fn lists_of_very_many_items_are_the_text_of_a_page_without_an_article() {
        let items: String =
            (0..20_000).map(|item| format!("<li>Item {item} of the list, 12:30")).collect();
        let text =
            main_content(&format!("<title>All items</title><h1>All items</h1><ul>{items}</ul>"));
        assert!(
            text.lines().filter(|line| line.starts_with("Item")).count() == 20_000,
            "{}",
            text.len()
        );
    }

    /// Such a page was taken for a table of contents, because the heading is not beside a
    /// paragraph.
    #[test]
    fn an_article_within_the_element_below_its_heading_is_not_lost_among_links() {
        let article = format!("<h1>The flood</h1><div><p>{}</div>", SENTENCE.repeat(7));
        let links = "<a href=x>Another page</a> ".repeat(400);
        let html = format!("<title>The flood</title><div>{article}</div><div>{links}</div>");
        assert_eq!(main_content(&html), SENTENCE.repeat(7).trim_end());
    }

    #[test]
    fn linked_data_that_is_fuller_than_the_page_is_the_text() {
        let body = SENTENCE.repeat(12);
        let data = |body: &str| {
            format!("<script type='application/ld+json'>{{\"articleBody\":\"{body}\"}}</script>")
        };
        let menu = "<nav><ul><li><a href=/>Home</a><li><a href=/n>News</a></ul></nav>";
        let footer = "<footer><p>© 2026 The Valley Messenger. All rights reserved.</p></footer>";
        for shown in [
            "<p>Loading",
            "",
            "<p>Please switch on JavaScript to read this page, or use the reader of your browser.",
            &format!("<main><p>{}</main>", SENTENCE.repeat(3)),
            &format!("<main><p>{}</main>", SENTENCE.repeat(9)),
        ] {
            let page = format!("{}{menu}{shown}{footer}", data(&body));
            assert_eq!(main_content(&page), body.trim_end(), "{shown}");
        }
        // The article with the title of the page is much longer, so the page shows something else.
        let body = SENTENCE.repeat(24);
        let page_data = |title: &str, body: &str| {
            let titled = format!("{{\"headline\":\"{title}\",\"articleBody\":\"{body}\"}}");
            format!("<script type='application/ld+json'>{titled}</script>")
        };
        let titled = page_data("The flood", &body);
        let page = format!(
            "<title>The flood - News</title>{titled}\
             {menu}<main><p>{}</main>{footer}",
            "Other words about a storm, and what it did. ".repeat(14)
        );
        assert_eq!(main_content(&page), body.trim_end());
        // Without the title, it may be any text. If it is not much longer, the page shows enough.
        for data in [
            data(&"Words about something else, at length. ".repeat(120)),
            page_data("The flood", &SENTENCE.repeat(12)),
        ] {
            let shown = "Other words about a storm, and what it did. ".repeat(14);
            let page = format!(
                "<title>The flood - News</title>{data}{menu}<main><p>{shown}</main>{footer}"
            );
            assert_eq!(main_content(&page), shown.trim_end());
        }
        // The page shows the whole article, or the data has another text.
        let whole =
            format!("<main><p>{}<p>{}</main>", SENTENCE.repeat(8), "Other words. ".repeat(30));
        for other in [SENTENCE.repeat(4), "This is a long story about other things. ".repeat(60)] {
            let text = main_content(&format!("{}{menu}{whole}{footer}", data(&other)));
            assert!(text.contains("Other words") && text.contains("river"), "{text}");
        }
        assert_eq!(main_content(""), "");
    }

    #[test]
    fn a_state_is_the_text_of_a_page_that_shows_nothing() {
        let state = format!(
            "<script id=__NEXT_DATA__>{{\"props\":{{\"body\":\"{}\"}}}}</script>",
            SENTENCE.repeat(8)
        );
        let page = |shown: &str| format!("<div id=app>{shown}</div>{state}");
        assert_eq!(main_content(&page("Loading")), SENTENCE.repeat(8).trim_end());
        assert!(
            !main_content(&page(&format!("<p>{}", "Other words. ".repeat(30)))).contains("river")
        );
    }

    /// A dialog about cookies was the text of all pages of a site.
    #[test]
    fn other_json_is_the_text_only_if_it_has_the_title() {
        let page = |title: &str| {
            let json = format!("{{\"title\":\"{title}\",\"text\":\"{}\"}}", SENTENCE.repeat(8));
            format!(
                "<title>The flood - News</title><div>Loading</div><script type=application/json>{json}</script>"
            )
        };
        assert_eq!(main_content(&page("Your choice")), "Loading");
        assert_eq!(main_content(&page("The flood")), SENTENCE.repeat(8).trim_end());
    }
}
