//! The content of a page, without what surrounds it on every page of its site.
//!
//! Blocks are told apart by their length and by how much of them is links: paragraphs are long and
//! have few, menus are short and are nothing else (Kohlschuetter et al., "Boilerplate Detection
//! using Shallow Text Features", 2010). What is short is judged by its neighbours: headings and
//! items between paragraphs belong to them. Lengths are in bytes of UTF-8, which measure alike
//! what a text says in scripts with letters and in Chinese.

use std::ops::Range;

use super::text::{Block, Kind, Text, Zone};

/// Bytes of a paragraph, whatever its neighbours.
const LONG: usize = 200;
/// Bytes of what may be one, if a neighbour is.
const MEDIUM: usize = 70;
/// Bytes outside of links that make a sentence about them, if they are in a paragraph or item.
const SENTENCE: usize = 30;
/// Percent of a block that may be links, and of one in an element for text.
const MAX_LINKED: usize = 40;
const MAX_LINKED_PROSE: usize = 60;
/// Percent of the text outside of links and menus that the content is at least, and of the text
/// with its links. If less was found, the page is of a kind that has no paragraphs, and all of it
/// is taken.
const MIN_SHARE: usize = 50;
const MIN_LINKED_SHARE: usize = 10;
/// Blocks of links in a row that make a menu.
const MENU: usize = 3;
/// Blocks of links in a row that may be a list of references, if they stand in the content.
const MAX_LIST: usize = 24;

/// What a block seems to be by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guess {
    Content,
    /// Content if a block on either side may be.
    Likely,
    /// As the blocks on both sides.
    Short,
    Surroundings,
}

/// The content of a page, or all of its text if no content stands out.
pub(super) fn of(page: &Text) -> String {
    let chosen = choose(&page.blocks, &guess_all(&page.blocks));
    let outside_menus = |b: &&Block| b.zone != Zone::Surroundings;
    let all = size(page.blocks.iter().filter(outside_menus));
    let content = size(kept(&page.blocks, &chosen));
    let enough = content.unlinked * 100 >= all.unlinked * MIN_SHARE
        && content.bytes * 100 >= all.bytes * MIN_LINKED_SHARE;
    if content.bytes > 0 && enough {
        return join(page, kept(&page.blocks, &chosen));
    }
    match all.bytes {
        0 => page.text.clone(),
        _ => join(page, page.blocks.iter().filter(outside_menus)),
    }
}

/// Lengths of blocks, with and without what stands in links.
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

/// By what the blocks are, and by what stands next to them.
fn guess_all(blocks: &[Block]) -> Vec<Guess> {
    let mut guesses: Vec<Guess> = blocks.iter().map(guess).collect();
    let text = paragraphs(blocks, &guesses);
    trust_links(&mut guesses, |at, length| length <= MAX_LIST && text.contains(&at));
    trust_prose(blocks, &mut guesses, &text);
    trust_links(&mut guesses, |_, length| length < MENU);
    for (guess, block) in guesses.iter_mut().zip(blocks) {
        if block.zone == Zone::Surroundings {
            *guess = Guess::Surroundings;
        }
    }
    guesses
}

/// From the first paragraph to the last.
fn paragraphs(blocks: &[Block], guesses: &[Guess]) -> Range<usize> {
    let is_paragraph = |(block, guess): (&Block, &Guess)| {
        let long = block.end - block.start >= MEDIUM && block.kind != Kind::Heading;
        long && block.zone != Zone::Surroundings && *guess != Guess::Surroundings
    };
    let mut all = blocks.iter().zip(guesses);
    let first = all.clone().position(is_paragraph).unwrap_or_default();
    first..all.rposition(is_paragraph).unwrap_or_default()
}

/// Takes blocks of links in a row for what is around them, if `trusted` by their place and number.
fn trust_links(guesses: &mut [Guess], trusted: impl Fn(usize, usize) -> bool) {
    let mut at = 0;
    for run in guesses.chunk_by_mut(|a, b| a == b) {
        if run.first() == Some(&Guess::Surroundings) && trusted(at, run.len()) {
            run.fill(Guess::Short);
        }
        at += run.len();
    }
}

/// A short paragraph or item may be content as a longer one may, if it is next to anything but
/// links. So may a cell among the paragraphs; others may be there for the layout.
fn trust_prose(blocks: &[Block], guesses: &mut [Guess], text: &Range<usize>) {
    let mut before = None;
    for (at, block) in blocks.iter().enumerate() {
        let after = guesses.get(at + 1).copied();
        let Some(guess) = guesses.get_mut(at) else { return };
        let is_text = |side: Option<Guess>| side.is_some_and(|side| side != Guess::Surroundings);
        let by_text = is_text(before) || is_text(after);
        before = Some(*guess);
        let is_prose = match block.kind {
            Kind::Prose => true,
            Kind::Cell => text.contains(&at),
            Kind::Heading | Kind::Other => false,
        };
        if is_prose && *guess == Guess::Short && by_text {
            *guess = Guess::Likely;
        }
    }
}

fn guess(block: &Block) -> Guess {
    let length = block.end - block.start;
    let unlinked = length.saturating_sub(block.linked);
    let max_linked = if block.kind == Kind::Prose { MAX_LINKED_PROSE } else { MAX_LINKED };
    match length {
        _ if unlinked >= LONG => Guess::Content,
        _ if block.kind == Kind::Prose && block.linked > 0 && unlinked >= SENTENCE => Guess::Likely,
        _ if block.linked * 100 > length * max_linked => Guess::Surroundings,
        LONG.. => Guess::Content,
        MEDIUM.. => Guess::Likely,
        _ if block.zone == Zone::Content => Guess::Likely,
        _ => Guess::Short,
    }
}

/// Whether each block is content.
fn choose(blocks: &[Block], guesses: &[Guess]) -> Vec<bool> {
    let before = nearest(guesses.iter());
    let mut after = nearest(guesses.iter().rev());
    after.reverse();
    let sides = before.iter().zip(&after);
    let chosen = guesses.iter().zip(blocks).zip(sides).map(|((guess, block), (before, after))| {
        let before = before.is_some_and(|side| side != Guess::Surroundings);
        let after = after.is_some_and(|side| side != Guess::Surroundings);
        match guess {
            Guess::Content => true,
            Guess::Surroundings => false,
            Guess::Likely => before || after,
            // A heading belongs to what follows.
            Guess::Short if block.kind == Kind::Heading => after,
            Guess::Short => before && after,
        }
    });
    chosen.collect()
}

/// For each block, the nearest one before it that is not short.
fn nearest<'a>(guesses: impl Iterator<Item = &'a Guess>) -> Vec<Option<Guess>> {
    let mut last = None;
    let mut next = |guess: &Guess| {
        let before = last;
        if *guess != Guess::Short {
            last = Some(*guess);
        }
        before
    };
    guesses.map(&mut next).collect()
}

fn kept<'a>(blocks: &'a [Block], chosen: &'a [bool]) -> impl Iterator<Item = &'a Block> {
    blocks.iter().zip(chosen).filter_map(|(block, chosen)| chosen.then_some(block))
}

/// These blocks, each behind the separator that it has in the page.
fn join<'a>(page: &Text, blocks: impl Iterator<Item = &'a Block>) -> String {
    let mut text = String::with_capacity(page.text.len());
    for block in blocks {
        let from = if text.is_empty() { block.start } else { block.start.saturating_sub(1) };
        text.push_str(page.text.get(from..block.end).unwrap_or_default());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::web::text;

    fn content(html: &str) -> String {
        of(&text::of(html))
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
    fn a_page_of_links_or_of_short_lines_is_taken_whole() {
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
    fn a_small_part_does_not_stand_for_the_page() {
        let posts: String = (0..40).map(|i| format!("<li>short post number {i}")).collect();
        let html = format!("<p>{}</p><ul>{posts}</ul>", paragraph("rule"));
        assert!(content(&html).contains("post number 39"));
    }

    #[test]
    fn chinese_is_measured_by_what_it_says() {
        let text =
            "这一段文字有足够的长度，所以不管它的邻居是什么，都应当算作正文的一部分，而不是菜单。"
                .repeat(2);
        let html = format!("<div><a href=x>首页</a></div><div>{text}</div><div>版权所有</div>");
        assert_eq!(content(&html), text);
    }
}
