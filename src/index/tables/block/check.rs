//! Checking a block strictly.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::packed::{COUNT_LEN, Packed};
use super::reader::Block;
use super::remaining::remaining_len;
use super::window;
use crate::base::error::{Error, Result};
use crate::file::codec::bits::BitReader;
use crate::fingerprint::Word;

/// Checks strictly that a block is as a builder writes it: the
/// fingerprints ascend, and all bits between codewords and remaining bits are zero. Passes each
/// fingerprint to `visit`.
pub(crate) fn check<F: Word>(packed: &Packed<'_>, mut visit: impl FnMut(F)) -> Result<()> {
    let Packed { bytes, size, code, zeros } = *packed;
    let block = Block::<F>::open(packed)?;
    let mut codewords = (COUNT_LEN + F::BYTES) * 8;
    let mut remaining = 0;
    let mut buffer = window::EMPTY;
    let mut window = block.differences(&mut buffer);
    window.advance()?;
    while !window.is_empty() {
        let mut h = window.first();
        for next in window.nexts() {
            codewords += code.word(h).1 as usize;
            remaining += remaining_len(h, next) as usize;
            h = next;
        }
        window.advance()?;
    }
    let Some(padding) = (size * 8).checked_sub(codewords + remaining) else {
        return Err(Error::corruption("the block's fingerprints do not fit into it"));
    };
    let mut reader = BitReader::new(bytes, codewords);
    for _ in 0..padding {
        if reader.take(1) != 0 {
            return Err(Error::corruption("bits are set between codewords and remaining bits"));
        }
    }
    let mut last = None;
    let (mut ascends, mut fits) = (true, true);
    block.visit_while(|fingerprint| {
        ascends &= last.is_none_or(|last| last < fingerprint);
        last = Some(fingerprint);
        fits &= fingerprint.wrapping_shl(zeros).wrapping_shr(zeros) == fingerprint;
        visit(fingerprint.wrapping_shl(zeros));
        true
    })?;
    if !ascends {
        return Err(Error::corruption("the block's fingerprints do not ascend"));
    }
    if !fits {
        return Err(Error::corruption("a fingerprint of the block has too many bits"));
    }
    Ok(())
}
