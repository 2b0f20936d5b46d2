//! How many segments the merge of segments needs, because each holds a limited number of documents.

use std::sync::Arc;

use crate::fingerprint::Fingerprint;
use crate::store::segment::Segment;

/// Returns whether the merge of these segments is surely one segment, if that has at most `most`
/// documents.
pub(crate) fn fit_in_one<F: Fingerprint>(segments: &[Arc<Segment<F>>], most: u64) -> bool {
    fewest(segments, most) <= 1
}

/// Returns how few segments may hold what these do, if nothing of it was removed.
pub(crate) fn fewest<F: Fingerprint>(segments: &[Arc<Segment<F>>], most: u64) -> usize {
    let numbers: u64 = segments.iter().map(|segment| numbers(segment)).sum();
    let fewest = usize::try_from(numbers.div_ceil(most.max(1))).unwrap_or(usize::MAX);
    fewest.max(segments.len().min(1))
}

/// Returns how many numbers the segment needs in tables of bands: for originals, or for pages.
fn numbers<F: Fingerprint>(segment: &Segment<F>) -> u64 {
    // With other symbols, keys may take somewhat more pages.
    let pages = segment.documents().map_or(0, |documents| documents.leaf_pages());
    segment.meta().entries.max(pages + pages / 32)
}
