//! `hamming`

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use fpdb::Fingerprint;
use indicatif::ProgressBar;
use serde::Serialize;

use crate::database;
use crate::failure::Exit;
use crate::input::fingerprints::{self, FingerprintFormat};
use crate::input::lines::Lines;
use crate::input::{Compression, Input};
use crate::output::{Context, json_line};

/// Bytes of the longest line that may hold two fingerprints.
const MAX_LINE: usize = 4096;

const EXAMPLE: &str = "\
Example:
  fpdb-tool hamming 0x0123456789abcdef 0x0123456789abcdff";

/// Shows the bits in which two fingerprints differ
///
/// A number is read as hex if it starts with 0x, has all digits of the width, or contains a letter.
/// Otherwise it is read as decimal, with or without a sign. Fingerprints are 64 bits wide if both
/// fit, else 128 bits. Bit 0 is the least significant.
///
/// With `-`, reads pairs from standard input, two fingerprints per line, and prints one line per
/// pair: both fingerprints, their distance and the bits that differ.
///
/// With --json, prints one object, {"schema":"fpdb.hamming/1",...}, or with `-` one record per
/// pair, {"type":"pair",...}, and a summary record last.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Two fingerprints, or `-`
    #[arg(value_name = "FINGERPRINT", required = true, num_args = 1..=2, allow_negative_numbers = true)]
    fingerprints: Vec<String>,

    /// Width of the fingerprints in bits, 64 or 128 [default: as they are written]
    #[arg(long, value_parser = database::parse_bits)]
    bits: Option<u32>,

    /// Notation of the fingerprints: auto, hex, dec or i64
    #[arg(long, value_enum, default_value = "auto", hide_possible_values = true)]
    fp_format: FingerprintFormat,
}

/// Two fingerprints of one width, zero-extended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pair {
    bits: u32,
    a: u128,
    b: u128,
}

/// `fpdb.hamming/1`
#[derive(Serialize)]
struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    a: String,
    b: String,
    bits: u32,
    distance: u32,
    /// Ascending. Bit 0 is the least significant.
    differing_bits: Vec<u32>,
}

#[derive(Serialize)]
struct Summary {
    r#type: &'static str,
    pairs: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        if matches!(self.fp_format, FingerprintFormat::BinLe | FingerprintFormat::BinBe) {
            bail!("hamming reads fingerprints as text, not in binary");
        }
        match self.fingerprints.as_slice() {
            [a, b] => {
                let pair = self.pair(a, b)?;
                if context.json {
                    json_line(context.out, &pair.report(Some("fpdb.hamming/1"), None))?;
                } else {
                    context.out.write_all(pair.picture().as_bytes())?;
                }
            }
            [dash] if dash == "-" => self.answer_all(context)?,
            _ => bail!("expected two fingerprints, or `-`"),
        }
        Ok(Exit::Done)
    }

    fn answer_all(&self, context: &mut Context<'_>) -> Result<()> {
        let bar = ProgressBar::hidden();
        let input = Input::open(Path::new("-"), Compression::ByContent, u64::MAX, &bar)?;
        let mut lines = Lines::new(input, MAX_LINE);
        let mut pairs = 0;
        while let Some(line) = lines.next_line().context("cannot read standard input")? {
            let place = || format!("standard input, line {}", line.number);
            let pair = self.line(&line.bytes).with_context(place)?;
            let report = pair.report(None, Some("pair"));
            if context.json {
                json_line(context.out, &report)?;
            } else {
                let Report { a, b, distance, .. } = &report;
                writeln!(context.out, "{a}  {b}  {distance:>3}  {}", list(&report.differing_bits))?;
            }
            pairs += 1;
        }
        if context.json {
            json_line(context.out, &Summary { r#type: "summary", pairs })?;
        }
        Ok(())
    }

    fn line(&self, line: &[u8]) -> Result<Pair> {
        let text = std::str::from_utf8(line).context("not UTF-8")?;
        match text.split_whitespace().collect::<Vec<_>>().as_slice() {
            [a, b] => self.pair(a, b),
            other => Err(anyhow!("expected two fingerprints, found {}", other.len())),
        }
    }

    fn pair(&self, a: &str, b: &str) -> Result<Pair> {
        match self.bits {
            Some(128) => self.pair_of::<u128>(a, b),
            Some(_) => self.pair_of::<u64>(a, b),
            // 32 digits mean 128 bits, even if the leading digits are zeros.
            None if [a, b].iter().any(|text| text.len() == 32) => self.pair_of::<u128>(a, b),
            None => self.pair_of::<u64>(a, b).or_else(|_| self.pair_of::<u128>(a, b)),
        }
    }

    fn pair_of<F: Fingerprint>(&self, a: &str, b: &str) -> Result<Pair> {
        let value = |text| fingerprints::parse::<F>(text, self.fp_format).map(F::to_u128);
        Ok(Pair { bits: F::BITS, a: value(a)?, b: value(b)? })
    }
}

impl Pair {
    fn differs(&self, bit: u32) -> bool {
        ((self.a ^ self.b) >> bit) & 1 == 1
    }

    fn hex(&self, value: u128) -> String {
        if self.bits == 128 { value.to_hex() } else { u64::from_u128(value).to_hex() }
    }

    fn report(&self, schema: Option<&'static str>, r#type: Option<&'static str>) -> Report {
        Report {
            schema,
            r#type,
            a: self.hex(self.a),
            b: self.hex(self.b),
            bits: self.bits,
            distance: self.a.distance(self.b),
            differing_bits: (0..self.bits).filter(|&bit| self.differs(bit)).collect(),
        }
    }

    /// Draws both in binary, eight bytes per row. The number of its highest bit is above each byte,
    /// and a mark is below each bit that differs.
    fn picture(&self) -> String {
        let Report { a, b, distance, differing_bits, .. } = self.report(None, None);
        let mut text = format!(
            "a         {a}\nb         {b}\ndistance  {distance} of {} bits\ndiffer    {}\n",
            self.bits,
            if differing_bits.is_empty() { "none".to_owned() } else { list(&differing_bits) }
        );
        for top in (0..self.bits).rev().step_by(64) {
            let row = |cell: &dyn Fn(u32) -> char| {
                let bytes = (top - 63..=top).rev().step_by(8);
                bytes.map(|high| (high - 7..=high).rev().map(cell).collect::<String>()).collect()
            };
            let bit = |value: u128| move |bit: u32| if (value >> bit) & 1 == 1 { '1' } else { '0' };
            let heads =
                (top - 63..=top).rev().step_by(8).map(|high| format!("{high:<8}")).collect();
            let marks = row(&|bit| if self.differs(bit) { '^' } else { ' ' });
            let rows: [(&str, Vec<String>); 4] =
                [("", heads), ("a", row(&bit(self.a))), ("b", row(&bit(self.b))), ("", marks)];
            text.push('\n');
            for (name, bytes) in rows {
                let line = format!("{name:1}  {}", bytes.join(" "));
                let _ = writeln!(text, "{}", line.trim_end());
            }
        }
        text
    }
}

fn list(bits: &[u32]) -> String {
    bits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
