//! `fingerprint`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::{Fingerprint, Sketch};
use serde::Serialize;

use crate::args::choice::choice;
use crate::args::database;
use crate::args::recipe;
use crate::args::suggested;
use crate::input::{self, Document, DocumentArgs, DocumentFormat, Intake};
use crate::output::failure::Exit;
use crate::output::progress;
use crate::output::{Context, json_line, printable};

/// Documents per batch. The fingerprints of a batch are printed together.
const BATCH: usize = 256;
/// Bytes of documents that fill a batch, whatever their number.
const BATCH_BYTES: usize = 8 << 20;

const EXAMPLE: &str = "\
Example:
  fpdb-tool fingerprint --recipe pairs/1 pages.ndjson";

/// Prints the fingerprints of documents
///
/// Prints one line per document, in the order read: the fingerprint, two spaces and the id. If a
/// document has too few features for a fingerprint, `-` is printed instead. Control characters in
/// ids are escaped.
///
/// With --json, prints one record per document, {"type":"fingerprint","i":0,"id":"...",
/// "fingerprint":"0x...","features":123}, and a summary record last. If there is no fingerprint, it
/// is null and the record has a "reason".
///
/// No database is read or written. Damage in an archive is reported and does not stop the run, but
/// the exit code is 2 unless --skip-bad is given.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Files, plain or compressed with gzip or zstd, and folders; `-` is standard input. In a
    /// folder, names that begin with a dot or an underscore are left out
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Format of the files
    #[arg(long, value_parser = choice::<DocumentFormat>(), default_value = "auto")]
    from: DocumentFormat,

    /// Recipe that turns texts into fingerprints
    #[arg(long, value_name = "NAME", default_value = recipe::DEFAULT,
        value_parser = suggested::recipes(), hide_possible_values = true)]
    recipe: String,

    /// Width of the fingerprints in bits, 64 or 128
    #[arg(long, default_value = "64", value_parser = database::parse_bits)]
    bits: u32,

    /// Print sketches, which databases for a similarity (--jaccard) have: 0x and 456 hex digits
    #[arg(long, conflicts_with = "bits")]
    sketch: bool,

    #[command(flatten)]
    documents: DocumentArgs,
}

/// A document's fingerprint.
struct Fingerprinted {
    id: String,
    fingerprint: Option<String>,
    features: usize,
}

#[derive(Serialize)]
struct Record<'a> {
    r#type: &'static str,
    i: u64,
    id: &'a str,
    fingerprint: Option<&'a str>,
    features: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Summary<'a> {
    recipe: &'a str,
    bits: u32,
    documents: u64,
    /// Documents without a fingerprint.
    too_short: u64,
    /// Lines, rows, files and records that should be documents but are not.
    bad: u64,
    /// Records of archives that hold no page.
    ignored: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        match self.bits {
            _ if self.sketch => self.print_all::<Sketch>(context),
            128 => self.print_all::<u128>(context),
            _ => self.print_all::<u64>(context),
        }
    }

    fn print_all<F: Fingerprint>(&self, context: &mut Context<'_>) -> Result<Exit> {
        let recipe = recipe::named::<F>(&self.recipe)?;
        input::check_all(&self.files)?;
        let bar = progress::over_files(context, &self.files);
        let of = recipe.clone();
        let fingerprint = move |Document { id, text, .. }| {
            let found = of.fingerprint(&text);
            let fingerprint = found.fingerprint.map(F::to_hex);
            Fingerprinted { id, fingerprint, features: found.features }
        };
        let mut documents =
            self.documents.start(&self.files, self.from, None, &bar, fingerprint)?;
        let mut summary = Summary {
            recipe: recipe.name(),
            bits: F::BITS,
            documents: 0,
            too_short: 0,
            bad: 0,
            ignored: 0,
        };
        let done = print_documents(&mut documents, recipe.min_features(), &mut summary, context);
        bar.finish_and_clear();
        done?;
        let counts = &documents.counts;
        (summary.bad, summary.ignored) = (counts.bad + counts.broken, counts.ignored());
        counts.report_ignored(context);
        if context.json {
            context.summary("fpdb.fingerprint/1", &summary)?;
        } else if summary.too_short > 0 {
            context.say(format_args!(
                "{} of {} documents have no fingerprint: {}",
                summary.too_short,
                summary.documents,
                reason(recipe.min_features())
            ));
        }
        documents.verdict()?;
        Ok(Exit::Done)
    }
}

fn reason(min_features: usize) -> String {
    format!("fewer than the {min_features} features that the recipe needs")
}

/// Prints the fingerprints as the documents arrive, including those before an error.
fn print_documents(
    documents: &mut Intake<Fingerprinted>,
    min_features: usize,
    summary: &mut Summary<'_>,
    context: &mut Context<'_>,
) -> Result<()> {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        batch.clear();
        let more = documents.fill(&mut batch, BATCH, BATCH_BYTES, context);
        for item in &batch {
            print(&item.value, min_features, summary, context)?;
        }
        context.out.flush()?;
        if !more? {
            return Ok(());
        }
    }
}

fn print(
    document: &Fingerprinted,
    min_features: usize,
    summary: &mut Summary<'_>,
    context: &mut Context<'_>,
) -> Result<()> {
    let i = summary.documents;
    summary.documents += 1;
    summary.too_short += u64::from(document.fingerprint.is_none());
    let fingerprint = document.fingerprint.as_deref();
    if context.json {
        let record = Record {
            r#type: "fingerprint",
            i,
            id: &document.id,
            fingerprint,
            features: document.features,
            reason: fingerprint.is_none().then(|| reason(min_features)),
        };
        json_line(context.out, &record)?;
        return Ok(());
    }
    let width = 2 + summary.bits as usize / 4;
    let id = printable(&document.id);
    writeln!(context.out, "{:width$}  {id}", fingerprint.unwrap_or("-"))?;
    Ok(())
}
