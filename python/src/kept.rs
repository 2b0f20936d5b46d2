//! The features of rows that are kept.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};

use fpdb::text::jaccard::Shingles;

/// Features of rows of earlier chunks that are in memory at the same time.
const MOST_FEATURES: usize = 1 << 20;

/// The features of rows that are kept, in a file without a name.
pub(crate) struct Kept {
    file: File,
    /// The offset at which the features of each row begin, and the end of the file.
    offsets: Vec<u64>,
    /// The features that were read last, by row.
    read: HashMap<usize, Shingles>,
    size: usize,
}

impl Kept {
    pub(crate) fn new() -> std::io::Result<Self> {
        let file = tempfile::tempfile()?;
        Ok(Self { file, offsets: vec![0], read: HashMap::new(), size: 0 })
    }

    /// Adds the next rows, those without features if they are not kept.
    pub(crate) fn append<'a>(
        &mut self,
        rows: impl Iterator<Item = Option<&'a Shingles>>,
    ) -> std::io::Result<()> {
        let mut end = self.offsets[self.offsets.len() - 1];
        self.file.seek(SeekFrom::Start(end))?;
        let mut file = BufWriter::with_capacity(1 << 16, &self.file);
        for features in rows {
            let hashes = features.map_or(&[][..], Shingles::hashes);
            for hash in hashes {
                file.write_all(&hash.to_le_bytes())?;
            }
            end += size_of_val(hashes) as u64;
            self.offsets.push(end);
        }
        file.flush()
    }

    /// Returns the features of a row.
    pub(crate) fn of(&mut self, row: usize) -> std::io::Result<&Shingles> {
        if !self.read.contains_key(&row) {
            let (begin, end) = (self.offsets[row], self.offsets[row + 1]);
            let mut bytes = vec![0; usize::try_from(end - begin).unwrap_or(usize::MAX)];
            self.file.seek(SeekFrom::Start(begin))?;
            self.file.read_exact(&mut bytes)?;
            let (hashes, _) = bytes.as_chunks();
            let features =
                Shingles::of_hashes(hashes.iter().map(|it| u64::from_le_bytes(*it)).collect());
            self.size += features.len();
            if self.size > MOST_FEATURES {
                self.read.clear();
                self.size = features.len();
            }
            self.read.insert(row, features);
        }
        Ok(&self.read[&row])
    }
}
