//! From HTML to the text that a page shows: tags and text ([`tokens`]), and text laid out in blocks
//! ([`writer`]).

pub(crate) mod attributes;
mod entities;
pub(crate) mod tokens;
pub(crate) mod writer;

use tokens::{Element, Token, Tokens};
use writer::Writer;
pub(crate) use writer::{is_unspaced, plain_text};

/// Returns everything that a page shows, as `strip/1` defines it.
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
