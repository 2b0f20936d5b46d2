//! How values become bytes: [`bytes`] (whole fields), [`bits`] (bit strings), [`huffman`] (the code
//! of leading-difference positions). Pure functions of memory; no files.

pub(crate) mod bits;
pub(crate) mod bytes;
pub(crate) mod header;
pub(crate) mod huffman;
