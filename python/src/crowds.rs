//! Kept rows of which many share bands, because they were made from a template. Each row of a crowd
//! would be compared with all others if it were searched by its sketch. Instead, what the texts
//! share is counted.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use fpdb::text::jaccard::{Crowd, Shingles};
use fpdb::{MatchRule, Sketch};

/// Kept rows that share a band, from which on further ones are in the crowd.
const MANY: u8 = 100;
/// Whether a row of the crowd has the band, beside the number of kept rows that have it.
const IN_CROWD: u8 = 1 << 7;

/// The rows of crowds: those that share a band with many kept rows before them.
pub(crate) struct Crowds {
    rule: MatchRule,
    /// For each hash of a band, how many kept rows have it, up to `MANY`, and `IN_CROWD`. Two bands
    /// with one hash put more rows into the crowd, where they are found, too.
    bands: Vec<u8>,
    crowd: Crowd,
    /// The row of each set of the crowd.
    rows: Vec<usize>,
    /// Their sketches, in a file without a name.
    sketches: File,
}

impl Crowds {
    /// `expected` is a number of rows.
    pub(crate) fn new(rule: MatchRule, similarity: f64, expected: u64) -> std::io::Result<Self> {
        let (bands, _) = rule.bands().unwrap_or_default();
        // A hash stands for about 32 bands, so few stand for many if the bands do not repeat.
        let hashes = (expected.saturating_mul(bands.into()) / 32).clamp(1 << 10, 1 << 30);
        let bands = vec![0; usize::try_from(hashes.next_power_of_two()).unwrap_or(1 << 10)];
        let sketches = tempfile::tempfile()?;
        Ok(Self { rule, bands, crowd: Crowd::new(similarity), rows: Vec::new(), sketches })
    }

    /// Takes the next row that is kept. Returns whether it is in the crowd.
    pub(crate) fn add(&mut self, sketch: Sketch, features: &Shingles) -> bool {
        let places: Vec<usize> = self.places(sketch).collect();
        let is_one_of_many = places.iter().any(|&place| self.bands[place] & !IN_CROWD >= MANY);
        let is_in_crowd = is_one_of_many && features.len() <= Crowd::MOST_SHINGLES;
        for place in places {
            let band = &mut self.bands[place];
            *band += u8::from(*band & !IN_CROWD < MANY);
            *band |= u8::from(is_in_crowd) * IN_CROWD;
        }
        is_in_crowd
    }

    /// Adds the rows of a chunk that are in the crowd.
    pub(crate) fn extend<'a>(
        &mut self,
        rows: impl Iterator<Item = (usize, Sketch, &'a Shingles)>,
    ) -> std::io::Result<()> {
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

    /// Returns which sets of the crowd may be similar, at most so many, those that may be the most
    /// similar ones; and whether there are more.
    pub(crate) fn candidates(
        &self,
        sketch: Sketch,
        features: &Shingles,
        most: usize,
    ) -> (Vec<usize>, bool) {
        if !self.places(sketch).any(|place| self.bands[place] & IN_CROWD != 0) {
            return (Vec::new(), false);
        }
        let mut found = self.crowd.candidates(features);
        let has_more = found.len() > most;
        if has_more {
            found.sort_by(|a, b| b.most.total_cmp(&a.most));
            found.truncate(most);
        }
        (found.into_iter().map(|it| it.number).collect(), has_more)
    }

    /// Returns the row of a set, and its sketch.
    pub(crate) fn of(&mut self, number: usize) -> std::io::Result<(usize, Sketch)> {
        let mut bytes = [0; Sketch::BYTES];
        self.sketches.seek(SeekFrom::Start((number * bytes.len()) as u64))?;
        self.sketches.read_exact(&mut bytes)?;
        Ok((self.rows[number], Sketch::of_bytes(&bytes)))
    }

    /// Returns whether two sketches share a band.
    pub(crate) fn share_band(&self, a: Sketch, b: Sketch) -> bool {
        self.rule.bands_of(a).zip(self.rule.bands_of(b)).any(|(a, b)| a == b)
    }

    /// Returns the place of each band of a sketch.
    fn places(&self, sketch: Sketch) -> impl Iterator<Item = usize> + use<> {
        let bits = self.bands.len().ilog2();
        (1u64..).zip(self.rule.bands_of(sketch)).map(move |(number, band)| {
            let mixed = (band ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93)).rotate_right(32);
            let mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            usize::try_from(mixed >> (u64::BITS - bits)).unwrap_or(0)
        })
    }
}
