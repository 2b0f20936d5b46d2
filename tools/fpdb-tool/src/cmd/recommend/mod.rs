//! `recommend`

mod similarity;

use anyhow::{Context as _, Result};
use fpdb::{Db, Fingerprint, Layout, Options, Word};
use serde::Serialize;

use crate::args::database::{self, by_word};
use crate::args::numbers::parse_count;
use crate::output::failure::{self, Exit};
use crate::output::{self, Context, iec};

const EXAMPLE: &str = "\
Examples:
  fpdb-tool recommend -n 1e9 -k 3
  fpdb-tool recommend --documents 1e8 --jaccard 0.8";

/// Shows what finding near-duplicates costs for a number of documents and a distance or a
/// similarity
///
/// For a distance, shows layouts. The first one is the one that `create` chooses by itself. The
/// others are the presets, among them the paper's tables (paper-4 to paper-20). The figures are
/// predictions for evenly distributed fingerprints in one segment:
///
/// - filter: bits of a prefix filter per fingerprint
///
/// - lead: how many bits lead a table
///
/// - probes: prefixes that a query looks up; 0 if it reads a whole table
///
/// - candidates: fingerprints with these prefixes, with which the query is compared
///
/// - blocks: blocks that a query decodes
///
/// - reads: pages of 4 KiB that a query reads from the disk if only directories and filters are in
///   memory
///
/// - us: microseconds per query if all files are in memory
///
/// - memory: size of directories and filters, which should stay in memory
///
/// - disk: size of the tables; ids take at least 3 bytes each in addition
///
/// - load: disk space that a bulk load takes while it runs
///
/// For a similarity (--jaccard), shows the bands that `create` chooses. Two documents match if they
/// share a band and their sketches differ in few enough minima. For documents of each similarity:
///
/// - found: the share of them that match
///
/// - read: the share of them that share a band, so that a query reads them. So multiply it by how
///   many documents there are on the subject of the query, not by all documents
///
/// Documents that have nothing in common may also share a band. Below a similarity of 0.7, this
/// makes bands useless among 1e9 documents. Prints how many of them a query reads, and the sizes of
/// the database, with all documents in one segment.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Number of documents, such as 50000000 or 1e9
    #[arg(short, long = "documents", value_name = "NUMBER", value_parser = parse_count)]
    n: u64,

    /// Distance of the queries in bits, from 0 to 12, or to 10 at 128 bits [default: 3]
    #[arg(short = 'k', long = "distance", value_name = "BITS", conflicts_with = "jaccard")]
    distance: Option<u32>,

    /// Least Jaccard similarity of the documents to find, from 0.5 to 1, such as 0.8
    #[arg(long, value_name = "SIMILARITY")]
    jaccard: Option<f64>,

    /// Share of the pairs of exactly this similarity to find, from 0.5 to 0.999 [default: 0.95]
    #[arg(long, value_name = "SHARE", requires = "jaccard")]
    recall: Option<f64>,

    /// Width of the fingerprints in bits, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits)]
    bits: Option<u32>,
}

/// `fpdb.recommend/3`
#[derive(Serialize)]
struct Report {
    bits: u32,
    documents: u64,
    distance: u32,
    /// The command that creates a database with the first layout.
    create: String,
    layouts: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    layout: String,
    tables: usize,
    filter_bits: u32,
    /// Of the table with the fewest, and of the one with the most.
    leading_bits: [u32; 2],
    probes: f64,
    candidates: f64,
    blocks: f64,
    pages: f64,
    query_us: f64,
    memory_bytes: u64,
    disk_bytes: u64,
    load_bytes: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let bits = database::new_bits(self.jaccard.is_some(), self.bits)?;
        if let Some(similarity) = self.jaccard {
            let jaccard = database::jaccard(similarity, self.recall);
            return similarity::run(jaccard, self.n, context).map(|()| Exit::Done);
        }
        let report = by_word!(bits, |options| self.report(options)?);
        if context.json {
            context.report("fpdb.recommend/3", &report)?;
        } else {
            report.print(context)?;
        }
        Ok(Exit::Done)
    }

    fn report<F: Word>(&self, options: Options<F>) -> Result<Report> {
        let distance = self.distance.unwrap_or(3);
        let options = options.expected_entries(self.n).background(false).max_distance(distance);
        let chosen = options.clone().in_memory().map_err(|e| failure::as_usage(&e))?;
        let mut layouts = vec![Row::of(&chosen, self.n)?];
        for name in Layout::preset_names() {
            if *name != layouts[0].layout {
                let preset = Layout::preset(name, F::BITS)?;
                layouts.push(Row::of(&options.clone().layout(preset).in_memory()?, self.n)?);
            }
        }
        let (bits, documents) = (F::BITS, self.n);
        Ok(Report {
            bits,
            documents,
            distance,
            create: format!(
                "fpdb-tool create DB --bits {bits} -k {distance} --expected {documents}"
            ),
            layouts,
        })
    }
}

impl Row {
    /// Returns the row of a database with the layout, which need not have documents.
    fn of<F: Fingerprint>(db: &Db<F>, documents: u64) -> Result<Self> {
        let description = db.description();
        let predicted = description.predict(documents);
        let layout = description.layout.as_ref().context("a database without tables")?;
        let leading = (0..layout.tables()).map(|table| layout.leading_bits(table));
        let leading_bits =
            leading.fold([u32::MAX, 0], |[least, most], bits| [least.min(bits), most.max(bits)]);
        Ok(Self {
            layout: layout.name().to_owned(),
            tables: layout.tables(),
            filter_bits: description.filter_bits.unwrap_or(0),
            leading_bits,
            probes: predicted.probes,
            candidates: predicted.candidates,
            blocks: predicted.blocks,
            pages: predicted.pages,
            query_us: predicted.query_us,
            memory_bytes: predicted.memory_bytes,
            disk_bytes: predicted.disk_bytes,
            load_bytes: predicted.load_bytes,
        })
    }

    fn cells(&self) -> [String; 12] {
        let [least, most] = self.leading_bits;
        let number = |number: f64| match number {
            ..1000.0 => format!("{number:.1}"),
            _ => format!("{number:.0}"),
        };
        [
            self.layout.clone(),
            self.tables.to_string(),
            self.filter_bits.to_string(),
            if least == most { least.to_string() } else { format!("{least}-{most}") },
            format!("{:.0}", self.probes),
            number(self.candidates),
            number(self.blocks),
            number(self.pages),
            format!("{:.1}", self.query_us),
            iec(self.memory_bytes),
            iec(self.disk_bytes),
            iec(self.load_bytes),
        ]
    }
}

impl Report {
    fn print(&self, context: &mut Context<'_>) -> Result<()> {
        let header = [
            "layout",
            "tables",
            "filter",
            "lead",
            "probes",
            "candidates",
            "blocks",
            "reads",
            "us",
            "memory",
            "disk",
            "load",
        ];
        let lines: Vec<_> = self.layouts.iter().map(Row::cells).collect();
        output::table(context.out, header, &lines)?;
        context.say(format_args!("to create a database with the first layout: {}", self.create));
        Ok(())
    }
}
