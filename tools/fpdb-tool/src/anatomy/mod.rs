//! The fields of a part of a file, as `inspect` shows them.
//!
//! This reads files on its own, in the words and the order of storage-format.md, and not with the
//! library: it must show as much as possible of what the library refuses.

mod block;
mod columns;
mod documents;
mod file;
mod log;
mod manifest;
mod meta;
mod part;
mod postings;

use anyhow::{Result, bail};
use serde::Serialize;

pub(crate) use file::File;
pub(crate) use meta::bit_order;
pub(crate) use part::Part;

/// A field of a file.
#[derive(Debug, Serialize)]
pub(crate) struct Field {
    /// Of its first byte in the file.
    pub(crate) offset: u64,
    /// For a field that does not consist of entire bytes: its first bit, counted from that byte as
    /// the format counts bits there, and how many there are.
    pub(crate) bits: Option<(u32, u32)>,
    /// The bytes that it has bits in, in hex.
    pub(crate) bytes: String,
    pub(crate) name: String,
    pub(crate) value: String,
    /// The section of storage-format.md that defines it.
    pub(crate) section: &'static str,
}

/// The fields of one part, as far as they could be read.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    /// Where the bytes begin in the file.
    base: u64,
    /// Where the next field begins in the bytes.
    at: usize,
    section: &'static str,
    found: Vec<Field>,
}

impl<'a> Fields<'a> {
    /// Begins to read bytes of a file, which begin at `base` in it.
    fn new(bytes: &'a [u8], base: u64, section: &'static str) -> Self {
        Self { bytes, base, at: 0, section, found: Vec::new() }
    }

    fn section(&mut self, section: &'static str) {
        self.section = section;
    }

    fn take(&mut self, len: usize, name: &str) -> Result<&'a [u8]> {
        let bytes = self.at.checked_add(len).and_then(|end| self.bytes.get(self.at..end));
        match bytes {
            Some(bytes) => {
                self.at += len;
                Ok(bytes)
            }
            None => {
                bail!("the {name} would end after byte {}", self.base + self.bytes.len() as u64)
            }
        }
    }

    fn push(&mut self, bytes: &[u8], name: impl Into<String>, value: impl ToString) {
        let offset = self.base + (self.at - bytes.len()) as u64;
        let (name, value) = (name.into(), value.to_string());
        let bytes = hex(bytes);
        self.found.push(Field { offset, bits: None, bytes, name, value, section: self.section });
    }

    /// Reads a number of up to 16 bytes and shows it by `show`.
    fn shown(&mut self, len: usize, name: &str, show: impl Fn(u128) -> String) -> Result<u128> {
        let bytes = self.take(len, name)?;
        let number = bytes.iter().rev().fold(0, |number, &byte| number << 8 | u128::from(byte));
        self.push(bytes, name, show(number));
        Ok(number)
    }

    fn number(&mut self, len: usize, name: &str) -> Result<usize> {
        let number = self.shown(len, name, |number| number.to_string())?;
        Ok(usize::try_from(number).unwrap_or(usize::MAX))
    }

    fn fingerprint(&mut self, width: usize, name: &str) -> Result<u128> {
        self.shown(width, name, |f| format!("0x{f:0digits$x}", digits = 2 * width))
    }

    /// Reads a number of bits. None is greater than 64.
    fn width(&mut self, name: &str) -> Result<u32> {
        let width = u32::try_from(self.number(1, name)?)?;
        if width > 64 {
            bail!("the {name} is {width}: expected at most 64");
        }
        Ok(width)
    }

    fn string(&mut self, name: &str) -> Result<()> {
        let len = self.number(4, &format!("length of the {name}"))?;
        let bytes = self.take(len, name)?;
        self.push(bytes, name, String::from_utf8_lossy(bytes));
        Ok(())
    }

    /// Reads numbers of a byte each.
    fn list(&mut self, count: usize, name: &str) -> Result<()> {
        let bytes = self.take(count, name)?;
        let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
        self.push(bytes, name, numbers.join(" "));
        Ok(())
    }

    /// Passes over a column of so many numbers, and returns its first bit.
    fn column(&mut self, width: u32, count: usize, name: &str) -> Result<usize> {
        let first = 8 * self.at;
        self.take(count.saturating_mul(width as usize).div_ceil(8), name)?;
        Ok(first)
    }

    /// Shows bytes that have no value of their own.
    fn raw(&mut self, len: usize, name: &str, value: &str) -> Result<&'a [u8]> {
        let bytes = self.take(len, name)?;
        self.push(bytes, name, value);
        Ok(bytes)
    }

    /// Compares the checksum that follows with the one of these bytes.
    fn checksum(&mut self, of: &[&[u8]], name: &str) -> Result<()> {
        let mut hasher = crc32fast::Hasher::new();
        of.iter().for_each(|bytes| hasher.update(bytes));
        let expected = hasher.finalize();
        let found = self.shown(4, name, |found| match found == u128::from(expected) {
            true => format!("0x{found:08x}, correct"),
            false => format!("0x{found:08x}, wrong: expected 0x{expected:08x}"),
        })?;
        if found != u128::from(expected) {
            bail!("the {name} is wrong: the bytes that it covers are damaged, or it is itself");
        }
        Ok(())
    }

    /// Adds a field of bits, which begin at bit `first` of the bytes.
    fn bits(&mut self, first: usize, count: u32, name: String, value: String) {
        let (at, end) = (first / 8, (first + count as usize).div_ceil(8));
        let bytes = hex(self.bytes.get(at..end).unwrap_or_default());
        let bits = Some((u32::try_from(first % 8).unwrap_or(0), count));
        let offset = self.base + at as u64;
        self.found.push(Field { offset, bits, bytes, name, value, section: self.section });
    }
}

/// Returns bytes in hex, as the format shows them.
fn hex(bytes: &[u8]) -> String {
    /// Most bytes that are shown.
    const MOST: usize = 64;
    let mut text: Vec<String> = bytes.iter().take(MOST).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > MOST {
        text.push(format!("and {} more", bytes.len() - MOST));
    }
    text.join(" ")
}

/// Reads bits that are counted from the least significant one of each byte, the lowest first.
fn number_up(bytes: &[u8], at: usize, count: u32) -> u128 {
    (0..count as usize).fold(0, |number, i| {
        let byte = bytes.get((at + i) / 8).copied().unwrap_or(0);
        number | u128::from(byte >> ((at + i) % 8) & 1) << i
    })
}
