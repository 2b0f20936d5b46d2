//! `recommend`

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use fpdb::layout::{Costs, Goal, Needs, Proposal, Proposals};
use fpdb::{Layout, MatchRule};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::database;
use crate::failure::Exit;
use crate::numbers::parse_count;
use crate::numbers::parse_size;
use crate::output::{self, Context, iec};
use crate::temporary::Temporary;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool recommend -n 1e9 -k 3 --memory 8GiB --disk 64GiB --goal latency
  fpdb-tool recommend --documents 1e8 --jaccard 0.8";

/// Recommends a layout for a number of documents and a distance or a similarity
///
/// For a distance, considers the presets and rings of cells whose widths are tuned to the number of
/// documents, with and without prefix filters and with blocks of 128 to 1024 bytes. For a similarity,
/// considers rings of equal cells, each with the match rule that reaches the recall at the least
/// cost. Lists each layout that no other matches in time, storage and memory at once, the best one
/// for the goal first.
///
/// With --jaccard, also prints what the best one finds: the share of the pairs of each similarity,
/// the distance up to which it misses nothing, and the matches to expect among unrelated documents.
///
/// The figures are predictions for evenly distributed fingerprints in one segment:
///
/// - probes: prefixes looked up; lookups: those that the filters let through
///
/// - candidates: fingerprints decoded
///
/// - disk: size of the tables; ids take at least 3 bytes each in addition
///
/// - memory: size of directory and filters, which should stay in memory
///
/// - us: microseconds per query if all blocks are in memory
///
/// - reads and cold us: pages read and microseconds per query if no block is in memory
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

    /// Most memory that directory and filters may take, such as 8GiB [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<usize>,

    /// Most disk space that the tables may take, such as 64GiB [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    disk: Option<usize>,

    /// What to optimize the layout for
    #[arg(long, value_enum, default_value = "latency")]
    goal: GoalArg,

    /// Number of layouts to list, 0 for all
    #[arg(long, value_name = "NUMBER", default_value_t = 16)]
    top: usize,

    /// First measure what queries cost on this machine, which takes some seconds and 300 MiB of
    /// disk
    #[arg(long, conflicts_with = "costs")]
    calibrate: bool,

    /// With --calibrate, write the measured costs to this file, which is replaced
    #[arg(long, value_name = "FILE")]
    save_costs: Option<PathBuf>,

    /// Use the costs in this file, which --save-costs wrote [default: costs built into the library]
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,

    /// Folder for the databases of --calibrate [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
enum GoalArg {
    /// Least time with all blocks in memory
    Latency,
    /// Least storage
    Storage,
    /// Least time with no block in memory
    Cold,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    bits: u32,
    documents: u64,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    similar: Option<Similar>,
    costs: Map<String, Value>,
    considered: usize,
    beyond_limits: usize,
    /// The command that creates a database with the first layout.
    create: String,
    /// About how many bytes of disk a bulk load with the first layout takes while it runs.
    load_bytes: u64,
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

#[derive(Serialize)]
struct Row {
    layout: String,
    tables: usize,
    block_size: usize,
    filter_bits: u32,
    probes: f64,
    lookups: f64,
    candidates: f64,
    disk_bytes: u64,
    memory_bytes: u64,
    query_us: f64,
    cold_reads: f64,
    cold_us: f64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        if self.save_costs.is_some() && !self.calibrate {
            bail!("--save-costs needs --calibrate, which measures the costs");
        }
        let costs = self.costs(context)?;
        let mut needs = self.needs().costs(costs.clone());
        needs = needs.goal(match self.goal {
            GoalArg::Latency => Goal::Latency,
            GoalArg::Storage => Goal::Storage,
            GoalArg::Cold => Goal::Cold,
        });
        if let Some(bytes) = self.memory {
            needs = needs.memory(bytes as u64);
        }
        if let Some(bytes) = self.disk {
            needs = needs.disk(bytes as u64);
        }
        let proposals = Layout::plan(&needs)?;
        let Some(best) = proposals.best.first() else { bail!("no layout is within the limits") };
        let report = self.report(&proposals, best, &costs);
        if context.json {
            context.report(&report)?;
            return Ok(Exit::Done);
        }
        report.print(self.top, context)?;
        Ok(Exit::Done)
    }

    fn bits(&self) -> u32 {
        self.bits.unwrap_or(if self.jaccard.is_some() { 128 } else { 64 })
    }

    fn needs(&self) -> Needs {
        match self.jaccard {
            Some(similarity) => {
                let jaccard = database::jaccard(similarity, self.recall);
                Needs::similar(self.bits(), self.n, jaccard)
            }
            None => Needs::new(self.bits(), self.n, self.distance.unwrap_or(3)),
        }
    }

    fn costs(&self, context: &mut Context<'_>) -> Result<Costs> {
        if let Some(path) = &self.costs {
            return read(path).with_context(|| format!("cannot use {}", path.display()));
        }
        if !self.calibrate {
            return Ok(Costs::default());
        }
        let folder = Temporary::new(self.folder.as_deref())?;
        folder.need(300 << 20)?;
        context.say("measuring what queries cost on this machine ...");
        let costs = Costs::measure(folder.path())?;
        if let Some(path) = &self.save_costs {
            let text = serde_json::to_string_pretty(&named(&costs))?;
            std::fs::write(path, text + "\n")
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(costs)
    }

    fn report(&self, proposals: &Proposals, best: &Proposal, costs: &Costs) -> Report {
        Report {
            schema: "fpdb.recommend/1",
            bits: self.bits(),
            documents: self.n,
            distance: best.rule.distance(),
            similar: Similar::of(&best.rule, self.n),
            costs: named(costs),
            considered: proposals.considered,
            beyond_limits: proposals.beyond_limits,
            create: self.create(best),
            load_bytes: best.disk_bytes + self.n * self.scratch_bytes(best),
            layouts: proposals.best.iter().map(Row::of).collect(),
        }
    }

    /// Returns the bytes per document of what a bulk load sorts on disk at a time: entries with
    /// ids, the fingerprints of a table, and its prefixes.
    fn scratch_bytes(&self, best: &Proposal) -> u64 {
        let fingerprint = u64::from(self.bits() / 8);
        let prefix = if best.filter_bits > 0 { 8 } else { 0 };
        fingerprint + 8 + fingerprint + prefix
    }

    fn create(&self, best: &Proposal) -> String {
        let (layout, block, filter) = (best.layout.name(), best.block_size, best.filter_bits);
        let bits = self.bits();
        let rule = match best.rule.jaccard() {
            None => format!("-k {}", best.rule.distance()),
            Some(jaccard) => format!(
                "--jaccard {} --recall {} --expected {}",
                jaccard.similarity(),
                jaccard.expected_recall(),
                self.n
            ),
        };
        format!(
            "fpdb-tool create DB --bits {bits} {rule} --layout {layout} --block-size {block} \
             --filter-bits {filter}"
        )
    }
}

fn named(costs: &Costs) -> Map<String, Value> {
    costs.values().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

fn read(path: &Path) -> Result<Costs> {
    let values: Map<String, Value> = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let mut costs = Costs::default();
    for (name, value) in values {
        let value = value.as_f64().with_context(|| format!("{name} is {value}, not a number"))?;
        costs = costs.with(&name, value)?;
    }
    Ok(costs)
}

impl Row {
    fn of(p: &Proposal) -> Self {
        Self {
            layout: p.layout.name().to_owned(),
            tables: p.layout.tables(),
            block_size: p.block_size,
            filter_bits: p.filter_bits,
            probes: p.probes,
            lookups: p.lookups,
            candidates: p.candidates,
            disk_bytes: p.disk_bytes,
            memory_bytes: p.memory_bytes,
            query_us: p.query_us,
            cold_reads: p.cold_reads,
            cold_us: p.cold_us,
        }
    }

    fn cells(&self) -> [String; 12] {
        let number = |value: f64| match value {
            v if v < 99.95 => format!("{v:.1}"),
            v => format!("{v:.0}"),
        };
        [
            self.layout.clone(),
            self.tables.to_string(),
            self.block_size.to_string(),
            self.filter_bits.to_string(),
            number(self.probes),
            number(self.lookups),
            number(self.candidates),
            iec(self.disk_bytes),
            iec(self.memory_bytes),
            number(self.query_us),
            number(self.cold_reads),
            number(self.cold_us),
        ]
    }
}

impl Report {
    fn print(&self, top: usize, context: &mut Context<'_>) -> Result<()> {
        if let Some(similar) = &self.similar {
            similar.print(self.distance, context)?;
        }
        let header = [
            "layout",
            "tables",
            "block",
            "filter",
            "probes",
            "lookups",
            "candidates",
            "disk",
            "memory",
            "us",
            "reads",
            "cold us",
        ];
        let top = if top == 0 { usize::MAX } else { top };
        let lines: Vec<_> = self.layouts.iter().take(top).map(Row::cells).collect();
        output::table(context.out, header, &lines)?;
        if self.layouts.len() > lines.len() {
            context.say(format_args!(
                "{} more are listed with --top 0",
                self.layouts.len() - lines.len()
            ));
        }
        if self.beyond_limits > 0 {
            context.say(format_args!(
                "{} of {} layouts exceed the limits of memory or disk and are left out",
                self.beyond_limits, self.considered
            ));
        }
        context.say(format_args!(
            "with the first layout, a bulk load takes about {} on disk while it runs",
            iec(self.load_bytes)
        ));
        context.say(format_args!("to create a database with the first layout: {}", self.create));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_read_back_from_a_file_and_wrong_ones_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("costs.json");
        let costs = Costs::default().with("entry_ns", 1.5).unwrap();
        std::fs::write(&path, serde_json::to_string(&named(&costs)).unwrap()).unwrap();
        assert_eq!(read(&path).unwrap(), costs);
        for wrong in ["", "[]", "{\"entry\": 1}", "{\"entry_ns\": \"1\"}", "{\"entry_ns\": -1}"] {
            std::fs::write(&path, wrong).unwrap();
            assert!(read(&path).is_err(), "{wrong}");
        }
    }
}
