//! Byte-aligned fields: little-endian integers and length-prefixed strings, read with bounds
//! checks.
//!
//! storage-format.md, "Conventions".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use byteorder::{ByteOrder, LE};

use crate::base::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// Appends fields to a buffer.
pub(crate) trait PutFields {
    fn put_u8(&mut self, value: u8);
    fn put_u16(&mut self, value: u16);
    fn put_u32(&mut self, value: u32);
    fn put_u64(&mut self, value: u64);
    fn put_u128(&mut self, value: u128);
    fn put_fingerprint<F: Fingerprint>(&mut self, value: F);
    /// Appends a u32 length, then the bytes. Callers ensure that `bytes` is shorter than 4 GiB.
    fn put_string(&mut self, bytes: &[u8]);
}

impl PutFields for Vec<u8> {
    fn put_u8(&mut self, value: u8) {
        self.push(value);
    }
    fn put_u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_u128(&mut self, value: u128) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_fingerprint<F: Fingerprint>(&mut self, value: F) {
        value.write_le(self);
    }
    fn put_string(&mut self, bytes: &[u8]) {
        debug_assert!(u32::try_from(bytes.len()).is_ok());
        self.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.extend_from_slice(bytes);
    }
}

/// Takes fields off the front of a slice. Every error is `Corruption` at the field's offset.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    offset: u64,
}

impl<'a> Fields<'a> {
    /// Creates a reader of `bytes`, which begin at `offset` in their file; messages name the
    /// offset.
    pub(crate) fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, offset }
    }

    /// Takes the next `n` bytes; `what` names them in the error.
    pub(crate) fn bytes(&mut self, n: usize, what: &str) -> Result<&'a [u8]> {
        let Some((head, rest)) = self.rest.split_at_checked(n) else {
            return Err(self
                .corruption(format!("{what}: {n} bytes expected, only {} left", self.rest.len())));
        };
        self.rest = rest;
        self.offset += n as u64;
        Ok(head)
    }

    pub(crate) fn u8(&mut self, what: &str) -> Result<u8> {
        Ok(self.bytes(1, what)?.first().copied().unwrap_or(0))
    }
    pub(crate) fn u16(&mut self, what: &str) -> Result<u16> {
        Ok(LE::read_u16(self.bytes(2, what)?))
    }
    pub(crate) fn u32(&mut self, what: &str) -> Result<u32> {
        Ok(LE::read_u32(self.bytes(4, what)?))
    }
    pub(crate) fn u64(&mut self, what: &str) -> Result<u64> {
        Ok(LE::read_u64(self.bytes(8, what)?))
    }
    pub(crate) fn u128(&mut self, what: &str) -> Result<u128> {
        Ok(LE::read_u128(self.bytes(16, what)?))
    }
    pub(crate) fn fingerprint<F: Fingerprint>(&mut self, what: &str) -> Result<F> {
        let bytes = self.bytes(F::BYTES, what)?;
        F::read_le(bytes).ok_or_else(|| self.corruption(format!("{what}: cut short")))
    }

    /// Takes a u32 length, then that many bytes.
    pub(crate) fn string(&mut self, what: &str) -> Result<&'a [u8]> {
        let len = self.u32(what)?;
        self.bytes(usize::try_from(len).unwrap_or(usize::MAX), what)
    }

    /// Takes a u32 length, then that many bytes of UTF-8.
    pub(crate) fn text(&mut self, what: &str) -> Result<&'a str> {
        let at = self.offset;
        std::str::from_utf8(self.string(what)?)
            .map_err(|_| Error::corruption(format!("{what}: not valid UTF-8")).at_offset(at))
    }

    /// Returns an error if any bytes are left.
    pub(crate) fn finish(self, what: &str) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(self.corruption(format!("{what}: {} bytes too many", self.rest.len())))
    }

    /// Returns an error at the offset of the next field.
    pub(crate) fn corruption(&self, message: impl Into<String>) -> Error {
        Error::corruption(message).at_offset(self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::ErrorKind;

    fn sample() -> Vec<u8> {
        let mut out = Vec::new();
        out.put_u8(1);
        out.put_u16(2);
        out.put_u32(3);
        out.put_u64(4);
        out.put_u128(5);
        out.put_fingerprint(6u64);
        out.put_string("网页".as_bytes());
        out
    }

    fn read(bytes: &[u8]) -> Result<()> {
        let mut f = Fields::new(bytes, 100);
        assert_eq!(f.u8("a")?, 1);
        assert_eq!(f.u16("b")?, 2);
        assert_eq!(f.u32("c")?, 3);
        assert_eq!(f.u64("d")?, 4);
        assert_eq!(f.u128("e")?, 5);
        assert_eq!(f.fingerprint::<u64>("f")?, 6);
        assert_eq!(f.text("g")?, "网页");
        f.finish("sample")
    }

    #[test]
    fn fields_round_trip() {
        read(&sample()).unwrap();
    }

    #[test]
    fn every_truncation_is_an_error_with_an_offset() {
        let bytes = sample();
        for len in 0..bytes.len() {
            let err = read(&bytes[..len]).unwrap_err();
            assert_eq!(err.kind(), ErrorKind::Corruption);
            assert!(err.offset().unwrap() >= 100);
        }
    }

    #[test]
    fn trailing_bytes_are_an_error() {
        let mut bytes = sample();
        bytes.push(0);
        assert!(read(&bytes).unwrap_err().to_string().contains("1 bytes too many"));
    }
}
