//! The minima of a sketch, as planes of their low bits.

/// Planes of a sketch: bits of each minimum that are kept.
pub(crate) const PLANES: usize = 6;
/// The same number.
pub(crate) const BITS_PER_MINIMUM: u32 = 6;
/// Minima of a sketch.
pub(crate) const MINIMA: usize = 128;
/// Minima of a group. Each band has the first few of its own group.
const PER_GROUP: usize = 8;

/// Returns the low bits of minima in planes: bit i of plane p is bit p of minimum i.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low bits of a minimum are wanted")]
pub(crate) fn planes(minima: &[u64; MINIMA]) -> [u128; PLANES] {
    let mut planes = [[0; MINIMA / PER_GROUP]; PLANES];
    for (at, group) in minima.as_chunks::<PER_GROUP>().0.iter().enumerate() {
        let low_bytes = u64::from_le_bytes(group.map(|minimum| minimum as u8));
        for (bit, plane) in (0..).zip(&mut planes) {
            if let Some(byte) = plane.get_mut(at) {
                *byte = bit_of_bytes(low_bytes, bit);
            }
        }
    }
    planes.map(u128::from_le_bytes)
}

/// Returns the byte whose bit i is this bit of byte i.
#[inline]
fn bit_of_bytes(bytes: u64, bit: u32) -> u8 {
    // Bit 56 + i of the product is bit 8 i of the factor. No two terms of the product have the same
    // place, so nothing is carried.
    let lowest_of_each = bytes >> bit & 0x0101_0101_0101_0101;
    (lowest_of_each.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Returns the first `count` minima of group `number`, at most eight, six bits each, in the most
/// significant bits.
#[inline]
pub(crate) fn band(planes: &[u128; PLANES], number: u32, count: u32) -> u64 {
    // Byte p of `rows` has bit p of each of the eight minima.
    let byte = |plane: &u128| plane.to_le_bytes().get(number as usize % 16).copied().unwrap_or(0);
    let rows = (0..).zip(planes).fold(0, |all, (p, plane)| all | u64::from(byte(plane)) << (8 * p));
    // Byte m of the transposed matrix is minimum m.
    let minima = transposed(rows).to_le_bytes();
    let used = minima.iter().take(count as usize);
    let band = used.fold(0, |band, &minimum| band << PLANES | u64::from(minimum));
    band.checked_shl(u64::BITS - count * BITS_PER_MINIMUM).unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each minimum has one bit set, and its neighbours have others.
    #[test]
    fn bit_i_of_plane_p_is_bit_p_of_minimum_i() {
        let minima: [u64; MINIMA] = std::array::from_fn(|i| 1 << (i * 7 % 64));
        let planes = planes(&minima);
        for (i, minimum) in minima.iter().enumerate() {
            for (p, plane) in planes.iter().enumerate() {
                assert_eq!(plane >> i & 1 == 1, minimum >> p & 1 == 1, "bit {i} of plane {p}");
            }
        }
    }

    #[test]
    fn a_band_has_the_first_minima_of_its_group() {
        let minima: [u64; MINIMA] = std::array::from_fn(|i| (i as u64 * 37 + 5) % 64);
        let planes = planes(&minima);
        for (number, group) in (0..).zip(minima.chunks(8)) {
            for count in 1..=8 {
                let used = group.iter().take(count as usize);
                let expected =
                    used.fold(0, |band, minimum| band << 6 | minimum) << (64 - 6 * count);
                assert_eq!(band(&planes, number, count), expected, "{number} {count}");
            }
            assert_eq!(band(&planes, number, 0), 0);
        }
    }
}
