//! Values of a block: where it lies within the element that has the most prose around it
//! ([`super::inside`]), whether media, bars or signs of code are in or beside it, and which words
//! of the title and of the description it has.

use super::numbers::{distance, part, short};
use super::places::Place;
use super::survey::Survey;
use super::units::{Sums, at};

/// How many values there are.
pub(super) const WITHIN: usize = 24;

/// The values of a block. Shares are in thousandths.
#[rustfmt::skip]
pub(super) fn of_block(survey: &Survey, index: usize) -> [i16; WITHIN] {
    let inside = &survey.inside;
    let unit = at(&survey.units, index);
    let place = survey.place(unit.element);
    let parent = survey.place(place.parent);
    let (branch, level) = at(&inside.branches, unit.element);
    let reader = survey.place(inside.reader);
    // The text of the reader itself is a branch of one block.
    let own = Place { first: index, end: index + 1, like: place.like, ..place };
    let branch = if level > 0 { survey.place(branch) } else { own };
    let is_inside = (reader.first..reader.end).contains(&index);
    let size = |sums: &Sums| sums.between(branch.first, branch.end);
    let all = survey.prose.between(reader.first, reader.end);
    let within = |value: i16| if is_inside { value } else { -1 };
    let bytes = size(&survey.bytes);
    let promises = &survey.promises;
    let found = at(&promises.found, index);
    let media = |from: usize, to: usize| short(survey.media.between(from, to));
    [
        i16::from(place.zone.pre),
        part(u64::from(unit.symbols), u64::from(unit.bytes)),
        short(u64::from(unit.bars)),
        media(index, index + 1),
        media(index + 1, index + 2),
        media(parent.first, parent.end + 1),
        within(level),
        within(short((branch.end - branch.first) as u64)),
        within(part(size(&survey.prose), all)),
        within(part(bytes, survey.bytes.between(reader.first, reader.end))),
        within(part(at(&inside.kin, branch.like), all)),
        within(part(survey.prose.between(reader.first, branch.first), all)),
        within(part(survey.prose.between(branch.end, reader.end), all)),
        within(part(bytes - size(&survey.plain), bytes)),
        within(short(bytes / ((branch.end - branch.first) as u64).max(1))),
        within(part(size(&inside.digits), bytes)),
        part(at(&inside.likes, place.like), survey.prose.all()),
        i16::from(survey.is_article),
        short(promises.title.len() as u64),
        short(promises.description.len() as u64),
        promises.title.share(found.title),
        promises.description.share(found.description),
        promises.description.share(at(&promises.found, survey.described).description),
        distance(index, survey.described),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::tree;

    const PROSE: &str =
        "<p>The river rose again in the night, and the people carried sand to the dam.";

    /// These values of each block: the level, the blocks and the prose of its box, and the prose
    /// before.
    fn values(html: &str) -> Vec<[i16; 4]> {
        let survey = Survey::of(&tree::build(html));
        let of = |index| of_block(&survey, index);
        (0..survey.units.len())
            .map(of)
            .map(|values| [values[6], values[7], values[8], values[11]])
            .collect()
    }

    #[test]
    fn a_box_between_paragraphs_is_told_from_them() {
        let article = format!("{PROSE}<div class=m><p>03:41<p>Audio</div>{PROSE}{PROSE}");
        let found = values(&format!("<p>menu<div>{article}</div>"));
        assert_eq!(found[0], [-1; 4]);
        assert_eq!(found[1], [1, 1, 333, 0]);
        assert_eq!(found[2..4], [[2, 2, 0, 333]; 2]);
        assert_eq!(found[5], [1, 1, 333, 666]);
    }
}
