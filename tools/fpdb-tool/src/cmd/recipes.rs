//! `recipes`

use anyhow::Result;
use fpdb::text::{Recipe, Width};
use serde::Serialize;

use crate::output::failure::{self, Exit};
use crate::output::{self, Context};

const EXAMPLE: &str = "\
Example:
  fpdb-tool recipes pairs/1";

/// Lists the recipes of this build, which turn text into fingerprints
///
/// Only fingerprints of the same recipe and the same width can be compared. A document with fewer
/// distinct features than the recipe's minimum has no fingerprint. An alias may stand for another
/// recipe in a later version of this tool, so databases store the recipe's name instead.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Show only this recipe, given by its name or an alias
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// `fpdb.recipes/1`
#[derive(Serialize)]
struct Report {
    recipes: Vec<Line>,
    left_out: Vec<LeftOut>,
}

#[derive(Serialize, PartialEq)]
struct Line {
    name: String,
    /// Widths of the fingerprints in bits.
    widths: Vec<u32>,
    /// Whether it also makes sketches, which databases for a similarity have.
    sketches: bool,
    /// A text with fewer distinct features has no fingerprint. 0 if every text has one.
    min_features: usize,
    purpose: String,
    aliases: Vec<&'static str>,
}

/// A recipe that this build does not contain.
#[derive(Serialize)]
struct LeftOut {
    name: &'static str,
    /// The cargo feature that adds it.
    needs_feature: &'static str,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let (recipes, left_out) = match &self.name {
            Some(name) => (vec![line(name)?], Vec::new()),
            None => (all()?, left_out()),
        };
        let report = Report { recipes, left_out };
        if context.json {
            context.report("fpdb.recipes/1", &report)?;
        } else {
            report.print(context)?;
        }
        Ok(Exit::Done)
    }
}

/// Returns all recipes, those with 64 bits first.
fn all() -> Result<Vec<Line>> {
    let mut names: Vec<&str> = Recipe::names().collect();
    for name in Recipe::names128() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(line).collect()
}

fn left_out() -> Vec<LeftOut> {
    Recipe::left_out().map(|(name, needs_feature)| LeftOut { name, needs_feature }).collect()
}

fn line(name: &str) -> Result<Line> {
    match (Recipe::named(name), Recipe::bits128(name)) {
        (Ok(narrow), Ok(_)) => Ok(Line::new(&narrow, &[64, 128])),
        (Ok(narrow), Err(_)) => Ok(Line::new(&narrow, &[64])),
        (Err(_), Ok(wide)) => Ok(Line::new(&wide, &[128])),
        (Err(error), Err(_)) => Err(failure::as_usage(&error.into())),
    }
}

impl Line {
    fn new<F: Width>(recipe: &Recipe<F>, widths: &[u32]) -> Self {
        let aliases = Recipe::aliases().filter(|(_, name)| *name == recipe.name());
        Self {
            name: recipe.name().to_owned(),
            widths: widths.to_vec(),
            sketches: Recipe::for_sketches(recipe.name()).is_ok(),
            min_features: recipe.min_features(),
            purpose: recipe.purpose().to_owned(),
            aliases: aliases.map(|(alias, _)| alias).collect(),
        }
    }
}

impl Report {
    fn print(&self, context: &mut Context<'_>) -> Result<()> {
        let lines = self.recipes.iter().map(|recipe| {
            let widths: Vec<_> = recipe.widths.iter().map(ToString::to_string).collect();
            [
                recipe.name.clone(),
                widths.join(", "),
                if recipe.sketches { "yes" } else { "no" }.to_owned(),
                recipe.min_features.to_string(),
                recipe.purpose.clone(),
                recipe.aliases.join(", "),
            ]
        });
        let header = ["name", "bits", "sketches", "minimum", "purpose", "aliases"];
        output::table(context.out, header, &lines.collect::<Vec<_>>())?;
        for LeftOut { name, needs_feature } in &self.left_out {
            let listed = self.recipes.iter().any(|recipe| recipe.name == *name);
            let width = if listed { " of 64 bits" } else { "" };
            context.say(format_args!(
                "this build does not contain {name}{width}, which needs the cargo feature \
                 {needs_feature:?}"
            ));
        }
        Ok(())
    }
}
