//! Kept rows of which many share bands, because they were made from a template. Each row of a crowd
//! would be compared with all others if it were searched by its sketch. Instead, what the texts
//! share is counted.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use fpdb::text::jaccard::{Candidate, Crowd, Shingles};
use fpdb::{MatchRule, Sketch};

use crate::band_set::BandSet;

/// How many kept rows must share a band before further ones go into the crowd, and how many times
/// as many as share one by chance.
const MANY: u64 = 100;
const TIMES_CHANCE: u64 = 8;

/// Bytes that the crowd takes at most. Then, rows are found by their sketches again.
const MOST_MEMORY: usize = 1 << 30;

/// Sets of the crowd whose sketches are compared with a row.
const LOOKED_AT: usize = 1 << 11;

/// The rows of crowds: those that share a band with many kept rows before them.
#[derive(Debug)]
pub(crate) struct Crowds {
    rule: MatchRule,
    /// For each hash of a band, how many kept rows have it. Two bands with one hash put more rows
    /// into the crowd, where they are found, too.
    counts: Vec<u16>,
    /// The number of rows that were counted.
    rows_counted: u64,
    /// The bands of the rows of the crowd.
    bands: BandSet,
    crowd: Crowd,
    /// The row of each set of the crowd.
    rows: Vec<usize>,
    /// Their sketches, in a file without a name.
    sketches: File,
}

impl Crowds {
    /// `expected` is a number of rows. `folder` gets a temporary file.
    pub(crate) fn new(
        rule: MatchRule,
        similarity: f64,
        expected: u64,
        folder: &Path,
    ) -> io::Result<Self> {
        let (bands, _) = rule.bands().unwrap_or_default();
        // A hash stands for about 32 bands, so few stand for many if the bands do not repeat.
        let hashes = (expected.saturating_mul(bands.into()) / 32).clamp(1 << 10, 1 << 30);
        let counts = vec![0; usize::try_from(hashes.next_power_of_two()).unwrap_or(1 << 10)];
        Ok(Self {
            rule,
            counts,
            rows_counted: 0,
            bands: BandSet::default(),
            crowd: Crowd::new(similarity),
            rows: Vec::new(),
            sketches: tempfile::tempfile_in(folder)?,
        })
    }

    /// Takes the next row that is kept. Returns whether it is in the crowd.
    pub(crate) fn add(&mut self, sketch: Sketch, features: &Shingles) -> bool {
        let many = self.many();
        self.rows_counted += 1;
        let hashes: Vec<u64> = self.hashes(sketch).collect();
        let (mut is_one_of_many, bits) = (false, self.counts.len().ilog2());
        for hash in &hashes {
            let place = usize::try_from(hash >> (u64::BITS - bits)).unwrap_or(0);
            let Some(count) = self.counts.get_mut(place) else { continue };
            is_one_of_many |= u64::from(*count) >= many;
            *count = count.saturating_add(1);
        }
        let is_in_crowd = is_one_of_many
            && features.len() <= Crowd::MOST_SHINGLES
            && self.crowd.memory() + self.bands.memory() < MOST_MEMORY;
        if is_in_crowd {
            hashes.into_iter().for_each(|hash| self.bands.insert(hash));
        }
        is_in_crowd
    }

    /// Returns how many rows with a band are many. A band of few minima has few values, so
    /// unrelated rows share it; and if there are many more rows than expected, they share its hash.
    fn many(&self) -> u64 {
        let (bands, minima) = self.rule.bands().unwrap_or_default();
        let values = 1u64 << (Sketch::BITS_PER_MINIMUM * minima).min(40);
        let hashes = self.counts.len() as u64 / u64::from(bands.max(1));
        MANY.max(TIMES_CHANCE * self.rows_counted / values.min(hashes).max(1))
    }

    /// Adds the rows of a chunk that are in the crowd.
    pub(crate) fn extend<'a>(
        &mut self,
        rows: impl Iterator<Item = (usize, Sketch, &'a Shingles)>,
    ) -> io::Result<()> {
        let (mut sets, mut sketches) = (Vec::new(), Vec::new());
        for (row, sketch, features) in rows {
            self.rows.push(row);
            sketches.extend(sketch.to_bytes());
            sets.push(features);
        }
        self.crowd.extend(sets.into_iter());
        self.sketches.seek(SeekFrom::End(0))?;
        self.sketches.write_all(&sketches)
    }

    /// Returns which sets of the crowd may be similar, those that may be the most similar first: at
    /// most `LOOKED_AT`. Also returns whether there are more.
    pub(crate) fn candidates(&self, sketch: Sketch, features: &Shingles) -> (Vec<usize>, bool) {
        if !self.hashes(sketch).any(|hash| self.bands.may_contain(hash)) {
            return (Vec::new(), false);
        }
        let mut found = self.crowd.candidates(features);
        let nearer =
            |a: &Candidate, b: &Candidate| b.most.total_cmp(&a.most).then(a.number.cmp(&b.number));
        let has_more = found.len() > LOOKED_AT;
        if has_more {
            found.select_nth_unstable_by(LOOKED_AT, nearer);
            found.truncate(LOOKED_AT);
        }
        found.sort_unstable_by(nearer);
        (found.into_iter().map(|it| it.number).collect(), has_more)
    }

    /// Returns the row of a set, and its sketch.
    pub(crate) fn of(&mut self, number: usize) -> io::Result<(usize, Sketch)> {
        let mut bytes = [0; Sketch::BYTES];
        self.sketches.seek(SeekFrom::Start((number * bytes.len()) as u64))?;
        self.sketches.read_exact(&mut bytes)?;
        let row = self.rows.get(number).ok_or(io::ErrorKind::NotFound)?;
        Ok((*row, Sketch::of_bytes(&bytes)))
    }

    /// Returns whether two sketches share a band.
    pub(crate) fn share_band(&self, a: Sketch, b: Sketch) -> bool {
        self.rule.bands_of(a).zip(self.rule.bands_of(b)).any(|(a, b)| a == b)
    }

    /// Returns a hash of each band of a sketch, and of the band's number.
    fn hashes(&self, sketch: Sketch) -> impl Iterator<Item = u64> + use<> {
        (1u64..).zip(self.rule.bands_of(sketch)).map(|(number, band)| {
            let mut hash = band ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93);
            for _ in 0..2 {
                hash ^= hash >> 32;
                hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
            hash ^ hash >> 32
        })
    }
}
