//! How likely each block is content, and which blocks are kept.

use std::collections::{HashMap, HashSet};

use super::boxes;
use super::choice::Choice;
use super::features::{self, FEATURES, Features};
use super::forest::{self, CERTAIN, LOGIT, logistic};
use super::lists;
use super::places::is_outside;
use super::second::{self, Around};
use super::survey::{Shape, Survey};
use super::units::Unit;
use super::weights::{FIRST, SECOND};
use super::whole;

/// Returns, for each block, whether it is content.
pub(super) fn choose(survey: &Survey) -> Vec<bool> {
    let features: Vec<Features> =
        (0..survey.units.len()).map(|index| features::of_block(survey, index)).collect();
    let first = first_scores(&features);
    let second = second_scores(survey, &first, &features);
    let choice = choose_by(survey, &second);
    let is_whole = whole::has_content(&whole::values(survey, &choice));
    finish(survey, choice, is_whole)
}

/// Chooses blocks by these scores.
pub(super) fn choose_by(survey: &Survey, second: &[i64]) -> Choice {
    let mut scores = second::drawn_together(survey, second);
    lists::lower(survey, &mut scores);
    boxes::lower(survey, &mut scores);
    lists::lower_endless(survey, &mut scores, has_article);
    let is_index = is_index(survey);
    let (mut chosen, best) = above_threshold(survey, &scores);
    if is_index {
        chosen.fill(true);
    }
    Choice { scores, chosen, best, is_index }
}

/// Returns, for each block, whether it is kept. No block is if `is_whole` says that the page has no
/// content, unless it is a table of contents: its links are all that it is to show.
pub(super) fn finish(survey: &Survey, choice: Choice, is_whole: bool) -> Vec<bool> {
    let Choice { scores, mut chosen, is_index, .. } = choice;
    if is_index {
        return chosen;
    }
    if !is_whole || !has_content(survey, &scores) {
        return vec![false; chosen.len()];
    }
    drop_copies(survey, &mut chosen);
    drop_title(survey, &mut chosen);
    chosen
}

/// The first score of each block, by itself.
pub(super) fn first_scores(features: &[Features]) -> Vec<i64> {
    forest::scores(FIRST, features.len(), |index| of(features, index))
}

/// The second score of each block, which depends on the first ones of those around it.
pub(super) fn second_scores(survey: &Survey, first: &[i64], features: &[Features]) -> Vec<i64> {
    let around = Around::new(survey, first);
    let terms = |index| around.of_block(index, &of(features, index));
    forest::scores(SECOND, features.len(), terms)
}

fn of(features: &[Features], index: usize) -> Features {
    features.get(index).copied().unwrap_or([0; FEATURES])
}

/// Scores are counted in buckets of 1/16, from -8 to 8.
const BUCKETS: usize = 256;

fn bucket(score: i64) -> usize {
    let bucket = (score + 8 * LOGIT).max(0) * 16 / LOGIT;
    usize::try_from(bucket).unwrap_or_default().min(BUCKETS - 1)
}

/// Returns the probability that a block in this bucket is content: that of its middle.
fn probability(bucket: usize) -> u64 {
    let middle = i64::try_from(2 * bucket + 1).unwrap_or_default() * LOGIT / 32;
    logistic(middle - 8 * LOGIT)
}

/// The probability from which it is not unlikely that a block is content.
const LIKELY: u64 = CERTAIN / 4;

/// The probability from which a block is more likely content than not.
const EVEN: u64 = CERTAIN / 2;

/// Whether a page shows more than menus, footers and notices. It does not if scripts have yet to
/// fill it. One block is enough: one that is more likely content than not, and is prose or outside
/// of surroundings; or text outside of links and surroundings.
fn has_content(survey: &Survey, scores: &[i64]) -> bool {
    survey.units.iter().zip(scores).any(|(unit, score)| {
        let is_text = 2 * unit.plain >= unit.bytes && !unit.phrase && !unit.cookie;
        let is_outside = is_outside(&survey.place(unit.element));
        let is_likely = logistic(*score) >= EVEN && (is_outside || unit.is_good);
        is_likely || is_text && is_outside
    })
}

/// Bytes of links of a block that count. There can be thousands of links in one.
const LINKS: u32 = 1000;

/// Chooses all blocks above a threshold: the one with the greatest expected F1. There, the
/// probability that a block is content is half of that F1.
fn above_threshold(survey: &Survey, scores: &[i64]) -> (Vec<bool>, u64) {
    let mut sizes = [0_u64; BUCKETS];
    for (unit, score) in survey.units.iter().zip(scores) {
        if let Some(size) = sizes.get_mut(bucket(*score)) {
            *size += u64::from(unit.plain + (unit.bytes - unit.plain).min(LINKS));
        }
    }
    let sum = |wanted: fn(u64) -> bool| -> u64 {
        let chances = sizes.iter().enumerate().map(|(bucket, size)| (probability(bucket), size));
        chances.filter(|(chance, _)| wanted(*chance)).map(|(chance, size)| chance * size).sum()
    };
    // All unlikely blocks together count for at most as much as the others.
    let (likely, unlikely) = (sum(|chance| chance >= LIKELY), sum(|chance| chance < LIKELY));
    let all = (likely + unlikely.min(likely)) / CERTAIN;
    let (mut content, mut kept, mut best) = (0, 0, 0);
    for (bucket, size) in sizes.iter().enumerate().rev().filter(|(_, size)| **size > 0) {
        content += probability(bucket) * size;
        kept += size;
        // F1 in parts of `CERTAIN`.
        best = best.max(2 * content / (kept + all).max(1));
    }
    let chosen = scores.iter().map(|score| probability(bucket(*score)) >= best / 2).collect();
    (chosen, best * 1000 / CERTAIN)
}

/// Bytes of prose that an element of a table of contents does not have, and the levels on which its
/// blocks can be: a heading often stands beside the element of the paragraphs.
const ARTICLE: u64 = 300;
const LEVELS: usize = 3;

/// Whether a page is a table of contents: links without surroundings, and little else.
fn is_index(survey: &Survey) -> bool {
    let Shape { marked, linked, .. } = survey.shape;
    32 * marked <= Shape::FULL
        && 100 * linked >= 84 * Shape::FULL
        && !has_article(survey, &|_| true)
}

/// Whether an element holds an article, in its own blocks or not far within: prose with the title
/// of the page, or that the page declares to be one. Only blocks count that `counts` accepts.
fn has_article(survey: &Survey, counts: &dyn Fn(&Unit) -> bool) -> bool {
    let mut sizes: HashMap<usize, u64> = HashMap::new();
    let prose = survey.units.iter().filter(|unit| unit.is_good && !unit.phrase && counts(unit));
    for unit in prose {
        let mut element = unit.element;
        for _ in 0..LEVELS {
            *sizes.entry(element).or_default() += u64::from(unit.plain);
            // The page itself is around everything.
            if element == 0 {
                break;
            }
            element = survey.place(element).parent;
        }
    }
    sizes.into_iter().filter(|(_, size)| *size >= ARTICLE).any(|(element, _)| {
        let place = survey.place(element);
        let units = survey.units.get(place.first..place.end).unwrap_or_default();
        element > 0 && place.zone.article || units.iter().any(|unit| unit.in_title)
    })
}

/// Drops prose that the choice has already, as on pages that have their text once for small screens
/// and once for large ones.
fn drop_copies(survey: &Survey, chosen: &mut [bool]) {
    let mut kept = HashSet::new();
    for (unit, chosen) in survey.units.iter().zip(chosen).filter(|(unit, _)| unit.is_good) {
        *chosen = *chosen && kept.insert(unit.hash);
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
