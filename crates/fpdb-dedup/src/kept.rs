//! The features of rows that are kept.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use fpdb::text::jaccard::Shingles;

/// Features of rows of earlier chunks that are in memory at the same time.
const MOST_FEATURES: usize = 1 << 20;

/// The features of rows that are kept, in a file without a name.
#[derive(Debug)]
pub(crate) struct Kept {
    file: File,
    end: u64,
    /// Where the features of each row end: those of the next one begin there.
    ends: Vec<u64>,
    /// The features that were read last, by row.
    read: HashMap<usize, Shingles>,
    size: usize,
}

impl Kept {
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        Ok(Self { file, end: 0, ends: Vec::new(), read: HashMap::new(), size: 0 })
    }

    /// Adds the next rows, those without features if they are not kept.
    pub(crate) fn append<'a>(
        &mut self,
        rows: impl Iterator<Item = Option<&'a Shingles>>,
    ) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.end))?;
        let mut file = BufWriter::with_capacity(1 << 16, &self.file);
        for features in rows {
            let hashes = features.map_or(&[][..], Shingles::hashes);
            for hash in hashes {
                file.write_all(&hash.to_le_bytes())?;
            }
            self.end += size_of_val(hashes) as u64;
            self.ends.push(self.end);
        }
        file.flush()
    }

    /// Returns the features of a row.
    pub(crate) fn of(&mut self, row: usize) -> io::Result<&Shingles> {
        if !self.read.contains_key(&row) {
            let features = self.read(row)?;
            self.size += features.len();
            if self.size > MOST_FEATURES {
                self.read.clear();
                self.size = features.len();
            }
            self.read.insert(row, features);
        }
        self.read.get(&row).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read(&mut self, row: usize) -> io::Result<Shingles> {
        let end_of = |row: usize| self.ends.get(row).copied().unwrap_or(self.end);
        let (begin, end) = (row.checked_sub(1).map_or(0, end_of), end_of(row));
        let mut bytes = vec![0; usize::try_from(end - begin).unwrap_or(usize::MAX)];
        self.file.seek(SeekFrom::Start(begin))?;
        self.file.read_exact(&mut bytes)?;
        let (hashes, _) = bytes.as_chunks();
        Ok(Shingles::of_hashes(hashes.iter().map(|it| u64::from_le_bytes(*it)).collect()))
    }
}
