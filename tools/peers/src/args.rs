//! The options.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::{Args as Group, Parser, ValueEnum};
use fpdb::{BlockCode, Layout};

use crate::data::Data;
use crate::peer;

/// Measures fpdb beside what its users would take instead: the same fingerprints, the same queries,
/// answers checked
#[derive(Parser)]
pub struct Args {
    /// Fingerprints, as powers of two; where real data has fewer, all of it is taken
    #[arg(long, value_delimiter = ',', default_value = "20")]
    pub n: Vec<u32>,

    /// Distances in bits up to which is found
    #[arg(long, value_delimiter = ',', default_value = "3")]
    pub k: Vec<u32>,

    /// Data sets: uniform, clustered, real, zh, en
    #[arg(long, value_delimiter = ',', default_value = "uniform", value_parser = data)]
    pub data: Vec<Data>,

    /// Peers [default: all that this build has and that suit n and k]
    #[arg(long, value_delimiter = ',')]
    pub peers: Vec<String>,

    /// Queries; slow peers are asked the first of them only
    #[arg(long, default_value_t = 4000)]
    pub queries: usize,

    /// Rounds in which the peers take turns
    #[arg(long, default_value_t = 5)]
    pub rounds: usize,

    /// Seconds of queries after which a peer has had its part in a row
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,

    /// A folder for what the peers write [default: the system's for temporary files]
    #[arg(long)]
    pub folder: Option<PathBuf>,

    /// Print one JSON object a row instead of a table
    #[arg(long)]
    pub json: bool,

    /// Run everything once with tiny sets, to see that it works; the figures say nothing
    #[arg(long)]
    pub test: bool,

    #[command(flatten)]
    pub engines: Engines,
}

/// What the engines are told.
#[derive(Group)]
pub struct Engines {
    /// Pages of the memory that is allocated, for all peers alike
    #[arg(long, value_enum, default_value = "4k")]
    pub pages: Pages,

    /// fpdb's layouts: names of presets, or auto
    #[arg(long, value_delimiter = ',', default_value = "half-2,ring-3,auto")]
    pub layouts: Vec<String>,

    /// Bytes of fpdb's blocks [default: the library's]
    #[arg(long)]
    pub block: Option<usize>,

    /// Codes of fpdb's blocks, elias-fano, huffman or both
    #[arg(long, value_delimiter = ',', default_values_t = [BlockCode::default()],
        value_parser = BlockCode::parse)]
    pub code: Vec<BlockCode>,

    /// Bits a fingerprint of fpdb's filters [default: the library's]
    #[arg(long)]
    pub filter: Option<u32>,

    /// A Python with the packages of the peers faiss and hammingbird
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
    /// Refuses what no run can be made of, before hours of it are done.
    pub fn check(&self) -> Result<()> {
        for &log in &self.n {
            ensure!((4..=31).contains(&log), "--n {log}: powers of two from 4 to 31");
        }
        for &k in &self.k {
            ensure!(k <= 10, "--k {k}: distances from 0 to 10");
        }
        ensure!(self.queries > 0 && self.rounds > 0, "no queries, or no rounds of them");
        for layout in self.engines.layouts.iter().filter(|name| *name != "auto") {
            if let Err(error) = Layout::preset(layout, 64) {
                bail!("{error}, auto");
            }
        }
        Ok(())
    }

    /// For `--test`: every data set and peer, two distances, seconds in all.
    pub fn shrink(&mut self) {
        if self.peers.is_empty() {
            self.peers = peer::ALL.iter().map(|kind| kind.name.to_owned()).collect();
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
        None => bail!("there are {}", names()),
    }
}
