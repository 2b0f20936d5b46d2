//! `compact`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::{Fingerprint, Options, Stats};
use serde::Serialize;

use crate::database::by_width;
use crate::failure::Outcome;
use crate::output::{Context, iec};
use crate::progress;

/// Merges all segments into one
///
/// What is removed goes, and queries have one segment to ask. Room for a second copy is needed
/// while it runs. Other processes may read meanwhile, but not write.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,
}

#[derive(Serialize)]
struct Compacted {
    schema: &'static str,
    bytes_before: u64,
    bytes_after: u64,
    segments_before: usize,
    segments_after: usize,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        let bar = progress::working(context, "merging");
        let bits = fpdb::describe(&self.path)?.bits;
        let done = by_width!(bits, |options| self.compact(options));
        bar.finish_and_clear();
        let (before, after) = done?;
        let compacted = Compacted {
            schema: "fpdb.compact/1",
            bytes_before: before.bytes_total,
            bytes_after: after.bytes_total,
            segments_before: before.segments.len(),
            segments_after: after.segments.len(),
        };
        let told = format!(
            "before {} (segments: {}), after {} (segments: {})",
            iec(compacted.bytes_before),
            compacted.segments_before,
            iec(compacted.bytes_after),
            compacted.segments_after
        );
        context.conclude(&compacted, told)?;
        Ok(Outcome::Done)
    }

    fn compact<F: Fingerprint>(&self, options: Options<F>) -> Result<(Stats, Stats)> {
        let db = options.open(&self.path)?;
        let before = db.stats();
        db.compact()?;
        let after = db.stats();
        db.close()?;
        Ok((before, after))
    }
}
