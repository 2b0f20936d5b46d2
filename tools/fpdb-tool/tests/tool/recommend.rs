use serde_json::Value;

use crate::common::Folder;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn proposals_are_within_the_limits_and_can_be_created() {
    let folder = Folder::new();
    let line = "recommend -n 1e9 -k 3 --memory 8GiB --disk 20GiB --goal latency";
    let report = folder.ok(&format!("{line} --json")).json();
    assert_eq!(report["schema"], "fpdb.recommend/1");
    let layouts = report["layouts"].as_array().unwrap();
    assert!(layouts.len() > 2 && number(&report["beyond_limits"]) > 0.0, "{report}");
    let times: Vec<f64> = layouts.iter().map(|row| number(&row["query_us"])).collect();
    assert!(times.is_sorted(), "{times:?}");
    for row in layouts {
        assert!(number(&row["disk_bytes"]) <= f64::from(20 << 10) * 1048576.0, "{row}");
        assert!(number(&row["memory_bytes"]) <= f64::from(8 << 10) * 1048576.0, "{row}");
    }
    let create = report["create"].as_str().unwrap();
    folder.ok(&create.strip_prefix("fpdb-tool ").unwrap().replace("DB", "db"));
    let stats = folder.ok("stats db --json").json();
    for key in ["layout", "block_size"] {
        assert_eq!(stats[key], layouts[0][key]);
    }
    let table = folder.ok(line);
    assert!(table.text().starts_with("layout ") && table.err.contains("are left out"));
    assert!(table.err.contains(create), "{}", table.err);
    let end = number(&layouts[0]["disk_bytes"]);
    assert!(number(&report["load_bytes"]) >= end + 24e9, "entries and rows are on disk, too");
    assert!(table.err.contains("a bulk load takes about"), "{}", table.err);
}

#[test]
fn goal_storage_sorts_by_size_at_128_bits_too() {
    let folder = Folder::new();
    let line = "recommend -n 1e6 -k 4 --bits 128 --goal storage --json";
    let report = folder.ok(line).json();
    let bytes = report["layouts"].as_array().unwrap().iter().map(|row| number(&row["disk_bytes"]));
    assert!(bytes.is_sorted(), "{report}");
    assert!(report["create"].as_str().unwrap().contains("--bits 128"));
}

#[test]
fn costs_are_read_from_a_file() {
    let folder = Folder::new();
    folder.write("slow.json", "{\"query_ns\": 1000000}");
    let report = folder.ok("recommend -n 1e6 --costs slow.json --json").json();
    assert!(number(&report["layouts"][0]["query_us"]) > 1000.0, "{report}");
    folder.write("wrong.json", "{\"no_such_cost\": 1}");
    let run = folder.exits(2, "recommend -n 1e6 --costs wrong.json");
    assert!(run.err.contains("wrong.json") && run.err.contains("no_such_cost"), "{}", run.err);
}

#[test]
fn what_cannot_be_recommended_is_refused() {
    let folder = Folder::new();
    for line in [
        "recommend",
        "recommend -n 0",
        "recommend -n 1e6 -k 13",
        "recommend -n 1e6 -k 25 --bits 128",
        "recommend -n 1e6 --jaccard 0.3",
        "recommend -n 1e6 --jaccard 0.8 --bits 64",
        "recommend -n 1e6 --jaccard 0.8 -k 3",
        "recommend -n 1e6 --recall 0.9",
        "recommend -n 1e6 --bits 32",
        "recommend -n 1e6 --disk 1KiB",
        "recommend -n 1e6 --disk 1KiB --json",
        "recommend -n 1e6 --memory much",
        "recommend -n 1e6 --save-costs costs.json",
    ] {
        folder.exits(2, line);
    }
}

#[test]
fn a_recommendation_for_a_similarity_can_be_created_and_finds_what_it_says() {
    let folder = Folder::new();
    let line = "recommend --documents 1e7 --jaccard 0.8 --recall 0.96";
    let report = folder.ok(&format!("{line} --json")).json();
    let found = report["similar"]["found"].as_array().unwrap();
    let shares: Vec<f64> = found.iter().map(|row| number(&row["share"])).collect();
    assert!(shares.is_sorted() && shares.len() == 10, "{report}");
    assert!(shares[0] < 0.05 && shares[6] >= 0.96 && shares[8] > 0.999, "{shares:?}");
    assert!(number(&report["similar"]["false_matches"]) < 1e-6, "{report}");
    let create = report["create"].as_str().unwrap();
    folder.ok(&create.strip_prefix("fpdb-tool ").unwrap().replace("DB", "db"));
    let stats = folder.ok("inspect db --json").json();
    assert_eq!(stats["max_distance"], report["distance"], "{stats}");
    let table = folder.ok(line);
    assert!(table.text().starts_with("similarity "), "{}", table.text());
    assert!(table.text().contains("misses nothing up to distance"), "{}", table.text());
}
