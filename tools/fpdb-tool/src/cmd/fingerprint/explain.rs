//! `fingerprint --explain`: how a fingerprint is computed.

use std::io::{self, Write};

use fpdb::text::{Bits, Explanation, Width};
use serde::Serialize;

use crate::output::{printable, table};

/// An explanation as it is shown.
#[derive(Serialize)]
pub(super) struct ExplanationRecord {
    /// In order of falling weight.
    features: Vec<Feature>,
    /// From the least significant bit.
    bits: Vec<Bit>,
}

#[derive(Serialize)]
struct Feature {
    feature: String,
    occurrences: usize,
    weight: f64,
    hash: String,
}

#[derive(Serialize)]
struct Bit {
    bit: usize,
    set: bool,
    sum: f64,
    /// How far the bit is from flipping, from 0 to 1.
    margin: f64,
}

impl ExplanationRecord {
    /// Keeps at most `limit` features: the ones of the largest weight.
    pub(super) fn new<F: Width>(explanation: Explanation<F>, limit: usize) -> Self {
        let features = explanation.features.into_iter().take(limit).map(|feature| Feature {
            feature: feature.text,
            occurrences: feature.occurrences,
            weight: feature.weight,
            hash: hex(feature.hash),
        });
        let bits = explanation.bits.iter().enumerate().map(|(bit, decision)| Bit {
            bit,
            set: decision.set,
            sum: decision.sum,
            margin: decision.margin,
        });
        Self { features: features.collect(), bits: bits.collect() }
    }

    /// Prints two tables: the features, and the bits with the least certain bit first.
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let features: Vec<_> = self.features.iter().map(Feature::cells).collect();
        table(out, ["weight", "times", "hash", "feature"], &features)?;
        writeln!(out)?;
        let mut bits: Vec<_> = self.bits.iter().collect();
        bits.sort_by(|a, b| a.margin.total_cmp(&b.margin));
        let bits: Vec<_> = bits.into_iter().map(Bit::cells).collect();
        table(out, ["bit", "set", "sum", "margin"], &bits)?;
        writeln!(out)
    }
}

/// `0x` and all hexadecimal digits of the width.
fn hex<B: Bits>(hash: B) -> String {
    format!("{hash:#0width$x}", width = 2 + 2 * size_of::<B>())
}

impl Feature {
    fn cells(&self) -> [String; 4] {
        [
            format!("{:.3}", self.weight),
            self.occurrences.to_string(),
            self.hash.clone(),
            printable(&self.feature),
        ]
    }
}

impl Bit {
    fn cells(&self) -> [String; 4] {
        let set = if self.set { "1" } else { "0" };
        [
            self.bit.to_string(),
            set.to_owned(),
            format!("{:+.3}", self.sum),
            format!("{:.4}", self.margin),
        ]
    }
}
