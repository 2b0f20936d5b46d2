//! fpdb itself, with a row for each layout and code. All of it is on disk, and in the page cache
//! while it answers.

use anyhow::{Result, ensure};
use fpdb::{Db, DocId, Entry, Layout, Options, Snapshot};

use crate::args::{Engines, Pages};
use crate::memory;
use crate::peer::{Each, Entrant, Job, Peer, timed};

struct Fpdb {
    db: Db,
    snapshot: Snapshot,
    k: u32,
    /// Bytes of the index memory that are allocated, and so counted with all allocations.
    allocated: u64,
}

pub(super) fn entrants(engines: &Engines, n: usize, k: u32) -> Result<Vec<Entrant<'_>>> {
    let entrant = |name: &String| {
        let layout = match name.as_str() {
            "auto" => Layout::auto(64, k, n as u64).0,
            preset => Layout::preset(preset, 64)?,
        };
        let row = match name.as_str() {
            "auto" => format!("fpdb auto ({})", layout.name()),
            preset => format!("fpdb {preset}"),
        };
        let build = move |job: &Job| Fpdb::build(job, options(engines), layout.clone());
        Ok(Entrant::new(row, build))
    };
    engines.layouts.iter().map(entrant).collect()
}

impl Fpdb {
    fn build(job: &Job, options: Options, layout: Layout) -> Result<Self> {
        let options = options
            .layout(layout)
            .max_distance(job.k)
            .expected_entries(job.fingerprints.len() as u64);
        let db = options.create(job.folder.join("db"))?;
        let entries = (0..).zip(job.fingerprints);
        let entries = entries.map(|(id, &fingerprint)| Ok(Entry { fingerprint, id: DocId(id) }));
        let report = db.bulk_load(entries)?;
        let before = memory::live();
        db.warm()?;
        let allocated = memory::live().saturating_sub(before) as u64;
        ensure!(report.inserted == job.fingerprints.len() as u64, "not all entries were loaded");
        Ok(Self { snapshot: db.snapshot(), db, k: job.k, allocated })
    }
}

fn options(engines: &Engines) -> Options {
    let mut options = Db::options();
    if let Some(bytes) = engines.block {
        options = options.block_size(bytes);
    }
    if let Some(bits) = engines.filter {
        options = options.filter_bits(bits);
    }
    match engines.pages {
        Pages::Small => options,
        Pages::Huge => options.page_memory(u64::MAX),
    }
}

impl Peer for Fpdb {
    fn answer(&mut self, queries: &[u64], each: &mut Each) -> Result<()> {
        timed(queries, each, |query, found| {
            let matches = self.snapshot.query(query, self.k)?;
            found.extend(matches.iter().map(|m| m.id.0 as u32));
            Ok(())
        })
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(self.db.stats().bytes_total)
    }

    /// The directories and filters, which are copied to memory outside of the heap.
    fn ram_bytes(&self) -> Result<u64> {
        Ok(self.db.stats().index_memory_bytes.saturating_sub(self.allocated))
    }
}
