//! The result of a health check, as JSON and as text.

use std::io::{self, Write};

use anyhow::Result;
use fpdb::{DocId, Fingerprint};
use serde::Serialize;

use super::bits::{BitPair, PairStatistics};
use super::survey::{Hot, PREFIX_BITS, Surveyed};
use super::verdict::{self, Level, Verdict};
use crate::output::{self, printable, table};

/// The deviation, in standard deviations of a fair coin, from which chance does not explain a bit.
const Z: f64 = 6.0;
/// The number of pairs of bits in the report.
const PAIRS: usize = 10;
/// The number of hot fingerprints and prefixes in the text.
const SHOWN: usize = 5;

/// The origin of the fingerprints.
pub(super) struct Source {
    /// The number of entries there, all or some of which are surveyed.
    pub(super) read: u64,
    pub(super) recipe: Option<String>,
}

/// `fpdb.health/1`. Bit 0 is the least significant.
#[derive(Serialize)]
pub(super) struct Report {
    schema: &'static str,
    bits: u32,
    recipe: Option<String>,
    /// The number of entries there are.
    read: u64,
    /// The number of entries surveyed: all or a sample.
    entries: u64,
    /// The number of distinct fingerprints among them.
    fingerprints: u64,
    /// The share of the fingerprints in which each bit is set.
    ones: Vec<f64>,
    /// How far each of these shares is from a half, in standard deviations of fair coins.
    z_scores: Vec<f64>,
    dead_bits: Vec<usize>,
    /// Bits that chance does not explain: at least `z_threshold` from a half.
    unlikely_bits: Vec<usize>,
    z_threshold: f64,
    /// The share of the fingerprints with equal halves.
    equal_halves: f64,
    /// The share of the fingerprints whose halves are opposites.
    opposite_halves: f64,
    /// The strongest, from a sample of distinct fingerprints of this size.
    correlations: Vec<Correlation>,
    correlation_sample: usize,
    /// An upper bound of the entropy of a fingerprint, from pairs of bits.
    entropy_at_most: Option<f64>,
    /// The number of fair coins whose distances vary as much.
    effective_bits: Option<f64>,
    hot_fingerprints: Vec<HotFingerprint>,
    hot_prefixes: Vec<HotPrefix>,
    prefix_skew: Option<f64>,
    verdicts: Vec<Verdict>,
}

#[derive(Serialize)]
struct Correlation {
    a: usize,
    b: usize,
    correlation: f64,
}

#[derive(Serialize)]
struct HotFingerprint {
    fingerprint: String,
    entries: u64,
    /// An entry with this fingerprint.
    id: u64,
    name: Option<String>,
}

#[derive(Serialize)]
struct HotPrefix {
    /// The 16 leading bits in hex.
    prefix: String,
    fingerprints: u64,
    /// The number expected among random fingerprints.
    expected: f64,
}

impl Report {
    pub(super) fn new<F: Fingerprint>(
        source: Source,
        found: &Surveyed<F>,
        name: impl Fn(DocId) -> Result<Option<String>>,
    ) -> Result<Self> {
        let n = found.distinct.max(1) as f64;
        let z_scores: Vec<f64> = found
            .ones
            .iter()
            .map(|&ones| (2.0 * ones as f64 - found.distinct as f64) / n.sqrt())
            .collect();
        let statistics = PairStatistics::of(&found.sample);
        let hot = found.hot_fingerprints.iter().filter(|hot| hot.count > 1).map(|hot| {
            Ok(HotFingerprint {
                fingerprint: hot.value.to_hex(),
                entries: hot.count,
                id: hot.example.0,
                name: name(hot.example)?,
            })
        });
        Ok(Self {
            schema: "fpdb.health/1",
            bits: F::BITS,
            recipe: source.recipe,
            read: source.read,
            entries: found.entries,
            fingerprints: found.distinct,
            ones: found.ones.iter().map(|&ones| ones as f64 / n).collect(),
            dead_bits: verdict::dead(found),
            unlikely_bits: (0..z_scores.len()).filter(|&bit| z_scores[bit].abs() >= Z).collect(),
            z_scores,
            z_threshold: Z,
            equal_halves: found.equal_halves as f64 / n,
            opposite_halves: found.opposite_halves as f64 / n,
            correlations: statistics.as_ref().map(strongest).unwrap_or_default(),
            correlation_sample: found.sample.len(),
            entropy_at_most: statistics.as_ref().map(|statistics| statistics.entropy),
            effective_bits: statistics.as_ref().map(|statistics| statistics.effective_bits),
            hot_fingerprints: hot.collect::<Result<_>>()?,
            hot_prefixes: found.hot_prefixes.iter().map(|hot| HotPrefix::new(hot, n)).collect(),
            prefix_skew: found.prefix_skew,
            verdicts: verdict::judge(found, statistics.as_ref()),
        })
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.level == Level::Fault)
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        output::rows(out, &self.rows())?;
        self.print_bits(out)?;
        self.print_hot(out)?;
        writeln!(out)?;
        for Verdict { level, finding, advice, .. } in &self.verdicts {
            let level = match level {
                Level::Ok => "ok",
                Level::Warning => "warning",
                Level::Fault => "FAULT",
            };
            let advice = if advice.is_empty() { String::new() } else { format!(": {advice}") };
            writeln!(out, "{level:7}  {}", printable(&format!("{finding}{advice}")))?;
        }
        Ok(())
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let bits =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1} bits"));
        let share = |share: f64| format!("{:.1} %", share * 100.0);
        let mut rows = vec![
            ("entries", self.entries.to_string()),
            ("fingerprints", format!("{} of {} bits", self.fingerprints, self.bits)),
            ("recipe", self.recipe.clone().unwrap_or_else(|| "none".to_owned())),
            ("entropy at most", bits(self.entropy_at_most)),
            ("effective bits", bits(self.effective_bits)),
            ("dead bits", bit_list(&self.dead_bits)),
            ("unlikely bits", format!("{} (|z| >= {Z})", self.unlikely_bits.len())),
            ("equal halves", share(self.equal_halves)),
            ("prefix skew", self.prefix_skew.map_or("-".to_owned(), |skew| format!("{skew:.2}"))),
        ];
        if self.entries < self.read {
            rows[0].1 += &format!(", a sample of {}", self.read);
        }
        rows
    }

    /// Prints the most biased bits beside the most correlated pairs.
    fn print_bits(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut biased: Vec<usize> = (0..self.ones.len()).collect();
        biased.sort_by(|&a, &b| self.z_scores[b].abs().total_cmp(&self.z_scores[a].abs()));
        let lines: Vec<_> = biased
            .iter()
            .zip(&self.correlations)
            .take(SHOWN)
            .map(|(&bit, pair)| {
                [
                    bit.to_string(),
                    format!("{:.1} %", self.ones[bit] * 100.0),
                    format!("{} and {}", pair.a, pair.b),
                    format!("{:.3}", pair.correlation),
                ]
            })
            .collect();
        if lines.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        table(out, ["biased bit", "set in", "correlated bits", "correlation"], &lines)
    }

    fn print_hot(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.hot_fingerprints.is_empty() {
            writeln!(out)?;
            let lines = self.hot_fingerprints.iter().take(SHOWN).map(|hot| {
                let example = hot.name.as_deref().map_or(hot.id.to_string(), printable);
                [hot.fingerprint.clone(), hot.entries.to_string(), example]
            });
            table(out, ["hot fingerprint", "entries", "example"], &lines.collect::<Vec<_>>())?;
        }
        if !self.hot_prefixes.is_empty() {
            writeln!(out)?;
            let lines = self.hot_prefixes.iter().take(SHOWN).map(|hot| {
                [hot.prefix.clone(), hot.fingerprints.to_string(), format!("{:.2}", hot.expected)]
            });
            table(out, ["hot prefix", "fingerprints", "expected"], &lines.collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

impl HotPrefix {
    fn new<F: Fingerprint>(hot: &Hot<F>, distinct: f64) -> Self {
        let prefix = hot.value.wrapping_shr(F::BITS - PREFIX_BITS).to_u128();
        Self {
            prefix: format!("0x{prefix:04x}"),
            fingerprints: hot.count,
            expected: distinct / f64::from(1u32 << PREFIX_BITS),
        }
    }
}

/// Returns the pairs of bits with the strongest correlations, positive or negative, in descending
/// order.
fn strongest(statistics: &PairStatistics) -> Vec<Correlation> {
    let mut pairs: Vec<&BitPair> = statistics.pairs.iter().collect();
    pairs.sort_by(|a, b| b.phi.abs().total_cmp(&a.phi.abs()));
    let shown = pairs.into_iter().take(PAIRS);
    shown.map(|pair| Correlation { a: pair.a, b: pair.b, correlation: pair.phi }).collect()
}

fn bit_list(bits: &[usize]) -> String {
    match bits {
        [] => "none".to_owned(),
        bits => bits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
    }
}
