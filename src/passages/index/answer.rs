//! From the windows of a text and the documents that have them to an answer.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use fpdb_text::windows::{Windows, Words};

use super::records::Holders;
use crate::fingerprint::DocId;

/// The most documents that a window remembers.
pub(super) const MOST_ORIGINS: usize = 8;

/// The least length of a text, in words, that is decided by its windows.
pub(super) const MIN_DECIDED: usize = 200;

/// What [`Index::find`](super::Index::find) found.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Origins {
    /// The documents that have passages of the text, those with the largest share first. Of equal
    /// ones, the least id.
    pub documents: Vec<Origin>,
    /// The share of the text's kept windows that are common:
    /// [`Index::MOST_ORIGINS`](super::Index::MOST_ORIGINS) documents are known to have them, and
    /// there may be more.
    pub common: f64,
}

/// An earlier document that has passages of a text.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Origin {
    /// The document.
    pub id: DocId,
    /// The share of the text's kept windows that this document has.
    pub share: f64,
    /// The share of this document's kept windows that the text has.
    pub share_of_origin: f64,
    /// Where in the text they are, in order.
    pub places: Vec<Place>,
}

/// Neighbouring windows of a text that one earlier document has. Common windows between them may be
/// in others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The first byte. What the texts share may begin before it, by less than `min_words` - 12
    /// words.
    pub begin: usize,
    /// The byte after the last one. What the texts share may end after it, by as much.
    pub end: usize,
    /// Whether the place has `min_words` words. What the documents share there is that long, unless
    /// words between two windows differ. A run of three times `min_words` always gives such a
    /// place.
    pub is_long: bool,
}

/// What [`Index::insert_if_novel`](super::Index::insert_if_novel) decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Novelty {
    /// The document was inserted.
    Novel,
    /// Not inserted: the document with this id has so much of it.
    Known {
        /// The earlier document that has most of it.
        id: DocId,
        /// The share of the text's kept windows that are common, or that this document has.
        share: f64,
    },
    /// Not inserted: the text is too short to decide by its windows, and the document with this id
    /// has some of it.
    TooShort {
        /// The earlier document that has most of it.
        id: DocId,
        /// The share of the text's kept windows that are common, or that this document has.
        share: f64,
    },
}

/// The windows that are kept of a text.
pub(super) struct Kept {
    /// Their fingerprints, ascending, each once.
    pub(super) windows: Vec<u64>,
    /// In the order of the text, the number of each window among these, and its words.
    places: Vec<(usize, Range<usize>)>,
    words: Words,
    min_words: usize,
}

/// What an earlier document and a text have in common.
#[derive(Default)]
struct Hits {
    /// Numbers of windows, ascending.
    windows: Vec<usize>,
    /// How many of them are common.
    common: usize,
}

impl Kept {
    pub(super) fn new(
        windows: &Windows,
        words: Words,
        min_words: usize,
        fingerprint: impl Fn(u64) -> u64,
    ) -> Self {
        let mut kept = Vec::new();
        windows.keep(&words, |hash, run| kept.push((fingerprint(hash), run)));
        let mut windows: Vec<u64> = kept.iter().map(|&(window, _)| window).collect();
        windows.sort_unstable();
        windows.dedup();
        let number = |window| windows.partition_point(|&other| other < window);
        let places = kept.into_iter().map(|(window, run)| (number(window), run)).collect();
        Self { windows, places, words, min_words }
    }

    /// Returns the answer for a text whose windows these documents have.
    pub(super) fn origins(&self, holders: &Holders, limit: usize) -> Origins {
        let Holders { of_windows, records } = holders;
        let mut documents: Vec<_> = self.hits(of_windows).into_iter().collect();
        documents.sort_unstable_by_key(|(id, hits)| (usize::MAX - hits.windows.len(), *id));
        documents.truncate(limit);
        let placed = Placed::new(self, of_windows);
        let origin = |(id, hits): (DocId, Hits)| {
            let shared = hits.windows.len();
            let of_origin = records.get(&id).map_or(0, |record| u64::from(record.windows));
            Origin {
                id,
                share: share(shared, self.windows.len() as u64),
                // Not above 1, whatever a damaged record says.
                share_of_origin: share(shared, of_origin.max(shared as u64)),
                places: placed.places(&hits),
            }
        };
        let documents = documents.into_iter().map(origin).collect();
        let common = of_windows.iter().filter(|ids| is_common(ids)).count();
        Origins { documents, common: share(common, self.windows.len() as u64) }
    }

    /// Returns why a text is not novel, if it is not: the document with most of it has at least
    /// this share.
    pub(super) fn known(&self, holders: &[Vec<DocId>], least: f64) -> Option<Novelty> {
        let common = holders.iter().filter(|ids| is_common(ids)).count();
        let (had, _, Reverse(id)) = self
            .hits(holders)
            .into_iter()
            .map(|(id, hits)| {
                (hits.windows.len() - hits.common + common, hits.windows.len(), Reverse(id))
            })
            .max()?;
        let share = share(had, self.windows.len() as u64);
        if self.words.length(0..self.words.len()) < MIN_DECIDED as f64 {
            return Some(Novelty::TooShort { id, share });
        }
        (share >= least).then_some(Novelty::Known { id, share })
    }

    /// Returns which windows each document has. There are at most [`MOST_ORIGINS`] documents per
    /// window.
    fn hits(&self, holders: &[Vec<DocId>]) -> HashMap<DocId, Hits> {
        let mut hits: HashMap<DocId, Hits> = HashMap::new();
        for (window, ids) in holders.iter().enumerate() {
            for &id in ids {
                let hits = hits.entry(id).or_default();
                hits.windows.push(window);
                hits.common += usize::from(is_common(ids));
            }
        }
        hits
    }
}

/// The places of a text's windows, sorted by number: finding those of one document takes no time
/// for the others.
struct Placed<'a> {
    kept: &'a Kept,
    /// The number of each window, and its place in the order of the text, in ascending order.
    by_number: Vec<(usize, usize)>,
    /// How many windows before each place are not common.
    others: Vec<usize>,
}

impl<'a> Placed<'a> {
    fn new(kept: &'a Kept, holders: &[Vec<DocId>]) -> Self {
        let numbers = kept.places.iter().map(|&(number, _)| number);
        let mut by_number: Vec<_> = numbers.clone().zip(0..).collect();
        by_number.sort_unstable();
        let mut others = Vec::with_capacity(kept.places.len() + 1);
        others.push(0);
        for number in numbers {
            let is_other = !holders.get(number).is_some_and(|ids| is_common(ids));
            others.push(others[others.len() - 1] + usize::from(is_other));
        }
        Self { kept, by_number, others }
    }

    /// Returns where the windows of a document are. Common ones join those that it has, but neither
    /// begin nor end a place.
    fn places(&self, hits: &Hits) -> Vec<Place> {
        let mut at: Vec<usize> = hits.windows.iter().flat_map(|&number| self.at(number)).collect();
        at.sort_unstable();
        let (kept, mut places, mut last) = (self.kept, Vec::<Range<usize>>::new(), None);
        for place in at {
            let words = &kept.places[place].1;
            let goes_on =
                last.is_some_and(|last: usize| self.others[last + 1] == self.others[place]);
            match places.last_mut().filter(|_| goes_on) {
                Some(before) => before.end = words.end,
                None => places.push(words.clone()),
            }
            last = Some(place);
        }
        let place = |words: Range<usize>| {
            let bytes = kept.words.place(words.clone());
            let is_long = kept.words.length(words) >= kept.min_words as f64;
            Place { begin: bytes.start, end: bytes.end, is_long }
        };
        places.into_iter().map(place).collect()
    }

    /// Returns the places of a window.
    fn at(&self, number: usize) -> impl Iterator<Item = usize> {
        let first = self.by_number.partition_point(|&(other, _)| other < number);
        let same = self.by_number[first..].iter().take_while(move |&&(other, _)| other == number);
        same.map(|&(_, place)| place)
    }
}

/// Returns whether a window may be in more documents than it remembers.
fn is_common(ids: &[DocId]) -> bool {
    ids.len() >= MOST_ORIGINS
}

fn share(part: usize, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}
