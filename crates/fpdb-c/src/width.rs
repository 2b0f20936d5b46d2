//! The fingerprints of each width, as bytes of C.

use fpdb::text::{Recipe, Width as TextWidth};
use fpdb::{Fingerprint, Options, Sketch};

use crate::code::Failure;

/// The number of bits of a sketch.
pub(crate) const SKETCH_BITS: u32 = <Sketch as Fingerprint>::BITS;

/// A width of fingerprints.
///
/// Bytes need not be aligned. Fingerprints are words of the machine, the low one first, so that a
/// program in C shifts and masks them as it is used to. A sketch is no number, and has the bytes
/// that `recipes.md` of `fpdb-text` defines.
pub(crate) trait Width: Fingerprint + TextWidth {
    /// Reads a fingerprint. Missing bytes are 0; there are none.
    fn of_c(bytes: &[u8]) -> Self;

    /// Appends the bytes of a fingerprint.
    fn put_c(self, out: &mut Vec<u8>);

    /// Returns the recipe of a name.
    fn recipe(name: &str) -> fpdb::text::Result<Recipe<Self>>;

    /// Sets how many pages of documents a query may read. Fingerprints have no such bound.
    fn candidate_pages(options: Options<Self>, _pages: usize) -> Options<Self> {
        options
    }

    /// Returns how similar two texts are, if their fingerprints tell.
    fn similarity(self, _other: Self) -> Option<f64> {
        None
    }
}

/// Returns the word that begins at a byte.
#[expect(clippy::host_endian_bytes, reason = "C has the words of the machine")]
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |&bytes| u64::from_ne_bytes(bytes))
}

impl Width for u64 {
    fn of_c(bytes: &[u8]) -> Self {
        word(bytes, 0)
    }

    #[expect(clippy::host_endian_bytes, reason = "C has the words of the machine")]
    fn put_c(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_ne_bytes());
    }

    fn recipe(name: &str) -> fpdb::text::Result<Recipe<Self>> {
        Recipe::named(name)
    }
}

impl Width for u128 {
    fn of_c(bytes: &[u8]) -> Self {
        Self::from(word(bytes, 8)) << 64 | Self::from(word(bytes, 0))
    }

    #[expect(clippy::cast_possible_truncation, reason = "a word at a time is wanted")]
    fn put_c(self, out: &mut Vec<u8>) {
        (self as u64).put_c(out);
        ((self >> 64) as u64).put_c(out);
    }

    fn recipe(name: &str) -> fpdb::text::Result<Recipe<Self>> {
        Recipe::bits128(name)
    }
}

impl Width for Sketch {
    fn of_c(bytes: &[u8]) -> Self {
        bytes.first_chunk().map_or(Self::ZERO, Self::of_bytes)
    }

    fn put_c(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }

    fn recipe(name: &str) -> fpdb::text::Result<Recipe<Self>> {
        Recipe::for_sketches(name)
    }

    fn candidate_pages(options: Options<Self>, pages: usize) -> Options<Self> {
        options.candidate_pages(pages)
    }

    fn similarity(self, other: Self) -> Option<f64> {
        Some(Self::similarity(&self, &other).0)
    }
}

/// Evaluates an expression with the type of fingerprints of this many bits, or fails.
macro_rules! with_width {
    ($bits:expr, |$width:ident| $body:expr) => {
        match $bits {
            64 => {
                type $width = u64;
                $body
            }
            128 => {
                type $width = u128;
                $body
            }
            $crate::width::SKETCH_BITS => {
                type $width = fpdb::Sketch;
                $body
            }
            bits => Err($crate::width::unknown(bits)),
        }
    };
}
pub(crate) use with_width;

/// Returns the failure for a width that there is not.
pub(crate) fn unknown(bits: u32) -> Failure {
    Failure::invalid(format!(
        "bits is {bits}: expected 64, 128 or {SKETCH_BITS} (FPDB_BITS_SKETCH)"
    ))
}

/// Names the fingerprints of this width.
pub(crate) fn name(bits: u32) -> String {
    if bits == SKETCH_BITS { "sketches".to_owned() } else { format!("{bits}-bit fingerprints") }
}

#[cfg(test)]
mod tests {
    use fpdb::Sketch;

    use super::Width;

    fn bytes<F: Width>(fingerprint: F) -> Vec<u8> {
        let mut bytes = Vec::new();
        fingerprint.put_c(&mut bytes);
        assert_eq!((bytes.len(), F::of_c(&bytes)), (F::BYTES, fingerprint));
        bytes
    }

    #[test]
    #[expect(clippy::host_endian_bytes, reason = "C has the words of the machine")]
    fn words_are_those_of_the_machine_with_the_low_one_first() {
        assert_eq!(bytes(0x0102_u64), 0x0102_u64.to_ne_bytes());
        let words = [2_u64, 1].map(u64::to_ne_bytes);
        assert_eq!(bytes((1_u128 << 64) | 2), words.as_flattened());
        let sketch = Sketch::new([5; 128], &[1, 2, 3]);
        assert_eq!(bytes(sketch), sketch.to_bytes());
    }
}
