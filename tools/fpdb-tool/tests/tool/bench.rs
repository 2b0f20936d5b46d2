use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::common::{Folder, document, random, text};
use crate::markup;

/// Returns every file of a folder and its subfolders with its content.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    all
}

/// Creates a database `a` of random fingerprints.
fn folder() -> Folder {
    let folder = Folder::new();
    let mut state = 1;
    let list: String = (0..3000).map(|_| format!("{:#018x}\n", random(&mut state))).collect();
    folder.write("list", list);
    folder.ok("import a --from fp list");
    folder
}

fn kinds(report: &Value) -> Vec<&str> {
    report["kinds"].as_array().unwrap().iter().map(|k| k["kind"].as_str().unwrap()).collect()
}

#[test]
fn database_is_only_read_and_all_hits_are_found() {
    let folder = folder();
    let before = contents(&folder.file("a"));
    let report = folder.ok("bench a --queries 2000 --warm-up 100 --threads 2 --json").json();
    assert_eq!(report["schema"], "fpdb.bench/1");
    assert_eq!(report["database"]["opened"], "read-only");
    assert_eq!((&report["database"]["entries"], &report["distance"]), (&3000.into(), &3.into()));
    assert_eq!(kinds(&report), ["hit", "miss"]);
    let [hits, misses] = [0, 1].map(|kind| report["kinds"][kind].clone());
    let count = |kind: &Value| kind["count"].as_u64().unwrap();
    assert_eq!(count(&hits) + count(&misses), 2000);
    assert!(count(&hits) > 800 && count(&misses) > 800, "{report}");
    assert_eq!(hits["found"], hits["count"]);
    assert_eq!(misses["found"], 0);
    assert_eq!(report["warm_up"]["operations"], 100);
    assert_eq!(report["measured"]["operations"], 2000);
    assert_eq!(contents(&folder.file("a")), before);
}

#[test]
fn times_agree_with_each_other() {
    let folder = folder();
    let report = folder.ok("bench a --queries 30000 --json -k 1").json();
    for kind in report["kinds"].as_array().unwrap() {
        let get = |key: &str| kind[key].as_f64().unwrap_or_else(|| panic!("{key} of {kind}"));
        let rising = ["p50_us", "p90_us", "p99_us", "p999_us", "max_us"].map(get);
        assert!(rising.is_sorted() && get("mean_us") <= get("max_us"), "{kind}");
        let curve = kind["distribution"].as_array().unwrap();
        let point =
            |point: &Value| (point["up_to_us"].as_f64().unwrap(), point["share"].as_f64().unwrap());
        let points: Vec<_> = curve.iter().map(point).collect();
        assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{kind}");
        assert_eq!(points.last().unwrap(), &(get("max_us"), 1.0), "{kind}");
        let half = points.iter().find(|(_, share)| *share >= 0.5).unwrap().0;
        // Points are at least 3 % apart, and a clock may advance in steps of 10 ns or more.
        assert!((half - get("p50_us")).abs() < 0.05 * get("p50_us") + 0.05, "{kind}");
        assert!(
            get("mean_us") * get("count") / 1e6 <= report["measured"]["seconds"].as_f64().unwrap()
        );
    }
}

#[test]
fn inserts_change_a_copy_unless_in_place_is_given() {
    let folder = folder();
    std::fs::create_dir(folder.file("temp")).unwrap();
    let before = contents(&folder.file("a"));
    let line = "bench a --mix 1:1:2 --queries 200 --folder temp --durability buffered --json";
    let report = folder.ok(line).json();
    assert_eq!(kinds(&report), ["hit", "miss", "insert"]);
    assert_eq!(
        (&report["database"]["opened"], &report["durability"]),
        (&"copy".into(), &"buffered".into())
    );
    assert_eq!(contents(&folder.file("a")), before);
    assert_eq!(std::fs::read_dir(folder.file("temp")).unwrap().count(), 0);

    let report = folder.ok("bench a --mix 0:0:1 --queries 50 --in-place --threads 3 --json").json();
    assert_eq!((kinds(&report), &report["warm_up"]["operations"]), (vec!["insert"], &0.into()));
    assert_eq!(folder.ok("stats a --json").json()["entries"], 3050);
    folder.ok("verify a");
}

#[test]
fn inserts_work_in_a_database_of_names() {
    let folder = Folder::new();
    let documents: String = (0..5).map(|i| document(&i.to_string(), &text(i, 40))).collect();
    folder.write("docs", documents);
    folder.ok("import a docs --from ndjson");
    folder.ok("bench a --mix 1:1:1 --queries 60 --in-place");
    let entries = folder.ok("stats a --json").json()["entries"].as_u64().unwrap();
    assert!((10..=65).contains(&entries), "{entries}");
    assert!(folder.ok("export a").text().contains("fpdb-tool bench 1/"));
}

#[test]
fn new_database_is_removed_after_the_measurement() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("temp")).unwrap();
    let wide = "--bits 128 --data clustered --layout half-2 -k 4 --mix 1:1:1 --code elias-fano";
    for (args, bits, layout, code) in [
        ("--layout ring-3 --filter-bits 10 --block-size 1024", 64, "ring-3", "huffman"),
        (wide, 128, "half-2", "elias-fano"),
    ] {
        let args = format!("-n 2000 {args}");
        let report =
            folder.ok(&format!("bench --new {args} --queries 300 --folder temp --json")).json();
        let database = &report["database"];
        assert_eq!((&database["bits"], &database["layout"]), (&bits.into(), &layout.into()));
        assert_eq!(database["code"], code);
        assert_eq!((&database["opened"], &database["path"]), (&"new".into(), &Value::Null));
        assert_eq!(report["kinds"][0]["found"], report["kinds"][0]["count"], "{report}");
        assert_eq!(std::fs::read_dir(folder.file("temp")).unwrap().count(), 0);
    }
}

#[test]
fn page_shows_what_the_table_shows() {
    let folder = folder();
    let run = folder.ok("bench a --queries 400 --html bench.html --threads 200");
    let (table, html) = (run.text(), folder.read("bench.html"));
    markup::check(&html);
    assert_eq!(html.matches("<path class=\"s").count(), 4, "two curves for each kind");
    assert!(table.contains(" B in huffman, ") && html.contains(" B in huffman, "), "{table}");
    let hits = table.lines().find(|line| line.starts_with("hit ")).unwrap();
    for cell in hits.split_whitespace() {
        assert!(html.contains(&format!(">{cell}</td>")), "{cell}");
    }
    // 200 hits are too few for the 99th percentile.
    assert_eq!(hits.split_whitespace().filter(|cell| *cell == "-").count(), 2, "{table}");
    for note in ["200 threads share", "too few for all percentiles", "is not measured"] {
        assert!(run.err.contains(note) && html.contains(note), "{note}: {}", run.err);
    }
    assert!(folder.run(&["bench", "a", "--queries", "9", "--quiet"]).err.is_empty());
}

#[test]
fn seconds_limit_a_run_too() {
    let folder = folder();
    let report = folder.ok("bench a --seconds 0.05 --warm-up 0 --json").json();
    assert!(report["measured"]["operations"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report["warm_up"]["operations"], 0);
}

#[test]
fn invalid_options_are_refused() {
    let folder = folder();
    folder.ok("create empty");
    let before = contents(folder.path());
    for (args, message) in [
        ("", "required"),
        ("a --new", "cannot be used with"),
        ("nowhere", "nowhere"),
        ("a --mix 1:1", "expected hits:misses:inserts"),
        ("a --mix 0:0:0", "expected hits:misses:inserts"),
        ("a --in-place", "--in-place is for inserts"),
        ("a --layout half-2", "options for a new database require --new"),
        ("a --code huffman", "--new"),
        ("a --threads 0", "0"),
        ("a --seconds 0", "expected a number of seconds above 0"),
        ("a --queries 0", "expected a number from 1"),
        ("a --html -", "standard output is for the results"),
        ("empty", "the database is empty"),
        ("--new --layout half", "no layout is named \"half\""),
        ("--new --block-size 100", "block"),
        ("--new --code gzip", "elias-fano, huffman"),
        ("--new --filter-bits 99", "filter"),
        ("--new -n 4000 --data list", "list has 3000 fingerprints, fewer than -n requests"),
        ("--new --fp-format hex", "--fp-format is for files"),
    ] {
        let run = folder.exits(2, &format!("bench {args}"));
        assert!(run.err.contains(message) && run.out.is_empty(), "{args}: {}", run.err);
    }
    assert_eq!(contents(folder.path()), before);
    folder.ok("bench empty --mix 0:1:0 --queries 10");
}
