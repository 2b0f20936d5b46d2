//! The symbol table of a file: each code of one byte stands for a string of 1 to 8 bytes, or says
//! that a literal byte follows.
//!
//! This is the code of Boncz, Neumann and Leis, *FSST: Fast Random Access String Compression*,
//! VLDB 2020. storage-format.md, "Documents".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cmp::Ordering;

use super::MAX_KEY;
use crate::file::codec::bits::low_word;

/// The code that says that a literal byte follows.
pub(super) const ESCAPE: u8 = 255;
/// Most symbols of a table: one for each code but [`ESCAPE`].
pub(super) const MAX_SYMBOLS: usize = ESCAPE as usize;
/// Most bytes of a symbol.
pub(super) const MAX_SYMBOL: usize = 8;

/// A string of 1 to 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(super) struct Symbol {
    /// The bytes, the first one lowest. Zeros follow.
    pub(super) word: u64,
    pub(super) len: u8,
}

impl Symbol {
    /// Returns the symbol with a single byte.
    pub(super) fn of_byte(byte: u8) -> Self {
        Self { word: byte.into(), len: 1 }
    }

    /// Returns the first bytes of one symbol followed by another, at most eight.
    pub(super) fn followed_by(self, next: Self) -> Self {
        let word = self.word | next.word.checked_shl(u32::from(self.len) * 8).unwrap_or(0);
        Self { word, len: (self.len + next.len).min(8) }
    }

    /// Returns the bits of a word that hold the symbol's bytes.
    #[inline(always)]
    pub(super) fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * u32::from(self.len.clamp(1, 8)))
    }
}

/// A table of symbols, by code. Without any symbol, strings are stored as they are.
#[derive(Debug, Clone)]
pub(crate) struct SymbolTable {
    /// A code without a symbol has length 0 here.
    symbols: Box<[Symbol; 256]>,
    count: usize,
}

impl SymbolTable {
    /// Returns the table without symbols.
    pub(crate) fn none() -> Self {
        Self { symbols: Box::new([Symbol::default(); 256]), count: 0 }
    }

    /// Makes a table of at most [`MAX_SYMBOLS`] symbols.
    pub(super) fn new(symbols: &[Symbol]) -> Self {
        let mut table = Self::none();
        let places = table.symbols.iter_mut().take(MAX_SYMBOLS);
        places.zip(symbols).for_each(|(to, from)| *to = *from);
        table.count = symbols.len().min(MAX_SYMBOLS);
        table
    }

    /// Returns the symbols by code.
    pub(super) fn symbols(&self) -> &[Symbol] {
        self.symbols.get(..self.count).unwrap_or_default()
    }

    /// Returns whether strings are stored as they are.
    pub(super) fn is_plain(&self) -> bool {
        self.count == 0
    }

    /// Appends the table: the number of symbols, their lengths, their bytes.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::try_from(self.count).unwrap_or(ESCAPE));
        out.extend(self.symbols().iter().map(|symbol| symbol.len));
        for symbol in self.symbols() {
            out.extend(symbol.word.to_le_bytes().iter().take(symbol.len.into()));
        }
    }

    /// Reads what [`put`](Self::put) wrote. Returns `None` if it is damaged, or if anything but
    /// zeros follows.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (&count, rest) = bytes.split_first()?;
        let (lengths, mut rest) = rest.split_at_checked(count.into())?;
        let mut symbols = Vec::new();
        for &len in lengths {
            let (symbol, after) = rest.split_at_checked(len.into())?;
            if symbol.is_empty() || symbol.len() > MAX_SYMBOL {
                return None;
            }
            symbols.push(Symbol { word: low_word(symbol, 0), len });
            rest = after;
        }
        rest.iter().all(|&byte| byte == 0).then(|| Self::new(&symbols))
    }

    /// Takes the next symbol off the front of some codes. `None` at the end; a symbol of length 0
    /// stands for damage.
    #[inline(always)]
    fn next(&self, codes: &mut &[u8]) -> Option<Symbol> {
        let (&code, rest) = codes.split_first()?;
        *codes = rest;
        if code != ESCAPE {
            return self.symbols.get(usize::from(code)).copied();
        }
        let Some((&byte, rest)) = rest.split_first() else { return Some(Symbol::default()) };
        *codes = rest;
        Some(Symbol::of_byte(byte))
    }

    /// Appends what the codes stand for. Returns `None` if they are damaged or `out` would have
    /// more than [`MAX_KEY`] bytes.
    #[inline]
    pub(super) fn decode(&self, mut codes: &[u8], out: &mut Vec<u8>) -> Option<()> {
        if self.is_plain() {
            out.extend_from_slice(codes.get(..codes.len().min(MAX_KEY + 1))?);
        } else {
            while let Some(symbol) = self.next(&mut codes) {
                let len = out.len() + usize::from(symbol.len);
                if symbol.len == 0 || len > MAX_KEY {
                    return None;
                }
                // A copy of a fixed number of bytes is faster than one of exactly these.
                out.extend_from_slice(&symbol.word.to_le_bytes());
                out.truncate(len);
            }
        }
        (out.len() <= MAX_KEY).then_some(())
    }

    /// Compares what the codes stand for with `key`, without decoding more than needed. Returns the
    /// number of leading bytes that they have in common and the order. `None` if the codes are
    /// damaged.
    #[inline]
    pub(super) fn compare(&self, mut codes: &[u8], key: &[u8]) -> Option<(usize, Ordering)> {
        if self.is_plain() {
            let common = codes.iter().zip(key).take_while(|(a, b)| a == b).count();
            return Some((common, codes.cmp(key)));
        }
        let mut rest = key;
        while let Some(symbol) = self.next(&mut codes) {
            let len = usize::from(symbol.len);
            let word: u64 = if let Some(word) = rest.first_chunk() {
                u64::from_le_bytes(*word)
            } else {
                low_word(rest, 0)
            };
            let differing = (symbol.word ^ word) & symbol.mask();
            let equal = (differing.trailing_zeros() / 8) as usize;
            let common = len.min(equal).min(rest.len());
            if common == len && len > 0 {
                rest = rest.get(len..)?;
                continue;
            }
            if len == 0 {
                return None;
            }
            let at = key.len() - rest.len() + common;
            // The key ends here, or they differ in the byte after the common ones.
            let byte = |word: u64| word.to_le_bytes().get(common).copied();
            let order = match rest.len() {
                end if end == common => Ordering::Greater,
                _ => byte(symbol.word).cmp(&byte(word)),
            };
            return Some((at, order));
        }
        let order = if rest.is_empty() { Ordering::Equal } else { Ordering::Less };
        Some((key.len() - rest.len(), order))
    }
}
