//! `plan`

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use fpdb::Layout;
use fpdb::layout::{Costs, Goal, Needs, Proposal, Proposals};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::count;
use crate::database;
use crate::failure::Outcome;
use crate::input::parse_size;
use crate::output::{self, Context, iec};
use crate::temporary::Temporary;

const EXAMPLE: &str = "\
Example:
  fpdb-tool plan -n 1e9 -k 3 --memory 8GiB --disk 64GiB --goal latency";

/// Lists the layouts worth having for a number of entries and a distance
///
/// Of the presets, of rings of cells with widths tuned to the number, and of rings of covering
/// designs, with and without prefix filters, with blocks of 128 to 1024 bytes, those are listed
/// that no other is as good as in time, storage and memory alike; the best for the goal first.
/// Figures are predictions for evenly spread data in one segment: prefixes looked for, those left by
/// the filters, fingerprints decoded, bytes of the tables (ids come on top: 3 bytes each and more),
/// of index and filters, which should be in memory, microseconds in memory, and pages read and
/// microseconds where no block is in memory.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Number of entries, such as 50000000 or 1e9
    #[arg(short, long = "entries", value_name = "NUMBER", value_parser = count::parse)]
    n: u64,

    /// Distance in bits of the queries, 0 to 10
    #[arg(short = 'k', long = "distance", value_name = "BITS", default_value_t = 3)]
    distance: u32,

    /// Width of the fingerprints, 64 or 128
    #[arg(long, value_parser = database::parse_bits, default_value = "64")]
    bits: u32,

    /// Memory that index and filters may take, such as 8GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<usize>,

    /// Disk that tables may take, such as 64GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    disk: Option<usize>,

    /// What the layout should be good at
    #[arg(long, value_enum, default_value = "latency")]
    goal: GoalArg,

    /// List so many, 0 for all
    #[arg(long, value_name = "NUMBER", default_value_t = 16)]
    top: usize,

    /// Measure first what queries cost on this machine: some seconds, and 300 MiB on the disk
    #[arg(long, conflicts_with = "costs")]
    calibrate: bool,

    /// Costs as measured: with --calibrate written into this file, which is replaced, else read
    #[arg(long, value_name = "FILE")]
    save_costs: Option<PathBuf>,

    /// Go by these costs, a file that --save-costs wrote [default: those of the library]
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,

    /// Where --calibrate writes its databases [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
enum GoalArg {
    /// The least time in memory
    Latency,
    /// The least storage
    Storage,
    /// The least time on the device
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
    /// The command that makes a database like the first.
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
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        if self.save_costs.is_some() && !self.calibrate {
            bail!("--save-costs needs --calibrate, which measures them");
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
        let found = Layout::plan(&needs)?;
        let Some(best) = found.best.first() else { bail!("no layout is within the limits") };
        let report = self.report(&found, self.create(best), &costs);
        if context.json {
            output::json_line(context.out, &report)?;
            return Ok(Outcome::Done);
        }
        report.print(self.top, context)?;
        Ok(Outcome::Done)
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
        context.say("measuring what queries cost here ...");
        let costs = Costs::measure(folder.path())?;
        if let Some(path) = &self.save_costs {
            let text = serde_json::to_string_pretty(&named(&costs))?;
            std::fs::write(path, text + "\n")
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(costs)
    }

    fn report(&self, found: &Proposals, create: String, costs: &Costs) -> Report {
        Report {
            schema: "fpdb.plan/1",
            bits: self.bits,
            entries: self.n,
            distance: self.distance,
            costs: named(costs),
            considered: found.considered,
            beyond_limits: found.beyond_limits,
            create,
            layouts: found.best.iter().map(Row::of).collect(),
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
        let value = value.as_f64().with_context(|| format!("{name} is {value}, no number"))?;
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
            context.say(format_args!("and {} more: --top 0", self.layouts.len() - lines.len()));
        }
        if self.beyond_limits > 0 {
            context.say(format_args!(
                "{} of {} are left out, beyond the limits of memory or disk",
                self.beyond_limits, self.considered
            ));
        }
        context.say(format_args!("to make the first: {}", self.create));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_come_back_from_a_file_and_wrong_ones_are_refused() {
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
