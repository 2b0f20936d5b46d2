//! The results of an evaluation, as JSON and as tables.

use std::io::{self, Write};

use serde::Serialize;

use super::score::{self, Group, Score, Scores, Summary};
use crate::output::{printable, table};

/// The distance in the paper, at which kinds are compared.
const PAPER_K: usize = 3;

/// `fpdb.evaluate/1`. Distances are in bits. Shares are from 0 to 1, or null for a share of
/// nothing.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) schema: &'static str,
    pub(super) bits: u32,
    pub(super) documents: u64,
    pub(super) listed_pairs: u64,
    pub(super) duplicate_from: f64,
    pub(super) different_below: f64,
    pub(super) strong_from: f64,
    /// Whether pairs that are not listed count as different.
    pub(super) complete: bool,
    pub(super) recipes: Vec<RecipeReport>,
}

#[derive(Serialize)]
pub(super) struct RecipeReport {
    pub(super) recipe: String,
    /// The number of documents with too few features for a fingerprint.
    without_fingerprint: u64,
    /// The distance with the best F1; null if there are no duplicates.
    pub(super) best_k: Option<u32>,
    #[serde(flatten)]
    pub(super) all: GroupReport,
    /// Only listed pairs, even if the list is complete.
    kinds: Vec<KindReport>,
}

#[derive(Serialize)]
struct KindReport {
    kind: String,
    #[serde(flatten)]
    group: GroupReport,
}

#[derive(Serialize)]
pub(super) struct GroupReport {
    pub(super) scores: Vec<Score>,
    distances: DistancesReport,
}

#[derive(Serialize)]
struct DistancesReport {
    duplicate: Summary,
    between: Summary,
    different: Summary,
}

impl GroupReport {
    fn new(group: &Group, max: u32) -> Self {
        Self {
            scores: (0..=max).map(|k| group.score(k)).collect(),
            distances: DistancesReport {
                duplicate: group.duplicate.summary(),
                between: group.between.summary(),
                different: group.different.summary(),
            },
        }
    }

    fn best(&self) -> Option<&Score> {
        score::best(&self.scores).filter(|_| self.distances.duplicate.pairs > 0)
    }
}

impl RecipeReport {
    /// Returns the results for the distances from 0 to `max`.
    pub(super) fn new(recipe: &str, outcome: &Scores, max: u32) -> Self {
        let all = GroupReport::new(&outcome.all, max);
        let kinds = outcome.kinds.iter();
        Self {
            recipe: recipe.to_owned(),
            without_fingerprint: outcome.without_fingerprint,
            best_k: all.best().map(|score| score.k),
            kinds: kinds
                .map(|(kind, group)| KindReport {
                    kind: kind.clone(),
                    group: GroupReport::new(group, max),
                })
                .collect(),
            all,
        }
    }
}

impl Report {
    /// Whether there are too few pairs known to be different to measure precision.
    pub(super) fn has_few_different_pairs(&self) -> bool {
        let few = |all: &GroupReport| all.distances.different.pairs < all.distances.duplicate.pairs;
        self.recipes.iter().any(|recipe| few(&recipe.all))
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { documents, listed_pairs, duplicate_from, different_below, .. } = self;
        writeln!(
            out,
            "{documents} documents, {listed_pairs} pairs listed; J >= {duplicate_from} is a duplicate, J < {different_below} is not"
        )?;
        writeln!(
            out,
            "pairs that are not listed are {}",
            if self.complete { "different" } else { "not counted" }
        )?;
        for recipe in &self.recipes {
            self.print_scores(recipe, out)?;
            print_groups(recipe, out)?;
        }
        if self.recipes.len() > 1 {
            self.print_comparison(out)?;
        }
        Ok(())
    }

    fn print_scores(&self, recipe: &RecipeReport, out: &mut dyn Write) -> io::Result<()> {
        let without = recipe.without_fingerprint;
        let title = format!("{}, {} bits", printable(&recipe.recipe), self.bits);
        writeln!(out, "\n{title}; {without} documents have no fingerprint")?;
        let lines: Vec<_> =
            recipe.all.scores.iter().map(|score| self.line(recipe, score)).collect();
        let strong = format!("recall J>={}", self.strong_from);
        let header = ["k", "precision", "recall", "F1", &strong, "found", "missed", "wrong", ""];
        table(out, header, &lines)
    }

    fn line(&self, recipe: &RecipeReport, score: &Score) -> [String; 9] {
        let mark = if recipe.best_k == Some(score.k) { "best F1" } else { "" };
        [
            score.k.to_string(),
            share(score.precision),
            share(score.recall),
            share(score.f1),
            share(score.recall_strong),
            score.true_positives.to_string(),
            score.false_negatives.to_string(),
            score.false_positives.to_string(),
            mark.to_owned(),
        ]
    }

    /// Prints the best score of each recipe.
    fn print_comparison(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\neach recipe at its best k")?;
        let lines = self.recipes.iter().filter_map(|recipe| {
            let best = recipe.all.best()?;
            Some([
                recipe.recipe.clone(),
                best.k.to_string(),
                share(best.precision),
                share(best.recall),
                share(best.f1),
                share(best.recall_strong),
                recipe.without_fingerprint.to_string(),
            ])
        });
        let strong = format!("recall J>={}", self.strong_from);
        let header = ["recipe", "k", "precision", "recall", "F1", &strong, "without fingerprint"];
        table(out, header, &lines.collect::<Vec<_>>())
    }
}

/// Prints the distances of the pairs, of all and of each kind, and the best k of each kind.
fn print_groups(recipe: &RecipeReport, out: &mut dyn Write) -> io::Result<()> {
    let all = std::iter::once(("all".to_owned(), &recipe.all));
    let kinds = recipe.kinds.iter().map(|kind| (printable(&kind.kind), &kind.group));
    let lines: Vec<_> =
        all.chain(kinds).flat_map(|(kind, group)| group_lines(&kind, group)).collect();
    writeln!(out)?;
    let header = [
        "kind",
        "pairs",
        "number",
        "mean",
        "p10",
        "p50",
        "p90",
        "p99",
        "max",
        "recall k=3",
        "best k",
        "F1",
    ];
    table(out, header, &lines)
}

fn group_lines(kind: &str, group: &GroupReport) -> Vec<[String; 12]> {
    let DistancesReport { duplicate, between, different } = &group.distances;
    let labels = [("duplicate", duplicate), ("between", between), ("different", different)];
    let shown = labels.into_iter().filter(|(_, summary)| summary.pairs > 0);
    let of_duplicates = |label, score: Option<&Score>, cell: fn(&Score) -> String| match score {
        Some(score) if label == "duplicate" => cell(score),
        _ => String::new(),
    };
    let (paper, best) = (group.scores.get(PAPER_K), group.best());
    shown
        .map(|(label, summary)| {
            let bits = |value: Option<u32>| value.map_or("-".to_owned(), |bits| bits.to_string());
            [
                kind.to_owned(),
                label.to_owned(),
                summary.pairs.to_string(),
                summary.mean.map_or("-".to_owned(), |mean| format!("{mean:.1}")),
                bits(summary.p10),
                bits(summary.p50),
                bits(summary.p90),
                bits(summary.p99),
                bits(summary.max),
                of_duplicates(label, paper, |score| share(score.recall)),
                of_duplicates(label, best, |score| score.k.to_string()),
                of_duplicates(label, best, |score| share(score.f1)),
            ]
        })
        .collect()
}

/// Formats a share, rounded down so that only a share of all is 1.
fn share(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{:.4}", (value * 1e4).floor() / 1e4))
}
