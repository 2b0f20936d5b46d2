//! The recipes by name. To add one: an entry here, and a constructor that gives its method.

use std::sync::Arc;

use super::recipe::{Method, Offered, Width};
use super::words;
use crate::error::Result;

/// Names whose meaning may change with a release.
pub(super) const ALIASES: &[(&str, &str)] =
    &[("default", "words/1"), ("default-zh", "jieba/1"), ("default-short", "words/1")];

/// One recipe, at the widths that it has.
pub struct Entry {
    pub(super) name: &'static str,
    pub(super) purpose: &'static str,
    bits64: Availability<u64>,
    bits128: Availability<u128>,
}

/// Whether a recipe can be had at a width.
#[expect(private_interfaces, reason = "named by a sealed trait alone, out of reach for users")]
pub enum Availability<F> {
    /// In this build, from this constructor.
    Here(fn() -> Arc<dyn Method<F>>),
    /// In this build, unless its constructor finds that something is not as the recipe needs it.
    #[cfg_attr(not(feature = "zh"), expect(dead_code, reason = "for recipes with a dictionary"))]
    Checked(fn() -> Result<Arc<dyn Method<F>>>),
    /// In builds that have this cargo feature.
    #[cfg_attr(feature = "zh", expect(dead_code, reason = "this build has every feature"))]
    Needs(&'static str),
    /// In none: the recipe has no such width.
    Never,
}

use Availability::{Here, Never};

/// [`Here`], in a build with Chinese.
#[cfg(feature = "zh")]
macro_rules! here_with_zh {
    ($make:expr) => {
        Here($make)
    };
}
#[cfg(not(feature = "zh"))]
macro_rules! here_with_zh {
    ($make:expr) => {
        Availability::Needs("zh")
    };
}

/// [`Availability::Checked`], in a build with Chinese.
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

/// All recipes, in the order in which they are listed.
pub(super) const CATALOGUE: &[Entry] = &[
    Entry {
        name: "words/1",
        purpose: "texts with spaces between words; single words, in any order",
        bits64: Here(words::words_1),
        bits128: Never,
    },
    Entry {
        name: "jieba/1",
        purpose: "Chinese texts, or mixed with English; jieba's keywords, by TF-IDF",
        bits64: here_with_zh!(super::jieba::jieba_1),
        bits128: Never,
    },
    Entry {
        name: "yanyiwu/1",
        purpose: "fingerprints of yanyiwu/simhash (C++), a keyword for each 120 bytes, 5 to 200",
        bits64: checked_with_zh!(super::keywords::yanyiwu_adaptive),
        bits128: Never,
    },
    Entry {
        name: "yanyiwu-5/1",
        purpose: "fingerprints of yanyiwu/simhash (C++) and gosimhash (Go), 5 keywords",
        bits64: checked_with_zh!(super::keywords::yanyiwu_5),
        bits128: Never,
    },
    Entry {
        name: "yanyiwu-20/1",
        purpose: "fingerprints of yanyiwu/simhash (C++) and gosimhash (Go), 20 keywords",
        bits64: checked_with_zh!(super::keywords::yanyiwu_20),
        bits128: Never,
    },
    Entry {
        name: "yanyiwu-50/1",
        purpose: "fingerprints of yanyiwu/simhash (C++) and gosimhash (Go), 50 keywords",
        bits64: checked_with_zh!(super::keywords::yanyiwu_50),
        bits128: Never,
    },
    Entry {
        name: "gosimhash/1",
        purpose: "fingerprints of HaoyuHu/gosimhash (Go) with its Jenkins hasher, 5 keywords",
        bits64: checked_with_zh!(super::keywords::gosimhash),
        bits128: Never,
    },
    Entry {
        name: "go-jieba-fnv1a/1",
        purpose: "fingerprints of Go programs with gojieba's 20 keywords and FNV-1a",
        bits64: checked_with_zh!(super::keywords::go_jieba_fnv1a),
        bits128: Never,
    },
    Entry {
        name: "levels/1",
        purpose: "Chinese texts; keywords graded from 5 to 1 by the rank of their TF-IDF",
        bits64: checked_with_zh!(super::keywords::levels),
        bits128: Never,
    },
];

impl Offered for u64 {
    fn offered(entry: &Entry) -> &Availability<Self> {
        &entry.bits64
    }
}

impl Offered for u128 {
    fn offered(entry: &Entry) -> &Availability<Self> {
        &entry.bits128
    }
}

/// The name that an alias stands for, and any other name itself.
pub(super) fn resolve(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name)
}

/// The names of this build's recipes at a width.
pub(super) fn names<F: Width>() -> impl Iterator<Item = &'static str> {
    CATALOGUE
        .iter()
        .filter(|entry| matches!(F::offered(entry), Here(_) | Availability::Checked(_)))
        .map(|entry| entry.name)
}

/// The same, for a message.
pub(super) fn listed<F: Width>() -> String {
    names::<F>().collect::<Vec<_>>().join(", ")
}
