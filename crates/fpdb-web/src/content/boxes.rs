//! Boxes within or below a text that are not part of it: those that occur several times between
//! its paragraphs, those that are hidden until a script shows them, and comments.

use super::forest::{CERTAIN, LOGIT, logistic};
use super::marks::Marks;
use super::places::Place;
use super::survey::Survey;
use super::units::{Sums, Unit};

/// By how much the scores of a box are lowered.
const PENALTY: i64 = 8 * LOGIT;

/// If at least this many bytes of content are expected outside of hidden parts, the hidden parts
/// are not the content.
const SHOWN: u64 = 150;
/// The most hidden parts with prose on a page that does not hide its content until it is asked for.
const PANELS: usize = 2;
/// Bytes of prose, outside lists and comments, from which a page has an article, so that its
/// comments are not part of it.
const ARTICLE: u64 = 300;

/// Lowers the scores of boxes.
pub(super) fn lower(survey: &Survey, scores: &mut [i64]) {
    let is_unseen = |unit: &Unit| survey.place(unit.element).zone.panel;
    let pairs = survey.units.iter().zip(&*scores);
    let seen = pairs.filter(|(unit, _)| !is_unseen(unit));
    let shown: u64 = seen.map(|(unit, score)| u64::from(unit.bytes) * logistic(*score)).sum();
    let is_shown = shown >= SHOWN * CERTAIN && panels(survey) <= PANELS;
    let is_commented = survey.article >= ARTICLE && !survey.is_forum;
    for (unit, score) in survey.units.iter().zip(scores) {
        let is_comment = survey.place(unit.element).marks.has(Marks::COMMENT);
        if is_shown && is_unseen(unit)
            || is_commented && is_comment
            || unit.interrupts && is_repeated_box(survey, unit)
        {
            *score -= PENALTY;
        }
    }
}

/// Counts the hidden elements with prose that are not within another one.
fn panels(survey: &Survey) -> usize {
    let is_panel = |place: &&Place| {
        let is_inner = survey.place(place.parent).zone.panel;
        place.zone.panel && !is_inner && survey.good.between(place.first, place.end) > 0
    };
    survey.places.iter().filter(is_panel).count()
}

/// Whether a block is in an element of several blocks, with prose, that all occur several times
/// between other prose. The heads of tables have none, and on pages of forums, they are quotations.
fn is_repeated_box(survey: &Survey, unit: &Unit) -> bool {
    let place = survey.place(unit.element);
    let parent = survey.place(place.parent);
    let is_box = |place: &Place| {
        let size = |sums: &Sums| sums.between(place.first, place.end);
        place.end - place.first >= 2
            && size(&survey.good) > 0
            && size(&survey.interrupting) == size(&survey.bytes)
    };
    let places = [place, parent, survey.place(parent.parent)];
    !survey.is_forum && !place.zone.pre && places.iter().any(is_box)
}
