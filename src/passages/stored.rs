//! Texts that are compared with others, in a scratch file.

use std::ops::Range;

use super::bits::Bits;
use crate::base::error::Result;
use crate::file::scratch::{ScratchFile, ScratchFiles, ScratchReader};

/// Texts that are written, one after the other.
pub(super) struct Storing<'a> {
    file: ScratchFile<'a>,
    /// Which texts are written.
    wanted: Bits,
    /// Where each text begins, and where the last one ends.
    begins: Vec<u64>,
}

impl<'a> Storing<'a> {
    pub(super) fn new(files: ScratchFiles<'a>, wanted: Bits) -> Result<Self> {
        Ok(Self { file: files.create()?, wanted, begins: vec![0] })
    }

    /// Returns how many texts there were.
    pub(super) fn len(&self) -> u64 {
        self.begins.len() as u64 - 1
    }

    pub(super) fn add(&mut self, texts: &[&str]) -> Result<()> {
        for text in texts {
            let end = self.begins.last().copied().unwrap_or(0);
            let is_wanted = self.wanted.get(self.len());
            if is_wanted {
                self.file.append(text.as_bytes())?;
            }
            self.begins.push(end + if is_wanted { text.len() as u64 } else { 0 });
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Stored<'a>> {
        Ok(Stored { file: self.file.finish()?, begins: self.begins })
    }
}

/// Texts that can be read by their row.
pub(super) struct Stored<'a> {
    file: ScratchReader<'a>,
    begins: Vec<u64>,
}

impl Stored<'_> {
    /// Returns how many texts there were.
    pub(super) fn len(&self) -> u64 {
        self.begins.len() as u64 - 1
    }

    /// Returns the size of a text in bytes: 0 if it was not written.
    pub(super) fn size(&self, row: u64) -> usize {
        self.place(row).len()
    }

    pub(super) fn text(&self, row: u64) -> Result<String> {
        let mut bytes = Vec::new();
        let place = self.place(row);
        self.file.read(place.clone(), place.len(), &mut |read| {
            bytes.extend_from_slice(read);
            Ok(())
        })?;
        // It was written as text.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn place(&self, row: u64) -> Range<usize> {
        let at = |row: u64| self.begins.get(index(row)).map_or(0, |&begin| index(begin));
        at(row)..at(row + 1)
    }
}

pub(super) fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
