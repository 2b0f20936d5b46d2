//! The main content of a page, without what surrounds it on every page of its site.
//!
//! Blocks are classified by their length and by their share of links: paragraphs are long and have
//! few links, menus are short and consist of links (Kohlschuetter et al., "Boilerplate Detection
//! using Shallow Text Features", 2010). Short blocks are judged by their neighbours: headings and
//! items between paragraphs belong to them. Lengths are in bytes of UTF-8, which measure the amount
//! of content about equally in alphabetic scripts and in Chinese.

use std::ops::Range;

use super::layout::{Declared, Kind, Zone};
use super::writer::{self, join};

type Block = writer::Block<Declared>;
type Text = writer::Text<Declared>;

/// Bytes from which a block is content, whatever its neighbours.
const LONG: usize = 200;
/// Bytes from which a block is content if a neighbour is.
const MEDIUM: usize = 70;
/// Bytes outside of links from which a paragraph or item with links is a sentence about them.
const SENTENCE: usize = 30;
/// The largest share of links, in percent, of a block, and of a paragraph or item.
const MAX_LINKED: usize = 40;
const MAX_LINKED_PROSE: usize = 60;
/// The smallest share, in percent, that the content may have of the text outside of links and
/// menus, and of the text including links. A page with less has no paragraphs, so all of it is
/// kept.
const MIN_SHARE: usize = 50;
const MIN_LINKED_SHARE: usize = 10;
/// The smallest share, in percent, that the content may have of the body, which begins at the first
/// heading. A page with less is a table of contents or an index, whose lists of links are its
/// content. If the page declares where its content is, menus are known and the share may be larger.
const MIN_BODY_SHARE: usize = 30;
const MIN_DECLARED_SHARE: usize = 60;
/// The smallest share, in percent, of the text outside of menus that must be in elements for
/// content for the rest to count as surroundings. In a page with less they mark something else.
const MIN_DECLARED: usize = 20;
/// Consecutive blocks of links from which they are a menu.
const MENU: usize = 3;
/// Consecutive blocks of links up to which they are a list of references, if they are in the
/// content.
const MAX_LIST: usize = 24;

/// What a block seems to be, judged by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Content,
    /// Content if a block on either side is not surroundings.
    Likely,
    /// Content if the blocks on both sides are.
    Short,
    Surroundings,
}

/// Returns the main content of a page, or all of its text if no content stands out.
pub(super) fn main_content(mut page: Text) -> String {
    let mut blocks = std::mem::take(&mut page.blocks);
    let page = &page;
    let min_share = match restrict_to_declared(&mut blocks) {
        true => MIN_DECLARED_SHARE,
        false => MIN_BODY_SHARE,
    };
    let chosen = choose(&blocks, &classify_all(&blocks));
    let all = size(outside_menus(&blocks));
    let content = size(kept(&blocks, &chosen));
    if let Some(body) = contents_page(&blocks, &content, min_share) {
        return join(&page.text, outside_menus(body));
    }
    let enough = content.unlinked * 100 >= all.unlinked * MIN_SHARE
        && content.bytes * 100 >= all.bytes * MIN_LINKED_SHARE;
    if content.bytes > 0 && enough {
        return join(&page.text, kept(&blocks, &chosen));
    }
    match all.bytes {
        0 => page.text.clone(),
        _ => join(&page.text, outside_menus(&blocks)),
    }
}

/// If the page declares where its content is, declares everything else to be surroundings.
fn restrict_to_declared(blocks: &mut [Block]) -> bool {
    let declared = size(blocks.iter().filter(|block| block.label.zone == Zone::Content)).bytes;
    let is_declared =
        declared > 0 && declared * 100 >= size(outside_menus(blocks)).bytes * MIN_DECLARED;
    if is_declared {
        for block in blocks.iter_mut().filter(|block| block.label.zone == Zone::Undeclared) {
            block.label.zone = Zone::Surroundings;
        }
    }
    is_declared
}

/// Returns the body of a table of contents or an index: the blocks from its first heading on, so
/// that menus at the top of the page are left out. Returns None for any other page.
fn contents_page<'a>(blocks: &'a [Block], content: &Size, min_share: usize) -> Option<&'a [Block]> {
    let is_title = |b: &Block| b.label.kind == Kind::Heading && b.label.zone != Zone::Surroundings;
    let body = blocks.get(blocks.iter().position(is_title)?..)?;
    let is_short = content.bytes * 100 < size(outside_menus(body)).bytes * min_share;
    is_short.then_some(body)
}

/// Returns the blocks that the page does not declare to be menus, headers or footers.
fn outside_menus(blocks: &[Block]) -> impl Iterator<Item = &Block> {
    blocks.iter().filter(|block| block.label.zone != Zone::Surroundings)
}

/// The length of blocks, with and without what is in links.
struct Size {
    bytes: usize,
    unlinked: usize,
}

fn size<'a>(blocks: impl Iterator<Item = &'a Block>) -> Size {
    blocks.fold(Size { bytes: 0, unlinked: 0 }, |sum, block| {
        let bytes = block.end - block.start;
        let unlinked = sum.unlinked + bytes.saturating_sub(block.linked);
        Size { bytes: sum.bytes + bytes, unlinked }
    })
}

/// Classifies the blocks by themselves and by their neighbours.
fn classify_all(blocks: &[Block]) -> Vec<Class> {
    let mut classes: Vec<Class> = blocks.iter().map(class).collect();
    let text = paragraphs(blocks, &classes);
    trust_links(&mut classes, |at, length| length <= MAX_LIST && text.contains(&at));
    trust_prose(blocks, &mut classes, &text);
    trust_links(&mut classes, |_, length| length < MENU);
    for (class, block) in classes.iter_mut().zip(blocks) {
        if block.label.zone == Zone::Surroundings {
            *class = Class::Surroundings;
        }
    }
    classes
}

/// Returns the range from the first paragraph to the last.
fn paragraphs(blocks: &[Block], classes: &[Class]) -> Range<usize> {
    let is_paragraph = |(block, class): (&Block, &Class)| {
        let long = block.end - block.start >= MEDIUM && block.label.kind != Kind::Heading;
        long && block.label.zone != Zone::Surroundings && *class != Class::Surroundings
    };
    let mut all = blocks.iter().zip(classes);
    let first = all.clone().position(is_paragraph).unwrap_or_default();
    first..all.rposition(is_paragraph).unwrap_or_default()
}

/// Classifies runs of blocks of links like their neighbours, if `trusted` accepts their place and
/// number.
fn trust_links(classes: &mut [Class], trusted: impl Fn(usize, usize) -> bool) {
    let mut at = 0;
    for run in classes.chunk_by_mut(|a, b| a == b) {
        if run.first() == Some(&Class::Surroundings) && trusted(at, run.len()) {
            run.fill(Class::Short);
        }
        at += run.len();
    }
}

/// Classifies short paragraphs and items like longer ones if they are next to anything but links.
/// Cells between paragraphs are classified in the same way; other cells may serve the layout.
fn trust_prose(blocks: &[Block], classes: &mut [Class], text: &Range<usize>) {
    let mut before = None;
    for (at, block) in blocks.iter().enumerate() {
        let after = classes.get(at + 1).copied();
        let Some(class) = classes.get_mut(at) else { return };
        let is_text = |side: Option<Class>| side.is_some_and(|side| side != Class::Surroundings);
        let by_text = is_text(before) || is_text(after);
        before = Some(*class);
        let is_prose = match block.label.kind {
            Kind::Prose => true,
            Kind::Cell => text.contains(&at),
            Kind::Heading | Kind::Other => false,
        };
        if is_prose && *class == Class::Short && by_text {
            *class = Class::Likely;
        }
    }
}

fn class(block: &Block) -> Class {
    let length = block.end - block.start;
    let unlinked = length.saturating_sub(block.linked);
    let max_linked = if block.label.kind == Kind::Prose { MAX_LINKED_PROSE } else { MAX_LINKED };
    match length {
        _ if unlinked >= LONG => Class::Content,
        _ if block.label.kind == Kind::Prose && block.linked > 0 && unlinked >= SENTENCE => {
            Class::Likely
        }
        _ if block.linked * 100 > length * max_linked => Class::Surroundings,
        LONG.. => Class::Content,
        MEDIUM.. => Class::Likely,
        _ if block.label.zone == Zone::Content => Class::Likely,
        _ => Class::Short,
    }
}

/// Decides for each block whether it is content.
fn choose(blocks: &[Block], classes: &[Class]) -> Vec<bool> {
    let before = nearest(classes.iter());
    let mut after = nearest(classes.iter().rev());
    after.reverse();
    let sides = before.iter().zip(&after);
    let chosen = classes.iter().zip(blocks).zip(sides).map(|((class, block), (before, after))| {
        let before = before.is_some_and(|side| side != Class::Surroundings);
        let after = after.is_some_and(|side| side != Class::Surroundings);
        match class {
            Class::Content => true,
            Class::Surroundings => false,
            Class::Likely => before || after,
            // A heading belongs to what follows.
            Class::Short if block.label.kind == Kind::Heading => after,
            Class::Short => before && after,
        }
    });
    chosen.collect()
}

/// Returns, for each block, the class of the nearest block before it that is not short.
fn nearest<'a>(classes: impl Iterator<Item = &'a Class>) -> Vec<Option<Class>> {
    let mut last = None;
    let mut next = |class: &Class| {
        let before = last;
        if *class != Class::Short {
            last = Some(*class);
        }
        before
    };
    classes.map(&mut next).collect()
}

fn kept<'a>(blocks: &'a [Block], chosen: &'a [bool]) -> impl Iterator<Item = &'a Block> {
    blocks.iter().zip(chosen).filter_map(|(block, chosen)| chosen.then_some(block))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::layout::lay_out;

    fn content(html: &str) -> String {
        main_content(lay_out(html))
    }

    fn paragraph(word: &str) -> String {
        vec![word; 60].join(" ")
    }

    #[test]
    fn menus_and_footers_are_left_out() {
        let (one, two) = (paragraph("first"), paragraph("second"));
        let html = format!(
            "<ul><li><a href=x>Home</a><li><a href=x>News</a><li><a href=x>About us</a></ul><h1>Title</h1><p>{one}</p><ul><li>short item\
             </ul><p>{two} <a href=x>link</a></p><div>Copyright 2020</div><p><a href=x>Imprint</a></p>"
        );
        assert_eq!(content(&html), format!("Title\n{one}\nshort item\n{two} link"));
    }

    #[test]
    fn a_page_of_links_or_of_short_lines_is_kept_entirely() {
        let links = "<p><a href=x>one</a></p><p><a href=x>two</a></p>";
        assert_eq!(content(links), "one\ntwo");
        let short = "<nav>menu</nav><p>one</p><p>two</p><p>three <a href=x>four</a></p>";
        assert_eq!(content(short), "one\ntwo\nthree four");
    }

    #[test]
    fn lists_of_links_and_short_lines_in_the_text_are_kept() {
        let (one, two) = (paragraph("first"), paragraph("second"));
        let menu: String = (0..30).map(|i| format!("<li><a href=x>Topic {i}</a>")).collect();
        let html = format!(
            "<table><tr><th>Title<td><a href=x>Next</a></table><ul>{menu}</ul><p>Short start.\
             <p>{one}<p>See:<ul><li><a href=x>one book</a><li><a href=x>another</a><li><a href=x>a \
             third</a></ul><p>{two}<ul><li>See the installation instructions at <a href=x>\
             https://example.org/a/long/address/of/instructions</a></ul><h2>End</h2><dl><dt>term\
             <dd>what it means</dl><pre>code</pre>\
             <table><tr><td>Page 1<td><a href=x>Next</a><td>Page 3</table>"
        );
        let kept = format!(
            "Short start.\n{one}\nSee:\none book\nanother\na third\n{two}\n\
             See the installation instructions at https://example.org/a/long/address/of/instructions\n\
             End\nterm\nwhat it means\ncode"
        );
        assert_eq!(content(&html), kept);
    }

    #[test]
    fn a_small_part_does_not_replace_the_page() {
        let posts: String = (0..40).map(|i| format!("<li>short post number {i}")).collect();
        let html = format!("<p>{}</p><ul>{posts}</ul>", paragraph("rule"));
        assert!(content(&html).contains("post number 39"));
    }

    #[test]
    fn lengths_fit_chinese_too() {
        let text =
            "这一段文字有足够的长度，所以不管它的邻居是什么，都应当算作正文的一部分，而不是菜单。"
                .repeat(2);
        let html = format!("<div><a href=x>首页</a></div><div>{text}</div><div>版权所有</div>");
        assert_eq!(content(&html), text);
    }
}
