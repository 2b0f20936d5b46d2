//! The first 64 bytes of every file: what it is, its format version, and its database.
//!
//! storage-format.md, "File header". The first 16 bytes keep their meaning in every version. They
//! have a checksum of their own, so that a flipped bit there reads as damage, not as a newer
//! version.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt;

use crate::base::error::{Error, ErrorKind, Result};
use crate::file::codec::bytes::{Fields, PutFields};

/// Length of a file header in bytes.
pub(crate) const HEADER_LEN: usize = 64;
const PREAMBLE_LEN: usize = 16;
const RESERVED_LEN: usize = 4;

/// Begins with a byte that does not occur in text and contains both kinds of line ends, so that a
/// transfer in text mode damages it visibly.
const MAGIC: [u8; 8] = [0x8f, b'f', b'p', b'd', b'b', b'\r', b'\n', 0x1a];

/// The format's major version. A file with another one cannot be read.
pub(crate) const MAJOR: u16 = 1;
/// The format's minor version. It is for information: what is newer in a database is a feature.
/// storage-format.md, "Compatibility".
pub(crate) const MINOR: u16 = 0;

/// What a file holds. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Manifest = 1,
    Log = 2,
    Table = 3,
    Postings = 4,
    Tombstones = 5,
    Documents = 6,
    Bands = 7,
    Spare = 8,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Manifest => "manifest",
            Self::Log => "log",
            Self::Table => "table",
            Self::Postings => "postings",
            Self::Tombstones => "tombstones",
            Self::Documents => "documents",
            Self::Bands => "bands",
            Self::Spare => "spare",
        })
    }
}

/// Identifies a file: which file of which database it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub kind: FileKind,
    /// Word width in bits.
    pub bits: u32,
    /// The number in the layout of a table, or of a table of bands; 0 for other
    /// kinds.
    pub part: u16,
    /// The segment's or log's number; 0 for the manifest.
    pub file_id: u64,
    /// Drawn at random when the segment or log was created; 0 for the manifest. A file that has the
    /// same number in a copy of the database, or after a restored backup, has another nonce.
    pub nonce: u64,
    pub database_id: u128,
}

impl FileHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_LEN);
        out.extend_from_slice(&MAGIC);
        out.put_u16(MAJOR);
        out.put_u16(MINOR);
        out.put_u32(crc32fast::hash(&out));
        out.extend_from_slice(&self.identity());
        out.extend_from_slice(&[0; RESERVED_LEN]);
        out.put_u32(crc32fast::hash(&out));
        out
    }

    /// Returns the bytes that distinguish this file from every other. Every checksum in the file
    /// covers them.
    pub(crate) fn identity(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(40);
        out.put_u8(self.kind as u8);
        out.put_u8(u8::try_from(self.bits / 8).unwrap_or(0));
        out.put_u16(self.part);
        out.put_u32(0);
        out.put_u64(self.file_id);
        out.put_u128(self.database_id);
        out.put_u64(self.nonce);
        out
    }

    /// Reads the header of a file that must be of `kind`. Checks the version before everything
    /// else.
    pub(crate) fn decode(kind: FileKind, bytes: &[u8]) -> Result<Self> {
        check_preamble(kind, bytes)?;
        let mut fields = Fields::new(bytes, 0);
        let covered = fields.bytes(HEADER_LEN - 4, "file header")?;
        if fields.u32("file header checksum")? != crc32fast::hash(covered) {
            return Err(
                Error::corruption("the file header does not match its checksum").at_offset(0)
            );
        }
        let mut fields = Fields::new(covered, 0);
        fields.bytes(PREAMBLE_LEN, "preamble")?;
        let found = fields.u8("file kind")?;
        if found != kind as u8 {
            return Err(Error::corruption(format!(
                "the file is of kind {found}, but a {kind} file is kind {}",
                kind as u8
            ))
            .at_offset(16));
        }
        let bits = 8 * u32::from(fields.u8("width in bytes")?);
        let part = fields.u16("part")?;
        let zero = fields.u32("reserved")?;
        let file_id = fields.u64("file number")?;
        let database_id = fields.u128("database id")?;
        let nonce = fields.u64("nonce")?;
        let reserved = fields.bytes(RESERVED_LEN, "reserved")?;
        if !matches!(bits, 64 | 128 | 1824) || zero != 0 || reserved.iter().any(|&b| b != 0) {
            return Err(
                Error::corruption("the file header has a value that is not allowed").at_offset(16)
            );
        }
        Ok(Self { kind, bits, part, file_id, nonce, database_id })
    }

    /// Reads a header and returns an error if it is not exactly this one.
    pub(crate) fn expect(&self, bytes: &[u8]) -> Result<()> {
        let found = Self::decode(self.kind, bytes)?;
        if found == *self {
            return Ok(());
        }
        if found == (Self { nonce: found.nonce, ..*self }) {
            let message = format!(
                "this is another {self}: it comes from a copy or a backup of the database, or the \
                 manifest does; restore all files from one backup"
            );
            return Err(Error::corruption(message).at_offset(48));
        }
        let message = format!(
            "the file belongs elsewhere: its header says {found}, but {self} is expected here; \
             restore the right file from a backup"
        );
        Err(Error::corruption(message).at_offset(16))
    }
}

impl fmt::Display for FileHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, bits, part, file_id, database_id, .. } = self;
        write!(f, "{kind} ")?;
        if matches!(kind, FileKind::Table | FileKind::Bands) {
            write!(f, "{part} ")?;
        }
        write!(f, "of file number {file_id:016x}, {bits} bits, database {database_id:032x}")
    }
}

fn check_preamble(kind: FileKind, bytes: &[u8]) -> Result<()> {
    let mut fields = Fields::new(bytes, 0);
    if fields.bytes(MAGIC.len(), "magic").ok() != Some(&MAGIC) {
        return Err(Error::corruption(format!("this is not an fpdb {kind} file")).at_offset(0));
    }
    let (major, minor) = (fields.u16("major version")?, fields.u16("minor version")?);
    let covered = bytes.get(..PREAMBLE_LEN - 4).unwrap_or_default();
    if fields.u32("version checksum")? != crc32fast::hash(covered) {
        return Err(
            Error::corruption("the file's version does not match its checksum").at_offset(0)
        );
    }
    if major == MAJOR {
        return Ok(());
    }
    let remedy = if major > MAJOR { "use a newer fpdb" } else { "use an older fpdb" };
    Err(Error::new(
        ErrorKind::Unsupported,
        format!(
            "the file has format version {major}.{minor}, this build reads {MAJOR}.x: {remedy}"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> FileHeader {
        FileHeader {
            kind: FileKind::Table,
            bits: 64,
            part: 3,
            file_id: 7,
            nonce: 8,
            database_id: 9,
        }
    }

    #[test]
    fn header_round_trips_and_rejects_another_file() {
        let bytes = header().encode();
        assert_eq!(bytes.len(), HEADER_LEN);
        header().expect(&bytes).unwrap();
        let other = FileHeader { part: 4, ..header() };
        assert!(
            other
                .expect(&bytes)
                .unwrap_err()
                .to_string()
                .contains("table 4 of file number 0000000000000007")
        );
        let other = FileHeader { nonce: 5, ..header() };
        let message = other.expect(&bytes).unwrap_err().to_string();
        assert!(
            message.contains("this is another table 3 of file number 0000000000000007"),
            "{message}"
        );
    }

    #[test]
    fn every_flipped_bit_and_truncation_is_damage_not_a_newer_version() {
        let good = header().encode();
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(header().expect(&bytes).unwrap_err().kind(), ErrorKind::Corruption, "{bit}");
        }
        for len in 0..good.len() {
            assert_eq!(header().expect(&good[..len]).unwrap_err().kind(), ErrorKind::Corruption);
        }
    }

    #[test]
    fn newer_minor_version_is_read() {
        let mut bytes = header().encode();
        bytes[10] = 7;
        for covered in [12, HEADER_LEN - 4] {
            let crc = crc32fast::hash(&bytes[..covered]);
            bytes[covered..covered + 4].copy_from_slice(&crc.to_le_bytes());
        }
        header().expect(&bytes).unwrap();
    }
}
