//! The second score of each block, which depends on the first scores of the blocks around it.
//!
//! Around a block are its neighbours, the elements that it is in, the page, and the blocks in like
//! elements: those that repeat the same structure, such as all titles of a list of articles.

use std::collections::HashMap;

use super::survey::{Place, Shape, Survey, is_outside};
use super::units::{SHORT, Sums, Unit, at};
use super::weights::{LOGIT, SECOND, Second};

/// Scores of other blocks count up to here.
const MOST: i64 = 4 * LOGIT;
/// The length, in bytes, up to which a longer block counts more in a mean.
const HEAVY: u32 = 300;
/// The score from which a block is surely content.
const SURE: i64 = 3 * LOGIT / 2;
/// The greatest distance to a block that is surely content, in blocks. Greater ones count as this.
const FAR: i64 = 32;
/// The number of blocks in like elements that counts as many.
const MANY: i64 = 16;
/// The share of the page, in percent, from which a run of like elements is a list.
const LIST: u64 = 30;

/// Returns the second score of each block.
pub(super) fn scores(survey: &Survey, first: &[i64]) -> Vec<i64> {
    let around = Around::new(survey, first);
    let score = |(index, unit): (usize, &Unit)| {
        let mut sum = 0;
        around.of_block(index, unit, |second, value| {
            sum += value * i64::from(at(&SECOND, second as usize));
        });
        // The weights are in hundredths.
        sum / 100
    };
    survey.units.iter().enumerate().map(score).collect()
}

/// What the first scores say of the surroundings of each block.
struct Around<'a> {
    survey: &'a Survey,
    first: &'a [i64],
    means: Means,
    likes: HashMap<u64, Like>,
    /// The distances to the nearest blocks before and after that are surely content.
    before: Vec<i64>,
    after: Vec<i64>,
    /// Of the text outside links and surroundings: the share with a positive first score.
    kept: i64,
}

impl<'a> Around<'a> {
    fn new(survey: &'a Survey, first: &'a [i64]) -> Self {
        let mut after = distances(first.iter().rev());
        after.reverse();
        Self {
            survey,
            first,
            means: Means::new(survey, first),
            likes: likes(survey, first),
            before: distances(first.iter()),
            after,
            kept: kept(survey, first),
        }
    }

    /// Calls `add` with each term of a block's second score and its value. A share of the page, from
    /// 0 to [`Shape::FULL`], becomes a value from 0 to 1 logit.
    fn of_block(&self, index: usize, unit: &Unit, mut add: impl FnMut(Second, i64)) {
        let (survey, kept) = (self.survey, self.kept);
        let Shape { prose, prosaic, linked, listed, marked, count, length } = survey.shape;
        let mut page = |second: Second, part: i64| add(second, part * LOGIT / Shape::FULL);
        page(Second::Page, Shape::FULL);
        page(Second::PageKept, kept);
        page(Second::PageProse, prose);
        page(Second::PageProsaic, prosaic);
        page(Second::PageLinked, linked);
        page(Second::PageListed, listed);
        page(Second::PageMarked, marked);
        page(Second::PageCount, count);
        page(Second::PageLength, length);
        add(Second::PageMean, self.means.of(0, survey.units.len()));

        let own = at(self.first, index);
        let mut times = |second: Second, part: i64| add(second, own * part / Shape::FULL);
        times(Second::Own, Shape::FULL);
        times(Second::OwnKept, kept);
        times(Second::OwnProse, prose);
        times(Second::OwnProsaic, prosaic);
        times(Second::OwnLinked, linked);
        times(Second::OwnMarked, marked);

        let place = survey.place(unit.element);
        let mean = |place: &Place| self.means.of(place.first, place.end);
        let within =
            |blocks: usize| self.means.of(index.saturating_sub(blocks), index + blocks + 1);
        add(Second::Element, mean(&place));
        add(Second::Parent, mean(&survey.place(place.parent)));
        add(Second::Near, within(3));
        add(Second::Far, within(8));
        let neighbour = |index: Option<usize>| {
            let found = index.and_then(|index| self.first.get(index)).copied();
            found.unwrap_or(own).clamp(-MOST, MOST)
        };
        add(Second::Previous, neighbour(index.checked_sub(1)));
        add(Second::Next, neighbour(index.checked_add(1)));

        let like = self.likes.get(&place.like).copied().unwrap_or_default();
        let many = like.count.min(MANY);
        add(Second::Like, like.mean());
        add(Second::LikeMany, like.mean() * many / MANY);
        add(Second::Many, many * LOGIT / MANY);

        let (before, after) = (at(&self.before, index), at(&self.after, index));
        add(Second::SureBefore, before * LOGIT / FAR);
        add(Second::SureAfter, after * LOGIT / FAR);
        add(Second::SureEither, before.min(after) * LOGIT / FAR);

        let mut add_if = |has: bool, second: Second, value: i64| {
            if has {
                add(second, value);
            }
        };
        let part = |part: i64| part * LOGIT / Shape::FULL;
        add_if(survey.declares && !place.zone.declared, Second::UndeclaredKept, part(kept));
        add_if(index > survey.last, Second::AfterProse, part(prosaic));
        let share = place.outer.bytes * 100 / survey.bytes.all().max(1);
        add_if(place.outer.count > 0 && share >= LIST, Second::ListProse, part(prose));
        add_if(unit.plain < SHORT, Second::Short, LOGIT);
    }
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
struct Like {
    count: i64,
    weights: u64,
    scores: u64,
}

impl Like {
    fn mean(&self) -> i64 {
        mean(self.scores, self.weights)
    }
}

fn likes(survey: &Survey, first: &[i64]) -> HashMap<u64, Like> {
    let mut likes: HashMap<u64, Like> = HashMap::new();
    for (unit, score) in survey.units.iter().zip(first) {
        let like = likes.entry(survey.place(unit.element).like).or_default();
        like.count += 1;
        like.weights += weight(unit);
        like.scores += weight(unit) * shifted(*score);
    }
    likes
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
    fn blocks_in_like_elements_share_the_mean_of_their_scores() {
        let survey = Survey::of(&tree::build("<ul><li>one<li>two<li>three</ul><p>four"));
        let around = Around::new(&survey, &[1000, 2000, 3000, -500]);
        let value = |index: usize, wanted: Second| {
            let mut found = None;
            around.of_block(index, &survey.units[index], |second, value| {
                found = if second == wanted { Some(value) } else { found };
            });
            found
        };
        // Weighted by their bytes.
        let mean = (3 * 1000 + 3 * 2000 + 5 * 3000) / 11;
        for index in 0..3 {
            assert_eq!(value(index, Second::Like), Some(mean));
        }
        assert_eq!(value(3, Second::Like), Some(-500));
    }

    #[test]
    fn distances_are_those_to_the_nearest_block_that_is_surely_content() {
        assert_eq!(distances([0, SURE + 1, 0, 0].iter()), [FAR, 0, 1, 2]);
    }
}
