//! All pairs: every two fingerprints of a view within a distance, each pair once.
//!
//! A table is its own sorted list of queries (Manku, Jain, Das Sarma, "Detecting Near-Duplicates
//! for Web Crawling", WWW 2007, section 3.3, turned around: the paper scans the batch and probes
//! with the tables). Tables are searched one after another, each in *parts* that fit in memory
//! ([`rows`]). A part is divided into *leaves* that fit in the processor's cache ([`leaf`]).
//! Whatever is near a leaf's fingerprints begins with the leaf's prefix, except for the few errors
//! that the table's staircase allows. So the search descends from the beginning of the word towards
//! the leaf, and turns off at each bit where an error is allowed. What it reaches is a range of
//! fingerprints, which are looked up in the leaf's directory one after another ([`search`]).
//!
//! Of two fingerprints, only the lower one in the table's bit order is looked up, in the leaf of
//! the higher one. A pair that several tables accept is reported by the first. So each pair is
//! found once.
//!
//! How deep leaves are depends on the fingerprints that are there, not on their number alone: where
//! many share a prefix, leaves are deeper.

mod entries;
mod errors;
mod leaf;
mod rows;
mod search;

pub(crate) use entries::EntryPass;
pub(crate) use search::{PairSearch, Report};
