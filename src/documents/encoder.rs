//! Encoding strings with a symbol table.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::symbols::{ESCAPE, Symbol, SymbolTable};
use crate::file::codec::bits::low_word;

/// The symbols of a table, by their first byte.
#[derive(Debug)]
pub(super) struct Encoder {
    /// The symbols with their codes, ordered by first byte; the longest come first.
    symbols: Vec<(Symbol, u8)>,
    /// For each byte, where the symbols that begin with it are.
    starts: [(u16, u16); 256],
    /// For each place of the string, the least number of bytes that encode what is after it, and
    /// the code and the length of the first symbol.
    best: Vec<(u32, u8, u8)>,
}

impl Encoder {
    pub(super) fn new(table: &SymbolTable) -> Self {
        let mut symbols: Vec<(Symbol, u8)> = table.symbols().iter().copied().zip(0..).collect();
        symbols.sort_by_key(|(symbol, code)| (symbol.word & 0xff, 8 - symbol.len.min(8), *code));
        let mut starts = [(0, 0); 256];
        for (place, (symbol, _)) in (0u16..).zip(&symbols) {
            if let Some((start, end)) = starts.get_mut((symbol.word & 0xff) as usize) {
                if *end == 0 {
                    *start = place;
                }
                *end = place + 1;
            }
        }
        Self { symbols, starts, best: Vec::new() }
    }

    /// Returns the symbols that a non-empty string begins with, the longest first.
    #[inline]
    fn prefixes(&self, string: &[u8]) -> impl Iterator<Item = (Symbol, u8)> {
        let first = string.first().map_or(0, |&byte| usize::from(byte));
        let (start, end) = self.starts.get(first).copied().unwrap_or_default();
        let symbols = self.symbols.get(usize::from(start)..usize::from(end)).unwrap_or_default();
        let (word, len): (u64, _) = (low_word(string, 0), string.len());
        symbols.iter().copied().filter(move |(symbol, _)| {
            usize::from(symbol.len) <= len && word & symbol.mask() == symbol.word
        })
    }

    /// Returns the longest symbol that a string begins with, with its code.
    #[inline]
    pub(super) fn longest(&self, string: &[u8]) -> Option<(Symbol, u8)> {
        self.prefixes(string).next()
    }

    /// Appends the codes of a string: the fewest bytes that stand for it.
    pub(super) fn encode(&mut self, string: &[u8], out: &mut Vec<u8>) {
        if self.symbols.is_empty() {
            out.extend_from_slice(string);
            return;
        }
        let mut best = std::mem::take(&mut self.best);
        best.clear();
        // From the end, so that the cost of what is after a symbol is known: at `len` bytes before
        // the last element.
        best.push((0, 0, 0));
        for start in (0..string.len()).rev() {
            let rest = string.get(start..).unwrap_or_default();
            let cost_after = |len: usize| best.get(best.len() - len).map_or(0, |best| best.0);
            let mut least = (cost_after(1) + 2, ESCAPE, 1);
            for (symbol, code) in self.prefixes(rest) {
                let cost = cost_after(symbol.len.into()) + 1;
                if cost < least.0 {
                    least = (cost, code, symbol.len);
                }
            }
            best.push(least);
        }
        let mut at = 0;
        while let Some(&byte) = string.get(at) {
            let (_, code, len) = best.get(string.len() - at).copied().unwrap_or((0, ESCAPE, 1));
            out.push(code);
            if code == ESCAPE {
                out.push(byte);
            }
            at += usize::from(len);
        }
        self.best = best;
    }
}
