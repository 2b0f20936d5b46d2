//! What fpdb is for: one test for each thing that people come for by its name. docs/sources.md
//! lists the papers and programs.

use std::path::Path;

use fpdb::{Db, Layout};
use fpdb_text::minhash::{self, Bands};
use serde_json::Value;

use crate::common::Folder;

const DESIGNS: [&str; 4] = ["paper-4", "paper-10", "paper-16", "paper-20"];

/// The `n`th of some well-mixed fingerprints.
fn fingerprint(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A folder with a list of 3,000 fingerprints, and one that differs from one of them in three bits.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("list", (1..=3000).map(|n| format!("{:x}\n", fingerprint(n))).collect::<String>());
    folder.write("near", format!("{:x}\n", fingerprint(7) ^ 0x8000_0001_0000_0001));
    folder
}

/// Returns what the list of one fingerprint finds in a database.
fn matches(folder: &Folder, db: &str) -> Vec<Value> {
    let run = folder.ok(&format!("query {db} near --from fp --fp-format hex -k 3 --json"));
    let answers = run.records().into_iter().filter(|record| record["type"] == "query");
    answers.flat_map(|record| record["matches"].as_array().unwrap().clone()).collect()
}

#[test]
fn tables_of_the_paper_and_ours_have_names_and_find_neighbours_at_both_widths() {
    let folder = folder();
    for name in DESIGNS.into_iter().chain(["single", "half-2", "ring-3", "ring-4", "ring:28/18/18"])
    {
        for bits in [64, 128] {
            let db = format!("{}-{bits}", name.replace([':', '/'], "-"));
            if name.starts_with("ring:") && bits == 128 {
                continue;
            }
            folder.ok(&format!("create {db} --layout {name} --bits {bits} -k 3"));
            assert_eq!(folder.ok(&format!("inspect {db} --json")).json()["layout"], name);
            folder.ok(&format!("import {db} list --from fp --fp-format hex"));
            folder.ok(&format!("compact {db}"));
            let found = matches(&folder, &db);
            assert_eq!(found.len(), 1, "{db}: {found:?}");
            assert_eq!(found[0]["distance"], 3);
        }
    }
}

#[test]
fn tables_stand_against_candidates_up_to_two_to_the_36() {
    let folder = Folder::new();
    for n in ["8e9", "2^34", "2^36"] {
        let report = folder.ok(&format!("recommend -n {n} --json")).json();
        for row in report["layouts"].as_array().unwrap() {
            for figure in [
                "tables",
                "probes",
                "candidates",
                "blocks",
                "pages",
                "memory_bytes",
                "disk_bytes",
                "query_us",
            ] {
                assert!(row[figure].as_f64().unwrap() > 0.0, "{n}: {row}");
            }
        }
        let text = folder.ok(&format!("recommend -n {n}")).text();
        assert!(DESIGNS.iter().all(|name| text.contains(name)) && text.contains("candidates"));
    }
}

#[test]
fn blocks_show_their_codes_and_ratios_what_they_save() {
    let folder = folder();
    folder.ok("create db --layout paper-16");
    folder.ok("import db list --from fp --fp-format hex");
    folder.ok("compact db");
    assert!(folder.ok("inspect db").text().contains("blocks"));
    let block = folder.ok("inspect db --table 15 --block 0").text();
    assert!(block.contains("codeword"), "{block}");
    for line in ["ratio db", "ratio --entries 100000", "ratio --from fp list --fp-format hex"] {
        let text = folder.ok(line).text();
        assert!(["raw", "gzip", "zstd", "bound"].iter().all(|word| text.contains(word)), "{text}");
    }
    assert!(folder.ok("ratio --entries 100000 --json").text().starts_with('{'));
    let run = folder.exits(2, "inspect db --table 16 --block 0");
    assert!(run.err.contains("0 to 15"), "{}", run.err);
}

#[test]
fn the_log_is_appended_to_and_compacted_into_blocks_and_nothing_is_lost() {
    let folder = folder();
    folder.ok("create db --layout paper-10");
    for list in ["list", "near", "list"] {
        folder.ok(&format!("import db {list} --from fp --fp-format hex"));
    }
    let before = folder.ok("export db").text();
    folder.ok("compact db");
    assert_eq!(folder.ok("export db").text(), before);
    let stats = folder.ok("stats db --json").json();
    assert_eq!(stats["segments"].as_array().unwrap().len(), 1, "{stats}");
    folder.ok("verify db --level deep");
}

#[test]
fn queries_are_answered_online_and_in_batches() {
    let folder = folder();
    folder.ok("create db --layout paper-4");
    folder.ok("import db list --from fp --fp-format hex");
    assert_eq!(matches(&folder, "db").len(), 1);
    let joined = folder.ok("join db near --fp-format hex -k 3 --csv").text();
    assert_eq!(joined.lines().count(), 2, "a heading and a pair: {joined}");
    folder.ok("import db near --from fp --fp-format hex");
    let pairs = folder.ok("pairs db -k 3 --csv").text();
    assert_eq!(pairs.lines().count(), 2, "a heading and a pair: {pairs}");
}

#[test]
fn four_times_sixteen_bits_are_kept_in_memory() {
    let layout = Layout::preset("ring-4", 64).unwrap();
    assert_eq!(layout.cells(), [16; 4]);
    let db = Db::options().layout(layout).in_memory().unwrap();
    for n in 1..=3000 {
        let _ = db.insert(fingerprint(n), n).unwrap();
    }
    let found = db.query(fingerprint(7) ^ 0x8000_0001_0000_0001, 3).unwrap();
    assert_eq!(found.iter().map(|found| found.id.0).collect::<Vec<_>>(), [7]);
}

#[test]
fn recipes_of_the_programs_that_people_come_from_are_listed_by_name() {
    let listed = Folder::new().ok("recipes").text();
    let line = |name: &str| listed.lines().find(|line| line.split(' ').next() == Some(name));
    let keywords = [
        "yanyiwu/1",
        "yanyiwu-5/1",
        "yanyiwu-20/1",
        "yanyiwu-50/1",
        "go-jieba-fnv1a/1",
        "jieba/1",
        "levels/1",
    ];
    let any = ["python-simhash/1", "shingle2/1", "words/1", "sentences/1", "string-hash/1"];
    for name in any.into_iter().chain(keywords.into_iter().filter(|_| cfg!(feature = "zh"))) {
        assert!(line(name).is_some(), "{name}: {listed}");
    }
    let bits = if cfg!(feature = "zh") { ["64", "128"] } else { ["128", "128"] };
    assert!(bits.iter().all(|bits| line("string-hash/1").unwrap().contains(bits)), "{listed}");
}

#[test]
fn minhash_has_minima_smallest_values_and_bands() {
    let features = |range: std::ops::Range<u64>| range.map(fingerprint).collect::<Vec<_>>();
    let (a, b) = (features(0..900), features(100..1000));
    let minima = [&a, &b].map(|features| minhash::minima(features, 512).unwrap());
    let smallest = [&a, &b].map(|features| minhash::smallest(features, 512));
    for (jaccard, error) in [
        minhash::jaccard_of_minima(&minima[0], &minima[1]).unwrap(),
        minhash::jaccard_of_smallest(&smallest[0], &smallest[1], 512).unwrap(),
    ] {
        assert!((jaccard - 0.8).abs() < 4.0 * error && error < 0.03, "{jaccard} {error}");
    }
    // The curve of 20 bands of 5 minima (Rajaraman and Ullman, chapter 3).
    let bands = Bands::new(20, 5).unwrap();
    assert!((bands.probability(0.8) - 0.9996).abs() < 1e-4);
    assert!((bands.threshold() - 0.55).abs() < 0.01);
    let [a, b] = minima.map(|minima| bands.hashes(&minima[..100]).collect::<Vec<_>>());
    assert!(a.iter().any(|band| b.contains(band)));
}

/// `fpdb-tool recommend` on the 50 million fingerprints that take 1.5 GB in four tables of 8 bytes,
/// and on the 8 x 10^9 whose 64 GB shrink to nearly half.
#[test]
fn fifty_million_take_less_than_told_and_eight_billion_nearly_half() {
    let disk = |n: &str, name: &str| {
        let report = Folder::new().ok(&format!("recommend -n {n} --json")).json();
        let rows = report["layouts"].as_array().unwrap();
        let row = rows.iter().find(|row| row["layout"] == name).unwrap();
        row["disk_bytes"].as_f64().unwrap()
    };
    assert!(disk("5e7", "paper-4") < 1.5e9);
    let ratio = disk("8e9", "single") / 64e9;
    assert!((0.5..0.75).contains(&ratio), "{ratio}");
}

#[test]
fn packages_and_folders_are_those_that_were_asked_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let (engine, text) = (read("Cargo.toml"), read("crates/fpdb-text/Cargo.toml"));
    for package in ["memmap2", "crc32fast", "byteorder", "fs2", "criterion", "tempfile"] {
        assert!(engine.contains(&format!("\n{package} = ")), "{package}");
    }
    assert!(text.contains("jieba-rs") && text.contains("tfidf"));
    for path in ["Cargo.toml", "src", "storage-format.md", "tests", "benches", "tools", "README.md"]
    {
        assert!(root.join(path).exists(), "{path}");
    }
    assert!(read("README.md").contains("docs/sources.md"));
    let scale = read("docs/scale.md");
    assert!(scale.contains("benches/spark.py") && scale.contains("us per row"));
}

#[test]
fn an_unknown_layout_is_refused_with_those_that_there_are() {
    let run = Folder::new().exits(2, "create db --layout paper-12");
    assert!(DESIGNS.iter().all(|name| run.err.contains(name)), "{}", run.err);
}
