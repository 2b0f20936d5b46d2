//! The list of all peers, each with a file of its own.

mod fpdb;
mod gaoya;
mod linear;
#[cfg(feature = "lmdb")]
mod lmdb;
mod mih_rs;
mod python;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;

use anyhow::{Result, bail};

use crate::peer::Entrants;

/// A peer and its name.
pub struct Kind {
    pub name: &'static str,
    pub entrants: Entrants,
}

pub const ALL: &[Kind] = &[
    Kind { name: "fpdb", entrants: fpdb::entrants },
    Kind { name: "mih-rs", entrants: mih_rs::entrants },
    Kind { name: "gaoya", entrants: gaoya::entrants },
    Kind { name: "redb", entrants: redb::entrants },
    Kind { name: "lmdb", entrants: LMDB },
    Kind { name: "rocksdb", entrants: ROCKSDB },
    Kind { name: "faiss", entrants: python::faiss },
    Kind { name: "hammingbird", entrants: python::hammingbird },
    Kind { name: "linear", entrants: linear::entrants },
];

#[cfg(feature = "lmdb")]
const LMDB: Entrants = lmdb::entrants;
#[cfg(not(feature = "lmdb"))]
const LMDB: Entrants = |_, _, _| bail!("not in this build, which needs --features lmdb");
#[cfg(feature = "rocksdb")]
const ROCKSDB: Entrants = rocksdb::entrants;
#[cfg(not(feature = "rocksdb"))]
const ROCKSDB: Entrants = |_, _, _| bail!("not in this build, which needs --features rocksdb");

/// Returns the peers with these names, or all if there are no names.
pub fn named(names: &[String]) -> Result<Vec<&'static Kind>> {
    if names.is_empty() {
        return Ok(ALL.iter().collect());
    }
    let find = |name: &String| match ALL.iter().find(|kind| kind.name == name) {
        Some(kind) => Ok(kind),
        None => {
            let names: Vec<&str> = ALL.iter().map(|kind| kind.name).collect();
            bail!("no peer is named {name:?}; the peers are {}", names.join(", "))
        }
    };
    names.iter().map(find).collect()
}
