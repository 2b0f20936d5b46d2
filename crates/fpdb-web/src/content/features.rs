//! What counts for and against a block being content.

use super::marks::Marks;
use super::survey::{Place, Run, Survey, Zone};
use super::tree::Tag;
use super::units::Unit;

/// 1.0 in fixed point: the values of features go from 0 to this.
pub(super) const ONE: i32 = 16;

macro_rules! features {
    ($($name:ident)*) => {
        /// A feature of a block.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Feature { $($name,)* }
    };
}

features! {
    Bias
    Linked0 Linked1 Linked2 Linked3 Linked4 Linked5
    Plain0 Plain1 Plain2 Plain3 Plain4 Plain5 Plain6 Plain7
    Ends EndsNot Points0 Points2 Digits
    Paragraph Item Heading1 Heading2 Heading3 Heading4 Cell Term Definition Pre Quote Figcaption Other
    Nav Aside Footer Header Hidden Role Form
    Very Strong Light Weak Caption Comment CommentKept Positive Listing
    Declared Undeclared InArticle
    Section Opening Phrase Repeated Cookie InTitle
    Reader Container
    PrevGood NextGood RunGood
    BeforeProse AfterProse BeforeTitle
    ParentLinked GrandLinked ParentShare GrandShare
    Near0 Near1 Near2 Near4 Near8 Far
    Position
    Inner3 Inner6 Inner16 InnerShort InnerMiddle InnerLong
    Outer1 Outer2 Outer3 Outer4 OuterShort OuterMiddle OuterLong
    Forum
}

use Feature as F;

/// Calls `add` with each feature of a block and its value.
pub(super) fn of_block(survey: &Survey, index: usize, mut add: impl FnMut(Feature, i32)) {
    let Some(unit) = survey.units.get(index) else { return };
    let place = survey.place(unit.element);
    let mut put = |feature: Feature, has: bool| {
        if has {
            add(feature, ONE);
        }
    };
    put(F::Bias, true);
    of_text(unit, &mut put);
    put(of_element(unit, place.tag.unwrap_or(Tag::Other)), true);
    of_zone(place.zone, &mut put);
    of_marks(survey, &place, &mut put);
    of_position(survey, index, unit, &mut put);
    of_runs(survey, &place, &mut put);
    put(F::Forum, survey.is_forum);

    let parent = survey.place(place.parent);
    let grand = survey.place(parent.parent);
    let linked = |place: Place| {
        let all = survey.bytes.between(place.first, place.end);
        part(all - survey.plain.between(place.first, place.end), all)
    };
    add(F::RunGood, part(survey.good.between(index.saturating_sub(3), index + 4).min(3), 3));
    add(F::ParentLinked, linked(parent));
    add(F::GrandLinked, linked(grand));
    add(F::ParentShare, part(u64::from(parent.share), 1000));
    add(F::GrandShare, part(u64::from(grand.share), 1000));
    add(F::Position, part(index as u64, survey.units.len() as u64));
}

/// Returns a part as a value from 0 to [`ONE`].
fn part(value: u64, of: u64) -> i32 {
    i32::try_from(value * 16 / of.max(1)).unwrap_or(ONE).min(ONE)
}

fn of_text(unit: &Unit, put: &mut impl FnMut(Feature, bool)) {
    let linked = u64::from(unit.bytes - unit.plain) * 100 / u64::from(unit.bytes).max(1);
    let linked = match linked {
        _ if unit.plain == unit.bytes => F::Linked0,
        0..=10 => F::Linked1,
        11..=30 => F::Linked2,
        31..=60 => F::Linked3,
        61..=94 => F::Linked4,
        _ => F::Linked5,
    };
    put(linked, true);
    let plain = match unit.plain {
        0 => F::Plain0,
        1..=15 => F::Plain1,
        16..=31 => F::Plain2,
        32..=63 => F::Plain3,
        64..=127 => F::Plain4,
        128..=255 => F::Plain5,
        256..=511 => F::Plain6,
        _ => F::Plain7,
    };
    put(plain, true);
    put(F::Ends, unit.ends);
    put(F::EndsNot, !unit.ends && unit.plain < 40 && unit.level == 0);
    put(F::Points0, unit.points == 0);
    put(F::Points2, unit.points >= 2);
    put(F::Digits, unit.digits * 4 > unit.bytes);
    put(F::Section, unit.aside);
    put(F::Opening, unit.opening);
    put(F::Phrase, unit.phrase);
    put(F::Repeated, unit.repeated);
    put(F::Cookie, unit.cookie);
    put(F::InTitle, unit.in_title);
}

fn of_element(unit: &Unit, tag: Tag) -> Feature {
    match (unit.level, tag) {
        (1, _) => F::Heading1,
        (2, _) => F::Heading2,
        (3, _) => F::Heading3,
        (4.., _) => F::Heading4,
        (_, Tag::P) => F::Paragraph,
        (_, Tag::Li) => F::Item,
        (_, Tag::Cell) => F::Cell,
        (_, Tag::Dt) => F::Term,
        (_, Tag::Dd) => F::Definition,
        (_, Tag::Pre) => F::Pre,
        (_, Tag::Quote) => F::Quote,
        (_, Tag::Figcaption) => F::Figcaption,
        _ => F::Other,
    }
}

fn of_zone(zone: Zone, put: &mut impl FnMut(Feature, bool)) {
    put(F::Nav, zone.nav);
    put(F::Aside, zone.aside);
    put(F::Footer, zone.footer);
    put(F::Header, zone.header);
    put(F::Hidden, zone.hidden);
    put(F::Role, zone.role);
    put(F::Form, zone.form);
    put(F::InArticle, zone.article);
}

fn of_marks(survey: &Survey, place: &Place, put: &mut impl FnMut(Feature, bool)) {
    for (feature, mark) in [
        (F::Very, Marks::VERY),
        (F::Strong, Marks::STRONG),
        (F::Light, Marks::LIGHT),
        (F::Weak, Marks::WEAK),
        (F::Caption, Marks::CAPTION),
        (F::Positive, Marks::POSITIVE),
        (F::Listing, Marks::LISTING),
    ] {
        put(feature, place.marks.has(mark));
    }
    let comment = place.marks.has(Marks::COMMENT);
    put(F::Comment, comment && survey.drops_comments);
    put(F::CommentKept, comment && !survey.drops_comments);
    put(F::Declared, survey.declares && place.zone.declared);
    put(F::Undeclared, survey.declares && !place.zone.declared);
}

fn of_position(survey: &Survey, index: usize, unit: &Unit, put: &mut impl FnMut(Feature, bool)) {
    let within = |(from, to): (usize, usize)| (from..to).contains(&index);
    put(F::Reader, within(survey.reader));
    put(F::Container, within(survey.container));
    put(F::PrevGood, index > 0 && survey.good.between(index - 1, index) > 0);
    put(F::NextGood, survey.good.between(index + 1, index + 2) > 0);
    put(F::BeforeProse, index < survey.first);
    put(F::AfterProse, index > survey.last);
    put(F::BeforeTitle, index < survey.title);
    let distance = match unit.distance {
        0 => F::Near0,
        1 => F::Near1,
        2..=3 => F::Near2,
        4..=7 => F::Near4,
        8..=14 => F::Near8,
        _ => F::Far,
    };
    put(distance, true);
}

fn of_runs(survey: &Survey, place: &Place, put: &mut impl FnMut(Feature, bool)) {
    let run = |run: Run| (run.count, run.plain / u64::from(run.count).max(1));
    let (items, each) = run(place.inner);
    put(F::Inner3, (3..6).contains(&items));
    put(F::Inner6, (6..16).contains(&items));
    put(F::Inner16, items >= 16);
    put(F::InnerShort, items > 0 && each < 50);
    put(F::InnerMiddle, items > 0 && (50..250).contains(&each));
    put(F::InnerLong, items > 0 && each >= 250);
    let (items, each) = run(place.outer);
    let share = place.outer.bytes * 100 / survey.bytes.all().max(1);
    put(F::Outer1, items > 0 && share < 10);
    put(F::Outer2, items > 0 && (10..30).contains(&share));
    put(F::Outer3, items > 0 && (30..60).contains(&share));
    put(F::Outer4, items > 0 && share >= 60);
    put(F::OuterShort, items > 0 && each < 50);
    put(F::OuterMiddle, items > 0 && (50..250).contains(&each));
    put(F::OuterLong, items > 0 && each >= 250);
}
