//! The rows of a chunk that share a band.

/// A set of rows of a chunk: a bit for each. In a crowd, a row shares bands with all others.
pub(crate) struct RowSet(Vec<u64>);

impl RowSet {
    /// Makes an empty set of rows below this one.
    pub(crate) fn below(row: usize) -> Self {
        Self(vec![0; row.div_ceil(64)])
    }

    pub(crate) fn insert(&mut self, row: usize) {
        self.0[row / 64] |= 1 << (row % 64);
    }

    /// Returns the rows, ascending.
    pub(crate) fn into_rows(self) -> impl Iterator<Item = usize> {
        (0..).step_by(64).zip(self.0).flat_map(|(first, mut bits)| {
            std::iter::from_fn(move || {
                let place = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(first + place)
            })
        })
    }
}

/// The rows of a chunk, sorted by one of their bands.
pub(crate) struct ByBand {
    /// Bands and rows, ascending.
    rows: Vec<(u64, usize)>,
    /// The place of each row.
    places: Vec<usize>,
}

impl ByBand {
    /// Takes bands and rows.
    pub(crate) fn of(mut rows: Vec<(u64, usize)>, number: usize) -> Self {
        rows.sort_unstable();
        let mut places = vec![0; number];
        rows.iter().zip(0..).for_each(|(&(_, row), place)| places[row] = place);
        Self { rows, places }
    }

    /// Returns the rows before this one that have the same band.
    pub(crate) fn before(&self, row: usize) -> impl Iterator<Item = usize> {
        let place = self.places[row];
        let (band, _) = self.rows[place];
        let before = self.rows[..place].iter().rev();
        before.take_while(move |it| it.0 == band).map(|it| it.1)
    }
}
