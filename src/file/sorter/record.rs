//! Records, which the sorter sorts: bit strings of fixed width.

use crate::fingerprint::{DocId, Entry, Fingerprint, Word};

/// A value that can be sorted: a bit string in the order of `Ord`, stored as bytes.
pub(crate) trait Record: Copy + Ord + Send + Sync {
    /// Bytes of a stored record.
    const LEN: usize;
    /// Writes the bytes of the record, if there is room for them.
    fn put(self, to: &mut [u8]);
    /// Reads what [`put`](Self::put) wrote. Returns `None` if there are too few bytes.
    fn read(bytes: &[u8]) -> Option<Self>;
    /// No bit set.
    const ZERO: Self;
    /// Bits of a record.
    const BITS: u32;
    /// Adds the bits in which two records differ to `bits`, which has the form of a record.
    fn add_differing(self, other: Self, bits: Self) -> Self;
    /// Number of unset bits above the highest set one.
    fn leading_zeros(self) -> u32;
    /// The bits from bit `from` on, at the top of a word, possibly with zeros in place of later
    /// bits. Among records with `from` leading bits in common, the window ascends with the records.
    fn window(self, from: u32) -> u64;

    /// The first `bits` bits (1 to 32) of that window.
    #[inline]
    fn digit(self, from: u32, bits: u32) -> usize {
        usize::try_from(self.window(from) >> (64 - bits)).unwrap_or(0)
    }
}

/// Reads records from bytes, without the last one if it is cut short.
#[inline]
pub(super) fn decode<R: Record>(bytes: &[u8]) -> impl ExactSizeIterator<Item = R> {
    bytes.chunks_exact(R::LEN).map(|bytes| R::read(bytes).unwrap_or(R::ZERO))
}

impl<F: Word> Record for Entry<F> {
    const LEN: usize = F::BYTES + 8;
    const ZERO: Self = Self { fingerprint: F::ZERO, id: DocId(0) };
    const BITS: u32 = F::BITS + u64::BITS;

    #[inline]
    fn put(self, to: &mut [u8]) {
        if let Some((fingerprint, id)) = to.split_at_mut_checked(F::BYTES) {
            self.fingerprint.put_le(fingerprint);
            self.id.0.put_le(id);
        }
    }

    #[inline]
    fn read(bytes: &[u8]) -> Option<Self> {
        let (fingerprint, id) = bytes.split_at_checked(F::BYTES)?;
        let (fingerprint, id) = (F::read_le(fingerprint)?, u64::read_le(id)?);
        Some(Self { fingerprint, id: DocId(id) })
    }

    #[inline]
    fn add_differing(self, other: Self, bits: Self) -> Self {
        Self {
            fingerprint: self.fingerprint ^ other.fingerprint | bits.fingerprint,
            id: DocId(self.id.0 ^ other.id.0 | bits.id.0),
        }
    }

    #[inline]
    fn leading_zeros(self) -> u32 {
        match self.fingerprint.leading_zeros() {
            zeros if zeros == F::BITS => zeros + self.id.0.leading_zeros(),
            zeros => zeros,
        }
    }

    #[inline]
    fn window(self, from: u32) -> u64 {
        match from.checked_sub(F::BITS) {
            None => self.fingerprint.wrapping_shl(from).top64(),
            Some(from) => self.id.0.wrapping_shl(from),
        }
    }
}

/// A fingerprint in a table's bit order.
impl<F: Word> Record for F {
    const LEN: usize = F::BYTES;
    const ZERO: Self = <F as Fingerprint>::ZERO;
    const BITS: u32 = <F as Fingerprint>::BITS;

    #[inline]
    fn put(self, to: &mut [u8]) {
        self.put_le(to);
    }

    #[inline]
    fn read(bytes: &[u8]) -> Option<Self> {
        F::read_le(bytes)
    }

    #[inline]
    fn add_differing(self, other: Self, bits: Self) -> Self {
        self ^ other | bits
    }

    #[inline]
    fn leading_zeros(self) -> u32 {
        Word::leading_zeros(self)
    }

    #[inline]
    fn window(self, from: u32) -> u64 {
        self.wrapping_shl(from).top64()
    }
}
