//! The codes in which blocks can be written, by name and by number.

use std::fmt;

use crate::error::{Error, Result};

/// How the fingerprints of a block are encoded.
///
/// The code is chosen when a database is created and applies to all its tables. It affects size and
/// speed, never the answers.
///
/// # Examples
///
/// ```
/// use fpdb::BlockCode;
///
/// assert_eq!(BlockCode::default(), BlockCode::Huffman);
/// assert_eq!(BlockCode::Huffman.to_string(), "huffman");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum BlockCode {
    /// The code of Elias and Fano. A query finds the place of its answer in a block without
    /// decoding the fingerprints before it. Takes about 0.6 bits per fingerprint more than the
    /// entropy of evenly spread fingerprints; clusters of near neighbours hardly become shorter.
    EliasFano,
    /// The code of the paper (section 3.2): the position of the highest bit that differs from the
    /// previous fingerprint, in a Huffman code, then the bits below it. A query decodes half a
    /// block on average. Takes about 1.5 bits per fingerprint more than the entropy of evenly
    /// spread fingerprints; clusters of near neighbours become shorter.
    #[default]
    Huffman,
}

impl BlockCode {
    pub(crate) const ALL: [Self; 2] = [Self::EliasFano, Self::Huffman];

    /// Returns the code's name, as used on the command line.
    ///
    /// # Examples
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

    /// Returns the code with this name.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there is no code with this name.
    /// The message lists the names.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::BlockCode;
    ///
    /// assert_eq!(BlockCode::parse("huffman")?, BlockCode::Huffman);
    /// assert!(BlockCode::parse("gzip").is_err());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("unknown block code {name:?}: choose one of {names}"))
        })
    }

    /// Returns the code's number in files.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Huffman => 0,
            Self::EliasFano => 1,
        }
    }

    /// Returns the code with this number in files.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.number() == number)
    }
}

impl fmt::Display for BlockCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_number_returns_its_code_and_others_none() {
        for code in BlockCode::ALL {
            assert_eq!(BlockCode::parse(code.name()).unwrap(), code);
            assert_eq!(BlockCode::from_number(code.number()), Some(code));
        }
        let message = BlockCode::parse("gzip").unwrap_err().to_string();
        assert!(message.contains("choose one of elias-fano, huffman"), "{message}");
        assert_eq!(BlockCode::from_number(2), None);
    }
}
