//! `plan`

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use fpdb::Layout;
use fpdb::layout::{Costs, Goal, Needs, Proposal, Proposals};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::database;
use crate::failure::Exit;
use crate::numbers::parse_count;
use crate::numbers::parse_size;
use crate::output::{self, Context, iec};
use crate::temporary::Temporary;

const EXAMPLE: &str = "\
Example:
  fpdb-tool plan -n 1e9 -k 3 --memory 8GiB --disk 64GiB --goal latency";

/// Lists the best layouts for a number of entries and a distance
///
/// Considers the presets and rings of cells whose widths are tuned to the number of entries, with
/// and without prefix filters and with blocks of 128 to 1024 bytes. Lists each layout that no other
/// matches in time, storage and memory at once, the best one for the goal first.
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
    /// Number of entries, such as 50000000 or 1e9
    #[arg(short, long = "entries", value_name = "NUMBER", value_parser = parse_count)]
    n: u64,

    /// Distance of the queries in bits, from 0 to 10
    #[arg(short = 'k', long = "distance", value_name = "BITS", default_value_t = 3)]
    distance: u32,

    /// Width of the fingerprints in bits, 64 or 128
    #[arg(long, value_parser = database::parse_bits, default_value = "64")]
    bits: u32,

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
    entries: u64,
    distance: u32,
    costs: Map<String, Value>,
    considered: usize,
    beyond_limits: usize,
    /// The command that creates a database with the first layout.
    create: String,
    layouts: Vec<Row>,
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
        let mut needs = Needs::new(self.bits, self.n, self.distance).costs(costs.clone());
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
        let report = self.report(&proposals, self.create(best), &costs);
        if context.json {
            context.report(&report)?;
            return Ok(Exit::Done);
        }
        report.print(self.top, context)?;
        Ok(Exit::Done)
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

    fn report(&self, proposals: &Proposals, create: String, costs: &Costs) -> Report {
        Report {
            schema: "fpdb.plan/1",
            bits: self.bits,
            entries: self.n,
            distance: self.distance,
            costs: named(costs),
            considered: proposals.considered,
            beyond_limits: proposals.beyond_limits,
            create,
            layouts: proposals.best.iter().map(Row::of).collect(),
        }
    }

    fn create(&self, best: &Proposal) -> String {
        let (layout, block, filter) = (best.layout.name(), best.block_size, best.filter_bits);
        let bits = if self.bits == 64 { "" } else { " --bits 128" };
        format!(
            "fpdb-tool create DB -k {} --layout {layout} --block-size {block} --filter-bits \
             {filter}{bits}",
            self.distance
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
