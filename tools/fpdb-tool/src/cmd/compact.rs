//! `compact`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::passages::Index;
use fpdb::{Db, Description, Fingerprint, Options, Stats};
use serde::Serialize;

use crate::args::database::by_width;
use crate::args::writing::WritingArgs;
use crate::output::failure::Exit;
use crate::output::progress;
use crate::output::{Context, iec, say_peak};

const EXAMPLE: &str = "\
Example:
  fpdb-tool compact crawl.fpdb";

/// Merges all segments into one
///
/// This returns the space of removed entries to the disk, and leaves queries only one segment to
/// search. A segment has fewer than 2^32 sketches; more are divided among as few segments as can
/// hold them. While it runs, it needs disk space for a second copy, or somewhat more. Other
/// processes can read the database at the same time, but not write to it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    #[command(flatten)]
    memory: WritingArgs,
}

/// `fpdb.compact/1`
#[derive(Serialize)]
struct Report {
    bytes_before: u64,
    bytes_after: u64,
    segments_before: usize,
    segments_after: usize,
    /// The most bytes of free disk space that it needed while it ran.
    space_needed: u64,
    /// How many documents a segment can have, if that is why there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    most_documents: Option<u64>,
}

impl Report {
    fn sentence(&self) -> String {
        let mut sentence = format!(
            "before {} (segments: {}), after {} (segments: {})",
            iec(self.bytes_before),
            self.segments_before,
            iec(self.bytes_after),
            self.segments_after
        );
        if let Some(most) = self.most_documents {
            let why = format!("; more than one, because a segment has at most {most} documents");
            sentence.push_str(&why);
        }
        sentence
    }
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let Description { bits, passages, .. } = Description::read(&self.path)?;
        let (before, after, space_needed, most_documents) = if passages.is_some() {
            let index = Index::open(&self.path, self.options(Options::default()))?;
            self.compact(index.database().clone(), context)?
        } else {
            by_width!(bits, |options| self
                .compact(self.options(options).open(&self.path)?, context))?
        };
        let report = Report {
            bytes_before: before.bytes_total,
            bytes_after: after.bytes_total,
            segments_before: before.segments.len(),
            segments_after: after.segments.len(),
            space_needed,
            most_documents,
        };
        context.conclude("fpdb.compact/1", &report, report.sentence())?;
        Ok(Exit::Done)
    }

    fn options<F: Fingerprint>(&self, options: Options<F>) -> Options<F> {
        self.memory.apply(options.index_memory(0))
    }

    fn compact<F: Fingerprint>(
        &self,
        db: Db<F>,
        context: &mut Context<'_>,
    ) -> Result<(Stats, Stats, u64, Option<u64>)> {
        let before = db.stats();
        let needed = db.compact_space();
        say_peak(needed, "the compaction", context);
        let bar = progress::of_operation(context);
        let compacted = db.on_progress(progress::on(&bar)).compact();
        bar.finish_and_clear();
        let most_documents = compacted?.most_documents;
        let after = db.stats();
        db.close()?;
        Ok((before, after, needed, most_documents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_are_left_are_explained() {
        let report = |segments_after, most_documents| Report {
            bytes_before: 4096,
            bytes_after: 2048,
            segments_before: 3,
            segments_after,
            space_needed: 0,
            most_documents,
        };
        let one = report(1, None).sentence();
        assert!(one.ends_with("(segments: 1)"), "{one}");
        let two = report(2, Some((1 << 32) - 1)).sentence();
        let why =
            "(segments: 2); more than one, because a segment has at most 4294967295 documents";
        assert!(two.ends_with(why), "{two}");
    }
}
