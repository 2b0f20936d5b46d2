//! Verification: every byte of every segment is read and checked, and documents are compared with
//! entries, which no single file can answer.

mod deep;
mod sum;

use deep::BYTES_PER_RECORD;
use sum::Sum;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::inspection::Inspection;
use crate::base::progress::{Meter, Phase};
use crate::db::read::reader::Reader;
use crate::fingerprint::Fingerprint;

/// What [`Snapshot::verify`](crate::Snapshot::verify) read and found.
///
/// # Examples
///
/// ```
/// # let db = fpdb::Db::options().in_memory()?;
/// use fpdb::VerifyLevel;
/// db.insert(7, 1)?;
/// let report = db.verify(VerifyLevel::Full)?; // flushes first
/// assert!(report.errors.is_empty() && report.files > 0 && report.bytes > 0);
/// assert!(db.snapshot().verify(VerifyLevel::Full)?.errors.is_empty());
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
    /// What is not damage, because no read or write needs it, but would let a repair save less: why
    /// the copy of the manifest cannot replace it. Only [`Options::verify`](crate::Options::verify)
    /// looks.
    pub remarks: Vec<Error>,
}

/// How thoroughly [`Snapshot::verify`](crate::Snapshot::verify) checks. Each level does what those
/// before it do.
///
/// # Examples
///
/// ```
/// use fpdb::VerifyLevel;
///
/// # let db = fpdb::Db::options().in_memory()?;
/// db.insert(7, 1)?;
/// assert!(db.verify(VerifyLevel::Quick)?.errors.is_empty());
/// assert!(db.verify(VerifyLevel::Deep)?.errors.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum VerifyLevel {
    /// Reads every byte and compares it with its checksums. Finds what a device or a copy has
    /// changed.
    Quick,
    /// Decodes everything: order and counts; that all tables hold the same fingerprints; that
    /// filters, directories, tables of keys, ids and documents agree with them.
    #[default]
    Full,
    /// Compares the segments with each other, and the answers to 32 queries with a scan of all
    /// entries: of more than 8,192 matches, only the nearest.
    Deep,
}

impl<F: Fingerprint> Reader<F> {
    /// Reads and checks every byte of every segment, and more if the level says so.
    pub(crate) fn verify(&self, level: VerifyLevel) -> Result<VerifyReport> {
        let segments = self.version.segments.iter();
        let total = match level {
            VerifyLevel::Quick => segments.map(|s| s.meta().bytes()).sum(),
            _ => segments.map(|s| s.bytes_to_verify()).sum::<u64>() + self.bytes_to_compare(),
        };
        let more = if level == VerifyLevel::Deep { deep::PASSES * self.len() } else { 0 };
        let total = total + more * BYTES_PER_RECORD;
        let meter = Meter::new(&self.watch, Phase::Check, Some(total));
        let report = self.inspect(level, &meter)?;
        meter.finish();
        Ok(report)
    }

    fn inspect<'m>(&self, level: VerifyLevel, meter: &'m Meter<'m>) -> Result<VerifyReport> {
        let mut inspection = Inspection::new(Some(meter));
        let mut report = VerifyReport::default();
        for segment in &self.version.segments {
            report.files += segment.meta().files().len();
            report.bytes += segment.meta().bytes();
            match level {
                VerifyLevel::Quick => segment.verify_checksums(&mut inspection)?,
                _ => segment.verify(&self.settings, &mut inspection)?,
            }
        }
        report.errors = inspection.into_errors();
        // Damage leads to contradictions.
        if report.errors.is_empty() && level > VerifyLevel::Quick {
            report.errors.extend(self.contradiction(meter)?);
        }
        if report.errors.is_empty() && level == VerifyLevel::Deep {
            match self.disagreement(meter) {
                Ok(found) => report.errors.extend(found),
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(error) => report.errors.push(error),
            }
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
        let mut merge = match self.document_merge(None) {
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
    use super::VerifyLevel;
    use crate::db::commit::commit;
    use crate::db::commit::sync::acknowledge;
    use crate::db::state::core::Core;
    use crate::file::storage::Sim;
    use crate::fingerprint::DocId;
    use crate::store::log::Op;
    use crate::{Db, Ids, OnDuplicate};

    /// Writes operations on entries, which no call does in a database that keeps documents.
    fn plant(core: &Core<u64>, ops: &[Op<u64>]) {
        let mut writer = core.log.writer.lock().unwrap();
        let seq = commit(core, &mut writer, ops).unwrap();
        acknowledge(core, writer, seq).unwrap();
    }

    fn errors(db: &Db) -> Vec<String> {
        db.snapshot()
            .verify(VerifyLevel::Deep)
            .unwrap()
            .errors
            .iter()
            .map(ToString::to_string)
            .collect()
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
