//! Whether a page has content at all, by what would be kept of it.
//!
//! A page whose article is missing shows menus, notices and teasers of other pages. Each of them
//! can look like content, but all together they do not: little of it is prose, and few words of the
//! title and the description are in it.

use super::choice::Choice;
use super::forest::{self, CERTAIN, logistic};
use super::marks::Marks;
use super::numbers::{limited, part, short};
use super::places::{Place, is_outside};
use super::survey::{Shape, Survey};
use super::units::{Sums, Unit, at};
use super::weights::WHOLE;

/// The number of values of a page.
pub(super) const VALUES: usize = 47;

/// The blocks from the title of the page in which an article begins.
const NEAR: usize = 11;

/// What is known of a page. Shares are in thousandths.
pub(super) type Values = [i16; VALUES];

/// Whether a page of these values has content.
pub(super) fn has_content(values: &Values) -> bool {
    forest::scores(WHOLE, 1, |_| *values).first().is_none_or(|score| *score >= 0)
}

/// Returns the values of a page.
#[rustfmt::skip]
pub(super) fn values(survey: &Survey, choice: &Choice) -> Values {
    let kept = Kept { survey, choice };
    let Shape { prosaic, linked, listed, marked, .. } = survey.shape;
    let place = |unit: &Unit| survey.place(unit.element);
    let marks = |unit: &Unit| place(unit).marks;
    let is_good = |unit: &Unit| unit.is_good;
    let (all, good) = (kept.bytes(&|_| true), kept.bytes(&is_good));
    let (count, expected) = (kept.count(&|_| true), kept.expected());
    let share = |wanted: &dyn Fn(&Unit) -> bool| part(kept.bytes(wanted), all);
    let sum = |value: fn(&Unit) -> u32| part(kept.sum(value), all);
    let promises = &survey.promises;
    let (titled, described) = kept.promised();
    let (thickness, depth) = kept.core();
    let has = |wanted: fn(&Unit) -> bool| i16::from(survey.units.iter().any(wanted));
    [
        // How much is kept, and how much of that is prose.
        short(all),
        short(good),
        short(kept.longest()),
        short(kept.longest_run()),
        short(count),
        short(kept.count(&is_good)),
        part(count, kept.span()),
        part(good, all),
        part(all, survey.bytes.all()),
        part(good, survey.prose.all()),
        // How surely.
        short(expected),
        part(expected, survey.bytes.all()),
        limited(choice.scores.iter().max().copied().unwrap_or_default()),
        limited(kept.mean(all)),
        short(choice.best),
        // Of what kind it is.
        sum(|unit| unit.bytes - unit.plain),
        sum(|unit| unit.points),
        sum(|unit| unit.digits),
        share(&|unit| unit.ends),
        share(&|unit| unit.phrase || unit.cookie || unit.aside),
        share(&|unit| unit.repeated),
        share(&|unit| !is_outside(&place(unit))),
        share(&|unit| place(unit).outer.number > 0),
        share(&|unit| marks(unit).has(Marks::COMMENT)),
        share(&|unit| marks(unit).has(Marks::LIGHT.or(Marks::WEAK))),
        share(&|unit| marks(unit).has(Marks::POSITIVE)),
        share(&|unit| place(unit).zone.declared),
        share(&|unit| place(unit).zone.form),
        // What the page promises.
        promises.title.share(titled),
        promises.description.share(described),
        short(promises.title.len() as u64),
        i16::from(survey.is_article),
        has(|unit| unit.level == 1),
        has(|unit| unit.in_title && unit.level > 0),
        i16::from(survey.is_forum),
        i16::from(choice.is_index),
        // The page.
        thickness,
        depth,
        limited(prosaic),
        limited(linked),
        limited(listed),
        limited(marked),
        part(survey.cluster, all),
        short(survey.units.len() as u64),
        // Where an article should be.
        i16::from(is_hollow(survey)),
        short(survey.good.between(survey.title, survey.title + NEAR)),
        part(kept.near_title(), all),
    ]
}

/// Whether an element that is declared to be the content has no text.
fn is_hollow(survey: &Survey) -> bool {
    survey.places.iter().any(|place| {
        place.first == place.end && place.zone.declared && !survey.place(place.parent).zone.declared
    })
}

/// The blocks that would be kept.
struct Kept<'a> {
    survey: &'a Survey,
    choice: &'a Choice,
}

impl Kept<'_> {
    fn units(&self) -> impl DoubleEndedIterator<Item = (usize, &Unit)> {
        let pairs = self.survey.units.iter().zip(&self.choice.chosen).enumerate();
        pairs.filter_map(|(index, (unit, chosen))| chosen.then_some((index, unit)))
    }

    fn count(&self, wanted: &dyn Fn(&Unit) -> bool) -> u64 {
        self.units().filter(|(_, unit)| wanted(unit)).count() as u64
    }

    fn sum(&self, value: impl Fn(&Unit) -> u32) -> u64 {
        self.units().map(|(_, unit)| u64::from(value(unit))).sum()
    }

    fn bytes(&self, wanted: &dyn Fn(&Unit) -> bool) -> u64 {
        self.sum(|unit| if wanted(unit) { unit.bytes } else { 0 })
    }

    /// The bytes of the longest block of prose.
    fn longest(&self) -> u64 {
        let prose = self.units().filter(|(_, unit)| unit.is_good);
        prose.map(|(_, unit)| u64::from(unit.plain)).max().unwrap_or_default()
    }

    /// The bytes of the most prose in blocks that follow each other.
    fn longest_run(&self) -> u64 {
        let (mut run, mut longest, mut next) = (0, 0, 0);
        for (index, unit) in self.units() {
            run = if index == next { run } else { 0 };
            run += if unit.is_good { u64::from(unit.plain) } else { 0 };
            longest = longest.max(run);
            next = index + 1;
        }
        longest
    }

    /// The blocks from the first to the last.
    fn span(&self) -> u64 {
        let (mut units, mut backwards) = (self.units(), self.units().rev());
        let ends = units.next().zip(backwards.next());
        ends.map_or(0, |((first, _), (last, _))| (last - first + 1) as u64)
    }

    /// The bytes of content that are expected in the whole page.
    fn expected(&self) -> u64 {
        let pairs = self.survey.units.iter().zip(&self.choice.scores);
        pairs.map(|(unit, score)| u64::from(unit.bytes) * logistic(*score) / CERTAIN).sum()
    }

    /// The mean score.
    fn mean(&self, bytes: u64) -> i64 {
        let score = |index: usize| at(&self.choice.scores, index);
        let sum: i64 = self.units().map(|(i, unit)| i64::from(unit.bytes) * score(i)).sum();
        sum / i64::try_from(bytes.max(1)).unwrap_or(i64::MAX)
    }

    /// The words of the title and of the description, as bits.
    fn promised(&self) -> (u64, u64) {
        let found = self.units().map(|(index, _)| at(&self.survey.promises.found, index));
        found.fold((0, 0), |all, found| (all.0 | found.title, all.1 | found.description))
    }

    /// The bytes from the title of the page on, for a few blocks.
    fn near_title(&self) -> u64 {
        let near = self.survey.title..self.survey.title + NEAR;
        let units = self.units().filter(|(index, _)| near.contains(index));
        units.map(|(_, unit)| u64::from(unit.bytes)).sum()
    }

    /// The smallest element with 80 % of the bytes: the share of it that is kept, and its depth.
    fn core(&self) -> (i16, i16) {
        let pairs = self.survey.units.iter().zip(&self.choice.chosen);
        let kept = Sums::new(pairs.map(|(u, kept)| if *kept { u64::from(u.bytes) } else { 0 }));
        // Every element has all of nothing.
        if kept.all() == 0 {
            return (0, 0);
        }
        let size = |place: &Place| self.survey.bytes.between(place.first, place.end);
        let inside = |place: &Place| kept.between(place.first, place.end);
        let mut best = self.survey.place(0);
        for place in &self.survey.places {
            if inside(place) * 10 >= kept.all() * 8 && size(place) <= size(&best) {
                best = *place;
            }
        }
        (part(inside(&best), size(&best)), best.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::tree;

    const PAGE: &str = "<title>The flood in the valley</title><div><p>A menu of links</div><div>\
                        <div><p>The flood reached the dam in the night.<p>It fell at noon.";

    /// The survey of a page, and the choice of these blocks.
    fn chosen(html: &str, chosen: &[bool]) -> (Survey, Choice) {
        let survey = Survey::of(&tree::build(html));
        let scores = chosen.iter().map(|kept| if *kept { 2000 } else { -2000 }).collect();
        let chosen = chosen.to_vec();
        assert_eq!(survey.units.len(), chosen.len());
        (survey, Choice { scores, chosen, best: 900, is_index: false })
    }

    #[test]
    fn values_are_of_the_blocks_that_are_kept() {
        let (survey, choice) = chosen(PAGE, &[false, true, true]);
        let kept = Kept { survey: &survey, choice: &choice };
        assert_eq!((kept.count(&|_| true), kept.bytes(&|_| true), kept.span()), (2, 55, 2));
        // "The", "flood" and "in" of the five words of the title, and once "the".
        assert_eq!(survey.promises.title.len(), 4);
        assert_eq!(survey.promises.title.share(kept.promised().0), 750);
        assert_eq!(kept.mean(55), 2000);
        // The inner of the two elements around the kept blocks has nothing else.
        assert_eq!(kept.core(), (1000, 2));
    }

    #[test]
    fn of_a_page_of_which_nothing_is_kept_no_element_is_the_core() {
        let (survey, choice) = chosen(PAGE, &[false; 3]);
        let kept = Kept { survey: &survey, choice: &choice };
        assert_eq!((kept.core(), kept.span(), kept.longest_run()), ((0, 0), 0, 0));
        assert_eq!(kept.promised(), (0, 0));
    }

    #[test]
    fn an_element_that_is_declared_but_empty_is_hollow() {
        for (html, expected) in [
            ("<main></main><p>a menu", true),
            ("<main><p>text</main><p>a menu", false),
            ("<main><div></div><p>text</main><p>a menu", false),
            ("<div></div><p>a menu", false),
        ] {
            assert_eq!(is_hollow(&Survey::of(&tree::build(html))), expected, "{html}");
        }
    }

    #[test]
    fn blocks_that_do_not_follow_each_other_are_no_run() {
        let prose = "<p>The river rose again in the night, and the people carried sand to the dam.";
        let html = format!("{prose}{prose}<p>a menu{prose}");
        let size = |kept: &[bool]| {
            let (survey, choice) = chosen(&html, kept);
            Kept { survey: &survey, choice: &choice }.longest_run()
        };
        let one = size(&[true, false, false, false]);
        assert_eq!(size(&[true, true, false, true]), 2 * one);
        assert_eq!(size(&[false, true, false, true]), one);
    }
}
