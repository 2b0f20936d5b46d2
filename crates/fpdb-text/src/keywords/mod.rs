//! Keywords of Chinese texts, by TF-IDF, as jieba and cppjieba find them.
//!
//! A text is cut into words with jieba's dictionary, and with its hidden Markov model where the
//! dictionary has no word. Words of one character and stop words are passed over; the others
//! weigh their number in the text times their rarity (the inverse document frequency), by a table
//! that comes with jieba; the weightiest are the keywords. Programs differ in the details, and
//! so in the fingerprints that they make of keywords.
//!
//! Dictionary, model and table come with the crate jieba-rs, whose version is pinned. The first use
//! in a process loads them, which takes some tenths of a second and some tens of megabytes, to
//! stay. What was loaded is tried on a few sentences and words, and refused if it does not do with
//! them what it did when the recipes were made.

mod cppjieba;
mod extract;
mod latin;
mod recipes;
mod top;

pub use extract::{Keyword, STOP_WORDS, cppjieba, jieba_tags};
pub(crate) use recipes::{
    go_jieba_fnv1a, gosimhash, levels, string_hash, yanyiwu_5, yanyiwu_20, yanyiwu_50,
    yanyiwu_adaptive,
};
pub use recipes::{string_hash_without, yanyiwu};

#[cfg(test)]
mod tests;
