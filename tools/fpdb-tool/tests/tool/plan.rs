use serde_json::Value;

use crate::common::Folder;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn proposals_are_within_the_limits_and_can_be_created() {
    let folder = Folder::new();
    let line = "plan -n 1e9 -k 3 --memory 8GiB --disk 20GiB --goal latency";
    let report = folder.ok(&format!("{line} --json")).json();
    assert_eq!(report["schema"], "fpdb.plan/1");
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
}

#[test]
fn goal_storage_sorts_by_size_at_128_bits_too() {
    let folder = Folder::new();
    let line = "plan -n 1e6 -k 4 --bits 128 --goal storage --json";
    let report = folder.ok(line).json();
    let bytes = report["layouts"].as_array().unwrap().iter().map(|row| number(&row["disk_bytes"]));
    assert!(bytes.is_sorted(), "{report}");
    assert!(report["create"].as_str().unwrap().contains("--bits 128"));
}

#[test]
fn costs_are_read_from_a_file() {
    let folder = Folder::new();
    folder.write("slow.json", "{\"query_ns\": 1000000}");
    let report = folder.ok("plan -n 1e6 --costs slow.json --json").json();
    assert!(number(&report["layouts"][0]["query_us"]) > 1000.0, "{report}");
    folder.write("wrong.json", "{\"no_such_cost\": 1}");
    let run = folder.exits(2, "plan -n 1e6 --costs wrong.json");
    assert!(run.err.contains("wrong.json") && run.err.contains("no_such_cost"), "{}", run.err);
}

#[test]
fn invalid_plans_are_refused() {
    let folder = Folder::new();
    for line in [
        "plan",
        "plan -n 0",
        "plan -n 1e6 -k 11",
        "plan -n 1e6 --bits 32",
        "plan -n 1e6 --disk 1KiB",
        "plan -n 1e6 --disk 1KiB --json",
        "plan -n 1e6 --memory much",
        "plan -n 1e6 --save-costs costs.json",
    ] {
        folder.exits(2, line);
    }
}
