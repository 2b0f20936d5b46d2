//! Writing a complete export.

use std::borrow::Cow;
use std::io::{self, Write};

use anyhow::{Result, bail};
use fpdb::{Entry, Fingerprint, Ids, ReadOnlyDb};
use indicatif::ProgressBar;
use serde::Serialize;

use super::{EndLine, Header, Record};
use crate::output::json_line;

/// Lines between two movements of the progress bar.
const STEP: u64 = 1 << 12;

/// Writes everything that a database holds. The bar counts the lines.
pub(crate) fn write<F: Fingerprint>(
    db: &ReadOnlyDb<F>,
    bar: &ProgressBar,
    out: &mut dyn Write,
) -> Result<()> {
    let (snapshot, description) = (db.snapshot(), db.description());
    let stats = db.stats();
    let has_documents = description.ids != Ids::User;
    let count = if has_documents { stats.documents } else { snapshot.len() };
    bar.set_length(count);
    let mut lines = Lines { out, crc32: crc32fast::Hasher::new(), line: Vec::new(), bar, count: 0 };
    lines.write(&Header::new(description, snapshot.next_id(), count))?;
    if has_documents {
        for document in snapshot.documents()? {
            let (name, document) = document?;
            lines.record(&Record {
                name: name.map(Cow::Owned),
                id: document.id.0,
                fingerprint: Cow::Owned(document.fingerprint.to_hex()),
                stamp: document.stamp,
                duplicate_of: document.duplicate_of.map(|id| id.0),
            })?;
        }
    } else {
        for entry in &snapshot {
            let Entry { fingerprint, id } = entry?;
            let fingerprint = Cow::Owned(fingerprint.to_hex());
            let (name, stamp, duplicate_of) = (None, None, None);
            lines.record(&Record { name, id: id.0, fingerprint, stamp, duplicate_of })?;
        }
    }
    lines.end(count)
}

/// The lines, as they are written.
struct Lines<'a> {
    out: &'a mut dyn Write,
    /// Of all lines so far.
    crc32: crc32fast::Hasher,
    line: Vec<u8>,
    bar: &'a ProgressBar,
    /// Lines of entries or documents so far.
    count: u64,
}

impl Lines<'_> {
    fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.count += 1;
        if self.count.is_multiple_of(STEP) {
            self.bar.set_position(self.count);
        }
        self.write(record)
    }

    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        json_line(&mut self.line, line)?;
        self.crc32.update(&self.line);
        self.out.write_all(&self.line)
    }

    fn end(self, announced: u64) -> Result<()> {
        if self.count != announced {
            bail!("the database holds {} where it should hold {announced}: run verify", self.count);
        }
        json_line(self.out, &EndLine::new(self.count, self.crc32.finalize()))?;
        Ok(())
    }
}
