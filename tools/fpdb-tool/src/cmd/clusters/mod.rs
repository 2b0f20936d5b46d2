//! `clusters`

mod keep;

use std::collections::HashSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use fpdb::reports::ClusterReport;
use fpdb::{
    Cluster, ClusterMethod, Clusters, Description, DocId, Entry, Fingerprint, Ids, Options,
    Snapshot, Within,
};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::choice::choice;
use crate::args::database::{self, by_width, unit};
use crate::args::memory::MemoryArgs;
use crate::args::numbers::parse_size;
use crate::output::failure::Exit;
use crate::output::progress;
use crate::output::{Context, json_line, printable};
use keep::Keep;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool clusters crawl.fpdb --json > clusters.ndjson
  fpdb-tool clusters crawl.fpdb --keep first > keep.txt";

/// Finds clusters of near-duplicates, and the documents to keep
///
/// By default, documents are taken in the order of their ids. Each is kept unless a document that
/// was kept before is within the distance, and then it belongs to the cluster of the earliest of
/// these: what `dedup` would have done. With --method components, every document belongs to the
/// cluster of all documents within the distance of it, so chains of pairs may connect documents
/// that have little in common. The last line says how many clusters have a member that is not
/// within the distance of the first one.
///
/// Prints a line per cluster: the number of documents, and the first of them. With --json, prints a
/// record per cluster, {"type":"cluster","first":1,"radius":3,"ids":[1,5,9]}, with "names" in a
/// database with names, and a summary record last. "radius" is the largest distance from the first
/// document.
///
/// With --keep, prints the documents to keep instead: of each cluster the first one or the newest,
/// and all that are in no cluster. One per line, by name or, without names, by id.
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

    /// What a cluster is
    #[arg(long, value_parser = choice::<Method>(), default_value = "keep-first")]
    method: Method,

    /// Print the documents to keep
    #[arg(long, value_parser = choice::<Keep>())]
    keep: Option<Keep>,

    /// Memory for near fingerprints and pairs [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_size, help_heading = "Memory")]
    memory: Option<usize>,

    /// The folder for pairs that do not fit in memory [default: the system's temporary folder]
    #[arg(long, value_name = "DIR", help_heading = "Memory")]
    scratch: Option<PathBuf>,

    #[command(flatten)]
    reading: MemoryArgs,
}

/// `--method`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    /// A kept document, and those that are dropped because of it
    KeepFirst,
    /// Documents that chains of pairs connect
    Components,
}

#[derive(Serialize)]
struct Record {
    r#type: &'static str,
    first: u64,
    radius: u32,
    ids: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<Vec<String>>,
}

#[derive(Serialize)]
struct Summary<'a> {
    clusters: u64,
    duplicates: u64,
    chains: u64,
    /// The number of clusters of 2^i to 2^(i+1) - 1 documents at position i.
    sizes: &'a [u64],
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        if self.keep.is_some() && context.json {
            bail!("--keep prints a list of documents: leave out --json");
        }
        let description = fpdb::Description::read(&self.path)?;
        if self.keep == Some(Keep::Newest) {
            database::need_documents(&description, "clusters --keep newest")?;
        }
        by_width!(description.bits, |options| self.search(options, &description, context))?;
        Ok(Exit::Done)
    }

    fn search<F: Fingerprint>(
        &self,
        options: Options<F>,
        description: &Description,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let bar = progress::of_operation(context);
        let options = options.index_memory(0).on_progress(progress::on(&bar));
        let options = self.reading.apply(options);
        let snapshot = options.open_read_only(&self.path)?.snapshot();
        let within = self.distance.map_or(Within::Rule, Within::Distance);
        let distance = self.distance.unwrap_or(description.max_distance);
        let mut clusters = snapshot.clusters(within).method(match self.method {
            Method::KeepFirst => ClusterMethod::KeepFirst,
            Method::Components => ClusterMethod::Components,
        });
        if let Some(bytes) = self.memory {
            clusters = clusters.memory(bytes as u64);
        }
        if let Some(folder) = &self.scratch {
            clusters = clusters.scratch_folder(folder);
        }
        let names = (description.ids == Ids::Names).then_some(&snapshot);
        let search =
            |visit: &mut dyn FnMut(&Cluster<'_, F>) -> Result<()>| for_each(&clusters, &bar, visit);
        let report = match self.keep {
            Some(which) => {
                let mut dropped = HashSet::new();
                let report = search(&mut |cluster| {
                    let kept = which.of(cluster, &snapshot)?;
                    dropped.extend(cluster.members.iter().copied().filter(|entry| *entry != kept));
                    Ok(())
                })?;
                print_others(&snapshot, &dropped, names, context)?;
                report
            }
            None => {
                let (out, json) = (&mut *context.out, context.json);
                search(&mut |cluster| print(cluster, names, json, out))?
            }
        };
        let ClusterReport { clusters, duplicates, chains, .. } = report;
        if context.json {
            let sizes = &report.sizes;
            let summary = Summary { clusters, duplicates, chains, sizes };
            context.summary("fpdb.clusters/1", &summary)?;
        }
        let unit = unit(F::BITS);
        context.say(format!(
            "{clusters} clusters with {duplicates} duplicates; {chains} have a member farther than \
             {distance} {unit} from the first"
        ));
        Ok(())
    }
}

/// Visits all clusters, until `visit` fails.
fn for_each<F: Fingerprint>(
    clusters: &Clusters<'_, F>,
    bar: &ProgressBar,
    visit: &mut dyn FnMut(&Cluster<'_, F>) -> Result<()>,
) -> Result<ClusterReport> {
    let mut result = Ok(());
    let report = clusters.visit(|cluster| {
        bar.finish_and_clear();
        result = visit(&cluster);
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    bar.finish_and_clear();
    result?;
    Ok(report?)
}

/// Prints a cluster.
fn print<F: Fingerprint>(
    cluster: &Cluster<'_, F>,
    names: Option<&Snapshot<F>>,
    json: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let (first, radius) = (cluster.first.id, cluster.radius);
    let ids: Vec<DocId> = cluster.members.iter().map(|entry| entry.id).collect();
    if !json {
        return Ok(writeln!(out, "{}  {}", ids.len(), shown(first, names)?)?);
    }
    let names = names.map(|snapshot| snapshot.names(&ids)).transpose()?;
    let names = names.map(|names| names.into_iter().map(Option::unwrap_or_default).collect());
    let (first, ids) = (first.0, ids.iter().map(|id| id.0).collect());
    Ok(json_line(out, &Record { r#type: "cluster", first, radius, ids, names })?)
}

/// Prints all documents but the dropped ones.
fn print_others<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    dropped: &HashSet<Entry<F>>,
    names: Option<&Snapshot<F>>,
    context: &mut Context<'_>,
) -> Result<()> {
    for entry in snapshot.iter() {
        let entry = entry?;
        if !dropped.contains(&entry) {
            writeln!(context.out, "{}", shown(entry.id, names)?)?;
        }
    }
    Ok(())
}

/// Returns the name of a document, or its id in a database without names.
fn shown<F: Fingerprint>(id: DocId, names: Option<&Snapshot<F>>) -> Result<String> {
    let name = names.map(|snapshot| snapshot.name(id)).transpose()?.flatten();
    Ok(name.map_or_else(|| id.to_string(), |name| printable(&name)))
}
