//! What the text of each block shows by itself.

use std::collections::HashMap;

use super::phrases;
use super::tree::Page;

/// Bytes outside of links from which a block can be prose, and the largest share of links in it.
const PROSE: u32 = 70;
pub(super) const PROSE_LINKED: u64 = 40;
/// Bytes from which it need not have punctuation, which Thai is written without.
const LONG: u32 = 250;

/// Characters of the title of a page that count.
pub(super) const TITLE_CHARS: usize = 300;

/// A block, with what its text by itself shows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unit {
    pub(super) element: usize,
    /// A hash of its text.
    pub(super) hash: u64,
    /// Bytes of its text, and of that outside of links. A letter of an alphabet counts as one byte.
    pub(super) bytes: u32,
    pub(super) plain: u32,
    /// Marks of punctuation.
    pub(super) points: u32,
    pub(super) digits: u32,
    /// Signs of program code, and bars between the parts of a line.
    pub(super) symbols: u32,
    pub(super) bars: u32,
    /// The level of the heading that it is in, else 0.
    pub(super) level: u8,
    pub(super) is_good: bool,
    /// Whether it ends as a sentence does.
    pub(super) ends: bool,
    pub(super) opening: bool,
    pub(super) phrase: bool,
    pub(super) repeated: bool,
    /// Whether it occurs several times, with other prose in between.
    pub(super) interrupts: bool,
    /// Whether it is prose that the page has shown before.
    pub(super) is_copy: bool,
    /// Whether it mentions cookies.
    pub(super) cookie: bool,
    /// Whether it is in a section whose heading says that it is not content.
    pub(super) aside: bool,
    pub(super) in_title: bool,
    /// How many blocks away the nearest long prose is, up to 15.
    pub(super) distance: u32,
}

/// Sums up to each place.
#[derive(Debug)]
pub(super) struct Sums(Vec<u64>);

impl Sums {
    pub(super) fn new(values: impl Iterator<Item = u64>) -> Self {
        let mut sum = 0;
        let mut sums = vec![0];
        sums.extend(values.map(|value| {
            sum += value;
            sum
        }));
        Self(sums)
    }

    pub(super) fn all(&self) -> u64 {
        self.0.last().copied().unwrap_or_default()
    }

    pub(super) fn between(&self, from: usize, to: usize) -> u64 {
        let at = |at: usize| self.0.get(at).copied().unwrap_or_else(|| self.all());
        at(to).saturating_sub(at(from))
    }
}

/// Returns the value of this index, or the default.
pub(super) fn at<T: Copy + Default>(values: &[T], index: usize) -> T {
    values.get(index).copied().unwrap_or_default()
}

/// Measures the blocks of a page.
pub(super) fn units(page: &Page) -> Vec<Unit> {
    let mut levels: Vec<u8> = Vec::with_capacity(page.elements.len());
    for element in &page.elements {
        let level =
            if element.level > 0 { element.level } else { at(&levels, element.parent as usize) };
        levels.push(level);
    }
    let title: String = page.title.chars().take(TITLE_CHARS).collect();
    let title = phrases::folded(&title);
    let mut seen = HashMap::new();
    let mut folded = String::new();
    let mut units = Vec::with_capacity(page.blocks.len());
    for block in &page.blocks {
        let text = page.text.get(block.start..block.end).unwrap_or_default();
        let counts = phrases::count(text);
        let (points, digits) = (counts.points, counts.digits);
        let bytes = u32::try_from(text.len() - counts.excess).unwrap_or(u32::MAX);
        let linked = (block.linked * (text.len() - counts.excess)).div_ceil(text.len().max(1));
        let linked = u32::try_from(linked).unwrap_or(u32::MAX).min(bytes);
        let level = at(&levels, block.element as usize);
        let plain = bytes - linked;
        let is_low = u64::from(linked) * 100 <= PROSE_LINKED * u64::from(bytes);
        let mut unit = Unit {
            element: block.element as usize,
            bytes,
            plain,
            points,
            digits,
            symbols: counts.symbols,
            bars: counts.bars,
            level,
            is_good: plain >= PROSE && is_low && level == 0 && (points > 0 || plain >= LONG),
            ends: phrases::ends_sentence(text),
            cookie: phrases::has_cookie(text),
            ..Unit::default()
        };
        unit.hash = if bytes < 400 {
            phrases::fold_into(text, &mut folded);
            unit.opening = bytes < 250 && phrases::is_opening(&folded);
            unit.phrase = phrases::has_phrase(&folded);
            unit.aside = bytes <= 90 && (level > 0 || bytes <= 60) && phrases::is_heading(&folded);
            unit.in_title = bytes >= 8 && !title.is_empty() && title.contains(folded.as_str());
            phrases::hash(&folded)
        } else {
            phrases::hash(text)
        };
        let count = seen.entry(unit.hash).or_insert(0_u32);
        unit.is_copy = *count > 0 && unit.is_good;
        *count += 1;
        units.push(unit);
    }
    for unit in &mut units {
        unit.repeated = seen.get(&unit.hash).is_some_and(|count| *count > 1);
    }
    mark_interruptions(&mut units);
    units
}

/// Marks what occurs several times, with other prose in between, such as an offer or a request for
/// consent.
fn mark_interruptions(units: &mut [Unit]) {
    let texts = Sums::new(units.iter().map(|unit| u64::from(unit.is_good && !unit.repeated)));
    let mut places: HashMap<u64, (usize, usize)> = HashMap::new();
    for (index, unit) in units.iter().enumerate().filter(|(_, unit)| unit.repeated) {
        places.entry(unit.hash).or_insert((index, index)).1 = index;
    }
    for unit in units {
        let found = places.get(&unit.hash);
        unit.interrupts = found.is_some_and(|(first, last)| texts.between(*first, *last) > 0);
    }
}
