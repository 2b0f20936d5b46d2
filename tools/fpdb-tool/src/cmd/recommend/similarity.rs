//! Databases of sketches, for a similarity.

use anyhow::Result;
use fpdb::layout::Prediction;
use fpdb::{Description, Jaccard, MatchRule, Options};
use serde::Serialize;

use crate::args::database;
use crate::output::failure;
use crate::output::{self, Context, iec};

/// `fpdb.recommend-similarity/1`
#[derive(Serialize)]
struct Report {
    documents: u64,
    jaccard: f64,
    recall: f64,
    bands: u32,
    /// Minima of each band.
    minima: u32,
    /// The number of minima beyond which documents never match.
    distance: u32,
    /// How much less similar two documents may seem by their parities, in hundredths of an error.
    margin: u16,
    /// The distance up to which all pairs share a band.
    exact_distance: u32,
    similarities: Vec<Row>,
    /// How many unrelated documents a query reads.
    unrelated_read: f64,
    /// How many of them match.
    false_matches: f64,
    disk_bytes: u64,
    /// Bytes of directories, which should stay in memory.
    memory_bytes: u64,
    /// The command that creates the database.
    create: String,
}

/// What happens to documents of a similarity to a query.
#[derive(Serialize)]
struct Row {
    similarity: f64,
    /// The share that matches, of documents with each number of features in `FEATURES`.
    found: [f64; FEATURES.len()],
    /// The share that has a band of the query.
    read: f64,
}

/// The similarities that are listed.
const SIMILARITIES: [f64; 14] =
    [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];

/// The numbers of features for which shares are listed. The similarity of large documents is
/// estimated less exactly.
const FEATURES: [u32; 4] = [100, 500, 2_000, 10_000];

/// Unrelated documents that a query can read without harm.
const MOST_READ: f64 = 10_000.0;

/// Shows what a search for this similarity costs among so many documents.
pub(super) fn run(jaccard: Jaccard, documents: u64, context: &mut Context<'_>) -> Result<()> {
    let options = Options::sketches().similar(jaccard).expected_entries(documents);
    let db = options.background(false).in_memory().map_err(|e| failure::as_usage(&e))?;
    let report = Report::new(jaccard, db.description(), documents);
    let rule = &db.description().rule;
    if context.json {
        Ok(context.report("fpdb.recommend-similarity/1", &report)?)
    } else {
        report.print(rule, context)
    }
}

impl Report {
    fn new(jaccard: Jaccard, database: &Description, documents: u64) -> Self {
        let rule = &database.rule;
        let Prediction { disk_bytes, memory_bytes, .. } = database.predict(documents);
        let (similarity, recall) = (jaccard.similarity(), jaccard.expected_recall());
        let (bands, minima) = rule.bands().unwrap_or_default();
        let row = |similarity| Row {
            similarity,
            found: FEATURES.map(|features| rule.found_at(similarity, features)),
            read: shares_band(similarity, bands, minima),
        };
        Self {
            documents,
            jaccard: similarity,
            recall,
            bands,
            minima,
            distance: rule.distance(),
            margin: rule.margin().unwrap_or_default(),
            exact_distance: rule.exact_distance(),
            similarities: SIMILARITIES.map(row).into(),
            unrelated_read: documents as f64 * shares_band(0.0, bands, minima),
            false_matches: rule.false_matches(documents),
            disk_bytes,
            memory_bytes,
            create: format!(
                "fpdb-tool create DB --jaccard {similarity} --recall {recall} --expected {documents}"
            ),
        }
    }

    fn print(&self, rule: &MatchRule, context: &mut Context<'_>) -> Result<()> {
        let line = |Row { similarity, found, read }: &Row| {
            let [a, b, c, d] = found.map(|share| format!("{share:.4}"));
            [format!("{similarity:.2}"), a, b, c, d, format!("{read:.4}")]
        };
        let lines: Vec<_> = self.similarities.iter().map(line).collect();
        let [a, b, c, d] = FEATURES.map(|features| format!("of {features}"));
        context.say("the share found of documents with 100, 500, 2,000 and 10,000 features each");
        output::table(context.out, ["similarity", &a, &b, &c, &d, "read"], &lines)?;
        writeln!(context.out)?;
        let read = self.unrelated_read;
        let rows = [
            ("bands", database::bands(rule).unwrap_or_default()),
            ("all share a band", format!("up to distance {}", self.exact_distance)),
            ("unrelated documents read", format!("{read:.1} per query")),
            ("false matches", format!("{:.0e} per query", self.false_matches)),
            ("disk", iec(self.disk_bytes)),
            ("memory", iec(self.memory_bytes)),
        ];
        output::rows(context.out, &rows)?;
        if read > MOST_READ {
            context.say(
                "bands are no way to find this similarity among so many documents: too many \
                 unrelated ones share a band",
            );
        }
        context.say(format_args!("to create the database: {}", self.create));
        Ok(())
    }
}

/// Returns the probability that two documents of this similarity share a band. The six bits of
/// minima of different features agree with a probability of 1/64.
fn shares_band(similarity: f64, bands: u32, minima: u32) -> f64 {
    let agrees = similarity + (1.0 - similarity) / 64.0;
    let of_band = agrees.powf(minima.into());
    // As 1 - (1 - of_band)^bands, without the loss of digits.
    -(f64::from(bands) * (-of_band).ln_1p()).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpdb::Sketch;

    /// Without the header, the checksums and the footer of each file.
    #[test]
    fn sizes_are_near_those_of_a_database() {
        let (documents, folder) = (20_000, tempfile::tempdir().unwrap());
        let options = Options::sketches().background(false);
        let db = options.create(folder.path().join("db")).unwrap();
        let mut random = fastrand::Rng::with_seed(1);
        let mut planes = || std::array::from_fn(|_| random.u128(..));
        let sketches = std::iter::repeat_with(|| Sketch::of_parts(planes(), 0, [0; 16]));
        let all: Vec<(Sketch, fpdb::Key<'_>)> =
            sketches.take(documents).zip((0..).map(|id| fpdb::Key::Id(fpdb::DocId(id)))).collect();
        db.write(&all).run().unwrap();
        let _ = db.compact().unwrap();
        let stats = db.stats();
        let report = Report::new(Jaccard::at_least(0.8), db.description(), documents as u64);
        let near = |predicted: u64, measured: u64| {
            let ratio = predicted as f64 / measured as f64;
            assert!((0.95..1.05).contains(&ratio), "{predicted} and {measured}");
        };
        near(report.disk_bytes, stats.bytes_total);
        near(report.memory_bytes, stats.segments[0].tables.iter().map(|t| t.bytes_index).sum());
    }
}
