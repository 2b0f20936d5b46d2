//! Files that use each other in a circle.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::files::Uses;

/// Returns a shortest cycle through each file that is part of one, each cycle once.
pub(crate) fn cycles(uses: &Uses) -> BTreeSet<Vec<PathBuf>> {
    uses.keys().filter_map(|file| shortest_cycle(uses, file)).map(rotated).collect()
}

/// Searches breadth first for the way from a file back to it.
fn shortest_cycle(uses: &Uses, start: &Path) -> Option<Vec<PathBuf>> {
    let mut queue = VecDeque::from([vec![start.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = queue.pop_front() {
        for next in &uses[way.last()?] {
            if next == start {
                return Some(way);
            }
            if seen.insert(next) {
                queue.push_back([&way[..], std::slice::from_ref(next)].concat());
            }
        }
    }
    None
}

/// The same cycle from its first file by name, so that equal cycles compare equal.
fn rotated(mut cycle: Vec<PathBuf>) -> Vec<PathBuf> {
    let first = (0..cycle.len()).min_by_key(|&at| &cycle[at]).unwrap_or(0);
    cycle.rotate_left(first);
    cycle
}

pub(crate) fn written(cycle: &[PathBuf]) -> String {
    let names: Vec<_> = cycle.iter().map(|file| file.display().to_string()).collect();
    format!("{} -> {}", names.join(" -> "), names[0])
}
