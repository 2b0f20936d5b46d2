//! The text that a page shows, with the parts of the page that its elements declare.

use super::landmarks::Landmarks;
use super::tokens::{Element, Token, Tokens};
use super::writer::{Text, Writer};

/// What a block is, as far as its elements declare it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) kind: Kind,
    pub(super) zone: Zone,
}

/// What kind of element a block is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Heading,
    /// An element for text: a paragraph, an item.
    Prose,
    /// A cell of a table, which may hold data or serve the layout.
    Cell,
    Other,
}

/// Which part of the page a block is in, if the page declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    Undeclared,
    Content,
    Surroundings,
}

/// The elements that are open.
#[derive(Debug, Default)]
struct Open {
    pre: usize,
    headings: usize,
    surrounding: usize,
    header: usize,
    content: usize,
}

/// Lays out a page.
pub(super) fn lay_out(html: &str) -> Text<Declared> {
    let undeclared = Declared { kind: Kind::Other, zone: Zone::Undeclared };
    let mut writer = Writer::new(html.len(), undeclared);
    let (mut open, mut landmarks) = (Open::default(), Landmarks::default());
    for token in Tokens::new(html) {
        match token {
            Token::Text(text) => writer.write(text),
            Token::Tag(tag) => {
                write_tag(&mut writer, &mut open, landmarks.element(&tag), !tag.close)
            }
        }
    }
    writer.finish()
}

fn write_tag(writer: &mut Writer<Declared>, open: &mut Open, element: Element, opens: bool) {
    match element {
        Element::Inline | Element::Raw | Element::Hidden => return,
        Element::Break => return writer.break_line(),
        // Links do not nest: one without an end ends where the next begins.
        Element::Link => {
            writer.is_link = opens;
            return;
        }
        Element::Cell => writer.end_block(' '),
        _ => writer.end_block('\n'),
    }
    open.step(element, opens);
    let kind = match element {
        _ if open.headings > 0 => Kind::Heading,
        Element::Prose | Element::Pre if opens => Kind::Prose,
        Element::Cell if opens => Kind::Cell,
        _ => Kind::Other,
    };
    writer.is_pre = open.pre > 0;
    writer.label = Declared { kind, zone: open.zone() };
}

impl Open {
    fn step(&mut self, element: Element, opens: bool) {
        let depth = match element {
            Element::Pre => &mut self.pre,
            Element::Heading => &mut self.headings,
            Element::Surrounding => &mut self.surrounding,
            Element::Header => &mut self.header,
            Element::Content => &mut self.content,
            _ => return,
        };
        *depth = if opens { *depth + 1 } else { depth.saturating_sub(1) };
    }

    fn zone(&self) -> Zone {
        match (self.surrounding, self.content, self.header) {
            (0, 0, 0) => Zone::Undeclared,
            (0, 1.., _) => Zone::Content,
            _ => Zone::Surroundings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_know_their_links_and_zones() {
        let page = lay_out(
            "<nav><a href=x>one</a> | <a href=x>two of them</a></nav>\
             <main><h1>h</h1>t <a href=x>l</a><li>item</li><td>cell</main>",
        );
        let blocks: Vec<_> = page
            .blocks
            .iter()
            .map(|b| (&page.text[b.start..b.end], b.linked, b.label.kind, b.label.zone))
            .collect();
        assert_eq!(
            blocks,
            [
                ("one | two of them", 15, Kind::Other, Zone::Surroundings),
                ("h", 0, Kind::Heading, Zone::Content),
                ("t l", 2, Kind::Other, Zone::Content),
                ("item", 0, Kind::Prose, Zone::Content),
                ("cell", 0, Kind::Cell, Zone::Content),
            ]
        );
    }
}
