//! What a page promises: the words of its title and of its description, and which of them each
//! block has.

use super::tree::Page;
use crate::html::{all_text, is_unspaced};

/// The words of a promise that count, and the bytes at the beginning of a block that are searched
/// for them.
const WORDS: usize = 48;
const START: usize = 300;
/// Bytes of a promise that count.
const PROMISE: usize = 1000;

/// The words of a title or a description.
#[derive(Debug, Default)]
pub(super) struct Promise {
    words: Vec<u64>,
    /// A bit for each word, so that most other words need no search.
    bits: u64,
}

impl Promise {
    /// Makes a promise of text with entities.
    fn new(text: &str) -> Self {
        let mut words = Vec::new();
        each_word(&all_text(start(text, PROMISE)), |word| {
            if words.len() < WORDS && !words.contains(&word) {
                words.push(word);
            }
        });
        let bits = words.iter().fold(0, |bits, word| bits | 1 << (word % 64));
        Self { words, bits }
    }

    /// The number of its words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// The share of these words, in thousandths, or -1 if there are none.
    pub(super) fn share(&self, found: u64) -> i16 {
        let share = usize::try_from(found.count_ones()).unwrap_or_default() * 1000;
        share.checked_div(self.words.len()).map_or(-1, |share| i16::try_from(share).unwrap_or(1000))
    }

    fn find(&self, word: u64) -> u64 {
        let place = || self.words.iter().position(|other| *other == word);
        if self.bits >> (word % 64) & 1 == 0 { 0 } else { place().map_or(0, |place| 1 << place) }
    }
}

/// What a page promises, and the words of that at the beginning of each block, as bits.
#[derive(Debug, Default)]
pub(super) struct Promises {
    pub(super) title: Promise,
    pub(super) description: Promise,
    pub(super) found: Vec<Found>,
}

/// The words of the title and of the description that a block has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) title: u64,
    pub(super) description: u64,
}

impl Promises {
    pub(super) fn of(page: &Page) -> Self {
        let (title, description) = (Promise::new(page.title), Promise::new(page.description));
        let is_empty = title.len() + description.len() == 0;
        let find = |text: &str| {
            let mut found = Found::default();
            if is_empty {
                return found;
            }
            each_word(start(text, START), |word| {
                found.title |= title.find(word);
                found.description |= description.find(word);
            });
            found
        };
        let texts = page.blocks.iter().map(|b| page.text.get(b.start..b.end).unwrap_or_default());
        let found = texts.map(find).collect();
        Self { title, description, found }
    }
}

fn start(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// Calls a function with a hash of each word: letters and digits in lower case, or one character of
/// Chinese, Japanese or a script of syllables.
fn each_word(text: &str, mut call: impl FnMut(u64)) {
    let step = |hash: u64, c: char| (hash ^ u64::from(c)).wrapping_mul(0x0100_0000_01b3).max(1);
    let mut end = |hash: u64| {
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        call(mixed ^ mixed >> 32);
    };
    let mut hash = 0;
    for c in text.chars() {
        if c.is_ascii() {
            if c.is_ascii_alphanumeric() {
                hash = step(hash, c.to_ascii_lowercase());
            } else if hash != 0 {
                end(hash);
                hash = 0;
            }
            continue;
        }
        let is_alone = is_unspaced(c) || is_syllable(c);
        let is_part = !is_alone && c.is_alphanumeric();
        if hash != 0 && !is_part {
            end(hash);
            hash = 0;
        }
        if is_alone && c.is_alphanumeric() {
            end(u64::from(c));
        } else if is_part {
            hash = c.to_lowercase().fold(hash, step);
        }
    }
    if hash != 0 {
        end(hash);
    }
}

/// Whether a character outside of Chinese and Japanese is a syllable or a part of one: in Hangul,
/// whose words have many endings, and in Thai, Lao, Burmese and Khmer, which have no spaces between
/// words.
fn is_syllable(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7af}' | '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::tree;

    /// The shares of the title and of the description that each block has.
    fn shares(html: &str) -> Vec<(i16, i16)> {
        let promises = Promises::of(&tree::build(html));
        let share = |found: &Found| {
            (promises.title.share(found.title), promises.description.share(found.description))
        };
        promises.found.iter().map(share).collect()
    }

    #[test]
    fn the_words_of_the_title_and_of_the_description_are_found_in_blocks() {
        let head =
            "<title>The Flood</title><meta name=description content='Sand, carried to a dam.'>";
        let found = shares(&format!("{head}<p>the flood: SAND to the dam<p>menu"));
        assert_eq!(found, [(1000, 600), (0, 0)]);
        let head = "<title>Наводнение</title><meta property='og:description' content=堤坝上>";
        assert_eq!(shares(&format!("{head}<p>НАВОДНЕНИЕ<p>堤坝。")), [(1000, 0), (0, 666)]);
        let head =
            "<title>Caf&eacute; &amp; bar</title><meta name=description content='&#1044;&#1072;'>";
        assert_eq!(shares(&format!("{head}<p>Café and bar<p>Да")), [(1000, 0), (0, 1000)]);
        // Thai has no spaces between words.
        let found = shares("<title>น้ำท่วม</title><p>น้ำ");
        assert!((300..1000).contains(&found[0].0), "{found:?}");
    }

    #[test]
    fn only_the_meta_of_a_description_gives_it() {
        let keywords = "<meta name=keywords content='job description, dam'>";
        let description = "<meta property=og:description content='the flood'>";
        for head in [format!("{keywords}{description}"), format!("{description}{keywords}")] {
            assert_eq!(shares(&format!("{head}<p>the flood")), [(-1, 1000)]);
        }
        assert_eq!(shares(&format!("{keywords}<p>the dam")), [(-1, -1)]);
    }

    #[test]
    fn a_page_that_promises_nothing_has_no_shares() {
        assert_eq!(shares("<p>text"), [(-1, -1)]);
    }
}
