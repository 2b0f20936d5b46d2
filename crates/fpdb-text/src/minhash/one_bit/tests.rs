use super::super::sets::{SIMILARITIES, pair, shared};
use super::*;
use crate::Sketch;

fn distance<F: Width>(a: &[u64], b: &[u64]) -> u32 {
    crate::distance(one_bit::<F>(a).unwrap(), one_bit(b).unwrap())
}

/// Compares the mean distance of `pairs` pairs with the rule, within 5 standard errors. The
/// standard error assumes independent minima, although those of one fingerprint are not quite
/// independent.
fn assert_rule<F: Width>(size: u64, jaccard: f64, pairs: u64) {
    let (shared, exact) = shared(size, jaccard);
    let total: u32 = (0..pairs)
        .map(|seed| {
            let (a, b) = pair(size, shared, seed);
            distance::<F>(&a, &b)
        })
        .sum();
    let (minima, equal_by_chance) = (f64::from(F::MINIMA), 0.5f64.powf(f64::from(F::KEPT)));
    let differ = (1.0 - exact) * (1.0 - equal_by_chance);
    let mean = f64::from(total) / pairs as f64;
    let error = (minima * differ * (1.0 - differ) / pairs as f64).sqrt();
    assert!(
        (mean - minima * differ).abs() <= 5.0 * error,
        "{} bits of {minima} minima, size {size}, J = {exact}: {mean} for {}",
        F::KEPT,
        minima * differ
    );
}

/// Half of it for bits, and 63/64 of it for the minima of sketches.
#[test]
fn mean_distance_is_a_fixed_share_of_the_dissimilarity() {
    for jaccard in SIMILARITIES {
        for (size, pairs) in [(1, 400), (5, 400), (20, 400), (100, 400), (1000, 100)] {
            assert_rule::<u64>(size, jaccard, pairs);
            assert_rule::<u128>(size, jaccard, pairs / 2);
            assert_rule::<Sketch>(size, jaccard, pairs / 2);
        }
    }
}

/// One set is a subset of the other, so J is the quotient of their sizes.
#[test]
fn rule_holds_for_sets_of_different_sizes() {
    let total: u32 = (0..400)
        .map(|seed| {
            let (a, _) = pair(60, 0, seed);
            distance::<u64>(&a, &a[..12])
        })
        .sum();
    let mean = f64::from(total) / 400.0;
    assert!((mean - 64.0 * 0.4).abs() < 5.0 * (64.0 * 0.24 / 400.0f64).sqrt(), "{mean}");
}

#[test]
fn every_bit_of_every_plane_is_set_in_half_of_the_sketches() {
    for size in [1, 5, 300] {
        let mut set = [[0u32; 128]; 6];
        for seed in 0..1000 {
            let sketch = one_bit::<Sketch>(&pair(size, 0, seed).0).unwrap();
            for (plane, set) in sketch.planes().iter().zip(&mut set) {
                set.iter_mut().enumerate().for_each(|(i, n)| *n += u32::from(plane >> i & 1 == 1));
            }
        }
        for (bit, &n) in set.as_flattened().iter().enumerate() {
            assert!((420..=580).contains(&n), "size {size}: bit {bit} is set {n} times");
        }
    }
}

/// Unrelated sets must not be closer together when they are small. The distances of the 64-bit
/// fingerprints of sets of one to five features have the distribution of coin tosses.
#[test]
fn unrelated_small_sets_are_as_far_apart_as_large_ones() {
    for size in [1, 2, 3, 5] {
        let mut squares = 0.0;
        for seed in 0..1000 {
            let (a, b) = pair(size, 0, seed);
            let d = distance::<u64>(&a, &b);
            assert!((10..=54).contains(&d), "size {size}, seed {seed}: {d}");
            squares += (f64::from(d) - 32.0).powi(2);
        }
        // The variance is 16, its standard error 0.7.
        assert!((12.5..=19.5).contains(&(squares / 1000.0)), "size {size}: {squares}");
    }
}

/// The number of minima that are equal by chance has nearly a Poisson distribution of mean 2.
#[test]
fn sketches_of_unrelated_small_sets_are_as_far_apart_as_those_of_large_ones() {
    for size in [1, 2, 3, 5, 300] {
        let mut squares = 0.0;
        for seed in 0..1000 {
            let (a, b) = pair(size, 0, seed);
            let equal = 128 - distance::<Sketch>(&a, &b);
            assert!(equal <= 12, "size {size}, seed {seed}: {equal}");
            squares += (f64::from(equal) - 2.0).powi(2);
        }
        // The variance is 1.97, its standard error 0.1.
        assert!((1.5..=2.5).contains(&(squares / 1000.0)), "size {size}: {squares}");
    }
}

/// Every round for every bin, as the guide defines the minima.
fn minima(set: &[u64]) -> [u64; 128] {
    let values = |round| set.iter().map(move |hash| mix(hash ^ key(round)));
    std::array::from_fn(|bin| {
        let bin = bin as u64;
        let in_bin = |round| values(round).filter(|value| value >> 57 == bin).min();
        (0..128).find_map(in_bin).or_else(|| values(128 + bin).min()).unwrap()
    })
}

#[test]
fn sketch_has_the_low_bits_of_the_minima() {
    for size in [1, 2, 5, 40, 128, 700] {
        let (set, _) = pair(size, 0, size);
        let (sketch, minima) = (one_bit::<Sketch>(&set).unwrap(), minima(&set));
        for (i, minimum) in minima.iter().enumerate() {
            let bit = |p: usize| (sketch.planes()[p] >> i & 1) << p;
            let kept = (0..6).map(bit).sum::<u128>();
            assert_eq!(kept, u128::from(minimum % 64), "size {size}, minimum {i}");
        }
        assert_eq!(Some(sketch.planes()[0]), one_bit(&set));
    }
}

#[test]
fn order_and_repetition_of_hashes_make_no_difference() {
    for size in [1, 7, 500] {
        let (a, _) = pair(size, 0, 1);
        let mut other: Vec<_> = a.iter().rev().chain(&a).copied().collect();
        let middle = other.len() / 3;
        other.rotate_left(middle);
        assert_eq!(one_bit::<u64>(&a), one_bit(&other));
        assert_eq!(one_bit::<Sketch>(&a), one_bit(&other));
    }
}

#[test]
fn regular_hashes_are_as_good_as_random_ones() {
    let total: u32 = (0..200u64)
        .map(|i| {
            let a: Vec<_> = (i * 1000..i * 1000 + 90).collect();
            let b: Vec<_> = (i * 1000 + 30..i * 1000 + 120).collect();
            distance::<u64>(&a, &b)
        })
        .sum();
    let mean = f64::from(total) / 200.0;
    assert!((mean - 16.0).abs() < 5.0 * (12.0f64 / 200.0).sqrt(), "{mean}");
}

#[test]
fn finish_empties_the_set() {
    let (a, b) = pair(30, 0, 9);
    let mut sketch = OneBit::<u64>::new();
    for set in [&a, &b, &a] {
        set.iter().for_each(|&hash| sketch.push(hash));
        assert_eq!(sketch.finish(), one_bit(set));
    }
    assert_eq!(sketch.finish(), None);
}

/// These values are in users' databases.
#[test]
fn fingerprints_are_frozen() {
    let numbers: Vec<u64> = (1..=100).collect();
    let all = [&numbers[6..7], &numbers]
        .map(|set| (one_bit::<u64>(set).unwrap(), one_bit::<u128>(set).unwrap()));
    let frozen = [
        (0x7df6_11b4_1013_0d1b, 0x7dda_bf6d_6daa_a210_9342_4b0d_00db_a95f),
        (0xbe5b_0f90_7945_99bb, 0xeebc_b3db_585d_a508_1761_b233_e3c1_47e7),
    ];
    assert_eq!(all, frozen);
    let planes = [
        0x7dda_bf6d_6daa_a210_9342_4b0d_00db_a95f,
        0x3f9b_5e75_d5ad_9697_aca7_f593_fa0f_721f,
        0xd2c3_722d_8006_dcb3_2d4e_5609_e1c4_3b27,
        0x6cda_9fe9_e48f_ca6f_87fc_3238_fe2f_31ee,
        0x7dc7_2449_08f9_cc55_27a5_010d_2c17_51a5,
        0x6c10_e4ac_8eb6_e618_bdaf_79b4_762f_165b,
    ];
    let sketch: Sketch = one_bit(&numbers[6..7]).unwrap();
    assert_eq!((sketch.planes(), sketch.features()), (&planes, 1));
}

/// A program in Python computed these values, by the definition in the guide.
#[test]
fn parities_are_frozen() {
    let frozen: [(u32, u64); 8] = [
        (1, 0x6755_ee00_0000_5274),
        (25, 0xbf43_64d4_30eb_dce5),
        (26, 0x220_8024_42e2_8210),
        (2048, 0x760_efc7_4caf_4f2a),
        (2049, 0xab1a_dd3e_bcf2_0958),
        (4096, 0x4147_69c6_db8b_afd9),
        (4097, 0xf217_7758_fe9b_a6f8),
        (100000, 0xceb8_92fd_be8d_1eb1),
    ];
    for (size, folded) in frozen {
        let hashes: Vec<u64> = (1..=size.into()).collect();
        let sketch: Sketch = one_bit(&hashes).unwrap();
        let found = sketch.parities().iter().fold(0u64, |all, word| all.rotate_left(7) ^ word);
        assert_eq!((sketch.features(), found), (size, folded));
    }
}
