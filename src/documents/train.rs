//! Choosing the symbols of a table from a sample.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;

use super::encoder::Encoder;
use super::keys::common_len;
use super::symbols::{MAX_SYMBOLS, Symbol, SymbolTable};

/// Tables that are made, each with the counts of the one before.
const ROUNDS: usize = 5;
/// Bytes of suffixes that are used of a sample.
const SAMPLE: usize = 1 << 18;
/// Added to a byte that is encoded as a literal.
const LITERAL: usize = 256;
/// How much more a symbol of one byte counts than it saves: without, its byte would take two bytes
/// wherever longer symbols do not fit. The authors use this factor.
const SINGLE_BYTE_FACTOR: u64 = 8;

/// How often symbols and literal bytes occur alone and in pairs.
struct Counts {
    single: Vec<u32>,
    pairs: HashMap<(u16, u16), u32>,
}

impl SymbolTable {
    /// Makes a table for keys such as these: ascending keys, in runs of some that follow each
    /// other, so that the table is made for the ends of keys that differ from their predecessors.
    /// Returns the table without symbols if these keys take no more bytes without.
    pub(crate) fn train(sample: &[&[u8]]) -> Self {
        let suffixes = suffixes(sample);
        let mut table = Self::none();
        for _ in 0..ROUNDS {
            let counts = count(&table, &suffixes);
            table = Self::new(&best_symbols(&table, &counts));
        }
        let (mut encoder, mut encoded) = (Encoder::new(&table), Vec::new());
        suffixes.iter().for_each(|suffix| encoder.encode(suffix, &mut encoded));
        let plain: usize = suffixes.iter().map(|suffix| suffix.len()).sum();
        if encoded.len() < plain { table } else { Self::none() }
    }
}

/// Number of keys that are taken together from a sorted list.
const RUN: usize = 64;
/// Number of such runs that are taken.
const RUNS: usize = 128;

impl SymbolTable {
    /// Makes a table for so many ascending keys, from a sample of them. `key` returns the key at a
    /// place.
    pub(crate) fn train_sorted<K: AsRef<[u8]>>(count: usize, key: impl Fn(usize) -> K) -> Self {
        let step = count.div_ceil(RUNS).max(RUN);
        let runs = (0..count).step_by(step).flat_map(|start| start..(start + RUN).min(count));
        let sample: Vec<K> = runs.map(key).collect();
        Self::train(&sample.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    }
}

/// Returns the ends of the keys that differ from their predecessors, some from each part of the
/// sample if it is too long.
fn suffixes<'a>(sample: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let mut suffixes = Vec::with_capacity(sample.len());
    let mut last: &[u8] = &[];
    for key in sample {
        let shared = if last < *key { common_len(last, key) } else { 0 };
        suffixes.push(key.get(shared..).unwrap_or_default());
        last = key;
    }
    let total: usize = suffixes.iter().map(|suffix| suffix.len()).sum();
    let step = total.div_ceil(SAMPLE).max(1);
    let mut left = 2 * SAMPLE;
    let mut used: Vec<&[u8]> = suffixes.into_iter().step_by(step).collect();
    used.retain_mut(|suffix| {
        *suffix = suffix.get(..suffix.len().min(left)).unwrap_or_default();
        left -= suffix.len();
        !suffix.is_empty()
    });
    used
}

fn count(table: &SymbolTable, suffixes: &[&[u8]]) -> Counts {
    let encoder = Encoder::new(table);
    let mut counts = Counts { single: vec![0; 2 * LITERAL], pairs: HashMap::new() };
    for suffix in suffixes {
        let (mut rest, mut last) = (*suffix, None);
        while let Some(&byte) = rest.first() {
            let literal = LITERAL + usize::from(byte);
            let (code, len) = encoder
                .longest(rest)
                .map_or((literal, 1), |(symbol, code)| (code.into(), symbol.len.into()));
            counts.add(last, code);
            if len > 1 {
                // So that shorter symbols remain candidates.
                counts.add(last, literal);
            }
            last = Some(code);
            rest = rest.get(len..).unwrap_or_default();
        }
    }
    counts
}

impl Counts {
    fn add(&mut self, last: Option<usize>, code: usize) {
        if let Some(count) = self.single.get_mut(code) {
            *count += 1;
        }
        if let Some(last) = last {
            let number = |code| u16::try_from(code).unwrap_or(0);
            *self.pairs.entry((number(last), number(code))).or_default() += 1;
        }
    }
}

/// Returns the symbols that save most: of those counted, and of those that two of them make.
fn best_symbols(table: &SymbolTable, counts: &Counts) -> Vec<Symbol> {
    let symbol = |code: usize| match code.checked_sub(LITERAL) {
        Some(byte) => Symbol::of_byte(u8::try_from(byte).unwrap_or(0)),
        None => table.symbols().get(code).copied().unwrap_or_default(),
    };
    let mut gains: HashMap<Symbol, u64> = HashMap::new();
    for (code, &count) in counts.single.iter().enumerate().filter(|(_, count)| **count > 0) {
        let found = symbol(code);
        let factor = if found.len == 1 { SINGLE_BYTE_FACTOR } else { found.len.into() };
        *gains.entry(found).or_default() += factor * u64::from(count);
    }
    for (&(first, second), &count) in &counts.pairs {
        let found = symbol(first.into()).followed_by(symbol(second.into()));
        if symbol(first.into()).len < 8 {
            *gains.entry(found).or_default() += u64::from(found.len) * u64::from(count);
        }
    }
    let mut gains: Vec<(Symbol, u64)> = gains.into_iter().collect();
    gains.sort_unstable_by_key(|(symbol, gain)| (std::cmp::Reverse(*gain), *symbol));
    gains.into_iter().take(MAX_SYMBOLS).map(|(symbol, _)| symbol).collect()
}
