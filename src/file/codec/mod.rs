//! How values become bytes: [`bytes`] (byte-aligned fields), [`bits`] (bit strings), [`header`]
//! (the file header), [`huffman`] (the code of leading differences), [`prefix_hash`] (the hash of
//! the prefix filters). Works on memory only, never on files.

pub(crate) mod bits;
pub(crate) mod bytes;
pub(crate) mod header;
pub(crate) mod huffman;
pub(crate) mod prefix_hash;
pub(crate) mod set_hash;
