//! Verification: every byte of every segment is read and checked, and documents are compared with
//! entries, which no single file can answer.

use twox_hash::XxHash3_64;

use crate::db::read::reader::Reader;
use crate::error::{Error, Result};
use crate::fingerprint::{Entry, Fingerprint};
use crate::inspection::Inspection;
use crate::progress::{Meter, Phase};

/// The bytes that the comparison counts as checked per entry and per document.
const BYTES_PER_RECORD: u64 = 16;

/// What [`Snapshot::verify`](crate::Snapshot::verify) read and found.
///
/// # Examples
///
/// ```
/// # let db = fpdb::Db::options().in_memory()?;
/// db.insert(7, 1)?;
/// let report = db.verify()?;
/// assert!(report.errors.is_empty() && report.bytes > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[must_use]
#[non_exhaustive]
pub struct VerifyReport {
    /// Number of files read.
    pub files: usize,
    /// Number of bytes read.
    pub bytes: u64,
    /// The damage found, each with file and offset. Empty if everything is sound.
    pub errors: Vec<Error>,
}

/// A sum over entries that does not depend on their order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    hashes: u64,
}

impl Sum {
    fn add<F: Fingerprint>(&mut self, entry: Entry<F>) {
        self.count += 1;
        self.hashes = self.hashes.wrapping_add(hash(entry));
    }
}

fn hash<F: Fingerprint>(Entry { fingerprint, id }: Entry<F>) -> u64 {
    let mut bytes = [0; 24];
    let (number, rest) = bytes.split_at_mut(8);
    number.copy_from_slice(&id.0.to_le_bytes());
    fingerprint.put_le(rest);
    XxHash3_64::oneshot(&bytes)
}

impl<F: Fingerprint> Reader<F> {
    /// Reads and checks every byte of every segment: checksums, order, counts, and that all tables
    /// contain the same fingerprints. Takes as long as reading and decoding all files.
    pub(crate) fn verify(&self) -> Result<VerifyReport> {
        let files: u64 = self.version.segments.iter().map(|s| s.bytes_to_verify()).sum();
        let total = files + self.bytes_to_compare();
        let meter = Meter::new(&self.watch, Phase::Check, Some(total));
        let report = self.inspect(&meter)?;
        meter.finish();
        Ok(report)
    }

    fn inspect<'m>(&self, meter: &'m Meter<'m>) -> Result<VerifyReport> {
        let mut inspection = Inspection::new(Some(meter));
        let mut report = VerifyReport::default();
        for segment in &self.version.segments {
            report.files += segment.meta().files().len();
            report.bytes += segment.meta().bytes();
            segment.verify(&self.settings, &mut inspection)?;
        }
        report.errors = inspection.into_errors();
        // Damage leads to contradictions.
        if report.errors.is_empty() {
            report.errors.extend(self.contradiction(meter)?);
        }
        Ok(report)
    }

    /// Returns how many bytes [`contradiction`](Self::contradiction) counts.
    fn bytes_to_compare(&self) -> u64 {
        let documents = self.version.documents(self.seq);
        if self.keeps_documents() { (self.len() + documents) * BYTES_PER_RECORD } else { 0 }
    }

    /// Compares documents with entries, if the database keeps documents: every original has its
    /// entry, there are no other entries, and there are as many of both as were counted. Reads each
    /// once, in order. Returns the first error; fails only if the meter cancels.
    fn contradiction(&self, meter: &Meter<'_>) -> Result<Option<Error>> {
        if !self.keeps_documents() {
            return Ok(None);
        }
        let step = || meter.advance(BYTES_PER_RECORD);
        let mut entries = Sum::default();
        for entry in self.iter() {
            step()?;
            match entry {
                Ok(entry) => entries.add(entry),
                Err(error) => return Ok(Some(error)),
            }
        }
        let (mut originals, mut documents) = (Sum::default(), 0);
        let mut merge = match self.document_merge() {
            Ok(merge) => merge,
            Err(error) => return Ok(Some(error)),
        };
        loop {
            match merge.next() {
                Ok(Some((_, Some(document)))) => {
                    step()?;
                    documents += 1;
                    document.entry().into_iter().for_each(|entry| originals.add(entry));
                }
                Ok(Some((_, None))) => {}
                Ok(None) => break,
                Err(error) => return Ok(Some(error)),
            }
        }
        Ok(self.compare(&entries, &originals, documents))
    }

    fn compare(&self, entries: &Sum, originals: &Sum, documents: u64) -> Option<Error> {
        let expected = (self.len(), self.version.documents(self.seq));
        let message = if entries.count != originals.count {
            format!("there are {} originals, but {} entries", originals.count, entries.count)
        } else if entries != originals {
            format!("the {} originals have other fingerprints than the entries", originals.count)
        } else if (entries.count, documents) != expected {
            format!(
                "there are {} entries and {documents} documents, but {} and {} were counted",
                entries.count, expected.0, expected.1
            )
        } else {
            return None;
        };
        Some(self.at_path(Error::corruption(message)))
    }

    fn keeps_documents(&self) -> bool {
        self.settings.ids.identify_documents()
    }
}

#[cfg(test)]
mod tests {
    use crate::db::state::core::Core;
    use crate::db::upkeep::sync::acknowledge;
    use crate::db::write::commit::commit;
    use crate::fingerprint::DocId;
    use crate::log::Op;
    use crate::storage::Sim;
    use crate::{Db, Ids, OnDuplicate};

    /// Writes operations on entries, which no call does in a database that keeps documents.
    fn plant(core: &Core<u64>, ops: &[Op<u64>]) {
        let mut writer = core.log.writer.lock().unwrap();
        let seq = commit(core, &mut writer, ops).unwrap();
        acknowledge(core, writer, seq).unwrap();
    }

    fn errors(db: &Db) -> Vec<String> {
        db.snapshot().verify().unwrap().errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn contradiction_between_documents_and_entries_is_found_by_verify() {
        let remove = Op::Remove { fingerprint: 10, id: DocId(1) };
        let insert = Op::Insert { fingerprint: 11, id: DocId(1) };
        let cases = [
            (vec![], None),
            (vec![remove.clone()], Some("there are 3 originals, but 2 entries")),
            (vec![insert.clone()], Some("there are 3 originals, but 4 entries")),
            (vec![remove, insert], Some("the 3 originals have other fingerprints")),
        ];
        for (ops, expected) in cases {
            let options = Db::options().ids(Ids::Names).background(false).max_distance(0);
            let db = options.storage(Sim::new()).create("sim").unwrap();
            for (fingerprint, name) in [(9, "a"), (10, "b"), (20, "c")] {
                db.insert(fingerprint, name).unwrap();
            }
            let copy = [(9, "d")];
            db.write(&copy).unless_near(0).or_update(OnDuplicate::Remember).run().unwrap();
            db.flush().unwrap();
            // A segment with more entries than documents is refused when it is opened.
            assert!(db.touch("a", 1).unwrap() && db.touch("b", 1).unwrap());
            assert_eq!(errors(&db), [""; 0]);
            if !ops.is_empty() {
                plant(db.core(), &ops);
            }
            for _ in 0..2 {
                let found = errors(&db);
                assert_eq!(found.len(), usize::from(expected.is_some()), "{found:?}");
                let words = expected.unwrap_or_default();
                assert!(found.iter().all(|error| error.contains(words)), "{found:?}");
                db.flush().unwrap();
            }
        }
    }
}
