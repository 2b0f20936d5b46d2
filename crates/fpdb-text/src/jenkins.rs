//! Bob Jenkins' hash function lookup3 (2006), which yanyiwu's `simhash` uses.

/// Returns `(c, b)` of Bob Jenkins' `hashlittle2` from lookup3, for its two seeds. The first is
/// mixed better.
fn lookup3(bytes: &[u8], seed_c: u32, seed_b: u32) -> (u32, u32) {
    // The length counts modulo 2^32, as in C.
    #[expect(clippy::cast_possible_truncation, reason = "the length counts modulo 2^32")]
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(seed_c);
    let mut state = [start, start, start.wrapping_add(seed_b)];
    // The last 1 to 12 bytes are mixed differently. An empty input is not mixed at all.
    let mut rest = bytes;
    while let Some((block, after)) = rest.split_first_chunk::<12>()
        && !after.is_empty()
    {
        add_words(&mut state, block);
        mix(&mut state);
        rest = after;
    }
    if !rest.is_empty() {
        let mut block = [0; 12];
        block[..rest.len()].copy_from_slice(rest);
        add_words(&mut state, &block);
        finish(&mut state);
    }
    (state[2], state[1])
}

fn add_words(state: &mut [u32; 3], block: &[u8; 12]) {
    for (word, bytes) in state.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = word.wrapping_add(u32::from_le_bytes(*bytes));
    }
}

fn mix([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: &mut u32, z: &mut u32, bits| {
        *x = x.wrapping_sub(*z) ^ z.rotate_left(bits);
        *z = z.wrapping_add(*y);
    };
    step(a, b, c, 4);
    step(b, c, a, 6);
    step(c, a, b, 8);
    step(a, b, c, 16);
    step(b, c, a, 19);
    step(c, a, b, 4);
}

fn finish([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: &u32, bits| *x = (*x ^ *y).wrapping_sub(y.rotate_left(bits));
    step(c, b, 14);
    step(a, c, 11);
    step(b, a, 25);
    step(c, b, 16);
    step(a, c, 4);
    step(b, a, 14);
    step(c, b, 24);
}

pub(crate) fn jenkins64(bytes: &[u8]) -> u64 {
    let (c, b) = lookup3(bytes, 0, 0);
    u64::from(c) << 32 | u64::from(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the self-test in lookup3.c.
    #[test]
    fn lookup3_has_the_values_of_its_self_test() {
        assert_eq!(lookup3(b"", 0, 0), (0xdead_beef, 0xdead_beef));
        let speech = b"Four score and seven years ago";
        assert_eq!(lookup3(speech, 0, 0), (0x1777_0551, 0xce72_26e6));
        assert_eq!(lookup3(speech, 0, 1), (0xe360_7cae, 0xbd37_1de4));
    }

    /// Lengths around the block size of 12 bytes, since the last block is mixed differently.
    #[test]
    fn lookup3_depends_on_every_byte_at_every_length() {
        let bytes: Vec<u8> = (1..=40).collect();
        let mut seen = std::collections::BTreeSet::new();
        for length in 0..=40 {
            assert!(seen.insert(lookup3(&bytes[..length], 0, 0)));
            for at in 0..length {
                let mut other = bytes[..length].to_vec();
                other[at] ^= 1;
                assert!(seen.insert(lookup3(&other, 0, 0)), "byte {at} of {length}");
            }
        }
    }
}
