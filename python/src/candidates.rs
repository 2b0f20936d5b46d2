//! What the rows of a chunk are compared with.

use fpdb::Sketch;
use fpdb::text::jaccard::Shingles;

use crate::numbers::Number;

/// What a row is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Like {
    /// A document of an earlier run: its position in the list of these.
    Earlier(usize),
    /// A row that is kept, of this chunk or an earlier one.
    Row(usize),
}

/// The documents near the rows of a chunk, among those of earlier chunks and runs.
pub(crate) struct Candidates<'a> {
    /// Where the candidates of each row of the chunk begin, and where the last ones end.
    pub(crate) offsets: &'a [u64],
    /// Rows of earlier chunks; and 2^63 + p for the document at position p of `earlier`.
    pub(crate) of: &'a [u64],
    pub(crate) distances: &'a [u64],
    /// Which of them give way to the row, if they are like it.
    pub(crate) gives_way: &'a [u64],
    /// The features of the documents of earlier runs, if their texts are known.
    pub(crate) earlier: Vec<Option<Shingles>>,
    /// Their names and their sketches.
    pub(crate) names: &'a [String],
    pub(crate) sketches: &'a [Sketch],
}

pub(crate) const EARLIER: u64 = 1 << 63;

/// A candidate of a row: what it is, its distance, and whether it gives way.
pub(crate) type Candidate = (u32, Like, bool);

impl Candidates<'_> {
    pub(crate) fn are_consistent(&self, rows: usize, before: usize) -> bool {
        let offsets = self.offsets;
        let is_known = |&of: &u64| match of.checked_sub(EARLIER) {
            Some(place) => Number(place).count() < self.earlier.len(),
            None => Number(of).count() < before,
        };
        offsets.len() == rows + 1
            && [self.sketches.len(), self.names.len()] == [self.earlier.len(); 2]
            && offsets.is_sorted()
            && [self.of, self.distances, self.gives_way]
                .iter()
                .all(|it| it.len() == Number(offsets[rows]).count())
            && self.of.iter().all(is_known)
    }

    pub(crate) fn of(&self, row: usize) -> impl Iterator<Item = Candidate> {
        let range = Number(self.offsets[row]).count()..Number(self.offsets[row + 1]).count();
        range.map(|at| {
            let like = match self.of[at].checked_sub(EARLIER) {
                Some(place) => Like::Earlier(Number(place).count()),
                None => Like::Row(Number(self.of[at]).count()),
            };
            let distance = u32::try_from(self.distances[at]).unwrap_or(u32::MAX);
            (distance, like, self.gives_way[at] != 0)
        })
    }
}
