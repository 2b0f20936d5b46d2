//! The text that a page shows.

use super::tokens::{Element, Token, Tokens};
use super::writer::Writer;

/// Returns everything that a page shows.
pub(crate) fn all_text(html: &str) -> String {
    let mut writer = Writer::new(html.len());
    let mut pre = 0_usize;
    for token in Tokens::new(html) {
        let tag = match token {
            Token::Text(text) => {
                writer.write(text);
                continue;
            }
            Token::Tag(tag) => tag,
        };
        match tag.element {
            Element::Inline | Element::Link | Element::Raw | Element::Hidden => continue,
            Element::Break => {
                writer.break_line();
                continue;
            }
            Element::Cell => writer.end_block(' '),
            Element::Block | Element::Pre => writer.end_block('\n'),
        }
        if tag.element == Element::Pre {
            pre = if tag.close { pre.saturating_sub(1) } else { pre + 1 };
        }
        writer.is_pre = pre > 0;
    }
    writer.finish().text
}
