//! `fingerprint --explain`: how a fingerprint comes about.

use std::io::{self, Write};

use fpdb::text::Explanation;
use serde::Serialize;

use crate::output::{printable, table};
use crate::recipe::Width;

/// An explanation, ready to be shown.
#[derive(Serialize)]
pub(super) struct Explained {
    /// The weightiest first.
    features: Vec<Feature>,
    /// The least significant first.
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
    /// How far it is from being the other value, from 0 to 1.
    margin: f64,
}

impl Explained {
    /// At most `limit` features, the weightiest.
    pub(super) fn new<F: Width>(explanation: Explanation<F>, limit: usize) -> Self {
        let features = explanation.features.into_iter().take(limit).map(|feature| Feature {
            feature: feature.text,
            occurrences: feature.occurrences,
            weight: feature.weight,
            hash: feature.hash.to_hex(),
        });
        let bits = explanation.bits.iter().enumerate().map(|(bit, settled)| Bit {
            bit,
            set: settled.set,
            sum: settled.sum,
            margin: settled.margin,
        });
        Self { features: features.collect(), bits: bits.collect() }
    }

    /// Two tables, the bits with the least certain first.
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
