//! What the programs share.

pub mod data;
pub mod lmdb;
pub mod random;
pub mod rotated;
pub mod scan;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

/// Pushes the positions of all fingerprints within the distance of an index, in any order, each
/// once.
pub type Search<'a> = dyn FnMut(u64, &mut Vec<u32>) -> Result<()> + 'a;

/// Returns a percentile of sorted times, in microseconds.
pub fn percentile(sorted: &[Duration], share: f64) -> f64 {
    let index = ((sorted.len() - 1) as f64 * share) as usize;
    sorted[index].as_secs_f64() * 1e6
}

/// Returns the median; of two values the greater, and of none NaN.
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the bytes of all files in a folder.
pub fn folder_bytes(folder: &Path) -> Result<u64> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
}
