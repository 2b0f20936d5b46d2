//! Comparing one fingerprint with many.

use crate::fingerprint::Word;

/// Fingerprints that are compared before a branch on whether any is near: nearly always none is.
const GROUP: usize = 8;

/// Passes each fingerprint within `distance` of `query` to `found`, in order.
#[inline(always)]
pub(super) fn for_each_near<F: Word>(
    fingerprints: &[F],
    query: F,
    distance: u32,
    mut found: impl FnMut(F),
) {
    let is_near = |f: &F| f.distance(query) <= distance;
    let (groups, rest) = fingerprints.as_chunks::<GROUP>();
    for group in groups {
        if group.iter().fold(false, |any, f| any | is_near(f)) {
            group.iter().filter(|f| is_near(f)).for_each(|&f| found(f));
        }
    }
    rest.iter().filter(|f| is_near(f)).for_each(|&f| found(f));
}
