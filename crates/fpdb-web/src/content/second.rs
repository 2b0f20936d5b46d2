//! The second score of each block, which depends on the first scores of the blocks around it.
//!
//! Around a block are its neighbours, the elements that it is in, the page, and the blocks in like
//! elements: those that repeat the same structure, such as all titles of a list of articles.

use super::features::{FEATURES, Features};
use super::forest::{LOGIT, logistic};
use super::numbers::joined;
use super::places::{Place, is_outside};
use super::survey::{Shape, Survey};
use super::units::{Sums, Unit, at};

/// Scores of other blocks count up to here.
const MOST: i64 = 4 * LOGIT;
/// The length, in bytes, up to which a longer block counts more in a mean.
const HEAVY: u32 = 300;
/// The score from which a block is surely content.
const SURE: i64 = 3 * LOGIT / 2;
/// The greatest distance to a block that is surely content, in blocks. Greater ones count as this.
const FAR: i64 = 32;

/// The number of terms of a second score that are not features of the block.
pub(super) const AROUND: usize = 30;

/// The number of terms of a second score.
pub(super) const TERMS: usize = AROUND + FEATURES;

/// What the first scores say of the surroundings of each block.
pub(super) struct Around<'a> {
    survey: &'a Survey,
    first: &'a [i64],
    means: Means,
    likes: Vec<Like>,
    runs: Vec<Like>,
    /// The distances to the nearest blocks before and after that are surely content.
    before: Vec<i64>,
    after: Vec<i64>,
    /// The blocks from each heading to the next, by the blocks in them.
    sections: Vec<(usize, usize)>,
    /// The bytes of content that are expected up to each block.
    expected: Sums,
    /// The blocks of the smallest element with most of the expected content.
    core: (usize, usize),
    /// Of the text outside links and surroundings: the share with a positive first score.
    kept: i64,
}

impl<'a> Around<'a> {
    pub(super) fn new(survey: &'a Survey, first: &'a [i64]) -> Self {
        let mut after = distances(first.iter().rev());
        after.reverse();
        let expected = survey.units.iter().zip(first);
        let expected = Sums::new(expected.map(|(u, s)| u64::from(u.bytes) * logistic(*s)));
        let core = core(survey, &expected);
        Self {
            survey,
            first,
            means: Means::new(survey, first),
            likes: likes(survey, first, |place| place.like),
            runs: likes(survey, first, |place| place.inner.number as usize),
            before: distances(first.iter()),
            after,
            sections: sections(&survey.units),
            expected,
            core,
            kept: kept(survey, first),
        }
    }

    /// Returns the terms of a block's second score.
    #[rustfmt::skip]
    pub(super) fn of_block(&self, index: usize, features: &Features) -> [i16; TERMS] {
        let survey = self.survey;
        let unit = at(&survey.units, index);
        let own = at(self.first, index);
        let place = survey.place(unit.element);
        let parent = survey.place(place.parent);
        let grand = survey.place(parent.parent);
        let great = survey.place(grand.parent);
        let mean = |place: &Place| self.means.of(place.first, place.end);
        let share = |place: &Place| self.share(place.first, place.end);
        let within = |back: usize, on: usize| self.means.of(index.saturating_sub(back), index + on + 1);
        let neighbour = |index: Option<usize>| {
            let found = index.and_then(|index| self.first.get(index)).copied();
            found.unwrap_or(-MOST).clamp(-MOST, MOST)
        };
        let like = at(&self.likes, place.like);
        let run = at(&self.runs, place.inner.number as usize);
        let section = at(&self.sections, index);
        let around: [i64; AROUND] = [
            own,
            mean(&place), mean(&parent), mean(&grand), mean(&great),
            within(1, 1), within(3, 3), within(8, 8), within(4, 0), within(0, 4),
            neighbour(index.checked_sub(1)), neighbour(index.checked_add(1)),
            like.mean(), like.count,
            if place.inner.number > 0 { run.mean() } else { 0 },
            at(&self.before, index), at(&self.after, index),
            share(&place), share(&parent), share(&grand), share(&great),
            i64::from((self.core.0..self.core.1).contains(&index)),
            i64::from(index < self.core.0),
            i64::from(index >= self.core.1),
            self.share(self.core.0, self.core.1),
            self.share(0, index),
            self.share(index, index + 1),
            self.means.of(0, survey.units.len()),
            self.kept,
            self.means.of(section.0, section.1),
        ];
        joined(&around.map(|value| i16::try_from(value).unwrap_or(i16::MAX)), features)
    }

    /// Returns the share of the expected content, in thousandths, that is in these blocks.
    fn share(&self, from: usize, to: usize) -> i64 {
        let share = self.expected.between(from, to) * 1000 / self.expected.all().max(1);
        i64::try_from(share).unwrap_or_default()
    }
}

/// Returns, for each block, the blocks from the last heading up to the next.
fn sections(units: &[Unit]) -> Vec<(usize, usize)> {
    let mut sections = Vec::with_capacity(units.len());
    for part in units.chunk_by(|_, next| next.level == 0) {
        let start = sections.len();
        sections.resize(start + part.len(), (start, start + part.len()));
    }
    sections
}

/// Finds the smallest element with 80 % of the expected content.
fn core(survey: &Survey, expected: &Sums) -> (usize, usize) {
    let mut best = survey.place(0);
    for place in &survey.places {
        let size = expected.between(place.first, place.end);
        let bytes = |place: &Place| survey.bytes.between(place.first, place.end);
        if size * 10 >= expected.all() * 8 && bytes(place) <= bytes(&best) {
            best = *place;
        }
    }
    (best.first, best.end)
}

/// How much a block counts in a mean.
fn weight(unit: &Unit) -> u64 {
    u64::from(unit.bytes.min(HEAVY))
}

/// A score as a number from 0 to twice [`MOST`], for sums of numbers without a sign.
fn shifted(score: i64) -> u64 {
    (score.clamp(-MOST, MOST) + MOST).unsigned_abs()
}

/// Returns the mean of scores, from the sum of the shifted ones and that of their weights.
fn mean(scores: u64, weights: u64) -> i64 {
    let mean = scores.checked_div(weights).map(|mean| i64::try_from(mean).unwrap_or(MOST) - MOST);
    mean.unwrap_or_default()
}

/// The mean of the first scores of ranges of blocks.
struct Means {
    weights: Sums,
    scores: Sums,
}

impl Means {
    fn new(survey: &Survey, scores: &[i64]) -> Self {
        let weights = Sums::new(survey.units.iter().map(weight));
        let scores = survey.units.iter().zip(scores).map(|(u, score)| weight(u) * shifted(*score));
        Self { weights, scores: Sums::new(scores) }
    }

    fn of(&self, from: usize, to: usize) -> i64 {
        mean(self.scores.between(from, to), self.weights.between(from, to))
    }
}

/// The blocks in elements that are like each other.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Like {
    pub(super) count: i64,
    weights: u64,
    scores: u64,
}

impl Like {
    /// Counts a block of this score.
    pub(super) fn add(&mut self, unit: &Unit, score: i64) {
        self.count += 1;
        self.weights += weight(unit);
        self.scores += weight(unit) * shifted(score);
    }

    pub(super) fn mean(&self) -> i64 {
        mean(self.scores, self.weights)
    }
}

/// Sums the first scores of the blocks whose places have the same number.
pub(super) fn likes(survey: &Survey, first: &[i64], number: fn(&Place) -> usize) -> Vec<Like> {
    let count = survey.places.iter().map(number).max().unwrap_or_default() + 1;
    let mut likes = vec![Like::default(); count];
    for (unit, score) in survey.units.iter().zip(first) {
        if let Some(like) = likes.get_mut(number(&survey.place(unit.element))) {
            like.add(unit, *score);
        }
    }
    likes
}

/// How many tenths of the mean of those in like elements are in the score of a block in a run of
/// like elements, and of any other.
const IN_RUN: i64 = 4;
const ELSEWHERE: i64 = 1;

/// Draws the score of each block towards the mean of those in like elements: all titles of a list,
/// or all dates of a forum, are kept or dropped together more often than not.
pub(super) fn drawn_together(survey: &Survey, scores: &[i64]) -> Vec<i64> {
    let likes = likes(survey, scores, |place| place.like);
    let drawn = |(unit, score): (&Unit, &i64)| {
        let place = survey.place(unit.element);
        let like = likes.get(place.like).map_or(*score, Like::mean);
        let part = if place.inner.number > 0 { IN_RUN } else { ELSEWHERE };
        ((10 - part) * score + part * like) / 10
    };
    survey.units.iter().zip(scores).map(drawn).collect()
}

/// Returns, for each block, how far before it the nearest block is that is surely content.
fn distances<'a>(first: impl Iterator<Item = &'a i64>) -> Vec<i64> {
    let mut distance = FAR;
    let mut next = |score: &i64| {
        distance = if *score > SURE { 0 } else { (distance + 1).min(FAR) };
        distance
    };
    first.map(&mut next).collect()
}

/// Returns, of the text outside links and surroundings, the share with a positive first score.
fn kept(survey: &Survey, first: &[i64]) -> i64 {
    let (mut kept, mut all) = (0, 0);
    for (unit, score) in survey.units.iter().zip(first) {
        if is_outside(&survey.place(unit.element)) {
            all += i64::from(unit.plain);
            kept += if *score > 0 { i64::from(unit.plain) } else { 0 };
        }
    }
    kept * Shape::FULL / all.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::tree;

    #[test]
    fn scores_in_like_elements_are_drawn_towards_their_mean() {
        let survey = Survey::of(&tree::build("<ul><li>one<li>two<li>three</ul><p>four"));
        // Weighted by their bytes.
        let mean = (3 * 1000 + 3 * 2000 + 5 * 3000) / 11;
        let drawn = |score: i64| (6 * score + 4 * mean) / 10;
        let expected = [drawn(1000), drawn(2000), drawn(3000), -500];
        assert_eq!(drawn_together(&survey, &[1000, 2000, 3000, -500]), expected);
    }

    #[test]
    fn sections_reach_from_a_heading_to_the_next() {
        let survey = Survey::of(&tree::build("<p>a<h2>b</h2><p>c<p>d<h2>e</h2>"));
        assert_eq!(sections(&survey.units), [(0, 1), (1, 4), (1, 4), (1, 4), (4, 5)]);
    }

    #[test]
    fn distances_are_those_to_the_nearest_block_that_is_surely_content() {
        assert_eq!(distances([0, SURE + 1, 0, 0].iter()), [FAR, 0, 1, 2]);
    }
}
