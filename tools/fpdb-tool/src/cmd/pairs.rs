//! `pairs`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::reports::PairsReport;
use fpdb::{Description, DocId, Fingerprint, Found, Ids, Options, Pairs, Within};
use serde::Serialize;

use crate::args::database::by_width;
use crate::args::memory::MemoryArgs;
use crate::args::numbers::parse_size;
use crate::output::failure::Exit;
use crate::output::pair_writer::{Batch, Form, NamesOf, Writer};
use crate::output::progress;
use crate::output::{self, Context};

const EXAMPLE: &str = "\
Examples:
  fpdb-tool pairs crawl.fpdb -k 3 --json > pairs.ndjson
  fpdb-tool pairs crawl.fpdb -k 6 --count";

/// Finds all pairs of entries within a distance
///
/// Prints each pair once, in no particular order. Entries with the same fingerprint are a group,
/// and their first entry stands for all of them in pairs with others. In CSV and without --json, a
/// group is printed as pairs of its first entry with each other one, at distance 0. With --expand,
/// every pair of entries is printed, and there are no groups: a thousand equal fingerprints are
/// half a million pairs.
///
/// With --json, prints a record per pair, {"type":"pair","a":1,"b":2,"distance":3}, with "a_name"
/// and "b_name" in a database with names, and a record per group, {"type":"group",
/// "fingerprint":"0x...","ids":[...]}, where a group of more than 65,536 comes in several parts.
/// The last record is a summary.
///
/// The database is read as it is at one moment, even if another process is writing to it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// Distance in bits, of sketches in minima [default: what counts as a duplicate in the
    /// database]
    #[arg(short = 'k', long = "distance", value_name = "BITS")]
    distance: Option<u32>,

    /// Print CSV with a header: a,b,distance or, with names, a,b,distance,a_name,b_name
    #[arg(long)]
    csv: bool,

    /// Print every pair of entries, including those with equal fingerprints
    #[arg(long)]
    expand: bool,

    /// Print only the number of pairs of entries at each distance
    #[arg(long, conflicts_with_all = ["csv", "expand"])]
    count: bool,

    /// Memory for the parts of tables that are compared [default: 512MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_size, help_heading = "Memory")]
    memory: Option<usize>,

    #[command(flatten)]
    reading: MemoryArgs,
}

#[derive(Serialize)]
struct Summary<'a> {
    pairs: u64,
    groups: Option<u64>,
    /// The number of pairs at each distance, from 0.
    by_distance: &'a [u64],
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let form = Form::new(context.json, self.csv)?;
        let description = fpdb::Description::read(&self.path)?;
        by_width!(description.bits, |options| self.search(options, &description, form, context))?;
        Ok(Exit::Done)
    }

    fn search<F: Fingerprint>(
        &self,
        options: Options<F>,
        description: &Description,
        form: Form,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let options = self.reading.apply(options.index_memory(0));
        let bar = progress::of_operation(context);
        let options = options.on_progress(progress::on(&bar));
        let snapshot = options.open_read_only(&self.path)?.snapshot();
        let within = self.distance.map_or(Within::Rule, Within::Distance);
        let mut pairs = snapshot.pairs(within).expand(self.expand);
        if let Some(bytes) = self.memory {
            pairs = pairs.memory(bytes as u64);
        }
        if self.count {
            let counts = pairs.count()?;
            bar.finish_and_clear();
            return print_counts(&counts, context);
        }
        let names_of = |ids: &[DocId]| snapshot.names(ids);
        let names = (description.ids == Ids::Names).then_some(&names_of as NamesOf<'_>);
        let writer = Writer::new(form, [names; 2], context.out);
        let PairsReport { pairs: by_distance, groups, .. } = write(&pairs, writer)?;
        bar.finish_and_clear();
        let total = by_distance.iter().sum();
        if context.json {
            let by_distance = &by_distance;
            let groups = Some(groups);
            let summary = Summary { pairs: total, groups, by_distance };
            context.summary("fpdb.pairs/1", &summary)?;
        }
        context.say(format!("{total} pairs and {groups} groups of equal fingerprints"));
        Ok(())
    }
}

/// Writes what the search finds.
fn write<F: Fingerprint>(pairs: &Pairs<'_, F>, writer: Writer<'_>) -> Result<PairsReport> {
    writer.write_all(Box::new(|pass_on| {
        let visit = |found: Found<'_, F>| {
            pass_on(match found {
                Found::Pairs(pairs) => Batch::pairs(pairs),
                Found::Group { fingerprint, ids } => {
                    Batch::Group(fingerprint.to_hex(), ids.to_vec())
                }
            })
        };
        pairs.visit(visit)
    }))
}

fn print_counts(counts: &[u64], context: &mut Context<'_>) -> Result<()> {
    let total = counts.iter().sum();
    if context.json {
        let summary = Summary { pairs: total, groups: None, by_distance: counts };
        context.summary("fpdb.pairs/1", &summary)?;
        return Ok(());
    }
    let lines: Vec<[String; 2]> = (0..)
        .zip(counts)
        .map(|(distance, count): (u32, &u64)| [distance.to_string(), count.to_string()])
        .collect();
    output::table(context.out, ["distance", "pairs"], &lines)?;
    context.say(format!("{total} pairs"));
    Ok(())
}
