//! The recipes whose features are keywords.

use std::sync::Arc;

use super::extract::{Cppjieba, Keyword, Tags};
use crate::error::Result;
use crate::hash::{fnv1a, jenkins64, string_hash64, xxh3};
use crate::method::Method;
use crate::normalization::{NFKC_LOWER_CASE, normalized};
use crate::simhash::{Tie, Weight};
use crate::weighted::Weighted;

type MethodResult = Result<Arc<dyn Method<u64>>>;

pub(crate) fn yanyiwu_5() -> MethodResult {
    cppjieba_by_jenkins(|_| 5)
}

pub(crate) fn yanyiwu_20() -> MethodResult {
    cppjieba_by_jenkins(|_| 20)
}

pub(crate) fn yanyiwu_50() -> MethodResult {
    cppjieba_by_jenkins(|_| 50)
}

/// One keyword per 120 bytes, from 5 to 200.
pub(crate) fn yanyiwu_adaptive() -> MethodResult {
    cppjieba_by_jenkins(|text| (text.len() / 120).clamp(5, 200))
}

/// yanyiwu's `simhash` (C++), and programs that wrap it. The weights are summed as `f64`, and the hash
/// is Jenkins' lookup3.
fn cppjieba_by_jenkins(top: fn(&str) -> usize) -> MethodResult {
    let keywords = Cppjieba::load()?;
    Ok(Arc::new(weighted(
        move |text| keywords.keywords(text, top(text)),
        |keyword| keyword.weight,
        |word| jenkins64(word.as_bytes()),
    )))
}

/// HaoyuHu's `gosimhash` (Go) with five keywords.
pub(crate) fn gosimhash() -> MethodResult {
    let keywords = Cppjieba::load()?;
    Ok(Arc::new(weighted(
        move |text| keywords.keywords(text, 5),
        |keyword| keyword.weight,
        |word| gosimhash_hash(word.as_bytes()),
    )))
}

/// Go programs that use `gojieba`, with twenty keywords and FNV-1a.
pub(crate) fn go_jieba_fnv1a() -> MethodResult {
    let keywords = Cppjieba::load()?;
    Ok(Arc::new(weighted(
        move |text| keywords.keywords(text, 20),
        |keyword| keyword.weight,
        |word| fnv1a(word.as_bytes()),
    )))
}

/// The Python programs with the constant 1000003.
///
/// They join the words of the text with vertical bars and cut the result again. The features are
/// the twenty words of largest weight. The weight of a feature is twenty times its TF-IDF, without
/// the fraction.
pub(crate) fn string_hash() -> MethodResult {
    let tags = Tags::load()?;
    #[expect(clippy::cast_possible_truncation, reason = "those programs truncate too")]
    let weight = |keyword: &Keyword| (keyword.weight * 20.0) as i64;
    let features = move |text: &str| {
        let words: Vec<_> = tags.cut(text).collect();
        tags.keywords(&words.join("|"), 20)
    };
    Ok(Arc::new(weighted(features, weight, string_hash64)))
}

/// The largest number of keywords that get a level.
const MAX_LEVELLED: usize = 100;

/// `levels/1`, which grades keywords from 5 to 1.
///
/// The features are the keywords of the text in NFKC and lower case, at most the hundred of largest
/// weight. The first fifth of them gets the weight 5, the next 4, and so on. Keywords of equal
/// weight are in ascending order of their UTF-8 bytes.
pub(crate) fn levels() -> MethodResult {
    let tags = Tags::load()?;
    let graded = move |text: &str| {
        let mut keywords = tags.keywords(&normalized(text, NFKC_LOWER_CASE), usize::MAX);
        keywords.retain(|keyword| keyword.word.chars().any(char::is_alphanumeric));
        keywords.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.word.cmp(&b.word)));
        keywords.truncate(MAX_LEVELLED);
        let count = keywords.len();
        for (rank, keyword) in keywords.iter_mut().enumerate() {
            keyword.weight = (5 - 5 * rank / count) as f64;
        }
        keywords
    };
    #[expect(clippy::cast_possible_truncation, reason = "the levels are 1 to 5")]
    let method = weighted(graded, |keyword| keyword.weight as i64, |word| xxh3(word.as_bytes()));
    Ok(Arc::new(Weighted { min_features: 4, ..method }))
}

fn weighted<W: Weight>(
    keywords: impl Fn(&str) -> Vec<Keyword> + Send + Sync + 'static,
    weight: fn(&Keyword) -> W,
    hash: fn(&str) -> u64,
) -> Weighted<u64, W> {
    let features = move |text: &str, visit: &mut dyn FnMut(&str, W)| {
        for keyword in keywords(text) {
            visit(&keyword.word, weight(&keyword));
        }
    };
    Weighted {
        features: Box::new(features),
        hash,
        tie: Tie::Unset,
        fraction_bits: 0,
        min_features: 0,
    }
}

/// Returns the hash of HaoyuHu's `gosimhash`.
///
/// It is meant as Jenkins' lookup2, but it uses words of 64 bits. And of every four bytes of a long
/// word only the first counts, because the others are shifted out of a byte.
fn gosimhash_hash(bytes: &[u8]) -> u64 {
    let [mut a, mut b, mut c] = [0x9e37_79b9_u64, 0x9e37_79b9, 0];
    let mut rest = bytes;
    // A step advances by eight bytes, although it reads three words. The third word is read again
    // as the first word of the next step.
    while rest.len() > 12 {
        a = a.wrapping_add(rest[0].into());
        b = b.wrapping_add(rest[4].into());
        c = c.wrapping_add(rest[8].into());
        mix(&mut a, &mut b, &mut c);
        rest = &rest[8..];
    }
    c = c.wrapping_add(bytes.len() as u64);
    for (i, &byte) in rest.iter().enumerate() {
        let (word, shift) = match i {
            0..4 => (&mut a, 8 * i),
            4..8 => (&mut b, 8 * (i - 4)),
            8..11 => (&mut c, 8 * (i - 7)), // its lowest byte is the length
            _ => break,
        };
        *word = word.wrapping_add(u64::from(byte) << shift);
    }
    mix(&mut a, &mut b, &mut c);
    c
}

fn mix(a: &mut u64, b: &mut u64, c: &mut u64) {
    for (x, y, z) in [(13, 8, 13), (12, 16, 5), (3, 10, 15)] {
        *a = a.wrapping_sub(*b).wrapping_sub(*c) ^ (*c >> x);
        *b = b.wrapping_sub(*c).wrapping_sub(*a) ^ (*a << y);
        *c = c.wrapping_sub(*a).wrapping_sub(*b) ^ (*b >> z);
    }
}
