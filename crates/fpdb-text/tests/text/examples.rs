//! The worked examples of the articles from which many people know SimHash. The texts and the
//! values are theirs.

use fpdb_text::simhash::{Sums, Tie, fold_f64};
use fpdb_text::{Recipe, distance};

/// The bits of a number that is written with bit 0 first, as the examples write them.
fn bits(written: &str) -> u64 {
    (0..).zip(written.chars()).map(|(bit, c)| u64::from(c == '1') << bit).sum()
}

/// 13, 108, -22, -5, -32 and 55 become 110001.
#[test]
fn sums_become_110001() {
    let sums = [13.0, 108.0, -22.0, -5.0, -32.0, 55.0];
    // One feature per bit, each with the weight that gives its sum.
    let all = sums.iter().sum::<f64>() / (2.0 - 6.0);
    let features = (0..).zip(sums).map(|(bit, sum)| (1 << bit, f64::midpoint(sum, all)));
    let found: u64 = fold_f64(features, Tie::Unset);
    assert_eq!(found & 0b11_1111, bits("110001"));
}

/// 100101 of weight 4 and 101011 of weight 5 add up to 9, -9, 1, -1, 1, 9, which is 101011.
#[test]
fn two_weighted_features_become_101011() {
    let mut sums = Sums::<u64>::new();
    sums.add(bits("100101"), 4);
    sums.add(bits("101011"), 5);
    assert_eq!(sums.as_slice()[..6], [9, -9, 1, -1, 1, 9]);
    assert_eq!(sums.fingerprint(Tie::Unset) & 0b11_1111, bits("101011"));
}

const CATS: [&str; 3] =
    ["the cat sat on the mat", "the cat sat on a mat", "we all scream for ice cream"];

/// The pairs of texts at the distances 4, 16 and 12.
fn distances(of: [u64; 3]) -> [u32; 3] {
    [distance(of[0], of[1]), distance(of[0], of[2]), distance(of[1], of[2])]
}

/// The article has 32 bits of a hash that it does not name.
#[test]
fn published_values_of_the_three_cats_are_4_16_and_12_apart() {
    assert_eq!(distances([851_459_198, 847_263_864, 984_968_088]), [4, 16, 12]);
}

/// With the 64 bits of `shingle2/1`, strangers are about 32 apart instead of 16.
#[test]
fn pairs_of_characters_tell_two_cats_from_ice_cream() {
    let recipe = Recipe::named("shingle2/1").unwrap();
    let found = distances(CATS.map(|text| recipe.fingerprint(text).fingerprint.unwrap()));
    assert_eq!(found, [14, 29, 31]);
    assert_eq!(recipe.fingerprint(CATS[0]).features, 15);
}
