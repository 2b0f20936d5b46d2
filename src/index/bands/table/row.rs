//! A row: a band, and a leaf of documents in which one has it.

use crate::file::sorter::Record;
use crate::fingerprint::Fingerprint;

/// Bits of the rest of a band.
pub(crate) const REST_BITS: u8 = 16;

/// A bucket has 2^5 to 2^6 rows on average, whose rests fill one or two cache lines.
const ROWS_PER_BUCKET_BITS: u32 = 5;
/// Most bits of a bucket: with these, a directory takes 512 MiB.
pub(crate) const MAX_BUCKET_BITS: u8 = 27;

/// Most bytes of the number of a page.
pub(super) const MAX_PAGE_BYTES: u8 = 4;

/// Returns the bits of a bucket in a table of this many documents.
pub(crate) fn bucket_bits(documents: u64) -> u8 {
    let log = documents.checked_ilog2().unwrap_or(0);
    u8::try_from(log.saturating_sub(ROWS_PER_BUCKET_BITS))
        .map_or(MAX_BUCKET_BITS, |bits| bits.min(MAX_BUCKET_BITS))
}

/// Returns the bytes of the number of a page, if there are this many: 1 to 4.
pub(super) fn page_bytes(pages: u64) -> u8 {
    let bits = u64::BITS - pages.saturating_sub(1).leading_zeros();
    u8::try_from(bits.div_ceil(8)).map_or(MAX_PAGE_BYTES, |bytes| bytes.clamp(1, MAX_PAGE_BYTES))
}

/// Bits of the place in a leaf.
const PLACE_BITS: u32 = 16;

/// A row as a number, in the order of the rows: from the top, 64 bits for the bits of the bucket
/// and the rest, and zeros; 16 zeros; 32 bits for the page; and, while rows are sorted, 16 bits for
/// the place of the document in the leaf, because the sorter keeps one of several equal records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row(pub(crate) u128);

impl Row {
    /// Makes the row of a band in a leaf. Of the band, the bits of bucket and rest count.
    pub(super) fn new(band: u64, documents: u64, page: u32, place: u16) -> Self {
        let place = u128::from(page) << PLACE_BITS | u128::from(place);
        Self(u128::from(band & band_mask(bucket_bits(documents))) << u64::BITS | place)
    }

    /// Returns the row without the place in the leaf.
    pub(super) fn stored(self) -> Self {
        Self(self.0 >> PLACE_BITS << PLACE_BITS)
    }

    pub(super) fn of_parts(bucket: u32, bucket_bits: u8, rest: u16, page: u32) -> Self {
        let leading = u64::from(bucket) << REST_BITS | u64::from(rest);
        let band = leading << (u64::BITS - u32::from(bucket_bits + REST_BITS));
        Self(u128::from(band) << u64::BITS | u128::from(page) << PLACE_BITS)
    }

    /// Returns the bits of bucket and rest, at the top.
    pub(crate) fn band(self) -> u64 {
        (self.0 >> u64::BITS) as u64
    }

    pub(super) fn bucket(self, bucket_bits: u8) -> u32 {
        bucket_of(self.band(), bucket_bits)
    }

    pub(super) fn rest(self, bucket_bits: u8) -> u16 {
        rest_of(self.band(), bucket_bits)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the bits of the page are wanted")]
    pub(crate) fn page(self) -> u32 {
        (self.0 >> PLACE_BITS) as u32
    }
}

/// Bits of the page and the place.
const LOW_BITS: u32 = 32 + PLACE_BITS;
/// Leading bits that are stored: at least those of bucket and rest.
const HIGH_BITS: u32 = 48;
const _: () = assert!((MAX_BUCKET_BITS + REST_BITS) as u32 <= HIGH_BITS);

/// While rows are sorted, the zeros are not stored.
impl Record for Row {
    const LEN: usize = (HIGH_BITS + LOW_BITS) as usize / 8;
    const ZERO: Self = Self(0);
    const BITS: u32 = u128::BITS;

    #[inline]
    fn put(self, to: &mut [u8]) {
        let low = self.0 & ((1 << LOW_BITS) - 1);
        let stored = self.0 >> (u128::BITS - HIGH_BITS) << LOW_BITS | low;
        if let (Some(to), Some(bytes)) =
            (to.first_chunk_mut::<{ Self::LEN }>(), stored.to_le_bytes().first_chunk())
        {
            *to = *bytes;
        }
    }

    #[inline]
    fn read(bytes: &[u8]) -> Option<Self> {
        let (low, high) = bytes.first_chunk::<{ Self::LEN }>()?.split_first_chunk()?;
        let high = u32::from_le_bytes(*high.first_chunk()?);
        let stored = u128::from(high) << u64::BITS | u128::from(u64::from_le_bytes(*low));
        let high = stored >> LOW_BITS << (u128::BITS - HIGH_BITS);
        Some(Self(high | stored & ((1 << LOW_BITS) - 1)))
    }

    #[inline]
    fn add_differing(self, other: Self, bits: Self) -> Self {
        Self(self.0 ^ other.0 | bits.0)
    }

    #[inline]
    fn leading_zeros(self) -> u32 {
        self.0.leading_zeros()
    }

    #[inline]
    fn window(self, from: u32) -> u64 {
        self.0.window(from)
    }
}

/// Returns the bits of a band that bucket and rest have.
pub(super) fn band_mask(bucket_bits: u8) -> u64 {
    let unused = u64::BITS - u32::from(bucket_bits + REST_BITS);
    u64::MAX >> unused << unused
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a bucket has at most 27 bits")]
pub(super) fn bucket_of(band: u64, bucket_bits: u8) -> u32 {
    band.checked_shr(u64::BITS - u32::from(bucket_bits)).unwrap_or(0) as u32
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "16 bits are left")]
pub(super) fn rest_of(band: u64, bucket_bits: u8) -> u16 {
    (band << bucket_bits >> (u64::BITS - u32::from(REST_BITS))) as u16
}

/// Replaces `rows` with the rows of band `number` of the originals in a leaf. The table is for so
/// many documents.
pub(crate) fn rows_of_leaf<F: Fingerprint>(
    sketches: &[F],
    (number, minima): (u32, u32),
    documents: u64,
    page: u32,
    rows: &mut Vec<Row>,
) {
    rows.clear();
    let row =
        |(place, sketch): (u16, &F)| Row::new(sketch.band(number, minima), documents, page, place);
    rows.extend((0..).zip(sketches).map(row));
}
