//! Numbers as the trees ask for them.

/// Returns a number, or the largest value if it is too large.
pub(super) fn short(value: u64) -> i16 {
    i16::try_from(value).unwrap_or(i16::MAX)
}

/// Returns a number of either sign, or the nearest value if it is too large.
pub(super) fn limited(value: i64) -> i16 {
    i16::try_from(value.clamp(-32000, 32000)).unwrap_or_default()
}

/// Returns a part in thousandths.
pub(super) fn part(value: u64, of: u64) -> i16 {
    short(value.saturating_mul(1000) / of.max(1))
}

/// Returns how many blocks after a place this one is.
pub(super) fn distance(index: usize, place: usize) -> i16 {
    let apart = short(index.abs_diff(place) as u64);
    if index < place { -apart } else { apart }
}

/// Returns the values of one array and then those of another.
pub(super) fn joined<const ALL: usize>(one: &[i16], other: &[i16]) -> [i16; ALL] {
    let mut all = [0; ALL];
    // Each of the two loops compiles to a copy of memory. A single one over a chain does not.
    for (value, from) in all.iter_mut().zip(one) {
        *value = *from;
    }
    let rest = all.get_mut(one.len()..).unwrap_or_default();
    for (value, from) in rest.iter_mut().zip(other) {
        *value = *from;
    }
    all
}
