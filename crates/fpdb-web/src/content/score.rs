//! How likely each block is content, and which blocks are kept.
//!
//! All sums are of integers, so every machine chooses the same blocks. Scores are logits: the
//! logarithm of how much likelier a block is content than not, in thousandths.

use super::features;
use super::marks::Marks;
use super::second;
use super::survey::{Shape, Survey, is_outside};
use super::units::{SHORT, Unit};
use super::weights::{BLOCK, LOGIT};

/// The largest shares of text in surroundings, of [`Shape::FULL`], with which a page counts as having
/// few surroundings, and none.
const FEW_SURROUNDINGS: i64 = 40;
const NO_SURROUNDINGS: i64 = 8;

/// Returns, for each block, whether it is content.
pub(super) fn choose(survey: &Survey) -> Vec<bool> {
    let first = first_scores(survey);
    let second = second::scores(survey, &first);
    let mut chosen = above_threshold(survey, &second);
    fill_gaps(survey, &second, &mut chosen);
    complete(survey, &second, &mut chosen);
    drop_title(survey, &mut chosen);
    chosen
}

/// The first score: a sum of weights that depend on what kind of page this is.
fn first_scores(survey: &Survey) -> Vec<i64> {
    let Shape { prose, prosaic, linked, listed, marked, .. } = survey.shape;
    let factors = [Shape::FULL, prose, prosaic, linked, listed, marked];
    let weight = |row: &[i32; 6]| -> i64 {
        row.iter().zip(factors).map(|(weight, factor)| i64::from(*weight) * factor).sum()
    };
    let weights: Vec<i64> = BLOCK.iter().map(weight).collect();
    let score = |index| {
        let mut sum = 0;
        features::of_block(survey, index, |feature, value| {
            sum += weights.get(feature as usize).copied().unwrap_or_default() * i64::from(value);
        });
        // The weights are in hundredths.
        sum * LOGIT / (100 * Shape::FULL * i64::from(features::ONE))
    };
    (0..survey.units.len()).map(score).collect()
}

/// Scores are counted in buckets of 1/16, from -8 to 8.
const BUCKETS: usize = 256;

fn bucket(score: i64) -> usize {
    let bucket = (score + 8 * LOGIT).max(0) * 16 / LOGIT;
    usize::try_from(bucket).unwrap_or_default().min(BUCKETS - 1)
}

/// The probability 1 in fixed point.
const CERTAIN: u64 = 1 << 16;

/// The probabilities of the scores 0, 1/2, ..., 8.
const LOGISTIC: [u64; 17] = [
    32768, 40793, 47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374,
    65438, 65476, 65500, 65514,
];

/// Returns the probability that a block in this bucket is content.
fn probability(bucket: usize) -> u64 {
    // The middle of a bucket, in 1/32 from zero.
    let middle = 2 * bucket + 1;
    let zero = BUCKETS;
    let from_zero = middle.abs_diff(zero);
    let at = |index: usize| LOGISTIC.get(index).copied().unwrap_or(CERTAIN - 1);
    let (step, rest) = (from_zero / 16, (from_zero % 16) as u64);
    let above = (at(step) * (16 - rest) + at(step + 1) * rest) / 16;
    if middle < zero { CERTAIN - above } else { above }
}

/// Chooses all blocks above a threshold: the one with the greatest expected F1. There, the probability
/// that a block is content is half of that F1.
fn above_threshold(survey: &Survey, scores: &[i64]) -> Vec<bool> {
    let mut sizes = [0_u64; BUCKETS];
    for (unit, score) in survey.units.iter().zip(scores) {
        if let Some(size) = sizes.get_mut(bucket(*score)) {
            *size += u64::from(unit.bytes);
        }
    }
    let expected = |(bucket, size): (usize, &u64)| probability(bucket) * size;
    let all: u64 = sizes.iter().enumerate().map(expected).sum::<u64>() / CERTAIN;
    let (mut content, mut kept, mut best) = (0, 0, 0);
    for (bucket, size) in sizes.iter().enumerate().rev().filter(|(_, size)| **size > 0) {
        content += probability(bucket) * size;
        kept += size;
        // F1 in parts of `CERTAIN`.
        best = best.max(2 * content / (kept + all).max(1));
    }
    let threshold = best / 2;
    let strict = (threshold + CERTAIN / 4).min(CERTAIN * 9 / 10);
    // Where the text is clear, short blocks beside it must be clear, too, if the page has
    // surroundings. What a page declares to be surroundings must always be clear.
    let is_strict = best * 10 >= CERTAIN * 9 && survey.shape.marked > FEW_SURROUNDINGS;
    let is_kept = |(unit, score): (&Unit, &i64)| {
        let declared = survey.place(unit.element).zone.is_surroundings();
        let strictly = declared || is_strict && unit.plain < SHORT;
        probability(bucket(*score)) >= if strictly { strict } else { threshold }
    };
    survey.units.iter().zip(scores).map(is_kept).collect()
}

/// The longest gap that is filled, in blocks.
const GAP: usize = 3;

/// Keeps blocks between kept ones, if nothing speaks against them.
fn fill_gaps(survey: &Survey, scores: &[i64], chosen: &mut [bool]) {
    let mut last = None;
    for index in 0..chosen.len() {
        if chosen.get(index) != Some(&true) {
            continue;
        }
        let from = last.map_or(index, |last| last + 1);
        last = Some(index);
        for gap in from.max(index.saturating_sub(GAP))..index {
            let few_links = survey.units.get(gap).is_some_and(|u| 2 * u.plain >= u.bytes);
            if index - from <= GAP && few_links && is_plausible(survey, scores, gap, 15) {
                keep(chosen, gap);
            }
        }
    }
}

/// Keeps all of the container against which nothing speaks, if the choice has less than half of it:
/// then the page is an index. Does the same if the page has nearly no surroundings and the choice
/// has most of the container, as on the pages of many manuals. A page of links without surroundings
/// is a table of contents and kept entirely.
fn complete(survey: &Survey, scores: &[i64], chosen: &mut [bool]) {
    let size = |wanted: &dyn Fn(usize) -> bool| -> u64 {
        let wanted = survey.units.iter().enumerate().filter(|(index, _)| wanted(*index));
        wanted.map(|(_, unit)| u64::from(unit.bytes)).sum()
    };
    let is_chosen = |chosen: &[bool], index: usize| chosen.get(index) == Some(&true);
    let of_index = |index: usize| is_plausible(survey, scores, index, 5);
    if 2 * size(&|index| is_chosen(chosen, index)) < size(&of_index) {
        (0..chosen.len()).filter(|index| of_index(*index)).for_each(|index| keep(chosen, index));
    }
    let shape = &survey.shape;
    if shape.marked <= NO_SURROUNDINGS && 2 * shape.linked >= Shape::FULL {
        (0..chosen.len()).for_each(|index| keep(chosen, index));
    }
    let inside = |index: usize| is_inside(survey, index);
    if survey.shape.marked <= NO_SURROUNDINGS
        && size(&|index| inside(index) && is_chosen(chosen, index)) * 5 >= size(&inside) * 4
    {
        let rest = (0..chosen.len()).filter(|index| inside(*index) && is_likely(scores, *index, 2));
        rest.for_each(|index| keep(chosen, index));
    }
}

/// Bytes of other text from which the title is dropped.
const MUCH: u64 = 200;

/// Drops the title of the page if the choice has other text. Some layouts make it a part of the
/// content and others do not, so the same article would have two texts.
fn drop_title(survey: &Survey, chosen: &mut [bool]) {
    let is_title = |unit: &Unit| {
        let zone = survey.place(unit.element).zone;
        unit.level == 1 && unit.in_title && !zone.is_surroundings()
    };
    let Some(title) = survey.units.iter().position(is_title) else { return };
    let others = survey.units.iter().zip(&*chosen).enumerate();
    let others = others.filter(|(index, (_, chosen))| **chosen && *index != title);
    let size: u64 = others.map(|(_, (unit, _))| u64::from(unit.bytes)).sum();
    if size >= MUCH
        && let Some(chosen) = chosen.get_mut(title)
    {
        *chosen = false;
    }
}

fn keep(chosen: &mut [bool], index: usize) {
    if let Some(chosen) = chosen.get_mut(index) {
        *chosen = true;
    }
}

/// Whether a block is in the container and neither elements nor names say that it is surroundings.
fn is_inside(survey: &Survey, index: usize) -> bool {
    let Some(unit) = survey.units.get(index) else { return false };
    let place = survey.place(unit.element);
    let (from, to) = survey.container;
    let comment = place.marks.has(Marks::COMMENT) && survey.drops_comments;
    (from..to).contains(&index) && is_outside(&place) && !place.zone.form && !comment
}

/// Whether a block is inside, is content with at least this probability in percent, and does not
/// read like something beside the content.
fn is_plausible(survey: &Survey, scores: &[i64], index: usize, percent: u64) -> bool {
    let Some(unit) = survey.units.get(index) else { return false };
    let caption = survey.place(unit.element).marks.has(Marks::CAPTION);
    let aside = caption || unit.aside || unit.opening || unit.phrase;
    !aside && is_inside(survey, index) && is_likely(scores, index, percent)
}

fn is_likely(scores: &[i64], index: usize, percent: u64) -> bool {
    scores.get(index).is_some_and(|score| probability(bucket(*score)) * 100 >= CERTAIN * percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_rise_from_nearly_0_to_nearly_1() {
        let all: Vec<u64> = (0..BUCKETS).map(probability).collect();
        assert!(all.is_sorted() && all[0] < CERTAIN / 2000);
        for (bucket, found) in all.iter().enumerate() {
            let score = (bucket as f64 + 0.5) / 16.0 - 8.0;
            let exact = CERTAIN as f64 / (1.0 + (-score).exp());
            assert!((*found as f64 - exact).abs() < CERTAIN as f64 / 250.0, "{score}: {found}");
        }
        assert_eq!((bucket(i64::MIN / 100), bucket(0), bucket(9000)), (0, 128, 255));
    }
}
