//! The command line.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::{Args as Group, Parser, ValueEnum};
use fpdb::Layout;

use crate::data::Data;

/// Compares fpdb with what its users would use instead: the same fingerprints, the same queries,
/// checked answers
#[derive(Parser)]
pub struct Args {
    /// Numbers of fingerprints, as powers of two; of real data with fewer, all are used
    #[arg(long, value_delimiter = ',', default_value = "20")]
    pub n: Vec<u32>,

    /// Largest distances of queries, in bits
    #[arg(long, value_delimiter = ',', default_value = "3")]
    pub k: Vec<u32>,

    /// Data sets: uniform, clustered, real, zh, en
    #[arg(long, value_delimiter = ',', default_value = "uniform", value_parser = data)]
    pub data: Vec<Data>,

    /// Peers [default: all that are in this build and suit n and k]
    #[arg(long, value_delimiter = ',')]
    pub peers: Vec<String>,

    /// Queries; slow peers answer only the first of them
    #[arg(long, default_value_t = 4000)]
    pub queries: usize,

    /// Rounds in which the peers take turns
    #[arg(long, default_value_t = 5)]
    pub rounds: usize,

    /// Seconds of queries per peer, after which its turns end
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,

    /// Folder for the peers' files [default: the system's temporary folder]
    #[arg(long)]
    pub folder: Option<PathBuf>,

    /// Print one JSON object per row instead of a table
    #[arg(long)]
    pub json: bool,

    /// Run everything once with tiny sets, as a check that it works; prints no figures
    #[arg(long)]
    pub test: bool,

    #[command(flatten)]
    pub engines: Engines,
}

/// Options for the peers themselves.
#[derive(Group)]
pub struct Engines {
    /// Size of memory pages, the same for all peers
    #[arg(long, value_enum, default_value = "4k")]
    pub pages: Pages,

    /// fpdb's layouts: names of presets, or "auto"
    #[arg(long, value_delimiter = ',', default_value = "half-2,ring-3,auto")]
    pub layouts: Vec<String>,

    /// Bytes per block of fpdb [default: the library's]
    #[arg(long)]
    pub block: Option<usize>,

    /// Bits per fingerprint of fpdb's prefix filters [default: the library's]
    #[arg(long)]
    pub filter: Option<u32>,

    /// Python interpreter with the packages of the peers faiss and hammingbird
    #[arg(long)]
    pub python: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Pages {
    #[value(name = "4k")]
    Small,
    Huge,
}

impl Pages {
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "4k",
            Self::Huge => "huge",
        }
    }
}

impl Args {
    /// Checks the values that clap does not check, before hours of measuring.
    pub fn check(&self) -> Result<()> {
        for &log in &self.n {
            ensure!((4..=31).contains(&log), "--n {log}: must be from 4 to 31 (a power of two)");
        }
        for &k in &self.k {
            ensure!(k <= 12, "--k {k}: must be from 0 to 12");
        }
        ensure!(self.queries > 0 && self.rounds > 0, "--queries and --rounds must be at least 1");
        for layout in self.engines.layouts.iter().filter(|name| *name != "auto") {
            if let Err(error) = Layout::preset(layout, 64) {
                bail!("{error}, or auto");
            }
        }
        Ok(())
    }

    /// Applies `--test`: every data set, all these peers, two distances, a few seconds in total.
    pub fn shrink(&mut self, all_peers: impl Iterator<Item = &'static str>) {
        if self.peers.is_empty() {
            self.peers = all_peers.map(str::to_owned).collect();
        }
        self.n = vec![8, 11];
        self.k = vec![3, 6];
        self.data = Data::ALL.to_vec();
        self.queries = 100;
        self.rounds = 2;
    }
}

fn data(name: &str) -> Result<Data> {
    let names = || Data::ALL.map(Data::name).join(", ");
    match Data::ALL.into_iter().find(|data| data.name() == name) {
        Some(data) => Ok(data),
        None => bail!("the data sets are {}", names()),
    }
}
