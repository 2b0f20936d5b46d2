//! The rows of a chunk that share a band.

/// A set of rows of a chunk: a bit for each. In a crowd, a row shares bands with all others.
pub(crate) struct RowSet(Vec<u64>);

impl RowSet {
    /// Makes an empty set of rows below this one.
    pub(crate) fn below(row: usize) -> Self {
        Self(vec![0; row.div_ceil(64)])
    }

    pub(crate) fn insert(&mut self, row: usize) {
        self.0.get_mut(row / 64).into_iter().for_each(|word| *word |= 1 << (row % 64));
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
        for (place, &(_, row)) in rows.iter().enumerate() {
            places.get_mut(row).into_iter().for_each(|it| *it = place);
        }
        Self { rows, places }
    }

    /// Returns the rows before this one that have the same band.
    pub(crate) fn before(&self, row: usize) -> impl Iterator<Item = usize> {
        let place = self.places.get(row).copied().unwrap_or(0);
        let band = self.rows.get(place).map(|it| it.0);
        let before = self.rows.get(..place).unwrap_or_default().iter().rev();
        before.take_while(move |it| Some(it.0) == band).map(|it| it.1)
    }
}
