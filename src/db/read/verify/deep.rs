//! What no segment shows by itself: that segments agree with each other, and that queries find what
//! a scan finds.

use std::collections::BTreeMap;

use super::sum::Sum;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::progress::Meter;
use crate::db::read::reader::Reader;
use crate::fingerprint::{Entry, Fingerprint, Match};
use crate::query::{QueryOptions, Within};
use crate::store::merge::{Merge, Merged};

/// The bytes that count as checked per entry and per document.
pub(super) const BYTES_PER_RECORD: u64 = 16;

/// How often all entries are read.
pub(super) const PASSES: u64 = 3;

/// Queries whose answers are compared with a scan.
const QUERIES: u64 = 32;

/// Matches of a query that are in memory. If there are more, the nearest of them are checked.
const MATCHES: usize = if cfg!(test) { 1 << 3 } else { 1 << 13 };

/// A query, and the entries that a scan finds.
struct Sample<F> {
    fingerprint: F,
    /// At each distance.
    expected: BTreeMap<u32, Sum>,
}

impl<F: Fingerprint> Reader<F> {
    /// Returns the first contradiction, if there is one.
    pub(super) fn disagreement(&self, meter: &Meter<'_>) -> Result<Option<Error>> {
        if let Some(error) = self.contradictory_segments(meter)? {
            return Ok(Some(error));
        }
        self.wrong_answer(meter)
    }

    /// Checks that each tombstone removes an entry that is live in the older segments, and that no
    /// segment holds an entry that still is.
    fn contradictory_segments(&self, meter: &Meter<'_>) -> Result<Option<Error>> {
        let segments = self.version.segments.iter().map(|segment| &**segment);
        let mut merge = Merge::of_segments(segments, F::Word::ZERO)?;
        loop {
            let changes = merge.next_changes()?;
            if changes.is_empty() {
                return Ok(None);
            }
            meter.advance(changes.len() as u64 * BYTES_PER_RECORD)?;
            for of_entry in changes.chunk_by(|a, b| a.entry == b.entry) {
                if let Some(message) = contradiction::<F>(of_entry) {
                    return Ok(Some(self.at_path(Error::corruption(message))));
                }
            }
        }
    }

    /// Compares the answers to some queries near stored fingerprints with a scan.
    fn wrong_answer(&self, meter: &Meter<'_>) -> Result<Option<Error>> {
        let mut samples = self.samples(meter, self.settings.index.rule().distance())?;
        for entry in self.iter() {
            let entry = entry?;
            meter.advance(BYTES_PER_RECORD)?;
            for sample in &mut samples {
                if self.read(|view| view.is_match(entry.fingerprint, sample.fingerprint)) {
                    let distance = entry.fingerprint.distance(sample.fingerprint);
                    sample.expected.entry(distance).or_default().add(entry);
                }
            }
        }
        for Sample { fingerprint, expected } in samples {
            let options = QueryOptions::within(Within::Rule).limit(MATCHES + 1);
            let matches = match self.query(fingerprint, options) {
                // A refused query is not a wrong answer.
                Err(error) if error.kind() == ErrorKind::TooManyCandidates => continue,
                matches => matches?,
            };
            if !self.is_right(fingerprint, &matches, &expected) {
                let message = format!(
                    "the {} nearest matches of the query {} are not those that a scan finds, of {}",
                    matches.len(),
                    fingerprint.to_hex(),
                    expected.values().map(|sum| sum.count).sum::<u64>()
                );
                return Ok(Some(self.at_path(Error::corruption(message))));
            }
        }
        Ok(None)
    }

    /// Returns whether the nearest matches of a query, at most one more than `MATCHES`, are what a
    /// scan found.
    fn is_right(&self, query: F, matches: &[Match<F>], expected: &BTreeMap<u32, Sum>) -> bool {
        let mut found: BTreeMap<u32, Sum> = BTreeMap::new();
        for found_one in matches {
            found.entry(found_one.distance).or_default().add(found_one.entry());
        }
        if matches.len() <= MATCHES {
            return found == *expected;
        }
        // Of the farthest, any may be missing.
        let Some((farthest, some)) = found.pop_last() else { return true };
        let all = expected.get(&farthest).map_or(0, |sum| sum.count);
        let some_matches = &matches[matches.len() - usize::try_from(some.count).unwrap_or(0)..];
        found.iter().eq(expected.range(..farthest))
            && some.count <= all
            && self.are_matches(query, some_matches)
    }

    /// Returns whether these entries match a query, and are different ones.
    fn are_matches(&self, query: F, matches: &[Match<F>]) -> bool {
        let mut entries: Vec<Entry<F>> = matches.iter().map(Match::entry).collect();
        entries.sort_unstable();
        let are_different = entries.windows(2).all(|two| two[0] != two[1]);
        let is_match = |entry: &Entry<F>| self.read(|view| view.is_match(entry.fingerprint, query));
        are_different && entries.iter().all(is_match)
    }

    /// Returns queries from 0 to `distance` bits from stored fingerprints.
    fn samples(&self, meter: &Meter<'_>, distance: u32) -> Result<Vec<Sample<F>>> {
        let mut samples = Vec::new();
        let step = (self.len() / QUERIES).max(1);
        for (at, entry) in (0u64..).zip(self.iter()) {
            let mut fingerprint = entry?.fingerprint;
            meter.advance(BYTES_PER_RECORD)?;
            if at % step != 0 {
                continue;
            }
            let number = u32::try_from(samples.len()).unwrap_or(0);
            for error in 0..number % (distance + 1) {
                // Each sample has its errors in other bits.
                let bit = number.wrapping_mul(37).wrapping_add(error * 11) % F::BITS;
                fingerprint = fingerprint.with_flipped(bit);
            }
            samples.push(Sample { fingerprint, expected: BTreeMap::new() });
        }
        Ok(samples)
    }
}

/// Returns what is wrong with the changes of one entry, from the oldest segment to the newest.
fn contradiction<F: Fingerprint>(changes: &[Merged<F::Word>]) -> Option<String> {
    let mut is_live = false;
    for Merged { entry, net, .. } in changes {
        let Entry { fingerprint, id } = Entry::<F>::of_word(*entry);
        if net.removes_older && !is_live {
            return Some(format!(
                "a segment removes the entry {} with id {id}, which older segments do not have",
                fingerprint.to_hex()
            ));
        }
        is_live &= !net.removes_older;
        if net.inserted && is_live {
            return Some(format!(
                "two segments have the entry {} with id {id}",
                fingerprint.to_hex()
            ));
        }
        is_live |= net.inserted;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{MATCHES, Sum};
    use crate::{Db, DocId, VerifyLevel};

    #[test]
    fn queries_with_more_matches_than_are_kept_are_compared_with_a_scan() {
        for family in [MATCHES as u64 - 1, MATCHES as u64, MATCHES as u64 + 1, 3 * MATCHES as u64] {
            let db = Db::options().background(false).in_memory().unwrap();
            for (number, centre) in
                [0, 0xffff_0000_ffff_0000, 0x0f0f_0f0f_0f0f_0f0f].iter().enumerate()
            {
                let near = (0..family).map(|bit| (centre ^ 1 << bit, family * number as u64 + bit));
                let documents: Vec<(u64, u64)> = near.chain([(*centre, 900)]).collect();
                db.write(&documents).run().unwrap();
                db.flush().unwrap();
            }
            let snapshot = db.snapshot();
            let report = snapshot.verify(VerifyLevel::Deep).unwrap();
            assert!(report.errors.is_empty(), "{family}: {report:?}");
            let reader = snapshot.reader();
            let found = snapshot.query(0, 3).unwrap();
            assert_eq!(found.len() as u64, family + 1);
            let mut expected: BTreeMap<u32, Sum> = BTreeMap::new();
            found.iter().for_each(|it| expected.entry(it.distance).or_default().add(it.entry()));
            let asked: Vec<_> = found.iter().copied().take(MATCHES + 1).collect();
            assert!(reader.is_right(0, &asked, &expected));
            // Neither one that is not there, nor one that comes twice, nor one too few.
            let mut wrong = asked.clone();
            wrong[0].id = DocId(1000);
            assert!(!reader.is_right(0, &wrong, &expected));
            let mut twice = asked.clone();
            twice[1] = twice[0];
            assert!(!reader.is_right(0, &twice, &expected));
            assert!(!reader.is_right(0, &asked[1..], &expected));
            expected.insert(0, Sum::default());
            assert!(!reader.is_right(0, &asked, &expected));
        }
    }
}
