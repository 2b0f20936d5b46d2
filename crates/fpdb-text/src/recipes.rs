//! The recipes of other programs: the parts of each.

use std::borrow::Cow;
use std::sync::Arc;

use crate::hash::FeatureHash;
use crate::method::Method;
use crate::normalization::Normalization;
use crate::pipeline::{Counting, Grams, Pipeline};
use crate::segment::{Segment, Short};
use crate::simhash::Tie;
use crate::width::Bits;

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
    Arc::new(Pipeline {
        lower_case_features: true,
        counting: Counting::Set,
        ..pipeline(Segment::Whole, grams, FeatureHash::Xxh3)
    })
}

/// `daft-xxh3/1`: Daft 0.7's `simhash` with its defaults.
pub(crate) fn daft_xxh3_1() -> Arc<dyn Method<u64>> {
    let grams = Grams::Characters { n: 3, from: 3, short: Short::Nothing };
    Arc::new(pipeline(Segment::Whole, grams, FeatureHash::Xxh3))
}

/// `string-hash/1`: the code, published in blogs, that applies `string_hash` to words.
pub(crate) fn string_hash_1() -> Arc<dyn Method<u128>> {
    Arc::new(Pipeline {
        tie: Tie::Set,
        ..pipeline(Segment::PythonWhitespace, Grams::SINGLE, FeatureHash::StringHash)
    })
}

/// The parts that most of these recipes have in common.
#[expect(
    clippy::expect_used,
    reason = "the hash is a constant of the recipe, and the tests cover each"
)]
fn pipeline<F: Bits>(segment: Segment, grams: Grams, hash: FeatureHash) -> Pipeline<F> {
    Pipeline {
        normalization: Cow::Borrowed(&[]),
        segment,
        grams,
        lower_case_features: false,
        counting: Counting::Each,
        hash: hash.hasher::<F>().expect("the recipe's hash has its width"),
        tie: Tie::Unset,
        min_features: 0,
    }
}
