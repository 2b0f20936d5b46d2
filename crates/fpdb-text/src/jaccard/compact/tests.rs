use super::*;

/// Shingles as random as those of a text, numbered from `from` on.
fn set(from: u64, len: u64) -> Shingles {
    Shingles::of_hashes((from..from + len).map(|number| mix(!number)).collect())
}

fn mixed(from: u64, len: u64) -> Mixed {
    Mixed::new(&set(from, len), 3)
}

#[test]
fn similarities_are_those_of_the_whole_sets_at_all_sizes() {
    for len in [0, 1, 2, 3, 5, 63, 64, 65, 255, 256, 257, 500, 4095, 4096, 4097, 65_535, 65_536] {
        let compact = mixed(0, len).compact();
        let read = Compact::from_bytes(compact.as_bytes().to_vec()).expect("complete");
        for (from, other) in [(0, len), (len / 9, len), (len / 2, len), (len, len), (0, 2 * len)] {
            let exact = set(0, len).jaccard(&set(from, other));
            let found = read.jaccard(&mixed(from, other));
            // A few shingles that are shared wrongly.
            let error = (4 + len / 2000) as f64 / (len + other).max(1) as f64;
            assert!((found - exact).abs() <= error, "{len}, {from}, {other}: {found} {exact}");
            if len <= 500 {
                assert_eq!(found, exact, "{len}, {from}, {other}");
            }
        }
    }
}

#[test]
fn large_sets_are_compared_by_a_part_of_their_shingles() {
    for len in [65_537, 131_072, 131_073, 1_000_000] {
        let compact = mixed(0, len).compact();
        assert!(compact.as_bytes().len() < 160_000, "{}", compact.as_bytes().len());
        for from in [0, len / 9, len / 2] {
            let exact = set(0, len).jaccard(&set(from, len));
            let found = compact.jaccard(&mixed(from, len));
            assert!((found - exact).abs() < 0.01, "{len}, {from}: {found} {exact}");
        }
        assert!(compact.jaccard(&mixed(0, 1000)) < 0.03);
    }
}

/// The hash of a pair of words is a sum. So if hashes were cut as they are, both pairs with a
/// replaced word would collide as soon as the two words agree in the first bits.
#[test]
fn texts_that_differ_in_one_word_are_not_equal() {
    let notice = |number: u64| {
        let words = [mix(1), mix(2), mix(3), (mix(4) >> 12 << 12) + number, mix(5), mix(6), mix(7)];
        let pairs = words.windows(2).map(|pair| pair[0].rotate_left(1).wrapping_add(pair[1]));
        Mixed::new(&Shingles::of_hashes(pairs.collect()), 3)
    };
    let first = notice(0).compact();
    assert!((1..2000).all(|number| first.jaccard(&notice(number)) == 4.0 / 8.0));
}

#[test]
fn sets_with_different_seeds_have_nothing_in_common() {
    assert_eq!(mixed(0, 60).compact().jaccard(&Mixed::new(&set(0, 60), 4)), 0.0);
}

#[test]
fn bytes_that_are_no_set_are_refused() {
    let bytes = mixed(0, 300).compact().as_bytes().to_vec();
    for len in 0..bytes.len() {
        assert_eq!(Compact::from_bytes(bytes[..len].to_vec()), None, "{len} bytes");
    }
    let mut accepted = 0;
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Some(other) = Compact::from_bytes(flipped) {
            // A flipped last bit of a value makes another set, which a checksum must find.
            accepted += 1;
            assert!(other.jaccard(&mixed(0, 300)) <= 1.0);
        }
    }
    assert!(accepted < 8 * bytes.len());
    assert!(
        [vec![0xff; 4], vec![0xfc, 1, 0, 0, 0, 0, 0, 1]]
            .into_iter()
            .all(|bytes| Compact::from_bytes(bytes).is_none())
    );
}
