//! The blocks of a table.

use anyhow::{Result, bail};

use super::meta::Table;
use super::{Fields, number_up};

/// Reads the block that begins where `fields` is.
pub(super) fn block(fields: &mut Fields<'_>, table: &Table) -> Result<()> {
    let end = fields.bytes.len();
    let count = fields.number(2, "count")?;
    if count == 0 {
        bail!("the count of a block is 0");
    }
    let block = Block { table, end, count };
    match table.code {
        0 => block.huffman(fields),
        1 => block.elias_fano(fields),
        other => bail!("the meta says that the block has code {other}, which is unknown"),
    }
}

struct Block<'a> {
    table: &'a Table,
    /// Where the block ends.
    end: usize,
    count: usize,
}

impl Block<'_> {
    fn huffman(&self, fields: &mut Fields<'_>) -> Result<()> {
        fields.section("Huffman block");
        let first = fields.fingerprint(self.table.width, "first fingerprint, permuted")?;
        self.describe(fields, first);
        let (symbols, begin) = self.codewords(fields)?;
        let (mut last, mut end) = (first, 8 * self.end);
        for (i, &h) in symbols.iter().enumerate() {
            let left_out = symbols.get(i + 1).copied().filter(|&next| next < h);
            let len = h - u32::from(left_out.is_some());
            let Some(at) = end.checked_sub(len as usize).filter(|&at| at >= begin) else {
                bail!("fingerprint {} ends in the middle: its {len} bits do not fit", i + 1);
            };
            end = at;
            let bits = number_down(fields.bytes, at, len);
            let below = left_out.map_or(bits, |g| (bits >> g) << (g + 1) | bits & ((1 << g) - 1));
            if last >> h & 1 == 1 {
                bail!("fingerprint {} does not ascend: bit {h} of its predecessor is 1", i + 1);
            }
            last = (last >> h | 1) << h | below;
            let name = format!("remaining bits of fingerprint {}", i + 1);
            fields.bits(at, len, name, self.shown(last));
        }
        Ok(())
    }

    /// Reads the codewords. Returns the highest differing bit of each fingerprint, and the bit at
    /// which the codewords end.
    fn codewords(&self, fields: &mut Fields<'_>) -> Result<(Vec<u32>, usize)> {
        let codes = codes(&self.table.lengths);
        let mut at = 8 * fields.at;
        let mut symbols = Vec::new();
        for i in 1..self.count {
            let fits = |&&(len, word, _): &&(u32, u128, u32)| {
                at + len as usize <= 8 * self.end && number_down(fields.bytes, at, len) == word
            };
            let Some(&(len, word, h)) = codes.iter().find(fits) else {
                bail!("fingerprint {i} has no codeword at byte {}, bit {}", at / 8, at % 8);
            };
            let value = format!("{word:0len$b}: h = {h}", len = len as usize);
            fields.bits(at, len, format!("codeword of fingerprint {i}"), value);
            symbols.push(h);
            at += len as usize;
        }
        Ok((symbols, at))
    }

    fn elias_fano(&self, fields: &mut Fields<'_>) -> Result<()> {
        fields.section("Elias–Fano block");
        let low_bits = fields.number(1, "low bits")?;
        let width = self.table.width;
        if low_bits > 8 * width - 7 {
            bail!("{low_bits} low bits are more than {}", 8 * width - 7);
        }
        let low = u32::try_from(low_bits).unwrap_or(0);
        let first = fields.fingerprint(width, "first fingerprint, permuted")?;
        self.describe(fields, first);
        let begin = 8 * fields.at;
        let Some(lows) = (8 * self.end).checked_sub((self.count - 1) * low_bits) else {
            bail!("the lows exceed the block");
        };
        let (mut at, mut zeros) = (begin, 0u128);
        for i in 1..self.count {
            loop {
                if at >= lows {
                    bail!(
                        "there are fewer quotients than the count says: fingerprint {i} has none"
                    );
                }
                at += 1;
                if number_up(fields.bytes, at - 1, 1) == 1 {
                    break;
                }
                zeros += 1;
            }
            let quotient = (first >> low) + zeros.saturating_sub(1);
            fields.bits(at - 1, 1, format!("quotient of fingerprint {i}"), quotient.to_string());
            let place = lows + (i - 1) * low_bits;
            let x = quotient << low | number_up(fields.bytes, place, low);
            fields.bits(place, low, format!("low bits of fingerprint {i}"), self.shown(x));
        }
        Ok(())
    }

    /// Adds what the first fingerprint is in its own order.
    fn describe(&self, fields: &mut Fields<'_>, permuted: u128) {
        if let Some(field) = fields.found.last_mut() {
            field.value = self.shown(permuted);
        }
    }

    fn shown(&self, permuted: u128) -> String {
        let digits = 2 * self.table.width;
        let original = self.table.original(permuted);
        if original == permuted {
            return format!("0x{permuted:0digits$x}");
        }
        format!("0x{permuted:0digits$x}, of 0x{original:0digits$x}")
    }
}

/// Returns the codewords of these lengths: length, codeword and h of each.
fn codes(lengths: &[u8]) -> Vec<(u32, u128, u32)> {
    let mut symbols: Vec<(u32, u32)> =
        (0..).zip(lengths).filter(|(_, len)| **len > 0).map(|(h, &len)| (len.into(), h)).collect();
    symbols.sort_unstable();
    let (mut word, mut before) = (0u128, symbols.first().map_or(0, |first| first.0));
    let mut codes = Vec::new();
    for (len, h) in symbols {
        if !codes.is_empty() {
            word = (word + 1) << (len - before).min(64);
        }
        before = len;
        codes.push((len, word, h));
    }
    codes
}

/// Reads bits that are counted from the most significant one of each byte, the highest first.
fn number_down(bytes: &[u8], at: usize, count: u32) -> u128 {
    (at..at + count as usize).fold(0, |number, bit| {
        let byte = bytes.get(bit / 8).copied().unwrap_or(0);
        number << 1 | u128::from(byte >> (7 - bit % 8) & 1)
    })
}
