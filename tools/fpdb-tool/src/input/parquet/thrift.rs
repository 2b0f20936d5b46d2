//! Walks over data in Thrift's compact protocol, in which Parquet writes page headers and the footer.
//!
//! Nothing is stored, so false lengths and counts take no memory: they end in an error at the end
//! of the data.

use std::io::{self, Read};

/// The type of a field or an element.
pub(super) type Kind = u8;

pub(super) const LIST: Kind = 9;
pub(super) const STRUCT: Kind = 12;

/// Values deeper than this are refused. Parquet's own have less than ten levels.
const MAX_DEPTH: u32 = 32;

/// A place in the data.
pub(super) struct Walk<R> {
    input: R,
    /// Bytes before this place.
    taken: u64,
}

impl<R: Read> Walk<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, taken: 0 }
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Calls `visit` for each field of a struct. It returns true if it took the value, which is
    /// skipped otherwise.
    pub(super) fn fields(
        &mut self,
        mut visit: impl FnMut(&mut Self, i64, Kind) -> io::Result<bool>,
    ) -> io::Result<()> {
        let mut id = 0;
        while let Some((next, kind)) = self.field(id)? {
            id = next;
            if !visit(self, id, kind)? {
                self.skip(kind, 0)?;
            }
        }
        Ok(())
    }

    /// Returns the id and the type of the next field of a struct, or `None` at its end.
    fn field(&mut self, last: i64) -> io::Result<Option<(i64, Kind)>> {
        let byte = self.byte()?;
        let (step, kind) = (byte >> 4, byte & 15);
        Ok(match (kind, step) {
            (0, _) => None,
            (_, 0) => Some((self.integer()?, kind)),
            _ => Some((last.saturating_add(step.into()), kind)),
        })
    }

    /// Returns an integer of up to 64 bits.
    pub(super) fn integer(&mut self) -> io::Result<i64> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// Returns the length of a list or set, and the type of its elements.
    pub(super) fn list(&mut self) -> io::Result<(u64, Kind)> {
        let byte = self.byte()?;
        let length = if byte >> 4 == 15 { self.number()? } else { (byte >> 4).into() };
        Ok((length, byte & 15))
    }

    fn skip(&mut self, kind: Kind, depth: u32) -> io::Result<()> {
        if depth == MAX_DEPTH {
            return Err(damaged("values within values, too deep"));
        }
        match kind {
            // The value of a boolean field is its type.
            1 | 2 => Ok(()),
            3 => self.skip_bytes(1),
            4..=6 => self.number().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let length = self.number()?;
                self.skip_bytes(length)
            }
            LIST | 10 => {
                let (length, kind) = self.list()?;
                self.skip_elements(length, kind, depth)
            }
            11 => {
                let length = self.number()?;
                let kinds = if length == 0 { 0 } else { self.byte()? };
                (0..length).try_for_each(|_| {
                    self.skip_elements(1, kinds >> 4, depth)?;
                    self.skip_elements(1, kinds & 15, depth)
                })
            }
            STRUCT => {
                let mut id = 0;
                while let Some((next, kind)) = self.field(id)? {
                    id = next;
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            13 => self.skip_bytes(16),
            _ => Err(damaged("a value of unknown type")),
        }
    }

    pub(super) fn skip_elements(&mut self, length: u64, kind: Kind, depth: u32) -> io::Result<()> {
        match kind {
            // In a list, a boolean is a byte.
            1 | 2 => self.skip_bytes(length),
            _ => (0..length).try_for_each(|_| self.skip(kind, depth + 1)),
        }
    }

    fn skip_bytes(&mut self, count: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.input.by_ref().take(count), &mut io::sink())?;
        self.taken += skipped;
        if skipped < count { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        self.taken += 1;
        Ok(byte[0])
    }

    /// Returns a number without a sign, in groups of seven bits.
    pub(super) fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(damaged("a number of more than 64 bits"))
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_visited_or_skipped_whatever_their_type() {
        // 1: i32 -1; 2: true; 3: "ab"; 4: [i32 1, 2]; 5: {1: i32 3}; 6: map {1 -> true}; 20: i32 4.
        let bytes = [
            0x15, 1, 0x11, 0x18, 2, b'a', b'b', 0x19, 0x25, 2, 4, 0x1c, 0x15, 6, 0, 0x1b, 1, 0x51,
            2, 1, 0x05, 40, 8, 0, 99,
        ];
        let mut walk = Walk::new(&bytes[..]);
        let mut found = Vec::new();
        walk.fields(|walk, id, kind| {
            let wanted = kind == 5;
            found.push((id, if wanted { walk.integer()? } else { 0 }));
            Ok(wanted)
        })
        .unwrap();
        assert_eq!(found, [(1, -1), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (20, 4)]);
        assert_eq!(walk.taken(), bytes.len() as u64 - 1, "it stops at the end of the struct");
    }

    #[test]
    fn false_lengths_and_depths_are_errors() {
        let deep = [0x1c; 1000];
        let long = [0x19, 0xfc, 255, 255, 255, 255, 15];
        for bytes in [&deep[..], &long, &[0x18, 255, 255, 255, 255, 15, 1], &[0x1e], &[]] {
            let walked = Walk::new(bytes).fields(|_, _, _| Ok(false));
            assert!(walked.is_err(), "{bytes:?}");
        }
    }
}
