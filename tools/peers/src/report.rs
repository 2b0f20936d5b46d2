//! A row and how it is printed.

use anyhow::Result;
use serde::Serialize;

#[derive(Serialize)]
pub struct Record {
    pub peer: String,
    pub n: usize,
    pub k: u32,
    pub data: &'static str,
    #[serde(serialize_with = "short")]
    pub p50_us: f64,
    #[serde(serialize_with = "short")]
    pub p99_us: f64,
    #[serde(serialize_with = "short")]
    pub mean_us: f64,
    #[serde(serialize_with = "short")]
    pub disk_bytes_per_fp: f64,
    #[serde(serialize_with = "short")]
    pub ram_bytes_per_fp: f64,
    #[serde(serialize_with = "short")]
    pub build_s: f64,
    pub pages: &'static str,
}

/// Rounds to a thousandth.
fn short<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((value * 1e3).round() / 1e3)
}

pub fn print_json(records: &[Record]) -> Result<()> {
    for record in records {
        println!("{}", serde_json::to_string(record)?);
    }
    Ok(())
}

/// Prints rows that were measured together as one table.
pub fn print_table(records: &[Record]) {
    let Some(first) = records.first() else { return };
    println!("{} {} fingerprints, k = {}, {} pages", first.n, first.data, first.k, first.pages);
    println!();
    println!("| peer | p50 us | p99 us | mean us | disk bytes/fp | RAM bytes/fp | build s |");
    println!("| --- | --: | --: | --: | --: | --: | --: |");
    for r in records {
        println!(
            "| {} | {:.2} | {:.2} | {:.2} | {:.1} | {:.1} | {:.2} |",
            r.peer,
            r.p50_us,
            r.p99_us,
            r.mean_us,
            r.disk_bytes_per_fp,
            r.ram_bytes_per_fp,
            r.build_s
        );
    }
    println!();
}
