//! The table of the built-in recipes. To add a recipe, add an entry here and a constructor that
//! returns its method.

use std::sync::Arc;

use crate::error::Result;
use crate::method::Method;
use crate::width::{PerWidth, Sketch, Width};
use crate::{pairs, recipes};

/// Aliases, each with the name that it stands for. That may change with a release.
pub(crate) const ALIASES: &[(&str, &str)] =
    &[("default", "pairs/1"), ("default-zh", "pairs-zh/1"), ("default-short", "pairs-short/1")];

/// A recipe, at the widths that it has.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) purpose: &'static str,
    bits64: Availability<u64>,
    bits128: Availability<u128>,
    sketch: Availability<Sketch>,
}

/// For the widths that a recipe does not have.
const NO_WIDTH: Entry =
    Entry { name: "", purpose: "", bits64: Never, bits128: Never, sketch: Never };

impl Entry {
    /// Returns whether the recipe is available at a width, and from which constructor.
    pub(crate) fn at_width<F: Width>(&'static self) -> &'static Availability<F> {
        struct OfEntry;
        impl PerWidth for OfEntry {
            type At<F: Width> = &'static Availability<F>;
        }
        F::pick::<OfEntry>(&self.bits64, &self.bits128, &self.sketch)
    }
}

/// Whether a recipe is available at a width.
pub(crate) enum Availability<F> {
    /// In this build, from this constructor.
    Here(fn() -> Arc<dyn Method<F>>),
    /// In this build, unless the constructor finds that a dictionary is not the recipe's.
    #[cfg_attr(not(feature = "zh"), expect(dead_code, reason = "only Chinese recipes are checked"))]
    Checked(fn() -> Result<Arc<dyn Method<F>>>),
    /// In builds that have this cargo feature.
    #[cfg_attr(feature = "zh", expect(dead_code, reason = "this build has all features"))]
    Needs(&'static str),
    /// In no build: the recipe does not have this width.
    Never,
}

use Availability::{Here, Never};

/// [`Availability::Checked`] in a build with the feature `zh`, else [`Availability::Needs`].
#[cfg(feature = "zh")]
macro_rules! checked_with_zh {
    ($make:expr) => {
        Availability::Checked($make)
    };
}
#[cfg(not(feature = "zh"))]
macro_rules! checked_with_zh {
    ($make:expr) => {
        Availability::Needs("zh")
    };
}

/// All recipes, in the order in which they are listed: this crate's own, then other programs'
/// recipes.
///
/// This is a static, so that programs that look up a recipe do not compile all of them again.
pub(crate) static CATALOGUE: &[Entry] = &[
    Entry {
        name: "pairs/1",
        purpose: "texts of any language; the set of two neighbouring words, one-bit MinHash",
        bits64: Here(pairs::pairs),
        bits128: Here(pairs::pairs),
        sketch: Here(pairs::pairs),
    },
    Entry {
        name: "pairs-zh/1",
        purpose: "Chinese texts, or mixed with others; as pairs/1, the words by jieba",
        bits64: checked_with_zh!(pairs::pairs_zh),
        bits128: checked_with_zh!(pairs::pairs_zh),
        sketch: checked_with_zh!(pairs::pairs_zh),
    },
    Entry {
        name: "pairs-short/1",
        purpose: "titles, reviews, comments of one word or more; as pairs/1, with the start",
        bits64: Here(pairs::pairs_short),
        bits128: Here(pairs::pairs_short),
        sketch: Here(pairs::pairs_short),
    },
    Entry {
        name: "fives/1",
        purpose: "as MinHash programs compare; the set of five neighbouring words, one-bit MinHash",
        bits64: Here(pairs::fives),
        bits128: Here(pairs::fives),
        sketch: Here(pairs::fives),
    },
    Entry {
        name: "words/1",
        purpose: "texts with spaces between words; single words, in any order",
        bits64: Here(recipes::words_1),
        ..NO_WIDTH
    },
    Entry {
        name: "jieba/1",
        purpose: "Chinese texts, or mixed with English; jieba's keywords, by TF-IDF",
        bits64: checked_with_zh!(recipes::jieba_1),
        ..NO_WIDTH
    },
    Entry {
        name: "shingle2/1",
        purpose: "short texts in any language; the set of two neighbouring characters",
        bits64: Here(recipes::shingle2_1),
        ..NO_WIDTH
    },
    Entry {
        name: "levels/1",
        purpose: "Chinese texts; keywords graded from 5 to 1 by the rank of their TF-IDF",
        bits64: checked_with_zh!(recipes::levels_1),
        ..NO_WIDTH
    },
    Entry {
        name: "sentences/1",
        purpose: "the three longest sentences; equal or unrelated, for use at distance 0",
        bits64: Here(recipes::sentences_1),
        bits128: Here(recipes::sentences_1),
        ..NO_WIDTH
    },
    Entry {
        name: "python-simhash/1",
        purpose: "as PyPI simhash 2.1: four characters, MD5",
        bits64: Here(recipes::python_simhash_1),
        bits128: Here(recipes::python_simhash_1),
        ..NO_WIDTH
    },
    Entry {
        name: "seomoz/1",
        purpose: "as seomoz's simhash-py on lower-case words: four words, MD5",
        bits64: Here(recipes::seomoz_1),
        ..NO_WIDTH
    },
    Entry {
        name: "go-fnv1/1",
        purpose: "as Go's mfonda/simhash and go-dedup/simhash: ASCII words, FNV-1",
        bits64: Here(recipes::go_fnv1_1),
        ..NO_WIDTH
    },
    Entry {
        name: "go-fnv1-cjk/1",
        purpose: "as Go's go-dedup/simhash/simhashCJK: single characters, FNV-1",
        bits64: Here(recipes::go_fnv1_cjk_1),
        ..NO_WIDTH
    },
    Entry {
        name: "rust-simhash/1",
        purpose: "as the Rust crate simhash with hasher-fnv: words between spaces, FNV-1a",
        bits64: Here(recipes::rust_simhash_1),
        ..NO_WIDTH
    },
    Entry {
        name: "text-dedup-xxh3/1",
        purpose: "as PyPI text-dedup 0.4: the set of three characters, XXH3",
        bits64: Here(recipes::text_dedup_xxh3_1),
        bits128: Here(recipes::text_dedup_xxh3_1),
        ..NO_WIDTH
    },
    Entry {
        name: "daft-xxh3/1",
        purpose: "as Daft 0.7's simhash: three characters, XXH3",
        bits64: Here(recipes::daft_xxh3_1),
        ..NO_WIDTH
    },
    Entry {
        name: "string-hash/1",
        purpose: "as Python's string_hash programs: jieba's keywords; 128 bits: words",
        bits64: checked_with_zh!(recipes::string_hash_1_of_keywords),
        bits128: Here(recipes::string_hash_1),
        ..NO_WIDTH
    },
    Entry {
        name: "yanyiwu/1",
        purpose: "as yanyiwu/simhash (C++), one keyword per 120 bytes, 5 to 200",
        bits64: checked_with_zh!(recipes::yanyiwu_1),
        ..NO_WIDTH
    },
    Entry {
        name: "yanyiwu-5/1",
        purpose: "as yanyiwu/simhash (C++) and gosimhash (Go), 5 keywords",
        bits64: checked_with_zh!(recipes::yanyiwu_top::<5>),
        ..NO_WIDTH
    },
    Entry {
        name: "yanyiwu-20/1",
        purpose: "as yanyiwu/simhash (C++) and gosimhash (Go), 20 keywords",
        bits64: checked_with_zh!(recipes::yanyiwu_top::<20>),
        ..NO_WIDTH
    },
    Entry {
        name: "yanyiwu-50/1",
        purpose: "as yanyiwu/simhash (C++) and gosimhash (Go), 50 keywords",
        bits64: checked_with_zh!(recipes::yanyiwu_top::<50>),
        ..NO_WIDTH
    },
    Entry {
        name: "go-jieba-fnv1a/1",
        purpose: "as Go programs with gojieba's 20 keywords and FNV-1a",
        bits64: checked_with_zh!(recipes::go_jieba_fnv1a_1),
        ..NO_WIDTH
    },
];
