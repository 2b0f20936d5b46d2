//! What is known of the elements of a page before the blocks are scored: sizes, prose, marks, and
//! the parts of the page that stand out.

use super::inside::Inside;
use super::marks::Marks;
use super::places::{Place, Run, is_outside, zones};
use super::promise::Promises;
use super::tree::{Element, Page, Tag};
use super::units::{PROSE_LINKED, Sums, Unit, at, units};

/// The survey of a page.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) units: Vec<Unit>,
    pub(super) places: Vec<Place>,
    pub(super) bytes: Sums,
    pub(super) plain: Sums,
    pub(super) good: Sums,
    /// The prose in bytes outside of surroundings, or what is most like it.
    pub(super) prose: Sums,
    /// The place of each element in the one that has the most prose around it.
    pub(super) inside: Inside,
    /// Pictures, videos and sounds before each block.
    pub(super) media: Sums,
    /// Bytes of blocks that occur several times between other prose.
    pub(super) interrupting: Sums,
    /// The prose in bytes outside of comments and lists, in what the page declares or names as its
    /// content.
    pub(super) article: u64,
    pub(super) is_forum: bool,
    /// Whether the page says that it is an article.
    pub(super) is_article: bool,
    pub(super) promises: Promises,
    /// The block with most of the words of the description.
    pub(super) described: usize,
    pub(super) drops_comments: bool,
    pub(super) declares: bool,
    /// The blocks of the element that has the most prose around it.
    pub(super) reader: (usize, usize),
    /// The blocks of the smallest element with most of the prose.
    pub(super) container: (usize, usize),
    /// The first and the last long prose, and the first title.
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) title: usize,
    /// The most prose that an element has in blocks that are its own or those of its children.
    pub(super) cluster: u64,
    pub(super) shape: Shape,
}

/// What kind of page this is, in numbers from 0 to [`Shape::FULL`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape {
    /// The binary logarithm of the bytes of prose.
    pub(super) prose: i64,
    /// The share of prose in the text outside links and surroundings.
    pub(super) prosaic: i64,
    /// The share of links in the text.
    pub(super) linked: i64,
    /// The share of the text that is in the largest run of like elements.
    pub(super) listed: i64,
    /// The share of the text that is in surroundings, by tags, roles and names.
    pub(super) marked: i64,
    /// Blocks of prose, up to 40.
    pub(super) count: i64,
    /// The mean length of the blocks of prose, up to 1,500 bytes.
    pub(super) length: i64,
}

impl Shape {
    pub(super) const FULL: i64 = 256;

    fn of(units: &[Unit], places: &[Place]) -> Self {
        let (mut prose, mut text, mut count, mut bytes, mut plain, mut marked) = (0, 0, 0, 0, 0, 0);
        for unit in units {
            let size = u64::from(unit.plain);
            if is_outside(&at(places, unit.element)) {
                text += size;
                prose += if unit.is_good { size } else { 0 };
                count += u64::from(unit.is_good);
            } else {
                marked += u64::from(unit.bytes);
            }
            bytes += u64::from(unit.bytes);
            plain += size;
        }
        let listed = places.iter().map(|place| place.outer.bytes).max().unwrap_or_default();
        let part = |value: u64, of: u64| {
            let full = u128::from(Self::FULL.unsigned_abs());
            let part = u128::from(value) * full / u128::from(of.max(1));
            i64::try_from(part.min(full)).unwrap_or(Self::FULL)
        };
        Self {
            prose: part(u64::from(u64::BITS - prose.leading_zeros()), 16),
            prosaic: part(prose, text),
            linked: part(bytes - plain, bytes),
            listed: part(listed, bytes),
            marked: part(marked, bytes),
            count: part(count.min(40), 40),
            length: part(prose / count.max(1), 1500),
        }
    }
}

impl Survey {
    pub(super) fn of(page: &Page) -> Self {
        let mut units = units(page);
        let elements = &page.elements;
        let bytes = Sums::new(units.iter().map(|unit| u64::from(unit.bytes)));
        let plain = Sums::new(units.iter().map(|unit| u64::from(unit.plain)));
        let mut places = zones(elements, &units);
        let prose = prose(&units, &places);
        for place in &mut places {
            let share = prose.between(place.first, place.end) * 1000 / prose.all().max(1);
            place.share = u32::try_from(share).unwrap_or(1000);
        }
        let is_forum = pass_marks(elements, &mut places, &plain);
        runs(elements, &mut places, &units, (&bytes, &plain));
        let cluster = clusters(&units, &mut places);
        let total = prose.all();
        let of = |wanted: &dyn Fn(&Place) -> bool| -> u64 {
            let wanted =
                units.iter().enumerate().filter(|(_, unit)| wanted(&at(&places, unit.element)));
            wanted.map(|(i, _)| prose.between(i, i + 1)).sum()
        };
        let rest = total - of(&|place| place.marks.has(Marks::COMMENT));
        let drops_comments = rest >= 600 && rest * 100 >= total * 15 && !is_forum;
        let declares = of(&|place| place.zone.declared) * 5 >= total;
        let is_named = |p: &Place| p.zone.declared || p.marks.has(Marks::POSITIVE);
        let article = of(&|p| p.inner.number == 0 && is_named(p) && !p.marks.has(Marks::COMMENT));
        let reader = reader(&units, &places, &bytes, &plain);
        let inside = Inside::new(&units, &places, &prose, reader);
        let range = at(&places, reader);
        let reader = if range.end > 0 { (range.first, range.end) } else { (0, units.len()) };
        let container = container(&places, &bytes);
        mark_sections(page, &mut units, &places, &prose);
        let core: Vec<bool> =
            units.iter().map(|unit| is_core(unit, &at(&places, unit.element))).collect();
        distances(&mut units, &core);
        let first = core.iter().position(|core| *core).unwrap_or_default();
        let last = core.iter().rposition(|core| *core).unwrap_or(units.len().saturating_sub(1));
        let is_title =
            |unit: &Unit| unit.level == 1 && !at(&places, unit.element).zone.is_surroundings();
        let named = |unit: &Unit| unit.in_title && unit.bytes >= 15;
        let title = units.iter().position(is_title).or_else(|| units.iter().position(named));
        let title = title.unwrap_or_default();
        let good = Sums::new(units.iter().map(|unit| u64::from(unit.is_good)));
        let shape = Shape::of(&units, &places);
        let promises = Promises::of(page);
        let words = |index: usize| at(&promises.found, index).description.count_ones();
        let described =
            (0..units.len()).rev().max_by_key(|index| words(*index)).unwrap_or_default();
        let interrupting =
            Sums::new(units.iter().map(|u| if u.interrupts { u64::from(u.bytes) } else { 0 }));
        Self {
            shape,
            cluster,
            units,
            places,
            bytes,
            plain,
            good,
            prose,
            inside,
            media: media(page),
            interrupting,
            article,
            is_forum,
            is_article: page.is_article,
            promises,
            described,
            drops_comments,
            declares,
            reader,
            container,
            first,
            last,
            title,
        }
    }

    pub(super) fn place(&self, element: usize) -> Place {
        at(&self.places, element)
    }
}

/// Whether a block is long prose outside of surroundings.
fn is_core(unit: &Unit, place: &Place) -> bool {
    unit.is_good && unit.plain >= 100 && is_outside(place)
}

/// Sums the prose: the good blocks outside of declared surroundings, or else the blocks with few
/// links there, or else all text outside of links.
fn prose(units: &[Unit], places: &[Place]) -> Sums {
    let outside = |unit: &Unit| !at(places, unit.element).zone.is_surroundings();
    let sums = |wanted: &dyn Fn(&Unit) -> bool| {
        Sums::new(units.iter().map(|unit| if wanted(unit) { u64::from(unit.plain) } else { 0 }))
    };
    let is_low = |unit: &Unit| {
        u64::from(unit.bytes - unit.plain) * 100 <= PROSE_LINKED * u64::from(unit.bytes)
    };
    let prose = sums(&|unit| unit.is_good && outside(unit));
    if prose.all() > 0 {
        return prose;
    }
    let prose = sums(&|unit| is_low(unit) && outside(unit));
    if prose.all() > 0 { prose } else { sums(&|_| true) }
}

/// Passes the marks of elements on to what is in them. Returns whether the page is one of a forum.
fn pass_marks(elements: &[Element], places: &mut [Place], plain: &Sums) -> bool {
    let mut is_forum = false;
    for (index, element) in elements.iter().enumerate() {
        let mut marks = at(places, element.parent as usize).marks;
        let Some(place) = places.get_mut(index) else { break };
        let own = element.marks;
        is_forum |= place.share >= 500 && own.has(Marks::FORUM);
        if index > 0 {
            let mut pass = |mark: Marks, most: u32| {
                if own.has(mark) && place.share < most {
                    marks.add(mark);
                }
            };
            pass(Marks::STRONG, 400);
            pass(Marks::LIGHT, 400);
            pass(Marks::WEAK, 300);
            pass(Marks::CAPTION, 100);
            pass(Marks::COMMENT, 1001);
            pass(Marks::LISTING, 1001);
            // A notice may be the only prose of a page of short blocks.
            let is_part = 2 * plain.between(place.first, place.end) < plain.all();
            let most = if own.has(Marks::SURE) { 950 } else { 700 };
            pass(Marks::VERY, if is_part { 1001 } else { most });
            if own.has(Marks::POSITIVE) && place.share >= 150 {
                marks.add(Marks::POSITIVE);
            }
            if element.tag == Tag::Figcaption {
                marks.add(Marks::CAPTION);
            }
        }
        place.marks = marks;
    }
    is_forum
}

/// Measures the prose of each element and its children. Returns the most.
fn clusters(units: &[Unit], places: &mut [Place]) -> u64 {
    for unit in units {
        let place = at(places, unit.element);
        if unit.is_good && is_outside(&place) {
            for element in [unit.element, place.parent] {
                if let Some(place) = places.get_mut(element) {
                    place.cluster += u64::from(unit.plain);
                }
            }
        }
    }
    places.iter().map(|place| place.cluster).max().unwrap_or_default()
}

/// Finds the runs of at least three like elements.
fn runs(
    elements: &[Element],
    places: &mut [Place],
    units: &[Unit],
    (bytes, plain): (&Sums, &Sums),
) {
    let is_item = |tag: Tag| {
        matches!(
            tag,
            Tag::Li | Tag::Div | Tag::Article | Tag::Section | Tag::Row | Tag::Dl | Tag::Custom
        )
    };
    let sums = |has: fn(&Unit) -> bool| Sums::new(units.iter().map(|unit| u64::from(has(unit))));
    let headlines = sums(|unit| unit.bytes - unit.plain >= 15 && 2 * unit.plain < unit.bytes);
    let dates = sums(|unit| unit.bytes <= 80 && unit.digits >= 4);
    let texts = sums(|unit| unit.is_good);
    let count = elements.iter().map(|element| element.run as usize).max().unwrap_or_default() + 1;
    let mut runs = vec![Run::default(); count];
    for element in
        elements.iter().filter(|element| is_item(element.tag) && element.end > element.first)
    {
        let Some(run) = runs.get_mut(element.run as usize) else { continue };
        let (first, end) = (element.first as usize, element.end as usize);
        run.number = element.run;
        run.count += 1;
        run.bytes += bytes.between(first, end);
        run.plain += plain.between(first, end);
        run.headlines += u32::from(headlines.between(first, end) > 0);
        run.dates += u32::from(dates.between(first, end) > 0);
        run.texts += u32::from(texts.between(first, end) > 0);
    }
    for (index, element) in elements.iter().enumerate() {
        let parent = at(places, element.parent as usize);
        let Some(place) = places.get_mut(index) else { return };
        (place.inner, place.outer) = (parent.inner, parent.outer);
        let run = at(&runs, element.run as usize);
        if index > 0 && is_item(element.tag) && run.count >= 3 {
            place.inner = run;
            if run.bytes > place.outer.bytes {
                place.outer = run;
            }
        }
    }
}

/// Counts the media before each block, and after the last.
fn media(page: &Page) -> Sums {
    let mut counts = vec![0; page.blocks.len() + 1];
    for at in &page.media {
        if let Some(count) = counts.get_mut(*at as usize) {
            *count += 1;
        }
    }
    Sums::new(counts.into_iter())
}

/// Finds the element that has the most prose close around it, as Readability does.
fn reader(units: &[Unit], places: &[Place], bytes: &Sums, plain: &Sums) -> usize {
    let mut scores = vec![0_u64; places.len()];
    for unit in units {
        let place = at(places, unit.element);
        let linked = u64::from(unit.bytes - unit.plain);
        let is_text = unit.level == 0 && unit.plain >= 50 && linked * 2 <= u64::from(unit.bytes);
        if !is_text || !is_outside(&place) {
            continue;
        }
        let score = 200 + 200 * u64::from(unit.points) + 2 * u64::from(unit.plain.min(300));
        if let Some(own) = scores.get_mut(place.parent) {
            *own += score;
        }
        if let Some(above) = scores.get_mut(at(places, place.parent).parent) {
            *above += score / 2;
        }
    }
    let mut best = (0, 0);
    for (element, (place, score)) in places.iter().zip(scores).enumerate() {
        let all = bytes.between(place.first, place.end).max(1);
        let score = score.saturating_mul(plain.between(place.first, place.end)) / all;
        if score > best.0 {
            best = (score, element);
        }
    }
    best.1
}

/// Finds the smallest element with 70 % of the prose.
fn container(places: &[Place], bytes: &Sums) -> (usize, usize) {
    let size = |place: &Place| bytes.between(place.first, place.end);
    let mut best = at(places, 0);
    for place in places.iter().filter(|place| place.share >= 700) {
        if size(place) <= size(&best) {
            best = *place;
        }
    }
    (best.first, best.end)
}

/// Marks the sections whose headings say that they are not content. Until now, only the headings
/// are marked.
fn mark_sections(page: &Page, units: &mut [Unit], places: &[Place], prose: &Sums) {
    let headings: Vec<usize> =
        units.iter().enumerate().filter_map(|(i, unit)| unit.aside.then_some(i)).collect();
    let mut done = 0;
    for index in headings {
        if index < done {
            continue;
        }
        let unit = at(units, index);
        let end = section(page, units, places, prose, index, unit).max(index + 1);
        done = end;
        for unit in units.get_mut(index..end).unwrap_or_default() {
            unit.aside = true;
        }
    }
}

/// Returns where the section of a heading ends.
fn section(
    page: &Page,
    units: &[Unit],
    places: &[Place],
    prose: &Sums,
    index: usize,
    unit: Unit,
) -> usize {
    let mut element = unit.element;
    loop {
        let parent = at(places, element).parent;
        let above = at(places, parent);
        if parent == 0 || above.first != index || above.share >= 400 {
            break;
        }
        element = parent;
    }
    let end = at(places, element).end;
    if end > index + 1 || unit.level == 0 {
        return end;
    }
    // The heading is alone in its element, so its section is what follows up to the next heading.
    let limit = at(places, at(places, element).parent).end.min(page.blocks.len());
    let small = |end: usize| prose.between(index, end) * 10 <= prose.all() * 4;
    let mut end = index + 1;
    while end < limit && small(end) {
        let next = at(units, end);
        if next.level > 0 && next.level <= unit.level {
            break;
        }
        end += 1;
    }
    if small(end) { end } else { index + 1 }
}

fn distances(units: &mut [Unit], core: &[bool]) {
    const FAR: u32 = 15;
    let mut distance = FAR;
    for (unit, core) in units.iter_mut().zip(core) {
        distance = if *core { 0 } else { (distance + 1).min(FAR) };
        unit.distance = distance;
    }
    distance = FAR;
    for (unit, core) in units.iter_mut().zip(core).rev() {
        distance = if *core { 0 } else { (distance + 1).min(FAR) };
        unit.distance = unit.distance.min(distance);
    }
}
