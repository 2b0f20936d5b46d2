//! The recipes that are pipelines: the parts of each.

use std::borrow::Cow;
use std::sync::Arc;

#[cfg(feature = "zh")]
use crate::error::Result;
use crate::hash::FeatureHash;
#[cfg(feature = "zh")]
use crate::keywords::{self, Keywords, Program, Top};
use crate::method::Method;
use crate::normalization::{NFKC_LOWER_CASE, Normalization};
use crate::pipeline::{Counting, Features, Grams, Pipeline};
use crate::segment::{Segment, Short};
use crate::simhash::Tie;
use crate::width::Bits;

/// `words/1`: the words of a text, in any order.
pub(crate) fn words_1() -> Arc<dyn Method<u64>> {
    Arc::new(Pipeline {
        normalization: Cow::Borrowed(NFKC_LOWER_CASE),
        counting: Counting::Damped,
        min_features: 4,
        ..pipeline(Segment::UnicodeWords, Grams::SINGLE, FeatureHash::Xxh3)
    })
}

/// `shingle2/1`: the set of pairs of neighbouring characters, without normalization.
///
/// The publication has 32 bits and does not name a hash, so there are no values to agree with. XXH3
/// spreads such short features over all 64 bits, which FNV does not.
pub(crate) fn shingle2_1() -> Arc<dyn Method<u64>> {
    let pairs = Grams::Characters { n: 2, from: 2, short: Short::Itself };
    Arc::new(Pipeline {
        counting: Counting::Set,
        ..pipeline(Segment::Whole, pairs, FeatureHash::Xxh3)
    })
}

/// `sentences/1`: the hash of the three longest sentences, which is the SimHash of one feature.
pub(crate) fn sentences_1<F: Bits>() -> Arc<dyn Method<F>> {
    Arc::new(Pipeline {
        normalization: Cow::Borrowed(NFKC_LOWER_CASE),
        min_features: 1,
        ..of_features(Features::LongestSentences(3), FeatureHash::Xxh3)
    })
}

/// `jieba/1`: all keywords. If only those of the largest weights counted, a small edit could
/// replace the last of them with another word.
#[cfg(feature = "zh")]
pub(crate) fn jieba_1() -> Result<Arc<dyn Method<u64>>> {
    graded(&keywords::JIEBA_RS, usize::MAX)
}

/// `levels/1`: at most a hundred keywords, which weigh from 5 to 1.
#[cfg(feature = "zh")]
pub(crate) fn levels_1() -> Result<Arc<dyn Method<u64>>> {
    graded(&keywords::LEVELS, 100)
}

/// Keywords of a text in NFKC and lower case, at least 4.
#[cfg(feature = "zh")]
fn graded(program: &'static Program, top: usize) -> Result<Arc<dyn Method<u64>>> {
    Ok(Arc::new(Pipeline {
        normalization: Cow::Borrowed(NFKC_LOWER_CASE),
        min_features: 4,
        ..weighted(program, Top::Number(top), FeatureHash::Xxh3)?
    }))
}

/// `yanyiwu/1`: yanyiwu's `simhash` (C++) and what wraps it, with a number of keywords that grows
/// with the text. The weights are summed as `f64`.
#[cfg(feature = "zh")]
pub(crate) fn yanyiwu_1() -> Result<Arc<dyn Method<u64>>> {
    Ok(Arc::new(weighted(&keywords::CPPJIEBA, Top::OnePer120Bytes, FeatureHash::Jenkins64)?))
}

/// `yanyiwu-5/1`, `yanyiwu-20/1`, `yanyiwu-50/1`: the same with N keywords.
#[cfg(feature = "zh")]
pub(crate) fn yanyiwu_top<const N: usize>() -> Result<Arc<dyn Method<u64>>> {
    Ok(Arc::new(weighted(&keywords::CPPJIEBA, Top::Number(N), FeatureHash::Jenkins64)?))
}

/// `go-jieba-fnv1a/1`: Go programs that use `gojieba`, with twenty keywords.
#[cfg(feature = "zh")]
pub(crate) fn go_jieba_fnv1a_1() -> Result<Arc<dyn Method<u64>>> {
    Ok(Arc::new(weighted(&keywords::CPPJIEBA, Top::Number(20), FeatureHash::Fnv1a)?))
}

/// `string-hash/1` at 64 bits: Python programs that apply `string_hash` to twenty keywords.
#[cfg(feature = "zh")]
pub(crate) fn string_hash_1_of_keywords() -> Result<Arc<dyn Method<u64>>> {
    Ok(Arc::new(weighted(&keywords::STRING_HASH, Top::Number(20), FeatureHash::StringHash)?))
}

/// `python-simhash/1`: PyPI `simhash` 2.1, with `f` = 64 or 128.
///
/// An empty text has one feature, the empty string.
pub(crate) fn python_simhash_1<F: Bits>() -> Arc<dyn Method<F>> {
    let grams = Grams::Characters { n: 4, from: 4, short: Short::ItselfOrEmpty };
    Arc::new(Pipeline {
        normalization: Cow::Borrowed(&[Normalization::LowerCase]),
        ..pipeline(Segment::WordRuns, grams, FeatureHash::Md5Low)
    })
}

/// `seomoz/1`: `simhash-py` and `simhash-cpp`. Their users supply the words; here these are runs of
/// letters, numbers and underscores in lower case. As there, a text of fewer than four words has no
/// feature.
pub(crate) fn seomoz_1() -> Arc<dyn Method<u64>> {
    let grams = Grams::Words { n: 4, short: Short::Nothing };
    Arc::new(Pipeline {
        normalization: Cow::Borrowed(&[Normalization::LowerCase]),
        ..pipeline(Segment::WordRuns, grams, FeatureHash::Md5High)
    })
}

/// `go-fnv1/1`: mfonda's and go-dedup's `simhash`.
pub(crate) fn go_fnv1_1() -> Arc<dyn Method<u64>> {
    Arc::new(Pipeline {
        normalization: Cow::Borrowed(&[Normalization::LowerCaseSimple]),
        tie: Tie::Set,
        ..pipeline(Segment::GoWords, Grams::SINGLE, FeatureHash::Fnv1)
    })
}

/// `go-fnv1-cjk/1`: go-dedup's `simhashCJK`, which also lower-cases.
pub(crate) fn go_fnv1_cjk_1() -> Arc<dyn Method<u64>> {
    Arc::new(Pipeline {
        normalization: Cow::Borrowed(&[Normalization::LowerCaseSimple]),
        tie: Tie::Set,
        ..pipeline(Segment::Whole, Grams::CHARACTERS, FeatureHash::Fnv1)
    })
}

/// `rust-simhash/1`: the crate `simhash` with its feature `hasher-fnv`.
pub(crate) fn rust_simhash_1() -> Arc<dyn Method<u64>> {
    Arc::new(pipeline(Segment::Whitespace, Grams::SINGLE, FeatureHash::Fnv1aOfRustStr))
}

/// `text-dedup-xxh3/1`: `text-dedup` 0.4 with its defaults. It requires at least 5 characters.
pub(crate) fn text_dedup_xxh3_1<F: Bits>() -> Arc<dyn Method<F>> {
    let grams = Grams::Characters { n: 3, from: 5, short: Short::Nothing };
    let features = Features::Grams { segment: Segment::Whole, grams, lower_case: true };
    Arc::new(Pipeline { counting: Counting::Set, ..of_features(features, FeatureHash::Xxh3) })
}

/// `daft-xxh3/1`: Daft 0.7's `simhash` with its defaults.
pub(crate) fn daft_xxh3_1() -> Arc<dyn Method<u64>> {
    let grams = Grams::Characters { n: 3, from: 3, short: Short::Nothing };
    Arc::new(pipeline(Segment::Whole, grams, FeatureHash::Xxh3))
}

/// `string-hash/1` at 128 bits: the code, published in blogs, that applies `string_hash` to words.
pub(crate) fn string_hash_1() -> Arc<dyn Method<u128>> {
    Arc::new(Pipeline {
        tie: Tie::Set,
        ..pipeline(Segment::PythonWhitespace, Grams::SINGLE, FeatureHash::StringHash)
    })
}

/// A SimHash of runs of segments, with the parts that most of these recipes have in common.
fn pipeline<F: Bits>(segment: Segment, grams: Grams, hash: FeatureHash) -> Pipeline<F> {
    of_features(Features::Grams { segment, grams, lower_case: false }, hash)
}

/// A SimHash of keywords.
#[cfg(feature = "zh")]
fn weighted<F: Bits>(
    program: &'static Program,
    top: Top,
    hash: FeatureHash,
) -> Result<Pipeline<F>> {
    Ok(of_features(Features::Keywords(Keywords::load(program, top)?), hash))
}

#[expect(
    clippy::expect_used,
    reason = "the hash is a constant of the recipe, and the tests cover each"
)]
fn of_features<F: Bits>(features: Features, hash: FeatureHash) -> Pipeline<F> {
    Pipeline {
        normalization: Cow::Borrowed(&[]),
        features,
        counting: Counting::Each,
        hash: hash.hasher::<F>().expect("the recipe's hash has its width"),
        tie: Tie::Unset,
        min_features: 0,
    }
}
