//! `fingerprint`

mod explain;

use std::path::PathBuf;

use anyhow::Result;
use fpdb::text::Recipe;
use serde::Serialize;

use crate::database;
use crate::failure::Outcome;
use crate::input::{self, Document, DocumentArgs, From, Intake};
use crate::output::{Context, json_line, printable};
use crate::progress;
use crate::recipe::{self, Width};
use explain::Explained;

/// Documents whose fingerprints are printed together.
const BATCH: usize = 256;
/// Bytes of documents from which on they are printed, whatever their number.
const BATCH_BYTES: usize = 8 << 20;

/// Prints the fingerprints of documents
///
/// A line a document, in the order read: the fingerprint, two blanks and the id. A document with
/// too few features to have a fingerprint has a `-` in its place. Control characters in ids are
/// escaped.
///
/// With --json, a record a document, {"type":"fingerprint","i":0,"id":"...","fingerprint":"0x...",
/// "features":123}, the fingerprint null and a "reason" beside it where there is none; and a
/// summary record last.
///
/// No database is read or written. Damage in an archive does not stop the run, but it is told, and
/// the exit code is 2 at the end, unless --skip-bad is given.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files, plain or compressed with gzip or zstd, and folders, of which all files are read but
    /// hidden ones; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// What the files hold
    #[arg(long, value_enum, default_value = "auto")]
    from: From,

    /// How to make fingerprints of texts
    #[arg(long, value_name = "NAME", default_value = recipe::DEFAULT)]
    recipe: String,

    /// Width of the fingerprints, 64 or 128
    #[arg(long, default_value = "64", value_parser = database::parse_bits)]
    bits: u32,

    /// Show how each fingerprint comes about: the features with their weights and hashes, and for
    /// each bit the sum of weights that settles it and how near it is to being the other value
    #[arg(long)]
    explain: bool,

    /// With --explain, at most so many features a document, the weightiest
    #[arg(long, value_name = "N", requires = "explain")]
    features: Option<usize>,

    #[command(flatten)]
    documents: DocumentArgs,
}

/// A document's fingerprint, and what it comes from.
struct Made {
    id: String,
    fingerprint: Option<String>,
    features: usize,
    explained: Option<Explained>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<&'a Explained>,
}

#[derive(Serialize)]
struct Summary<'a> {
    r#type: &'static str,
    recipe: &'a str,
    bits: u32,
    documents: u64,
    /// Of these, the ones without a fingerprint.
    too_short: u64,
    /// What should be documents and are none.
    bad: u64,
    /// Records of archives that are not about a page.
    ignored: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        match self.bits {
            128 => self.print_all::<u128>(context),
            _ => self.print_all::<u64>(context),
        }
    }

    fn print_all<F: Width>(&self, context: &mut Context<'_>) -> Result<Outcome> {
        let recipe = recipe::named::<F>(&self.recipe)?;
        input::check_all(&self.files)?;
        let bar = progress::over_files(context, &self.files);
        let (explain, limit, maker) = (self.explain, self.features, recipe.clone());
        let make = move |document| make(document, &maker, explain, limit);
        let mut documents = self.documents.start(&self.files, self.from, &bar, make)?;
        let mut summary = Summary {
            r#type: "summary",
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
        counts.tell(context);
        if context.json {
            json_line(context.out, &summary)?;
        } else if summary.too_short > 0 {
            context.say(format_args!(
                "{} of {} documents have no fingerprint: {}",
                summary.too_short,
                summary.documents,
                reason(recipe.min_features())
            ));
        }
        documents.verdict()?;
        Ok(Outcome::Done)
    }
}

fn make<F: Width>(
    document: Document,
    recipe: &Recipe<F>,
    explain: bool,
    limit: Option<usize>,
) -> Made {
    let Document { id, text, .. } = document;
    if !explain {
        let made = recipe.fingerprint(&text);
        let fingerprint = made.fingerprint.map(F::to_hex);
        return Made { id, fingerprint, features: made.features, explained: None };
    }
    let explanation = recipe.explain(&text);
    let fingerprint = explanation.fingerprint.map(F::to_hex);
    let features = explanation.features.len();
    let explained = Some(Explained::new(explanation, limit.unwrap_or(features)));
    Made { id, fingerprint, features, explained }
}

fn reason(min_features: usize) -> String {
    format!("fewer than the {min_features} features that the recipe needs")
}

/// Prints the fingerprints as the documents come, also those before an error.
fn print_documents(
    documents: &mut Intake<Made>,
    min_features: usize,
    summary: &mut Summary<'_>,
    context: &mut Context<'_>,
) -> Result<()> {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        batch.clear();
        let more = documents.fill(&mut batch, BATCH, BATCH_BYTES, context);
        for item in &batch {
            print(&item.made, min_features, summary, context)?;
        }
        context.out.flush()?;
        if !more? {
            return Ok(());
        }
    }
}

fn print(
    made: &Made,
    min_features: usize,
    summary: &mut Summary<'_>,
    context: &mut Context<'_>,
) -> Result<()> {
    let i = summary.documents;
    summary.documents += 1;
    summary.too_short += u64::from(made.fingerprint.is_none());
    let fingerprint = made.fingerprint.as_deref();
    if context.json {
        let record = Record {
            r#type: "fingerprint",
            i,
            id: &made.id,
            fingerprint,
            features: made.features,
            reason: fingerprint.is_none().then(|| reason(min_features)),
            explanation: made.explained.as_ref(),
        };
        json_line(context.out, &record)?;
        return Ok(());
    }
    let width = 2 + summary.bits as usize / 4;
    let id = printable(&made.id);
    writeln!(context.out, "{:width$}  {id}", fingerprint.unwrap_or("-"))?;
    match &made.explained {
        Some(explained) => Ok(explained.print(context.out)?),
        None => Ok(()),
    }
}
