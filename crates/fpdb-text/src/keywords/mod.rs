//! Keywords of Chinese texts by TF-IDF, exactly as jieba and cppjieba find them.
//!
//! The text is cut into words with jieba's dictionary, and with its hidden Markov model where the
//! dictionary has no word. Words of one character and stop words are skipped. The weight of each
//! other word is its number of occurrences times its rarity (the inverse document frequency), from
//! a table that comes with jieba. The words of largest weight are the keywords. Programs differ in
//! the details, and therefore in the fingerprints that they make from keywords.
//!
//! Dictionary, model and table come with the crate jieba-rs, of which an exact version is required.
//! The first use in a process loads them. This takes a few tenths of a second and some tens of
//! megabytes of memory, which stay allocated. The loaded data is tested with a few sentences and
//! words, and refused if the result differs from the one at the time when the recipes were made.

mod cppjieba;
mod extract;
mod latin;
mod recipes;
mod top;

pub(crate) use recipes::{
    go_jieba_fnv1a, gosimhash, levels, string_hash, yanyiwu_5, yanyiwu_20, yanyiwu_50,
    yanyiwu_adaptive,
};

#[cfg(test)]
mod tests;
