//! From HTML to text, in three steps: tags and text ([`tokens`]), text laid out in blocks
//! ([`layout`]), and the choice of the blocks that are the main content ([`content`]).

mod content;
mod entities;
mod layout;
mod tokens;

#[cfg(feature = "language")]
pub(crate) use layout::is_unspaced;
pub(crate) use layout::plain_text;

/// Returns everything that a page shows.
pub(crate) fn all_text(html: &str) -> String {
    layout::lay_out(html).text
}

/// Returns the main content of a page.
pub(crate) fn main_content(html: &str) -> String {
    content::main_content(layout::lay_out(html))
}
