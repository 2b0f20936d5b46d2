use super::reader::Block;
use super::*;
use crate::base::error::Result;
use crate::file::codec::bits::BitReader;
use crate::file::codec::huffman::{Code, Histogram};
use crate::fingerprint::Word;

fn code_for<F: Word>(values: &[F], zeros: u32) -> Code {
    let mut histogram = Histogram::default();
    for pair in values.windows(2) {
        histogram.add(leading_difference(pair[0], pair[1]));
    }
    Code::from_histogram(&histogram.above(zeros))
}

/// Builds the first block of `values`, in the code that is best for all of them. Returns the number
/// of fingerprints in it.
fn build<F: Word>(values: &[F], size: usize) -> (Code, Vec<u8>, usize) {
    build_without(0, values, size)
}

/// Does the same with fingerprints whose lowest bits are zero.
fn build_without<F: Word>(zeros: u32, values: &[F], size: usize) -> (Code, Vec<u8>, usize) {
    let code = code_for(values, zeros);
    let mut builder = BlockBuilder::new(size, &code, zeros);
    let taken = builder.push_all(values);
    assert_eq!(builder.last(), values[taken - 1]);
    let mut out = Vec::new();
    builder.finish(&mut out);
    assert!(builder.is_empty());
    (code, out, taken)
}

fn packed<'a>(block: &'a [u8], code: &'a Code) -> Packed<'a> {
    Packed { bytes: block, size: block.len(), code, zeros: 0 }
}

fn checked<F: Word>(block: &[u8], code: &Code) -> Result<()> {
    check(&packed(block, code), |_: F| ())
}

/// Decodes a block twice in a row, visits it twice in a row, and compares the results.
fn read<F: Word>(block: Packed<'_>) -> Result<Vec<F>> {
    let (mut all, mut visited) = (vec![F::ONE], Vec::new());
    decode_all([Ok(block), Ok(block)].into_iter(), &mut all)?;
    visit_all([Ok(block), Ok(block)].into_iter(), |fingerprint| visited.push(fingerprint))?;
    assert_eq!(all.split_off(1), visited);
    let again = visited.split_off(visited.len() / 2);
    assert_eq!(visited, again);
    Ok(again)
}

/// Returns ascending values whose neighbours have every leading difference, with runs and with
/// crowds that share their leading bits.
fn values<F: Word>() -> Vec<F> {
    let mut values = vec![F::ZERO];
    let mut x = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
    for i in 0..400u32 {
        x = x.wrapping_mul(0xda94_2042_e4dd_58b5_0000_0000_0000_0001 | 3).rotate_left(29);
        let near = values[values.len() - 1] ^ (F::ONE << (i % F::BITS));
        values.extend([F::from_u128(x), near, F::from_u128(u128::from(i / 2))]);
        values.push(F::from_u128(0x1234_5678_9abc_0000 + (x >> 115)));
    }
    values.push(F::MAX);
    values.sort_unstable();
    values.dedup();
    values
}

fn near<F: Word>(block: Packed<'_>, query: F, low: F, high: F, distance: u32) -> Vec<F> {
    let mut job = Some(Job { block, query, low, high, tag: () });
    let (mut found, searched) = (Vec::new(), Searched::default());
    search(|| Ok(job.take()), distance, &searched, |(), f| found.push(f)).unwrap();
    assert_eq!(searched.blocks.get(), 1);
    assert!(distance < F::BITS || searched.candidates.get() == found.len() as u64);
    found
}

fn round_trip<F: Word>() {
    for zeros in [0, 1, 23] {
        let mut values: Vec<F> = values::<F>().into_iter().map(|value| value << zeros).collect();
        values.sort_unstable();
        values.dedup();
        round_trip_of(zeros, &values);
    }
}

fn round_trip_of<F: Word>(zeros: u32, values: &[F]) {
    for size in [128, 256, 512, 1024, 2048, 4096] {
        let mut rest = values;
        while !rest.is_empty() {
            let (code, block, taken) = build_without(zeros, rest, size);
            let (inside, after) = rest.split_at(taken);
            let packed = Packed { zeros, ..packed(&block, &code) };
            assert_eq!(block.len(), size);
            assert_eq!(read::<F>(packed).unwrap(), inside);
            assert_eq!(packed.len().unwrap(), taken);
            let mut strict = Vec::new();
            check(&packed, |fingerprint: F| strict.push(fingerprint)).unwrap();
            assert_eq!(strict, inside);
            check_searches(packed, inside);
            rest = after;
        }
    }
}

/// Checks that ranges of many widths around some of the values are found in full, and places.
fn check_searches<F: Word>(block: Packed<'_>, inside: &[F]) {
    for (place, &value) in inside.iter().enumerate().step_by(1 + inside.len() / 50) {
        assert_eq!(block.place(value).unwrap(), Some(place));
        for absent in [value.wrapping_add(F::ONE), value.wrapping_sub(F::ONE)] {
            let at = inside.iter().position(|&v| v == absent);
            assert_eq!(block.place(absent).unwrap(), at);
        }
        let other = value.wrapping_add(F::ONE);
        for depth in [0, 1, F::BITS / 4, F::BITS / 2, F::BITS - 5, F::BITS - 1, F::BITS] {
            for prefix in [value, other, value ^ F::ONE << (F::BITS / 2), value ^ F::ONE << 3] {
                let mask = F::prefix_mask(depth);
                let (low, high) = (prefix & mask, prefix | !mask);
                let query = value ^ F::ONE;
                let among = inside.iter().copied().filter(|f| (low..=high).contains(f));
                let mut expected: Vec<F> = among.collect();
                assert_eq!(near(block, query, low, high, F::BITS), expected);
                expected.retain(|f| f.distance(query) <= 3);
                assert_eq!(near(block, query, low, high, 3), expected);
            }
        }
    }
}

#[test]
fn blocks_of_every_size_round_trip_and_answer_at_both_widths() {
    round_trip::<u64>();
    round_trip::<u128>();
}

#[test]
fn small_block_matches_the_one_made_by_hand() {
    // 5, then 6 (h = 1, bit below: 0), then 13 (h = 3, bits below: 101). Codewords: 1 -> 0, 3 -> 1.
    let (_, block, taken) = build(&[5u64, 6, 13], 128);
    assert_eq!(taken, 3);
    assert_eq!(block[..11], [3, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0b0100_0000]);
    assert_eq!(block[127], 0b1010);
    assert!(block[11..127].iter().all(|&byte| byte == 0));
}

#[test]
fn bit_that_the_next_leading_difference_implies_is_left_out() {
    // 0b10000, then 0b11010 (h = 3, bits below: 010), then 0b11011 (h = 0): bit 0 of the second is
    // known to be 0, so 01 is left. Then 0b11110 (h = 2, bits below: 10), which come before 01.
    let values = [0b1_0000u64, 0b1_1010, 0b1_1011, 0b1_1110];
    let (code, block, taken) = build(&values, 128);
    assert_eq!((taken, block[127]), (4, 0b1001));
    assert_eq!(read::<u64>(packed(&block, &code)).unwrap(), values);
}

#[test]
fn runs_of_neighbours_and_single_fingerprints_round_trip() {
    let run: Vec<u64> = (1000..9000).collect();
    let (code, block, taken) = build(&run, 1024);
    assert!(taken > 3000, "{taken} neighbours in 1024 bytes");
    assert_eq!(read::<u64>(packed(&block, &code)).unwrap(), run[..taken]);
    check_searches(packed(&block, &code), &run[..taken]);
    for value in [0, 7, u128::MAX] {
        let (code, block, taken) = build(&[value], 128);
        let block = packed(&block, &code);
        assert_eq!((read::<u128>(block).unwrap(), taken), (vec![value], 1));
        assert_eq!(near(block, value, 0, u128::MAX, 0), [value]);
    }
}

#[test]
fn flipped_bits_never_panic_and_check_finds_those_that_change_an_answer() {
    let all: Vec<u64> = values().into_iter().step_by(7).collect();
    let (code, good, taken) = build(&all, 256);
    for bit in 0..good.len() * 8 {
        let mut block = good.clone();
        block[bit / 8] ^= 1 << (bit % 8);
        let strict = checked::<u64>(&block, &code);
        let decoded = read::<u64>(packed(&block, &code));
        if decoded.as_deref().ok() == Some(&all[..taken]) {
            assert!(strict.is_err(), "bit {bit} is padding but set");
        } else {
            // Only the page checksum can find a change that keeps the order.
            let in_order = decoded.is_ok_and(|v| v.is_sorted_by(|a, b| a < b));
            assert!(strict.is_err() || in_order, "bit {bit}");
        }
        if let Ok(opened) = Block::<u64>::open(&packed(&block, &code)) {
            for &value in &all[..taken] {
                let _ = opened.place(value);
            }
        }
    }
    for len in 0..good.len() {
        let cut = Packed { size: good.len(), ..packed(&good[..len], &code) };
        assert!(read::<u64>(cut).is_err());
    }
}

#[test]
fn a_fingerprint_with_one_bit_more_than_the_last_is_stored_as_its_position_and_the_bit_below() {
    // An article stores 11011011 before 11011001, as (6)1: the position of the highest bit that
    // differs, counted from the left, and the bits after it. Here fingerprints ascend, and h counts
    // from the right, so position 6 of 8 bits is h = 1. The bit after it is the same.
    let (code, block, taken) = build(&[0b1101_1001u64, 0b1101_1011], 128);
    let stored = stored::<u64>(&packed(&block, &code)).unwrap();
    assert_eq!((taken, stored.len(), stored[0].coded), (2, 2, None));
    let coded = stored[1].coded.unwrap();
    assert_eq!((coded.h, 8 - 1 - coded.h, coded.remaining), (1, 6, (1, 1)));
    assert_eq!(block[127], 1);
}

#[test]
fn stored_bits_are_those_that_the_block_holds() {
    for zeros in [0, 5] {
        let mut all: Vec<u64> = values().into_iter().map(|value: u64| value << zeros).collect();
        all.sort_unstable();
        all.dedup();
        let (code, block, taken) = build_without(zeros, &all, 512);
        let rows = stored::<u64>(&Packed { zeros, ..packed(&block, &code) }).unwrap();
        assert!(rows.iter().map(|row| row.fingerprint).eq(all[..taken].iter().copied()));
        let coded: Vec<_> = rows.iter().filter_map(|row| row.coded).collect();
        let (mut codewords, mut position) = (BitReader::new(&block, 80), block.len() * 8);
        for (coded, pair) in coded.iter().zip(all.windows(2)) {
            assert_eq!(coded.h, leading_difference(pair[0], pair[1]));
            assert_eq!(codewords.take(coded.codeword.1), coded.codeword.0);
            position -= coded.remaining.1 as usize;
            let mut remaining = BitReader::new(&block, position);
            let bits = (0..coded.remaining.1).fold(0, |bits, _| bits << 1 | remaining.take(1));
            assert_eq!(bits, coded.remaining.0);
        }
        let used: u32 = coded.iter().map(|coded| coded.codeword.1 + coded.remaining.1).sum();
        assert!(used as usize + 80 > block.len() * 8 - 80, "{used} bits");
    }
}
