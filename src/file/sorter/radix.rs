//! A radix sort.
//!
//! It scatters records that fit in the cache once, by about log2(number of records) bits. After
//! that, most records are alone in their slot, and nearly all are in order. An insertion sort does
//! the rest. The bits begin where the records first differ, and a slot with many records is sorted
//! separately, so skew costs only one more level, as do too many records for the cache.
//!
//! With 2^23 records in 1024 buckets, this takes 9 ns per fingerprint and 13 ns per entry. The
//! standard library's `sort_unstable` takes 14 and 29 ns (without buckets, 20 and 41 ns). Without
//! buckets, the crate rdst takes 19 and 43 ns, radsort 41 ns, and voracious_radix_sort 24 ns.

use super::record::Record;

/// Up to this many records, a comparison sort is as fast.
const SMALL: usize = 48;
/// Most records in a slot that are left to the insertion sort. Fuller slots are sorted first.
const CROWD: u32 = 16;
/// More records than this are first scattered into slots of about [`SLOT`] records, because the
/// cache does not hold them and a place in each slot of a finer scatter.
const LARGE: usize = 1 << 14;
const SLOT: usize = 1 << 12;
/// Most bits of that scatter: each slot needs a line of the cache.
const MAX_BITS: u32 = 10;

/// Returns how many leading bits all records have in common, or `None` if all are equal or there
/// are none.
pub(super) fn common<R: Record>(records: impl IntoIterator<Item = R>) -> Option<u32> {
    let mut records = records.into_iter();
    let first = records.next()?;
    let differing = records.fold(R::ZERO, |bits, record| record.add_differing(first, bits));
    Some(differing.leading_zeros()).filter(|&bits| bits < R::BITS)
}

/// Sorts `records`, with a `scratch` of the same length. Returns true if the sorted records are in
/// `scratch`, and false if they are in `records`. The other slice then contains anything.
#[must_use]
pub(super) fn sort<R: Record>(records: &mut [R], scratch: &mut [R]) -> bool {
    debug_assert_eq!(records.len(), scratch.len());
    if records.len() <= SMALL {
        records.sort_unstable();
        return false;
    }
    let Some(from) = common(records.iter().copied()) else { return false };
    if records.len() > LARGE {
        sort_large(records, scratch, from);
        return false;
    }
    let bits = (records.len() + records.len() / 2).ilog2();
    let (ends, most) = scatter(records, scratch, from, bits);
    if most > CROWD {
        let mut start = 0;
        for end in ends {
            if end - start > CROWD {
                let range = start as usize..end as usize;
                let (slot, spare) = (&mut scratch[range.clone()], &mut records[range]);
                if sort(slot, spare) {
                    slot.copy_from_slice(spare);
                }
            }
            start = end;
        }
    }
    insertion_sort(scratch);
    true
}

/// Sorts more records than the cache holds. They differ first at bit `from`.
fn sort_large<R: Record>(records: &mut [R], scratch: &mut [R], from: u32) {
    let bits = (records.len() / SLOT).ilog2().min(MAX_BITS);
    let (ends, _) = scatter(records, scratch, from, bits);
    let mut start = 0;
    for end in ends {
        let range = start as usize..end as usize;
        let (slot, spare) = (&mut scratch[range.clone()], &mut records[range]);
        if !sort(slot, spare) {
            spare.copy_from_slice(slot);
        }
        start = end;
    }
}

/// Moves records to their slots. Returns the end of each slot, and the number of records in the
/// fullest slot. There must be fewer than 2^32 records.
fn scatter<R: Record>(from: &[R], to: &mut [R], at: u32, bits: u32) -> (Vec<u32>, u32) {
    let mut places = vec![0u32; 1 << bits];
    for record in from {
        places[record.digit(at, bits)] += 1;
    }
    let (mut start, mut most) = (0, 0);
    for place in &mut places {
        most = most.max(*place);
        start += std::mem::replace(place, start);
    }
    for &record in from {
        let place = &mut places[record.digit(at, bits)];
        to[*place as usize] = record;
        *place += 1;
    }
    (places, most)
}

/// Sorts records that are nearly sorted.
fn insertion_sort<R: Record>(records: &mut [R]) {
    for i in 1..records.len() {
        let record = records[i];
        let mut place = i;
        while place > 0 && record < records[place - 1] {
            records[place] = records[place - 1];
            place -= 1;
        }
        records[place] = record;
    }
}
