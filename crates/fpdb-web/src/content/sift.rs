//! What is taken out of the tree before the blocks are judged, because it repeats what the page
//! shows or numbers it: `<noscript>`, and the numbers of lines of code.

use super::marks::Marks;
use super::tree::{Page, Tag};
use super::units::{Sums, at};
use crate::html::writer::Block;

/// Bytes of text from which a page shows its content without the help of `<noscript>`.
const SHOWN: usize = 600;
/// Bytes of a block from which it can be prose.
const LONG: usize = 70;
/// The least number of elements in a list.
const ITEMS: u32 = 3;
/// How many numbers must rise by one to number lines, if no name says so: in `<pre>`, and
/// elsewhere.
const NUMBERS: (u64, u64) = (2, 5);

/// Takes out of a page what no reader wants twice, or at all.
pub(super) fn sift(page: &mut Page) {
    drop_noscript(page);
    drop_line_numbers(page);
}

/// Drops the blocks that are mostly links.
pub(super) fn drop_links(page: &mut Page) {
    let kept: Vec<bool> = page.blocks.iter().map(|block| 2 * block.linked < block.len()).collect();
    retain(page, &kept);
}

/// Keeps some of the blocks of a page.
fn retain(page: &mut Page, kept: &[bool]) {
    // The number of kept blocks before each block.
    let mut before = vec![0];
    for kept in kept {
        before.push(at(&before, before.len() - 1) + u32::from(*kept));
    }
    for element in &mut page.elements {
        (element.first, element.end) =
            (at(&before, element.first as usize), at(&before, element.end as usize));
    }
    let mut kept = kept.iter();
    page.blocks.retain(|_| kept.next().copied().unwrap_or_default());
}

/// Returns, for each element, whether it or one around it is wanted.
fn within(page: &Page, wanted: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut found: Vec<bool> = Vec::with_capacity(page.elements.len());
    for (index, element) in page.elements.iter().enumerate() {
        found.push(at(&found, element.parent as usize) || wanted(index));
    }
    found
}

/// Returns whether each element is in a list: in a run of like siblings other than paragraphs.
fn in_lists(page: &Page) -> Vec<bool> {
    let is_item = |tag: Tag| {
        matches!(tag, Tag::Li | Tag::Div | Tag::Article | Tag::Section | Tag::Row | Tag::Custom)
    };
    let runs = page.elements.iter().map(|element| element.run as usize).max().unwrap_or_default();
    let mut counts = vec![0; runs + 1];
    for element in page.elements.iter().filter(|e| is_item(e.tag) && e.end > e.first) {
        if let Some(count) = counts.get_mut(element.run as usize) {
            *count += 1;
        }
    }
    within(page, |index| {
        let element = page.elements.get(index);
        element.is_some_and(|e| is_item(e.tag) && at(&counts, e.run as usize) >= ITEMS)
    })
}

/// Drops what is in `<noscript>`, unless that is most of the page or of its prose outside of lists,
/// such as comments. Then these are dropped.
fn drop_noscript(page: &mut Page) {
    let hidden =
        within(page, |index| page.elements.get(index).is_some_and(|e| e.tag == Tag::Noscript));
    if !hidden.contains(&true) {
        return;
    }
    let listed = in_lists(page);
    let is_hidden = |block: &Block| at(&hidden, block.element as usize);
    let size: usize = page.blocks.iter().filter(|block| is_hidden(block)).map(Block::len).sum();
    let shown = page.blocks.iter().map(Block::len).sum::<usize>() - size;
    let is_listed = |block: &Block| at(&listed, block.element as usize);
    let prose = |wanted: &dyn Fn(&Block) -> bool| -> usize {
        let is_prose = |block: &&Block| block.len() >= LONG && 2 * block.linked < block.len();
        page.blocks.iter().filter(is_prose).filter(|b| wanted(b)).map(Block::len).sum()
    };
    let hidden_prose = prose(&is_hidden);
    let listed_prose = prose(&|block| !is_hidden(block) && is_listed(block));
    let prose = prose(&|block| !is_hidden(block) && !is_listed(block));
    if shown < SHOWN && size > 2 * shown {
        return;
    }
    // If the article is in `<noscript>`, lists beside it are comments or other articles. A notice
    // is none, so what is shorter than an article must be more than the lists, too.
    let least = if hidden_prose < SHOWN { prose + listed_prose } else { prose };
    let is_article = hidden_prose > 2 * least.max(LONG) && prose < SHOWN;
    let is_kept = |block: &Block| match is_article {
        true => is_hidden(block) || !is_listed(block),
        false => !is_hidden(block),
    };
    let kept: Vec<bool> = page.blocks.iter().map(is_kept).collect();
    retain(page, &kept);
}

/// Drops the numbers of lines of code: blocks of numbers only, if the name of an element that holds
/// nothing else says what they are, or if they rise by one from block to block.
fn drop_line_numbers(page: &mut Page) {
    let is_number = |block: &Block| {
        let text = page.text.get(block.start..block.end).unwrap_or_default();
        text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_whitespace())
    };
    let others = Sums::new(page.blocks.iter().map(|block| u64::from(!is_number(block))));
    // Layouts use the same names for the space between columns, so the contents decide, too.
    let named = within(page, |index| {
        page.elements.get(index).is_some_and(|element| {
            element.marks.has(Marks::GUTTER)
                && others.between(element.first as usize, element.end as usize) == 0
        })
    });
    let pre = within(page, |index| page.elements.get(index).is_some_and(|e| e.tag == Tag::Pre));
    let mut kept = vec![true; page.blocks.len()];
    let mut run = Run::default();
    for (index, block) in page.blocks.iter().enumerate() {
        let text = page.text.get(block.start..block.end).unwrap_or_default();
        let element = block.element as usize;
        if at(&named, element) {
            if let Some(kept) = kept.get_mut(index) {
                *kept = false;
            }
            continue;
        }
        let Some((first, last)) = numbers(text).filter(|_| block.linked == 0) else {
            run = Run::default();
            continue;
        };
        if run.next != Some(first) {
            run = Run { begin: index, first, next: None };
        }
        run.next = last.checked_add(1);
        let least = if at(&pre, element) { NUMBERS.0 } else { NUMBERS.1 };
        if run.first <= 1 && last - run.first + 1 >= least {
            for kept in kept.get_mut(run.begin..=index).unwrap_or_default() {
                *kept = false;
            }
            // What is dropped already is not looked at again.
            run.begin = index + 1;
        }
    }
    if kept.contains(&false) {
        retain(page, &kept);
    }
}

/// Blocks of rising numbers.
#[derive(Debug, Default)]
struct Run {
    begin: usize,
    first: u64,
    next: Option<u64>,
}

/// Returns the first and the last number of a text of numbers that rise by one.
fn numbers(text: &str) -> Option<(u64, u64)> {
    let mut found = None;
    for word in text.split_whitespace() {
        // Not `+1`, which can be parsed, too.
        let number: u64 = word.bytes().all(|b| b.is_ascii_digit()).then(|| word.parse().ok())??;
        found = match found {
            None => Some((number, number)),
            Some((first, last)) if last.checked_add(1) == Some(number) => Some((first, number)),
            Some(_) => return None,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::tree::build;

    /// The texts of the blocks that are left.
    fn sifted(html: &str) -> Vec<String> {
        let mut page = build(html);
        sift(&mut page);
        for element in &page.elements {
            assert!(element.first <= element.end && element.end as usize <= page.blocks.len());
        }
        page.blocks.iter().map(|block| page.text[block.start..block.end].to_owned()).collect()
    }

    #[test]
    fn noscript_counts_only_on_pages_that_show_nearly_nothing_else() {
        let note = "<div>a<noscript><p>Please switch on the scripts.</noscript>b</div>";
        assert_eq!(sifted(&format!("{note}{}", "<p>word".repeat(200))).len(), 202);
        assert_eq!(sifted(note).len(), 3);
    }

    /// Scripts put the article in place of the element before it, and comments below.
    #[test]
    fn an_article_in_noscript_is_kept_without_the_comments_beside_it() {
        let sentence = "The rowing club on the lower river has bought back the boathouse. ";
        let article = format!("<p>{}", sentence.repeat(2)).repeat(8);
        for tag in ["div", "li", "section", "article"] {
            let comment = format!("<{tag}><b>Ina</b><p>{}</{tag}>", "good idea ".repeat(12));
            let page = format!("<noscript>{article}</noscript>{}", comment.repeat(12));
            assert_eq!(sifted(&page).len(), 8, "{tag}");
        }
        let page = format!("<noscript>{article}</noscript>{article}");
        assert_eq!(sifted(&page).len(), 8);
    }

    /// On a page of a table of reviews, a notice about browsers was all that was kept.
    #[test]
    fn a_notice_in_noscript_is_no_article() {
        let notice = "We noticed that you use a browser in which this site is not shown as it should \
                      be. We support all browsers that are newer than the one that you have now.";
        for tag in ["li", "div", "tr"] {
            let review = format!("<{tag}><p>{}</{tag}>", "A clean room and a good bed. ".repeat(8));
            let page = format!("<noscript><p>{notice}</noscript>{}", review.repeat(5));
            let blocks = sifted(&page);
            assert!(blocks.len() == 5 && !blocks.contains(&notice.to_owned()), "{tag}: {blocks:?}");
        }
    }

    #[test]
    fn numbers_of_lines_are_no_text() {
        let lines = ["1", "2", "3", "4"];
        for numbers in [
            format!(
                "<td class=gutter><pre>{}</pre></td>",
                lines.map(|n| format!("<div>{n}</div>")).concat()
            ),
            format!("<td><pre>{}</pre></td>", lines.join("\n")),
            format!(
                "<td><pre>{}</pre></td>",
                lines.map(|n| format!("<span>{n}</span><br>")).concat()
            ),
            format!("<td class=linenos><div>{}</div></td>", ["98", "99", "100"].join("\n")),
            format!("<td class=x-line-numbers><div>{}</div></td>", ["8", "10"].join("<br>")),
            format!("<td><ol>{}<li>5</ol></td>", lines.map(|n| format!("<li>{n}</li>")).concat()),
        ] {
            let page = format!("<p>a<table><tr>{numbers}<td><pre>let x = 1;\nx</pre></table>b");
            assert_eq!(sifted(&page), ["a", "let x = 1;\nx", "b"], "{numbers}");
        }
        let inline = "<pre><span class='lineno'> 1 </span>a\n<span class=ln>2</span>b</pre>";
        assert_eq!(sifted(inline), ["a\nb"]);
    }

    #[test]
    fn numbers_that_say_something_are_text() {
        for (html, blocks) in [
            ("<table><tr><td>Year<td>2010<td>2011<td>2012<td>2013<td>2014<td>2015</table>", 7),
            ("<table><tr><td>1<td>Ina<tr><td>2<td>Ben<tr><td>3<td>Eva<tr><td>4<td>Kai</table>", 8),
            ("<pre>1\n2\n4</pre>", 1),
            ("<p>1<p>2<p>3", 3),
            (
                "<p><a href=x>1</a><p><a href=x>2</a><p><a href=x>3</a><p><a href=x>4</a><p><a href=x>5</a>",
                5,
            ),
            ("<td class=gutter>12 monkeys</td>", 1),
            ("<div class='row no-gutter'><table><tr><td>120<td>a</table></div>", 2),
            ("<p>18446744073709551615<p>99999999999999999999", 2),
        ] {
            assert_eq!(sifted(html).len(), blocks, "{html}");
        }
    }
}
