//! `recommend`

use anyhow::Result;
use fpdb::layout::Prediction;
use fpdb::{Db, Fingerprint, Layout, MatchRule, Options};
use serde::Serialize;

use crate::args::database::{self, by_width};
use crate::args::numbers::parse_count;
use crate::output::failure::{self, Exit};
use crate::output::{self, Context, iec};

const EXAMPLE: &str = "\
Examples:
  fpdb-tool recommend -n 1e9 -k 3
  fpdb-tool recommend --documents 1e8 --jaccard 0.8";

/// Shows what layouts cost for a number of documents and a distance or a similarity
///
/// The first layout is the one that `create` chooses by itself. The others are the presets, as far
/// as they can find the similarity.
///
/// With --jaccard, also prints what the first one finds: the share of the pairs of each similarity,
/// the distance up to which it misses nothing, and the matches to expect among unrelated documents.
///
/// The figures are predictions for evenly distributed fingerprints in one segment:
///
/// - us: microseconds per query if all files are in memory
///
/// - memory: size of directories, filters and columns, which should stay in memory
///
/// - disk: size of the tables; ids take at least 3 bytes each in addition
///
/// - load: disk space that a bulk load takes while it runs
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Number of documents, such as 50000000 or 1e9
    #[arg(short, long = "documents", value_name = "NUMBER", value_parser = parse_count)]
    n: u64,

    /// Distance of the queries in bits, from 0 to 12, or to 24 at 128 bits [default: 3]
    #[arg(short = 'k', long = "distance", value_name = "BITS", conflicts_with = "jaccard")]
    distance: Option<u32>,

    /// Least Jaccard similarity of the documents to find, from 0.5 to 1, such as 0.8
    #[arg(long, value_name = "SIMILARITY")]
    jaccard: Option<f64>,

    /// Share of the pairs of exactly this similarity to find, from 0.5 to 0.999 [default: 0.95]
    #[arg(long, value_name = "SHARE", requires = "jaccard")]
    recall: Option<f64>,

    /// Width of the fingerprints in bits, 64 or 128 [default: 64, with --jaccard 128]
    #[arg(long, value_parser = database::parse_bits)]
    bits: Option<u32>,
}

/// `fpdb.recommend/2`
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    bits: u32,
    documents: u64,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    similar: Option<Similar>,
    /// The command that creates a database with the first layout.
    create: String,
    layouts: Vec<Row>,
}

/// What the first layout finds, if a similarity was asked for.
#[derive(Serialize)]
struct Similar {
    jaccard: f64,
    recall: f64,
    /// The share found of the pairs of each similarity.
    found: Vec<Found>,
    /// The distance up to which nothing is missed.
    exact_distance: u32,
    /// Expected matches of a query among unrelated documents.
    false_matches: f64,
}

#[derive(Serialize)]
struct Found {
    similarity: f64,
    share: f64,
}

/// The similarities of which `found` is listed.
const SIMILARITIES: [f64; 10] = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];

#[derive(Serialize)]
struct Row {
    layout: String,
    tables: usize,
    filter_bits: u32,
    query_us: f64,
    memory_bytes: u64,
    disk_bytes: u64,
    load_bytes: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let bits = self.bits.unwrap_or(if self.jaccard.is_some() { 128 } else { 64 });
        let report = by_width!(bits, |options| self.report(options)?);
        if context.json {
            context.report(&report)?;
        } else {
            report.print(context)?;
        }
        Ok(Exit::Done)
    }

    fn report<F: Fingerprint>(&self, options: Options<F>) -> Result<Report> {
        let mut options = options.expected_entries(self.n).background(false);
        match self.jaccard {
            Some(similarity) => {
                options = options.similar(database::jaccard(similarity, self.recall));
            }
            None => options = options.max_distance(self.distance.unwrap_or(3)),
        }
        let chosen = options.clone().in_memory().map_err(|e| failure::as_usage(&e))?;
        let mut layouts = vec![Row::of(&chosen, self.n)];
        for name in Layout::preset_names() {
            let preset = Layout::preset(name, F::BITS)?;
            // Those that cannot find the similarity are left out.
            if let Ok(db) = options.clone().layout(preset).in_memory()
                && *name != layouts[0].layout
            {
                layouts.push(Row::of(&db, self.n));
            }
        }
        let rule = &chosen.description().rule;
        Ok(Report {
            schema: "fpdb.recommend/2",
            bits: F::BITS,
            documents: self.n,
            distance: rule.distance(),
            similar: Similar::of(rule, self.n),
            create: self.create(F::BITS, rule),
            layouts,
        })
    }

    fn create(&self, bits: u32, rule: &MatchRule) -> String {
        let wanted = match rule.jaccard() {
            None => format!("-k {}", rule.distance()),
            Some(jaccard) => {
                format!("--jaccard {} --recall {}", jaccard.similarity(), jaccard.expected_recall())
            }
        };
        format!("fpdb-tool create DB --bits {bits} {wanted} --expected {}", self.n)
    }
}

impl Similar {
    fn of(rule: &MatchRule, documents: u64) -> Option<Self> {
        let jaccard = rule.jaccard()?;
        let found = |similarity| Found { similarity, share: rule.found_at(similarity) };
        Some(Self {
            jaccard: jaccard.similarity(),
            recall: jaccard.expected_recall(),
            found: SIMILARITIES.map(found).into(),
            exact_distance: rule.exact_distance(),
            false_matches: rule.false_matches(documents),
        })
    }

    fn print(&self, distance: u32, context: &mut Context<'_>) -> Result<()> {
        let line =
            |found: &Found| [format!("{:.2}", found.similarity), format!("{:.4}", found.share)];
        let lines: Vec<_> = self.found.iter().map(line).collect();
        output::table(context.out, ["similarity", "found"], &lines)?;
        writeln!(
            context.out,
            "misses nothing up to distance {}, finds nothing beyond {distance}; {:.0e} false \
             matches per query\n",
            self.exact_distance, self.false_matches
        )?;
        Ok(())
    }
}

impl Row {
    /// Returns the row of a database with the layout, which need not have documents.
    fn of<F: Fingerprint>(db: &Db<F>, documents: u64) -> Self {
        let description = db.description();
        let Prediction { query_us, memory_bytes, disk_bytes, load_bytes, .. } =
            description.predict(documents);
        Self {
            layout: description.layout.name().to_owned(),
            tables: description.layout.tables(),
            filter_bits: description.filter_bits,
            query_us,
            memory_bytes,
            disk_bytes,
            load_bytes,
        }
    }

    fn cells(&self) -> [String; 7] {
        [
            self.layout.clone(),
            self.tables.to_string(),
            self.filter_bits.to_string(),
            format!("{:.1}", self.query_us),
            iec(self.memory_bytes),
            iec(self.disk_bytes),
            iec(self.load_bytes),
        ]
    }
}

impl Report {
    fn print(&self, context: &mut Context<'_>) -> Result<()> {
        if let Some(similar) = &self.similar {
            similar.print(self.distance, context)?;
        }
        let header = ["layout", "tables", "filter", "us", "memory", "disk", "load"];
        let lines: Vec<_> = self.layouts.iter().map(Row::cells).collect();
        output::table(context.out, header, &lines)?;
        context.say(format_args!("to create a database with the first layout: {}", self.create));
        Ok(())
    }
}
