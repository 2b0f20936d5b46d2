//! The result of a health check, as JSON and as text.

use std::io::{self, Write};

use anyhow::Result;
use fpdb::{DocId, Fingerprint};
use serde::Serialize;

use super::bits::Bits;
use super::survey::Survey;
use crate::output::{self, printable};

/// The least number of distinct fingerprints for a verdict on bits. With fewer, chance would look
/// like a fault.
const FEW: u64 = 256;
/// It is a fault if one bit in this many is constant or a copy.
const LOST_PART: usize = 8;
/// The share and the number of entries from which a fingerprint is hot.
const HOT_SHARE: f64 = 0.01;
const HOT_ENTRIES: u64 = 100;

const REBUILD: &str =
    "make the fingerprints again with a hash of full width, or with a recipe of fpdb";
const REMOVE_COMMON: &str = "remove what the documents have in common, such as a template";
const LOOK_AT_IT: &str = "look at the example: leave out empty, error and login pages";

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
    /// The number of these by which bits are judged.
    sample: usize,
    /// The share of the sample in which each bit is set.
    ones: Vec<f64>,
    constant_bits: Vec<usize>,
    copied_bits: Vec<usize>,
    biased_bits: Vec<usize>,
    /// The fingerprint of most entries.
    hottest: Option<Hottest>,
    verdicts: Vec<Verdict>,
}

#[derive(Serialize)]
struct Hottest {
    fingerprint: String,
    entries: u64,
    /// An entry with this fingerprint.
    id: u64,
    name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Ok,
    /// Answers or speed suffer.
    Warning,
    /// The fingerprints are worth much less than their width.
    Fault,
}

#[derive(Debug, Serialize)]
struct Verdict {
    level: Level,
    /// The name of the check, for programs.
    check: &'static str,
    finding: String,
    /// What to do, if anything.
    advice: &'static str,
}

impl Report {
    /// Makes a report on `read` entries, all or some of which were surveyed. `name` returns the
    /// name of a document.
    pub(super) fn new<F: Fingerprint>(
        read: u64,
        recipe: Option<String>,
        found: &Survey<F>,
        name: impl Fn(DocId) -> Result<Option<String>>,
    ) -> Result<Self> {
        let hottest = found.hottest.map(|hottest| {
            anyhow::Ok(Hottest {
                fingerprint: hottest.fingerprint.to_hex(),
                entries: hottest.entries,
                id: hottest.example.0,
                name: name(hottest.example)?,
            })
        });
        let bits = Bits::of(&found.sample.kept);
        let mut report = Self {
            schema: "fpdb.health/1",
            bits: F::BITS,
            recipe,
            read,
            entries: found.entries,
            fingerprints: found.sample.seen,
            sample: found.sample.kept.len(),
            ones: bits.ones,
            constant_bits: bits.constant,
            copied_bits: bits.copied,
            biased_bits: bits.biased,
            hottest: hottest.transpose()?,
            verdicts: Vec::new(),
        };
        report.judge();
        Ok(report)
    }

    /// Adds all verdicts, or one that says that nothing is wrong.
    fn judge(&mut self) {
        let mut add = |level, check, finding, advice| {
            self.verdicts.push(Verdict { level, check, finding, advice });
        };
        if self.fingerprints < FEW {
            let finding = format!("{} distinct fingerprints are too few", self.fingerprints);
            add(Level::Ok, "bits", format!("{finding} to judge bits"), "");
        } else {
            let lost = self.constant_bits.len() + self.copied_bits.len();
            let is_fault = lost * LOST_PART >= self.bits as usize;
            let level = if is_fault { Level::Fault } else { Level::Warning };
            for (bits, level, check, what, advice) in [
                (&self.constant_bits, level, "constant_bits", "are constant", REBUILD),
                (&self.copied_bits, level, "copied_bits", "are copies of others", REBUILD),
                (&self.biased_bits, Level::Warning, "biased_bits", "are biased", REMOVE_COMMON),
            ] {
                if !bits.is_empty() {
                    let finding = format!("{} of {} bits {what}", bits.len(), self.bits);
                    add(level, check, finding, advice);
                }
            }
        }
        if let Some(Hottest { entries, .. }) = self.hottest {
            let share = entries as f64 / self.entries as f64;
            if entries >= HOT_ENTRIES && share >= HOT_SHARE {
                let finding =
                    format!("{:.1} % of the entries have the same fingerprint", share * 100.0);
                add(Level::Warning, "hot_fingerprint", finding, LOOK_AT_IT);
            }
        }
        if self.verdicts.is_empty() {
            let finding = "nothing wrong found".to_owned();
            self.verdicts.push(Verdict { level: Level::Ok, check: "all", finding, advice: "" });
        }
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.level == Level::Fault)
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let of = match self.read {
            read if read > self.entries => format!("{}, a sample of {read}", self.entries),
            _ => self.entries.to_string(),
        };
        let hottest = self.hottest.as_ref().map(|hottest| {
            let example = hottest.name.as_deref().map_or(hottest.id.to_string(), printable);
            format!("{}, in {} entries, such as {example}", hottest.fingerprint, hottest.entries)
        });
        output::rows(
            out,
            &[
                ("entries", of),
                ("fingerprints", format!("{} of {} bits", self.fingerprints, self.bits)),
                ("recipe", self.recipe.clone().unwrap_or_else(|| "none".to_owned())),
                ("constant bits", bit_list(&self.constant_bits)),
                ("copied bits", bit_list(&self.copied_bits)),
                ("biased bits", bit_list(&self.biased_bits)),
                ("most frequent", hottest.unwrap_or_else(|| "none".to_owned())),
            ],
        )?;
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
}

fn bit_list(bits: &[usize]) -> String {
    match bits {
        [] => "none".to_owned(),
        bits => bits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
    }
}
