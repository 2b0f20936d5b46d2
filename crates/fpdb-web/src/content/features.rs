//! What counts for and against a block being content.

use super::marks::Marks;
use super::numbers::{distance, joined, part, short};
use super::places::{Place, Run};
use super::survey::{Shape, Survey};
use super::units::at;
use super::within::{self, WITHIN};

/// The number of features of a block.
pub(super) const FEATURES: usize = OWN + WITHIN;
const OWN: usize = 95;

/// Marks of punctuation that count. Program code has many more than prose.
const POINTS: u32 = 20;

/// The features of a block. Yes is 1, and shares of the page are in thousandths or in parts of
/// [`Shape::FULL`].
pub(super) type Features = [i16; FEATURES];

/// Returns the features of a block.
#[rustfmt::skip]
pub(super) fn of_block(survey: &Survey, index: usize) -> Features {
    let unit = at(&survey.units, index);
    let place = survey.place(unit.element);
    let parent = survey.place(place.parent);
    let grand = survey.place(parent.parent);
    let great = survey.place(grand.parent);
    let Shape { prose, prosaic, linked, listed, marked, count, length } = survey.shape;
    let zone = place.zone;
    let has = |marks: Marks| i16::from(place.marks.has(marks));
    let comment = place.marks.has(Marks::COMMENT);
    let within = |(from, to): (usize, usize)| i16::from((from..to).contains(&index));
    let good = |from: usize, to: usize| short(survey.good.between(from, to));
    let share = |place: &Place| short(u64::from(place.share));
    let links = |place: &Place| {
        let all = survey.bytes.between(place.first, place.end);
        part(all - survey.plain.between(place.first, place.end), all)
    };
    let each = |run: &Run| short(run.plain / u64::from(run.count).max(1));
    let of_run = |run: &Run, count: u32| part(u64::from(count), u64::from(run.count));
    let own: [i16; OWN] = [
        // The text.
        short(u64::from(unit.plain)),
        part(u64::from(unit.bytes - unit.plain), u64::from(unit.bytes)),
        short(u64::from(unit.points.min(POINTS))),
        part(u64::from(unit.digits), u64::from(unit.bytes)),
        i16::from(unit.ends),
        i16::from(unit.level),
        place.tag.map_or(0, |tag| tag as i16),
        i16::from(unit.opening),
        i16::from(unit.phrase),
        i16::from(unit.aside),
        i16::from(unit.repeated),
        i16::from(unit.is_copy),
        i16::from(unit.cookie),
        i16::from(unit.in_title),
        // Tags and roles.
        i16::from(zone.nav),
        i16::from(zone.aside),
        i16::from(zone.footer),
        i16::from(zone.header),
        i16::from(zone.hidden),
        i16::from(zone.role),
        i16::from(zone.form),
        i16::from(zone.article),
        i16::from(survey.declares && zone.declared),
        i16::from(survey.declares && !zone.declared),
        // Names.
        has(Marks::VERY),
        has(Marks::STRONG),
        has(Marks::LIGHT),
        has(Marks::WEAK),
        has(Marks::CAPTION),
        has(Marks::POSITIVE),
        has(Marks::LISTING),
        i16::from(comment && survey.drops_comments),
        i16::from(comment && !survey.drops_comments),
        i16::from(survey.is_forum),
        // The place in the page.
        within(survey.reader),
        within(survey.container),
        within((0, survey.first)),
        within((survey.last + 1, usize::MAX)),
        within((0, survey.title)),
        distance(index, survey.title),
        distance(index, survey.first),
        distance(index, survey.last),
        distance(index, survey.reader.0),
        distance(index, survey.reader.1),
        part(index as u64, survey.units.len() as u64),
        short(u64::from(unit.distance)),
        good(index.saturating_sub(1), index),
        good(index + 1, index + 2),
        good(index.saturating_sub(3), index + 4),
        good(index.saturating_sub(10), index),
        good(index + 1, index + 11),
        // The elements around it.
        links(&place),
        links(&parent),
        links(&grand),
        links(&great),
        share(&place),
        share(&parent),
        share(&grand),
        share(&great),
        good(place.first, place.end),
        good(parent.first, parent.end),
        good(grand.first, grand.end),
        short((place.end - place.first) as u64),
        short((parent.end - parent.first) as u64),
        short((grand.end - grand.first) as u64),
        place.depth,
        // Its prose and that of its siblings.
        part(place.cluster, survey.cluster),
        part(parent.cluster, survey.cluster),
        part(grand.cluster, survey.cluster),
        part(u64::from(unit.plain), survey.cluster),
        // The runs of like elements that it is in.
        short(u64::from(place.inner.count)),
        each(&place.inner),
        part(place.inner.bytes - place.inner.plain, place.inner.bytes),
        part(place.inner.bytes, survey.bytes.all()),
        of_run(&place.inner, place.inner.headlines),
        of_run(&place.inner, place.inner.dates),
        of_run(&place.inner, place.inner.texts),
        short(u64::from(place.outer.count)),
        each(&place.outer),
        part(place.outer.bytes - place.outer.plain, place.outer.bytes),
        part(place.outer.bytes, survey.bytes.all()),
        of_run(&place.outer, place.outer.headlines),
        of_run(&place.outer, place.outer.dates),
        of_run(&place.outer, place.outer.texts),
        // The page.
        short_of(prose),
        short_of(prosaic),
        short_of(linked),
        short_of(listed),
        short_of(marked),
        short_of(count),
        short_of(length),
        part(survey.cluster, survey.plain.all()),
        part(survey.good.all(), survey.units.len() as u64),
        short(survey.units.len() as u64),
        short(survey.plain.all() / 16),
    ];
    joined(&own, &within::of_block(survey, index))
}

fn short_of(value: i64) -> i16 {
    i16::try_from(value).unwrap_or(i16::MAX)
}
