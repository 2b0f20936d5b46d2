//! Sketches as fingerprints.

use super::{Fingerprint, MINIMA, PerWidth, Sketch, hex_digits, not_hex, top_half};
use crate::base::error::Result;

impl Fingerprint for Sketch {
    const BITS: u32 = 1_824;
    const BYTES: usize = Sketch::BYTES;
    const ZERO: Self = Sketch::ZERO;
    const MAX_DISTANCE: u32 = MINIMA;
    /// The type of bands. There are no tables of them.
    type Word = u64;

    #[inline(always)]
    fn distance(self, other: Self) -> u32 {
        Sketch::distance(&self, &other)
    }

    #[inline(always)]
    fn read_le(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(Self::of_bytes)
    }

    fn read_be(bytes: &[u8]) -> Option<Self> {
        let mut bytes = *bytes.first_chunk()?;
        bytes.reverse();
        Some(Self::of_bytes(&bytes))
    }

    fn of_number(_: u128) -> Option<Self> {
        None
    }

    fn write_le(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }

    fn put_le(self, to: &mut [u8]) {
        if let Some(to) = to.first_chunk_mut() {
            *to = self.to_bytes();
        }
    }

    fn to_hex(self) -> String {
        format!("0x{self:x}")
    }

    fn parse(text: &str) -> Result<Self> {
        let digits = hex_digits::<Self>(text)?;
        let mut bytes = [0; Sketch::BYTES];
        for (byte, digits) in bytes.iter_mut().zip(digits.as_bytes().rchunks(2)) {
            let digits = std::str::from_utf8(digits).unwrap_or_default();
            *byte = u8::from_str_radix(digits, 16).map_err(|_| not_hex::<Self>(text))?;
        }
        Ok(Self::of_bytes(&bytes))
    }

    fn word(self) -> Option<u64> {
        None
    }

    fn of_word(_: u64) -> Self {
        Self::ZERO
    }

    fn top64(self) -> u64 {
        top_half(self.planes()[0])
    }

    fn folded(self) -> u64 {
        self.planes().iter().fold(0, |all, &plane| all ^ plane.folded())
    }

    fn with_flipped(self, bit: u32) -> Self {
        let mut planes = *self.planes();
        // Bits above the planes wrap around, so that the distance always changes.
        if let Some(plane) = planes.get_mut((bit / MINIMA % Self::BITS_PER_MINIMUM) as usize) {
            *plane ^= 1 << (bit % MINIMA);
        }
        Self::of_parts(planes, self.features(), *self.parities())
    }

    #[inline(always)]
    fn sketch(&self) -> Option<&Sketch> {
        Some(self)
    }

    #[inline]
    fn band(self, number: u32, minima: u32) -> u64 {
        Sketch::band(&self, number, minima)
    }

    #[inline]
    fn choose<P: PerWidth>(_: P::At<u64>, _: P::At<u128>, sketch: P::At<Sketch>) -> P::At<Self> {
        sketch
    }
}
