//! `join`

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use fpdb::{Description, Fingerprint, Ids, Join, JoinReport, Options, Pair, Snapshot};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::database::by_width;
use crate::failure::Outcome;
use crate::input::parse_size;
use crate::memory::MemoryArgs;
use crate::output::{Context, json_line};
use crate::pair_writer::{Batch, Form, Writer};
use crate::progress;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool join known.fpdb new.fpdb -k 3 --json > near.ndjson
  fpdb-tool join known.fpdb new.fpdb --all --csv > pairs.csv";

/// Finds the documents of one database that are near those of another
///
/// Prints a line per entry of B that has a near-duplicate in A: the distance, the nearest entry of A,
/// and the entry of B. Of several that are equally near, it is the one with the lowest fingerprint and
/// id. With --all, every pair is printed. Pairs come in the order of B's fingerprints. It is fastest
/// if A is the larger database.
///
/// With --json, prints a record per pair, {"type":"pair","a":1,"b":2,"distance":3}, with "a_name" and
/// "b_name" if A and B have names. The last record is a summary.
///
/// Both databases must have the same width, and fingerprints of the same recipe. They are read as they
/// are at one moment, even if other processes are writing to them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database that is searched
    #[arg(value_name = "A")]
    a: PathBuf,

    /// The database whose entries are looked up
    #[arg(value_name = "B")]
    b: PathBuf,

    /// Distance in bits [default: the max distance of A]
    #[arg(short = 'k', long = "distance", value_name = "BITS")]
    distance: Option<u32>,

    /// Print CSV with a header: a,b,distance or, with names, a,b,distance,a_name,b_name
    #[arg(long)]
    csv: bool,

    /// Print all pairs, and not only the nearest one of each entry of B
    #[arg(long)]
    all: bool,

    /// Memory for entries of B and what is found for them [default: 512MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_size, help_heading = "Memory")]
    memory: Option<usize>,

    #[command(flatten)]
    reading: MemoryArgs,
}

#[derive(Serialize)]
struct Summary<'a> {
    r#type: &'static str,
    pairs: u64,
    /// The number of entries of B that are in a pair.
    documents: u64,
    /// The number of pairs at each distance, from 0.
    by_distance: &'a [u64],
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        let form = Form::new(context.json, self.csv)?;
        let (a, b) = (fpdb::describe(&self.a)?, fpdb::describe(&self.b)?);
        self.compare(&a, &b)?;
        by_width!(a.bits, |options| self.search(options, [&a, &b], form, context))?;
        Ok(Outcome::Done)
    }

    /// Refuses databases whose fingerprints have nothing to do with each other.
    fn compare(&self, a: &Description, b: &Description) -> Result<()> {
        let (a_path, b_path) = (self.a.display(), self.b.display());
        if a.bits != b.bits {
            bail!(
                "{a_path} has {}-bit fingerprints, and {b_path} has {}-bit fingerprints: they cannot \
                 be compared",
                a.bits,
                b.bits
            );
        }
        // The recipe of an imported list of fingerprints may be unknown.
        if let (Some(a), Some(b)) = (&a.recipe, &b.recipe)
            && a != b
        {
            bail!(
                "{a_path} has fingerprints of the recipe {a}, and {b_path} of {b}: they cannot be \
                 compared"
            );
        }
        Ok(())
    }

    fn search<F: Fingerprint>(
        &self,
        options: Options<F>,
        [a, b]: [&Description; 2],
        form: Form,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let options = options.index_memory(0);
        let open = |path: &Path| -> fpdb::Result<Snapshot<F>> {
            Ok(self.reading.apply(options.clone(), path).open_read_only(path)?.snapshot())
        };
        let (of_a, of_b) = (open(&self.a)?, open(&self.b)?);
        let mut join = of_a.join(&of_b, self.distance.unwrap_or(a.max_distance));
        if let Some(bytes) = self.memory {
            join = join.memory(bytes as u64);
        }
        let names = [(a, &of_a), (b, &of_b)];
        let names = names.map(|(of, snapshot)| (of.ids == Ids::Names).then_some(snapshot));
        let bar = progress::of_operation(context);
        let report = self.write(&join, &bar, Writer::new(form, names, context.out))?;
        bar.finish_and_clear();
        let (pairs, documents) = (report.pairs.iter().sum(), report.documents);
        if context.json {
            let by_distance = &report.pairs;
            let summary = Summary { r#type: "summary", pairs, documents, by_distance };
            json_line(context.out, &summary)?;
        }
        context.say(format!(
            "{documents} of {} entries have a near-duplicate in {}",
            of_b.len(),
            self.a.display()
        ));
        Ok(())
    }

    /// Writes what the join finds.
    fn write<F: Fingerprint>(
        &self,
        join: &Join<'_, F>,
        bar: &ProgressBar,
        writer: Writer<'_, F>,
    ) -> Result<JoinReport> {
        writer.write_all(|pass_on| {
            let visit = |pairs: &[Pair<F>]| pass_on(Batch::Pairs(pairs.to_vec()));
            let report = |progress| progress::show(bar, progress);
            if self.all { join.visit_with(visit, report) } else { join.nearest_with(visit, report) }
        })
    }
}
