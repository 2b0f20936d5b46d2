//! The elements of a page, with what their places in it show: what they are for by their tags and
//! roles, and whether they are surroundings.

use std::collections::HashMap;

use super::marks::Marks;
use super::tree::{Element, Tag};
use super::units::{Sums, Unit, at};

/// An element, with what its place in the page shows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) tag: Option<Tag>,
    pub(super) parent: usize,
    pub(super) first: usize,
    pub(super) end: usize,
    pub(super) depth: i16,
    /// The prose in blocks that are its own or those of its children.
    pub(super) cluster: u64,
    /// Thousandths of the prose of the page that are in it.
    pub(super) share: u32,
    /// The marks that it passes on to its blocks, and those of its tag and role.
    pub(super) marks: Marks,
    pub(super) zone: Zone,
    /// The innermost and the largest run of like elements that it is in.
    pub(super) inner: Run,
    pub(super) outer: Run,
    /// A number from 0 that all elements like it share.
    pub(super) like: usize,
}

/// What the elements that a block is in are for, by their tags and roles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Zone {
    pub(super) nav: bool,
    pub(super) aside: bool,
    pub(super) footer: bool,
    pub(super) header: bool,
    pub(super) role: bool,
    pub(super) hidden: bool,
    pub(super) form: bool,
    pub(super) declared: bool,
    pub(super) article: bool,
    /// In an element that is hidden by an attribute or a class and is not one of several tabs.
    pub(super) panel: bool,
    pub(super) pre: bool,
}

impl Zone {
    /// Whether the page declares this to be surroundings.
    pub(super) fn is_surroundings(self) -> bool {
        self.nav || self.aside || self.footer || self.role || self.hidden
    }
}

/// A run of like siblings.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Run {
    /// Its number, from 1.
    pub(super) number: u32,
    pub(super) count: u32,
    pub(super) bytes: u64,
    pub(super) plain: u64,
    /// How many of its elements have a line that is mostly a link, a short line with a date or a
    /// time, and prose.
    pub(super) headlines: u32,
    pub(super) dates: u32,
    pub(super) texts: u32,
}

/// Whether neither tags and roles nor names say that this is surroundings.
pub(super) fn is_outside(place: &Place) -> bool {
    !place.zone.is_surroundings() && !place.marks.has(SURROUNDINGS)
}

/// Marks that count as a declaration of surroundings.
const SURROUNDINGS: Marks = Marks::VERY.or(Marks::STRONG);

/// Like siblings from which hidden elements are tabs.
const TABS: u32 = 3;

/// Makes the places of the elements, with their zones.
pub(super) fn zones(elements: &[Element], units: &[Unit]) -> Vec<Place> {
    let good =
        Sums::new(units.iter().map(|unit| if unit.is_good { u64::from(unit.plain) } else { 0 }));
    let plain = Sums::new(units.iter().map(|unit| u64::from(unit.plain)));
    let total = good.all().max(1);
    let mut siblings =
        vec![0_u32; elements.iter().map(|e| e.run as usize).max().unwrap_or_default() + 1];
    for element in elements {
        if let Some(count) = siblings.get_mut(element.run as usize) {
            *count += 1;
        }
    }
    let mut likes: HashMap<u64, usize> = HashMap::new();
    let mut places: Vec<Place> = Vec::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        let (first, end) = (element.first as usize, element.end as usize);
        let parent = element.parent as usize;
        let count = likes.len();
        let like = *likes.entry(element.like).or_insert(count);
        let mut zone = at(&places, parent).zone;
        // What holds most of the prose is not surroundings, whatever it is called: its end tag may
        // be missing.
        let share = good.between(first, end);
        let most = share * 10 >= total * 6 && 2 * plain.between(first, end) >= plain.all();
        if index > 0 && !most {
            zone.nav |= matches!(element.tag, Tag::Nav | Tag::Dialog | Tag::Menu);
            zone.aside |= element.tag == Tag::Aside;
            zone.footer |= element.tag == Tag::Footer;
            zone.role |= element.marks.has(Marks::SURROUNDING);
            zone.hidden |= element.marks.has(Marks::HIDDEN);
        }
        if index > 0 {
            zone.panel |= element.marks.has(Marks::HIDDEN.or(Marks::CONCEALED))
                && at(&siblings, element.run as usize) < TABS;
            zone.pre |= element.tag == Tag::Pre;
            zone.header |=
                element.tag == Tag::Header && !zone.article || element.marks.has(Marks::BANNER);
            zone.form |= element.tag == Tag::Form && share * 10 < total * 4;
            zone.article |= element.tag == Tag::Article || element.tag == Tag::Main;
            zone.declared |=
                zone.article || element.marks.has(Marks::MAIN.or(Marks::ARTICLE).or(Marks::BODY));
        }
        places.push(Place {
            tag: Some(element.tag),
            parent,
            first,
            end,
            depth: if index > 0 { at(&places, parent).depth + 1 } else { 0 },
            zone,
            like,
            ..Place::default()
        });
    }
    places
}
