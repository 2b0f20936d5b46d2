//! How values become bytes: [`bytes`] (whole fields), [`bits`] (bit strings), [`huffman`] (the code
//! of leading-difference positions), and which [`block_code`]s there are. Pure functions of memory; no files.

pub(crate) mod bits;
pub(crate) mod block_code;
pub(crate) mod bytes;
pub(crate) mod header;
pub(crate) mod huffman;
