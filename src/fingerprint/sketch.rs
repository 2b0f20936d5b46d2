//! Sketches as fingerprints.

use super::{
    BITS_PER_MINIMUM, Fingerprint, MINIMA, PLANES, PerWidth, Sketch, hex_digits, not_hex, top_half,
};
use crate::error::Result;

const PLANE_BYTES: usize = size_of::<u128>();

impl Fingerprint for Sketch {
    const BITS: u32 = MINIMA * BITS_PER_MINIMUM;
    const BYTES: usize = PLANES * PLANE_BYTES;
    const ZERO: Self = [0; PLANES];
    const MAX_DISTANCE: u32 = MINIMA;
    /// The type of bands. There are no tables of them.
    type Word = u64;

    #[inline(always)]
    fn distance(self, other: Self) -> u32 {
        self.differing(other).count_ones()
    }

    #[inline(always)]
    fn read_le(bytes: &[u8]) -> Option<Self> {
        let (planes, _) = bytes.as_chunks::<PLANE_BYTES>();
        let planes: &[_; PLANES] = planes.first_chunk()?;
        Some(planes.map(u128::from_le_bytes))
    }

    fn read_be(bytes: &[u8]) -> Option<Self> {
        let (planes, _) = bytes.as_chunks::<PLANE_BYTES>();
        let mut planes = *planes.first_chunk::<PLANES>()?;
        // The most significant plane comes first.
        planes.reverse();
        Some(planes.map(u128::from_be_bytes))
    }

    fn of_number(_: u128) -> Option<Self> {
        None
    }

    fn write_le(self, out: &mut Vec<u8>) {
        self.iter().for_each(|plane| out.extend_from_slice(&plane.to_le_bytes()));
    }

    fn put_le(self, to: &mut [u8]) {
        if to.len() >= Self::BYTES {
            let (planes, _) = to.as_chunks_mut::<PLANE_BYTES>();
            planes.iter_mut().zip(self).for_each(|(to, plane)| *to = plane.to_le_bytes());
        }
    }

    fn to_hex(self) -> String {
        // The most significant plane first, as in a number.
        let planes = self.iter().rev().map(|plane| format!("{plane:032x}"));
        format!("0x{}", planes.collect::<String>())
    }

    fn parse(text: &str) -> Result<Self> {
        let digits = hex_digits::<Self>(text)?;
        let mut sketch = Self::ZERO;
        for (plane, digits) in sketch.iter_mut().zip(digits.as_bytes().rchunks(2 * PLANE_BYTES)) {
            let digits = std::str::from_utf8(digits).unwrap_or_default();
            *plane = u128::from_str_radix(digits, 16).map_err(|_| not_hex::<Self>(text))?;
        }
        Ok(sketch)
    }

    fn word(self) -> Option<u64> {
        None
    }

    fn of_word(_: u64) -> Self {
        Self::ZERO
    }

    fn top64(self) -> u64 {
        top_half(self[0])
    }

    fn folded(self) -> u64 {
        self.iter().fold(0, |all, &plane| all ^ plane.folded())
    }

    fn with_flipped(mut self, bit: u32) -> Self {
        if let Some(plane) = self.get_mut((bit / MINIMA) as usize) {
            *plane ^= 1 << (bit % MINIMA);
        }
        self
    }

    #[inline(always)]
    fn differing(self, other: Self) -> u128 {
        self.iter().zip(&other).fold(0, |differing, (a, b)| differing | (a ^ b))
    }

    #[inline]
    fn band(self, number: u32, minima: u32) -> u64 {
        // Byte p of `planes` has bit p of each of the eight minima.
        let bits = |plane: u128| u64::from(plane.to_le_bytes()[number as usize % 16]);
        let planes = (0..).zip(self).fold(0, |all, (p, plane)| all | bits(plane) << (8 * p));
        // Byte m of the transposed matrix is minimum m.
        let minima_bits = transposed(planes).to_le_bytes();
        let used = minima_bits.iter().take(minima as usize);
        let band = used.fold(0, |band, &minimum| band << PLANES | u64::from(minimum));
        band.checked_shl(u64::BITS - minima * BITS_PER_MINIMUM).unwrap_or(0)
    }

    #[inline]
    fn choose<P: PerWidth>(_: P::At<u64>, _: P::At<u128>, sketch: P::At<Sketch>) -> P::At<Self> {
        sketch
    }
}

/// Transposes a matrix of eight bits times eight, whose rows are bytes (Warren, *Hacker's Delight*,
/// section 7-3).
#[inline]
const fn transposed(rows: u64) -> u64 {
    let change = (rows ^ rows >> 7) & 0x00aa_00aa_00aa_00aa;
    let rows = rows ^ change ^ change << 7;
    let change = (rows ^ rows >> 14) & 0x0000_cccc_0000_cccc;
    let rows = rows ^ change ^ change << 14;
    let change = (rows ^ rows >> 28) & 0x0000_0000_f0f0_f0f0;
    rows ^ change ^ change << 28
}
