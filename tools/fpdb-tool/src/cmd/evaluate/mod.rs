//! `evaluate`

mod input;
mod plot;
mod report;
mod score;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use fpdb::text::Recipe;

use crate::database;
use crate::failure::Exit;
use crate::input::{DocumentArgs, DocumentFormat};
use crate::output::Context;
use crate::progress;
use crate::recipe::{self, Width};
use crate::suggested;
use input::{Bounds, Documents, Pair};
use report::{RecipeReport, Report};

/// The recipe to evaluate unless the command line names others.
const DEFAULT_RECIPE: &str = "default";

const EXAMPLE: &str = "\
Example:
  fpdb-tool evaluate pages.ndjson --pairs labels.tsv --recipe default";

/// Measures what recipes find and miss on labelled pairs, for each distance
///
/// Documents are read in the same way as by `dedup`. The lists of pairs are tab-separated and have
/// a header. They need the columns id_a and id_b (or base_id and variant_id), and either jaccard, a
/// similarity from 0 to 1, or label, which is duplicate or 1, different or 0. If there is a column
/// kind, each kind is also shown separately.
///
/// Recall is the share of duplicates within k bits, precision the share of duplicates among the
/// labelled pairs within k bits, and F1 the harmonic mean of both. A pair with a document that has
/// too few features for a fingerprint is within no distance: if it is a duplicate, it is missed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Files of documents, plain or compressed, or folders of them; `-` is standard input
    #[arg(value_name = "DOCS", required = true)]
    files: Vec<PathBuf>,

    /// Format of the files
    #[arg(long, value_enum, default_value = "auto")]
    from: DocumentFormat,

    /// A file of labelled pairs; may be given several times
    #[arg(long, value_name = "FILE", required = true)]
    pairs: Vec<PathBuf>,

    /// A recipe to evaluate; may be given several times [default: default]
    #[arg(long = "recipe", value_name = "NAME", value_parser = suggested::recipes(),
        hide_possible_values = true)]
    recipes: Vec<String>,

    /// Width of the fingerprints, 64 or 128
    #[arg(long, value_parser = database::parse_bits, default_value = "64")]
    bits: u32,

    /// The largest distance in bits to show
    #[arg(short = 'k', long = "distance", value_name = "BITS", default_value_t = 16,
        value_parser = clap::value_parser!(u32).range(0..=128))]
    distance: u32,

    /// Lowest Jaccard similarity of a duplicate
    #[arg(long, value_name = "JACCARD", default_value_t = 0.8)]
    duplicate: f64,

    /// Pairs below this Jaccard similarity are different; those from here to --duplicate are not
    /// counted
    #[arg(long, value_name = "JACCARD", default_value_t = 0.5)]
    different: f64,

    /// Treat pairs that are not listed as different, because the lists are complete. Every pair of
    /// documents is then measured, which takes seconds for 50000 documents
    #[arg(long)]
    complete: bool,

    /// Write a chart of the curves to this file as SVG, replacing it
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    documents: DocumentArgs,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let in_order = 0.0 < self.different && self.different <= self.duplicate;
        ensure!(in_order && self.duplicate <= 1.0, "expected 0 < --different <= --duplicate <= 1");
        if self.svg.as_ref().is_some_and(|svg| svg.as_os_str() == "-") {
            bail!("standard output is for the results: give --svg a file");
        }
        let report = match self.bits {
            128 => self.evaluate::<u128>(context)?,
            _ => self.evaluate::<u64>(context)?,
        };
        if let Some(svg) = &self.svg {
            let written =
                fs::write(svg, plot::chart(&report).render_with(&context.provenance.sentence()));
            written.with_context(|| format!("cannot write {}", svg.display()))?;
        }
        if context.json {
            context.report(&report)?;
        } else {
            report.print(context.out)?;
        }
        if report.has_few_different_pairs() {
            context.say(
                "there are fewer pairs known to be different than duplicates, so precision, F1 and \
                 the best k mean little: list more, or use --complete if the list is complete",
            );
        }
        Ok(Exit::Done)
    }

    fn evaluate<F: Width>(&self, context: &mut Context<'_>) -> Result<Report> {
        let named = self.recipes.iter().map(String::as_str);
        let default = self.recipes.is_empty().then_some(DEFAULT_RECIPE);
        // Names are checked before the documents are read, which may take long.
        let recipes = named.chain(default).map(recipe::named);
        let recipes: Vec<Recipe<F>> = recipes.collect::<Result<_>>()?;

        let bar = progress::over_files(context, &self.files);
        let intake =
            self.documents.start(&self.files, self.from, None, &bar, |document| document)?;
        let documents = Documents::read(intake, context)?;
        bar.finish_and_clear();
        let bounds = Bounds { duplicate: self.duplicate, different: self.different };
        let pairs = input::pairs(&self.pairs, &documents, bounds)?;
        let recipes = recipes.iter().map(|recipe| {
            let bar = progress::working(context, "measuring pairs");
            let report = self.recipe(recipe, &documents, &pairs);
            bar.finish_and_clear();
            report
        });
        Ok(Report {
            schema: "fpdb.evaluate/1",
            bits: F::BITS,
            documents: documents.texts.len() as u64,
            listed_pairs: pairs.len() as u64,
            duplicate_from: self.duplicate,
            different_below: self.different,
            strong_from: input::STRONG,
            complete: self.complete,
            recipes: recipes.collect(),
        })
    }

    fn recipe<F: Width>(
        &self,
        recipe: &Recipe<F>,
        documents: &Documents,
        pairs: &[Pair],
    ) -> RecipeReport {
        let outcome = score::measure(recipe, &documents.texts, pairs, self.complete);
        RecipeReport::new(recipe.name(), &outcome, self.distance.min(F::BITS))
    }
}
