//! The codes that blocks may be in, by name and by number.

use std::fmt;

use crate::error::{Error, Result};

/// How the fingerprints of a block are written. Chosen when a database is created, for all its
/// tables; answers are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum BlockCode {
    /// The code of Elias and Fano: a query reads of a block what it asks for and no more. About 0.6
    /// bits a fingerprint above the entropy of evenly spread ones; crowds of near neighbours are not
    /// much shorter.
    #[default]
    EliasFano,
    /// The paper's (section 3.2): the position of the highest bit that differs from the fingerprint
    /// before, in a Huffman code, then the bits below. A query decodes a block from its beginning.
    /// About 2.5 bits above the entropy of evenly spread fingerprints; crowds of near neighbours
    /// become shorter.
    Huffman,
}

impl BlockCode {
    pub(crate) const ALL: [Self; 2] = [Self::EliasFano, Self::Huffman];

    /// The name, as a command line has it.
    ///
    /// ```
    /// assert_eq!(fpdb::BlockCode::EliasFano.name(), "elias-fano");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EliasFano => "elias-fano",
            Self::Huffman => "huffman",
        }
    }

    /// The code of that name.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for another name; it lists those there
    /// are.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("block code {name:?}: expected one of {names}"))
        })
    }

    /// Its number in files.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Huffman => 0,
            Self::EliasFano => 1,
        }
    }

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.number() == number)
    }
}

impl fmt::Display for BlockCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
