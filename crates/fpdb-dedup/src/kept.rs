//! The features of rows that are kept.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use fpdb::text::jaccard::Shingles;

/// Features of rows of earlier chunks that are in memory at the same time.
const MOST_FEATURES: usize = 1 << 20;

/// The bytes of each feature that are written: its first ones. One of 10^10 pairs of texts with 160
/// features each has two different features that agree in these.
const BYTES: usize = 6;
/// The bits that are written.
const FIRST: u64 = u64::MAX << (64 - 8 * BYTES);

/// The features of rows that are kept, in a file without a name.
#[derive(Debug)]
pub(crate) struct Kept {
    file: File,
    /// Where the features of each row end: those of the next one begin there.
    ends: Ends,
    /// The features that were read last, by row.
    read: HashMap<usize, Shingles>,
    size: usize,
}

impl Kept {
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        Ok(Self { file, ends: Ends::default(), read: HashMap::new(), size: 0 })
    }

    /// Adds the next rows, those without features if they are not kept.
    pub(crate) fn append<'a>(
        &mut self,
        rows: impl Iterator<Item = Option<&'a Shingles>>,
    ) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(BYTES as u64 * self.ends.last))?;
        let mut file = BufWriter::with_capacity(1 << 16, &self.file);
        for features in rows {
            let hashes = features.map_or(&[][..], Shingles::hashes);
            for hash in hashes {
                file.write_all(hash.to_be_bytes().first_chunk::<BYTES>().unwrap_or(&[0; BYTES]))?;
            }
            self.ends.push(hashes.len())?;
        }
        file.flush()
    }

    /// Returns the features of a row, cut as those that they can be compared with.
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
        let (begin, end) =
            (row.checked_sub(1).map_or(0, |row| self.ends.of(row)), self.ends.of(row));
        let len = usize::try_from(end - begin).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len.saturating_mul(BYTES)];
        self.file.seek(SeekFrom::Start(BYTES as u64 * begin))?;
        self.file.read_exact(&mut bytes)?;
        let (hashes, _) = bytes.as_chunks::<BYTES>();
        Ok(Shingles::of_hashes(hashes.iter().map(hash_of).collect()))
    }
}

fn hash_of(first: &[u8; BYTES]) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(first).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(bytes)
}

/// Returns what is written of some features.
pub(crate) fn cut(features: &Shingles) -> Shingles {
    Shingles::of_hashes(features.hashes().iter().map(|hash| hash & FIRST).collect())
}

/// Rows between two of which the end is known in full.
const STEP: usize = 32;

/// How many features there are up to and including each row, in 4.25 bytes per row.
#[derive(Debug, Default)]
struct Ends {
    /// Before the first of each [`STEP`] rows.
    before: Vec<u64>,
    /// From there to the end of each row.
    rest: Vec<u32>,
    last: u64,
}

impl Ends {
    fn push(&mut self, features: usize) -> io::Result<()> {
        if self.rest.len().is_multiple_of(STEP) {
            self.before.push(self.last);
        }
        self.last += features as u64;
        let rest = self.last - self.before.last().copied().unwrap_or(0);
        let too_long = |_| io::Error::other("texts of more than 2^32 features are not compared");
        self.rest.push(u32::try_from(rest).map_err(too_long)?);
        Ok(())
    }

    /// Returns where a row ends, and the last one if there is no such row.
    fn of(&self, row: usize) -> u64 {
        let parts = self.before.get(row / STEP).zip(self.rest.get(row));
        parts.map_or(self.last, |(before, &rest)| before + u64::from(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_its_features_and_rows_that_are_not_kept_have_none() {
        let mut kept = Kept::new(&std::env::temp_dir()).unwrap();
        let of_row = |row: u64| {
            Shingles::of_hashes((0..row % 7).map(|it| it << 40 | row << 20 | row).collect())
        };
        let rows: Vec<_> = (0..200).map(|row| (row % 3 != 0).then(|| of_row(row))).collect();
        for part in rows.chunks(45) {
            kept.append(part.iter().map(Option::as_ref)).unwrap();
        }
        for (row, features) in rows.iter().enumerate().rev() {
            let features = features.clone().unwrap_or_default();
            assert_eq!(*kept.of(row).unwrap(), cut(&features));
            assert_eq!(kept.of(row).unwrap().len(), features.len());
        }
        assert!(kept.of(200).unwrap().is_empty());
        assert!(kept.ends.push(1 << 32).is_err());
    }
}
