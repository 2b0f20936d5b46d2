//! The content of a page, without what surrounds it on every page of its site.
//!
//! Blocks are told apart by their length and by how much of them is links: paragraphs are long and
//! have few, menus are short and are nothing else (Kohlschuetter et al., "Boilerplate Detection
//! using Shallow Text Features", 2010). What is short is judged by its neighbours: headings and
//! items between paragraphs belong to them. Lengths are in bytes of UTF-8, which measure alike
//! what a text says in scripts with letters and in Chinese.

use super::text::{Block, Text, Zone};

/// Bytes of a paragraph, whatever its neighbours.
const LONG: usize = 200;
/// Bytes of what may be one, if a neighbour is.
const MEDIUM: usize = 70;
/// Percent of a paragraph that may be links.
const MAX_LINKED: usize = 40;
/// Percent of the text outside of links and menus that the content is at least, and of the text
/// with its links. If less was found, the page is of a kind that has no paragraphs, and all of it
/// is taken.
const MIN_SHARE: usize = 50;
const MIN_LINKED_SHARE: usize = 10;
/// Blocks of links in a row that make a menu.
const MENU: usize = 3;

/// What a block seems to be by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guess {
    Content,
    /// Content if a block on either side is.
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

/// One block of links among paragraphs is one of them; several in a row are a menu.
fn guess_all(blocks: &[Block]) -> Vec<Guess> {
    let mut guesses: Vec<Guess> = blocks.iter().map(guess).collect();
    let runs = guesses.chunk_by_mut(|a, b| a == b).filter(|run| run.len() < MENU);
    for run in runs.filter(|run| run.first() == Some(&Guess::Surroundings)) {
        run.fill(Guess::Short);
    }
    for (guess, block) in guesses.iter_mut().zip(blocks) {
        if block.zone == Zone::Surroundings {
            *guess = Guess::Surroundings;
        }
    }
    guesses
}

fn guess(block: &Block) -> Guess {
    let length = block.end - block.start;
    match length {
        _ if length.saturating_sub(block.linked) >= LONG => Guess::Content,
        _ if block.linked * 100 > length * MAX_LINKED => Guess::Surroundings,
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
            Guess::Short if block.heading => after,
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
