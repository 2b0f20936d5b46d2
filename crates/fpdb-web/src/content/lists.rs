//! Lists beside a text: teasers of other articles, or comments on this one.
//!
//! Names and lengths do not tell them from content. But each of their elements has a linked
//! headline, or a name with a date, and they score much lower than the running text of the page.

use super::forest::LOGIT;
use super::places::{Place, Run};
use super::second::{Like, likes};
use super::survey::Survey;
use super::units::Unit;

/// The elements of a list, at least, and the bytes that an element has on average.
const ELEMENTS: u32 = 4;
const BYTES: std::ops::RangeInclusive<u64> = 80..=500;

/// How much lower than the running text a list scores, at least, and up to where.
const MARGIN: i64 = 2 * LOGIT;
const HIGHEST: i64 = LOGIT;

/// What is taken from the scores of a list.
const PENALTY: i64 = 3 * LOGIT;

/// Lowers the scores of lists beside the text of a page, and of the headings before them. On pages
/// of forums, such a list is the text.
pub(super) fn lower(survey: &Survey, scores: &mut [i64]) {
    let text = text(survey, scores);
    if text.count < 2 || survey.is_forum {
        return;
    }
    let means = likes(survey, scores, |place| place.inner.number as usize);
    let is_list = |place: &Place| {
        let mean = means.get(place.inner.number as usize).map_or(i64::MAX, Like::mean);
        is_like_list(&place.inner) && mean < HIGHEST && text.mean() - mean >= MARGIN
    };
    let mut is_next = false;
    for (unit, score) in survey.units.iter().zip(scores).rev() {
        let is_heading = unit.level > 0 && is_next;
        is_next = is_list(&survey.place(unit.element));
        if is_next || is_heading {
            *score -= PENALTY;
        }
    }
}

/// The elements from which a list is too long to be read, and from which a list of links is.
const ENDLESS: u32 = 10_000;
const ENDLESS_LINKS: u32 = 1000;

/// Whether some of the units of a page are an article.
type HasArticle = fn(&Survey, &dyn Fn(&Unit) -> bool) -> bool;

/// Lowers the scores of endless lists, if the page also has an article outside of them. On pages of
/// forums, such a list is the text.
pub(super) fn lower_endless(survey: &Survey, scores: &mut [i64], has_article: HasArticle) {
    let is_endless = |run: &Run| {
        run.count >= ENDLESS
            || run.count >= ENDLESS_LINKS && 10 * run.plain <= run.bytes && run.texts == 0
    };
    let is_endless = |place: &Place| is_endless(&place.inner) || is_endless(&place.outer);
    let is_in_one = |unit: &Unit| is_endless(&survey.place(unit.element));
    let has_any = !survey.is_forum && survey.places.iter().any(is_endless);
    if !has_any || !has_article(survey, &|unit| !is_in_one(unit)) {
        return;
    }
    for (unit, score) in survey.units.iter().zip(scores) {
        if is_in_one(unit) {
            *score -= 8 * LOGIT;
        }
    }
}

/// Whether most of the elements of a run have a headline or a date, and a short text.
fn is_like_list(run: &Run) -> bool {
    let most = |count: u32| 4 * count >= 3 * run.count;
    run.count >= ELEMENTS
        && BYTES.contains(&(run.bytes / u64::from(run.count)))
        && (most(run.headlines) || most(run.dates))
}

/// Sums the scores of the running text: the largest prose of an element and its children.
fn text(survey: &Survey, scores: &[i64]) -> Like {
    let is_text = |unit: &Unit| {
        let place = survey.place(unit.element);
        let cluster = place.cluster.max(survey.place(place.parent).cluster);
        unit.is_good && cluster == survey.cluster
    };
    let mut text = Like::default();
    for (unit, score) in survey.units.iter().zip(scores).filter(|(unit, _)| is_text(unit)) {
        text.add(unit, *score);
    }
    text
}
