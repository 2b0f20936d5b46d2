//! Measures the file that maps names to documents: bytes per name of each part, and the times of
//! lookups. The names are generated URLs, which `--write` writes to a file.
//!
//!     cargo bench --bench names -- [--write LIST]

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]
#![allow(clippy::cast_possible_truncation, reason = "sizes of benches are small")]
#![allow(clippy::cast_sign_loss, reason = "sizes of benches are small")]

mod common;
#[path = "common/urls.rs"]
mod urls;

use std::hint::black_box;
use std::time::Instant;

use common::{Random, option, percentile, times};
use fpdb::fuzzing::documents::NamesFile;
use urls::Urls;

/// Lookups that are measured.
const LOOKUPS: usize = 200_000;

fn main() {
    let names = Urls::sorted(if common::is_test() { 5000 } else { 1_000_000 }, 1);
    let list = option("--write", String::new());
    if !list.is_empty() {
        std::fs::write(list, names.join("\n") + "\n").expect("a list can be written");
    }
    let (count, raw) = (names.len(), names.iter().map(String::len).sum::<usize>());
    let folder = common::folder();
    let start = Instant::now();
    let len = NamesFile::write(folder.path(), &names).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let file = NamesFile::open(folder.path(), len).unwrap();
    check(&file, &names);

    println!(
        "{count} names, written in {seconds:.2} s\n\n| part | bytes per name |\n| --- | ---: |"
    );
    let per_name = |bytes: u64| bytes as f64 / count as f64;
    println!("| the names alone, with line ends | {:.2} |", per_name((raw + count) as u64));
    for (part, bytes) in file.parts() {
        println!("| {part} | {:.2} |", per_name(bytes));
    }
    println!("| entire file | {:.2} |\n", per_name(len));

    let lookups = if common::is_test() { 100 } else { LOOKUPS };
    let mut random = Random(5);
    let places: Vec<usize> = (0..lookups).map(|_| random.below(count as u64) as usize).collect();
    let absent: Vec<String> = places.iter().map(|&place| format!("{}~", names[place])).collect();
    let id = |&place: &usize| NamesFile::id(count, place);
    println!("| lookup | mean ns | p50 | p99 |\n| --- | ---: | ---: | ---: |");
    row("present name", &places, |&place| assert!(file.id_of(&names[place]).unwrap().is_some()));
    row("absent name", &absent, |name| assert!(file.id_of(name).unwrap().is_none()));
    row("id", &places, |place| assert!(file.name_of(id(place)).unwrap().is_some()));
    let start = Instant::now();
    let mut bytes = 0;
    file.for_each(|name| bytes += name.len()).unwrap();
    assert_eq!(bytes, raw);
    println!("\nall in order: {:.0} ns per name", start.elapsed().as_nanos() as f64 / count as f64);

    let few = &places[..lookups.min(2000)];
    for (what, by_id) in [("name", false), ("id", true)] {
        let file = NamesFile::open(folder.path(), len).unwrap();
        let before = reads();
        for place in few {
            match by_id {
                true => drop(file.name_of(id(place)).unwrap()),
                false => drop(file.id_of(&names[*place]).unwrap()),
            }
        }
        if let Some((before, after)) = before.zip(reads()) {
            let each = after.saturating_sub(before) as f64 / few.len() as f64;
            println!("cold, by {what}: {each:.2} reads per lookup");
        }
    }
}

/// Checks some lookups before any is measured.
fn check(file: &NamesFile, names: &[String]) {
    for (place, name) in names.iter().enumerate().step_by(1 + names.len() / 2000) {
        let id = NamesFile::id(names.len(), place);
        assert_eq!(file.id_of(name).unwrap(), Some(id));
        assert_eq!(file.name_of(id).unwrap().as_ref(), Some(name));
    }
}

/// Measures all lookups together, and then each alone.
fn row<T>(what: &str, keys: &[T], look_up: impl Fn(&T)) {
    keys.iter().for_each(&look_up);
    let start = Instant::now();
    keys.iter().for_each(|key| look_up(black_box(key)));
    let mean = start.elapsed().as_nanos() as f64 / keys.len() as f64;
    let times = times(keys, |key| look_up(black_box(key)));
    let at = |share| percentile(&times, share) * 1e3;
    println!("| {what} | {mean:.0} | {:.0} | {:.0} |", at(0.5), at(0.99));
}

/// Returns how often this process has read from files; `None` if the system does not say.
fn reads() -> Option<u64> {
    let counts = std::fs::read_to_string("/proc/self/io").ok()?;
    counts.lines().find_map(|line| line.strip_prefix("syscr: ")?.parse().ok())
}
