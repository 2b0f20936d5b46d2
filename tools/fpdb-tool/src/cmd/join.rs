//! `join`

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use fpdb::reports::JoinReport;
use fpdb::{Description, DocId, Entry, Fingerprint, Ids, Join, Options, Pair, Snapshot, Within};
use serde::Serialize;

use crate::args::database::{by_width, parse_id, stored};
use crate::args::memory::MemoryArgs;
use crate::args::numbers::parse_size;
use crate::input::MAX_RATIO;
use crate::input::fingerprints::{ListArgs, Listed, Lists};
use crate::output::Context;
use crate::output::failure::Exit;
use crate::output::pair_writer::{Batch, Form, NamesOf, Writer};
use crate::output::progress;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool join known.fpdb new.fpdb -k 3 --json > near.ndjson
  fpdb-tool join known.fpdb new.fpdb --all --csv > pairs.csv
  fpdb-tool join known.fpdb new.txt --id-column 2";

/// Finds the documents of one database that are near documents of another, or of a list
///
/// B is a database, or a file with a list of fingerprints, whose ids are their positions from 0, or
/// numbers in the column --id-column. A list is kept in memory.
///
/// Prints a line per entry of B that has a near-duplicate in A: the distance, the nearest entry of
/// A, and the entry of B. Of several that are equally near, it is the one with the lowest
/// fingerprint and id. With --all, every pair is printed. Pairs come in the order of B's
/// fingerprints, or of its documents if B is a database of sketches. It is fastest if A is the
/// larger database.
///
/// With --json, prints a record per pair, {"type":"pair","a":1,"b":2,"distance":3}, with "a_name"
/// and "b_name" if A and B have names. The last record is a summary.
///
/// A and B must have the same width, and fingerprints of the same recipe. Databases are read as
/// they are at one moment, even if other processes are writing to them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database that is searched
    #[arg(value_name = "A")]
    a: PathBuf,

    /// The database or list whose entries are looked up
    #[arg(value_name = "B")]
    b: PathBuf,

    /// Distance in bits, of sketches in minima [default: the max distance of A]
    #[arg(short = 'k', long = "distance", value_name = "BITS")]
    distance: Option<u32>,

    /// Print CSV with a header: a,b,distance or, with names, a,b,distance,a_name,b_name
    #[arg(long)]
    csv: bool,

    /// Print all pairs, and not only the nearest one of each entry of B
    #[arg(long)]
    all: bool,

    /// The column of the list with the ids, counted from 1. Fingerprints are in the first other
    /// column
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..),
        help_heading = "Reading lists of fingerprints"
    )]
    id_column: Option<u16>,

    #[command(flatten)]
    list: ListArgs,

    /// Memory for entries of B and what is found for them [default: 512MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_size, help_heading = "Memory")]
    memory: Option<usize>,

    #[command(flatten)]
    reading: MemoryArgs,
}

#[derive(Serialize)]
struct Summary<'a> {
    pairs: u64,
    /// The number of entries of B that are in a pair.
    documents: u64,
    /// The number of pairs at each distance, from 0.
    by_distance: &'a [u64],
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let form = Form::new(context.json, self.csv)?;
        let a = fpdb::Description::read(&self.a)?;
        let b = self.b.is_dir().then(|| fpdb::Description::read(&self.b)).transpose()?;
        if let Some(b) = &b {
            self.compare(&a, b)?;
        }
        by_width!(a.bits, |options| self.search(options, &a, b.as_ref(), form, context))?;
        Ok(Exit::Done)
    }

    /// Refuses databases whose fingerprints have nothing to do with each other.
    fn compare(&self, a: &Description, b: &Description) -> Result<()> {
        if self.id_column.is_some() {
            bail!(
                "--id-column is for a list of fingerprints, but {} is a database",
                self.b.display()
            );
        }
        let (a_path, b_path) = (self.a.display(), self.b.display());
        if a.bits != b.bits {
            bail!(
                "{a_path} has {}, and {b_path} has {}: they cannot be compared",
                stored(a.bits),
                stored(b.bits)
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

    /// Joins A with B, which is a list if it has no description.
    fn search<F: Fingerprint>(
        &self,
        options: Options<F>,
        a: &Description,
        b: Option<&Description>,
        form: Form,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let bar = progress::of_operation(context);
        let options = options.index_memory(0).on_progress(progress::on(&bar));
        let open = |path: &Path| -> fpdb::Result<Snapshot<F>> {
            Ok(self.reading.apply(options.clone()).open_read_only(path)?.snapshot())
        };
        let within = self.distance.map_or(Within::Rule, Within::Distance);
        let of_a = open(&self.a)?;
        let of_b = b.map(|_| open(&self.b)).transpose()?;
        let (mut join, entries) = match &of_b {
            Some(of_b) => (of_a.join(of_b, within), of_b.len()),
            None => {
                let list = self.read_list(context)?;
                let entries = list.len() as u64;
                (of_a.join_list(list, within), entries)
            }
        };
        if let Some(bytes) = self.memory {
            join = join.memory(bytes as u64);
        }
        let a_names = |ids: &[DocId]| of_a.names(ids);
        let b_names =
            |ids: &[DocId]| of_b.as_ref().map_or(Ok(vec![None; ids.len()]), |of_b| of_b.names(ids));
        let has_names = |of: &Description| of.ids == Ids::Names;
        let names = [
            has_names(a).then_some(&a_names as NamesOf<'_>),
            b.is_some_and(has_names).then_some(&b_names as NamesOf<'_>),
        ];
        let report = self.write(&join, Writer::new(form, names, context.out))?;
        bar.finish_and_clear();
        let (pairs, documents) = (report.pairs.iter().sum(), report.documents);
        if context.json {
            let by_distance = &report.pairs;
            let summary = Summary { pairs, documents, by_distance };
            context.summary("fpdb.join/1", &summary)?;
        }
        context.say(format!(
            "{documents} of {entries} entries have a near-duplicate in {}",
            self.a.display()
        ));
        Ok(())
    }

    fn read_list<F: Fingerprint>(&self, context: &Context<'_>) -> Result<Vec<Entry<F>>> {
        let files = std::slice::from_ref(&self.b);
        let bar = progress::over_files(context, files);
        let id_column = self.id_column.map(usize::from);
        let lists = Lists { args: &self.list, id_column, max_ratio: MAX_RATIO, bar: &bar };
        let entry = |(position, listed): (u64, Result<Listed<F>>)| {
            let Listed { fingerprint, id } = listed?;
            let id = id.map_or(Ok(DocId(position)), |id| parse_id(&id));
            let id = id.with_context(|| format!("cannot read {}", self.b.display()))?;
            Ok(Entry { fingerprint, id })
        };
        let entries = (0..).zip(lists.read(files)).map(entry).collect();
        bar.finish_and_clear();
        entries
    }

    /// Writes what the join finds.
    fn write<F: Fingerprint>(&self, join: &Join<'_, F>, writer: Writer<'_>) -> Result<JoinReport> {
        writer.write_all(Box::new(|pass_on| {
            let visit = |pairs: &[Pair<F>]| pass_on(Batch::pairs(pairs));
            if self.all { join.visit(visit) } else { join.nearest(visit) }
        }))
    }
}
