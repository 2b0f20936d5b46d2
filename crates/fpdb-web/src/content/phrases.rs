//! What the words of a short block show.

use std::sync::OnceLock;

use super::words;

/// Phrases by their first two bytes.
struct Table(Vec<Vec<&'static [u8]>>);

impl Table {
    /// Phrases that bars divide.
    fn new(phrases: &'static str) -> Self {
        let mut table = vec![Vec::new(); 256];
        for phrase in phrases.split('|') {
            if let Some(list) = table.get_mut(place(phrase.as_bytes())) {
                list.push(phrase.as_bytes());
            }
        }
        Self(table)
    }

    fn starts(&self, text: &[u8]) -> bool {
        let list = self.0.get(place(text));
        list.is_some_and(|list| list.iter().any(|phrase| text.starts_with(phrase)))
    }
}

/// Returns the place of a phrase in a table. In most alphabets other than the Latin one, all
/// letters have the same first byte.
fn place(phrase: &[u8]) -> usize {
    match phrase {
        [first, second, ..] => usize::from(first.wrapping_mul(31) ^ second),
        _ => 0,
    }
}

fn table(cell: &'static OnceLock<Table>, phrases: &'static str) -> &'static Table {
    cell.get_or_init(|| Table::new(phrases))
}

/// Characters before the words of a heading.
fn bare(text: &str) -> &[u8] {
    text.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '©').as_bytes()
}

/// Returns whether a heading, folded, says that its section is not content.
pub(super) fn is_heading(folded: &str) -> bool {
    static TABLE: OnceLock<Table> = OnceLock::new();
    table(&TABLE, words::HEADINGS).starts(bare(folded))
}

/// Returns whether a block, folded, begins as a reference to other pages or a source.
pub(super) fn is_opening(folded: &str) -> bool {
    static TABLE: OnceLock<Table> = OnceLock::new();
    table(&TABLE, words::OPENINGS).starts(bare(folded))
}

/// Returns whether a block, folded, has a phrase that content does not have.
pub(super) fn has_phrase(folded: &str) -> bool {
    static TABLE: OnceLock<Table> = OnceLock::new();
    let table = table(&TABLE, words::PHRASES);
    let bytes = folded.as_bytes();
    let mut in_word = false;
    bytes.iter().enumerate().any(|(at, byte)| {
        let starts = !in_word && table.starts(bytes.get(at..).unwrap_or_default());
        in_word = byte.is_ascii_alphanumeric();
        starts
    })
}

/// Returns whether a text that is no longer than a notice mentions cookies.
pub(super) fn has_cookie(text: &str) -> bool {
    let find = |word: &str| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some();
    text.len() < 1000 && (find("cookie") || find("Cookie"))
}

/// Returns a text in lower case, with white space as single spaces.
pub(super) fn folded(text: &str) -> String {
    let mut folded = String::new();
    fold_into(text, &mut folded);
    folded
}

/// Writes a text in lower case, with white space as single spaces.
pub(super) fn fold_into(text: &str, folded: &mut String) {
    folded.clear();
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        if word.is_ascii() {
            let from = folded.len();
            folded.push_str(word);
            if let Some(word) = folded.get_mut(from..) {
                word.make_ascii_lowercase();
            }
        } else {
            folded.extend(word.chars().flat_map(char::to_lowercase));
        }
    }
}

/// Returns a hash of a text, never 0. It reads eight bytes at a time.
pub(super) fn hash(text: &str) -> u64 {
    let step = |hash: u64, value: u64| {
        let mixed = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    };
    let eights = text.as_bytes().chunks_exact(8);
    let rest =
        eights.remainder().iter().fold(text.len() as u64, |hash, b| step(hash, u64::from(*b)));
    let number = |eight: &[u8]| eight.try_into().map_or(0, u64::from_le_bytes);
    eights.fold(rest, |hash, eight| step(hash, number(eight))).max(1)
}

/// What there is in a text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// Marks of punctuation.
    pub(super) points: u32,
    pub(super) digits: u32,
    /// Signs of program code, and bars between the parts of a line.
    pub(super) symbols: u32,
    pub(super) bars: u32,
    /// How many bytes longer it is than it would be with one byte per letter.
    pub(super) excess: usize,
}

/// Counts what there is in a text.
pub(super) fn count(text: &str) -> Counts {
    let mut counts = Counts::default();
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'.' | b'!' | b'?' | b';' | b',' | b':' => counts.points += 1,
            b'0'..=b'9' => counts.digits += 1,
            b'|' => counts.bars += 1,
            b'{' | b'}' | b'(' | b')' | b'[' | b']' | b'<' | b'>' | b'=' | b'_' | b'$' | b'/' => {
                counts.symbols += 1;
            }
            // A middle dot.
            0xc2 => counts.bars += u32::from(bytes.get(at + 1) == Some(&0xb7)),
            // Latin, Greek, Cyrillic, Hebrew, Arabic, and the alphabets from India to Burma.
            0xc3..=0xdf => counts.excess += 1,
            0xe0 | 0xe1 => counts.excess += 2,
            0xe2 | 0xe3 | 0xef => {
                let c = bytes.get(at..at + 3).and_then(|c| <[u8; 3]>::try_from(c).ok());
                counts.bars += u32::from(c.is_some_and(|c| WIDE_BARS.contains(&c)));
                counts.points += u32::from(c.is_some_and(|c| WIDE_POINTS.contains(&c)));
            }
            _ => {}
        }
    }
    counts
}

/// … 。 、 ， ！ ？ ： ； in UTF-8.
const WIDE_POINTS: [[u8; 3]; 8] = [
    [0xe2, 0x80, 0xa6],
    [0xe3, 0x80, 0x82],
    [0xe3, 0x80, 0x81],
    [0xef, 0xbc, 0x8c],
    [0xef, 0xbc, 0x81],
    [0xef, 0xbc, 0x9f],
    [0xef, 0xbc, 0x9a],
    [0xef, 0xbc, 0x9b],
];

/// • ‧ ｜ in UTF-8.
const WIDE_BARS: [[u8; 3]; 3] = [[0xe2, 0x80, 0xa2], [0xe2, 0x80, 0xa7], [0xef, 0xbd, 0x9c]];

/// Returns whether a text ends as a sentence does.
pub(super) fn ends_sentence(text: &str) -> bool {
    text.ends_with([
        '.', '!', '?', '。', '！', '？', '…', ':', ';', '"', '”', '’', ')', '」', '』', '：', '；',
        '）', '।', '။', '۔', '؟',
    ])
}
