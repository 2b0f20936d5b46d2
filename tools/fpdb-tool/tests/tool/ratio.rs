use std::collections::HashSet;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Folder, random};

const SMALL: &str = "ratio -n 1000,3000 --layouts half-2,ring-3 --blocks 256,1024 --folder .";

fn files(folder: &Folder) -> HashSet<String> {
    let files = std::fs::read_dir(folder.path()).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Each figure is computed again from the bytes; the figures of raw fingerprints and the bound of
/// uniform data are computed from n.
#[test]
fn figures_agree_with_the_bytes() {
    let folder = Folder::new();
    let report = folder.ok(&format!("{SMALL} --json")).json();
    assert_eq!((&report["schema"], &report["bits"]), (&"fpdb.ratio/1".into(), &64.into()));
    let rows = report["rows"].as_array().unwrap();
    let of = |codec: &str| rows.iter().filter(|row| row["codec"] == codec).count();
    assert_eq!((of("raw"), of("fpdb")), (2, 8));
    for row in rows {
        let get = |key: &str| number(&row[key]);
        let (n, tables) = (get("n"), get("tables"));
        assert_eq!(get("fingerprints"), n);
        let parts = ["bytes_blocks", "bytes_index", "bytes_filters", "bytes_other"];
        assert_eq!(parts.map(get).iter().sum::<f64>(), get("bytes_tables"), "{row}");
        assert_eq!(get("bytes_tables") + get("bytes_ids"), get("bytes_total"), "{row}");
        assert!((get("bytes_total") / n - get("bytes_per_fingerprint")).abs() < 1e-9, "{row}");
        let bits = get("bytes_tables") * 8.0 / n / tables;
        assert!((bits - get("bits_per_fingerprint_per_table")).abs() < 1e-9, "{row}");
        let log2_factorial =
            (1..=row["n"].as_u64().unwrap()).map(|i| (i as f64).log2()).sum::<f64>();
        assert!((64.0 - log2_factorial / n - get("uniform_bound_bits")).abs() < 1e-6, "{row}");
        // The data is uniform, so its own entropy bound is not much lower.
        let below = get("uniform_bound_bits") - get("entropy_bound_bits");
        assert!((0.0..0.2).contains(&below), "{row}");
        assert!(bits > get("entropy_bound_bits"), "{row}");
        let above = bits - get("entropy_bound_bits");
        assert!((above - get("bits_above_entropy_bound")).abs() < 1e-9, "{row}");
    }
    for row in rows.iter().filter(|row| !row["layout"].is_null()) {
        let block = number(&row["block_size"]);
        let list = row["table_list"].as_array().unwrap();
        assert_eq!(number(&row["tables"]), list.len() as f64);
        for key in ["bytes_blocks", "bytes_index"] {
            let sum: f64 = list.iter().map(|table| number(&table[key])).sum();
            assert_eq!(sum, number(&row[key]), "{row}");
        }
        // The ids are a permutation.
        let n = row["n"].as_u64().unwrap();
        let bound = (1..=n).map(|i| (i as f64).log2()).sum::<f64>() / n as f64;
        assert!((number(&row["ids_bound_bits"]) - bound).abs() < 1e-6, "{row}");
        let ids = number(&row["bytes_ids"]) * 8.0 / n as f64;
        assert!((number(&row["ids_bits"]) - ids).abs() < 1e-9 && ids > bound, "{row}");
        // Full blocks.
        for table in list {
            let blocks = number(&table["bytes_blocks"]) / block;
            assert_eq!(blocks.fract(), 0.0, "{row}");
            // A slot of 64 bytes for 26 blocks, and hardly any keys in full.
            let slots = (blocks / 26.0).ceil() * 64.0;
            assert!((slots..slots * 1.1 + 64.0).contains(&number(&table["bytes_index"])), "{row}");
        }
        // The code is the paper's without the bits that are known, and with a count in each block.
        let taken = number(&row["bytes_blocks"]) * 8.0 / number(&row["n"]) / list.len() as f64;
        let paper = number(&row["paper_bits"]);
        assert!((0.85 * paper..1.05 * paper).contains(&taken), "{taken}: {row}");
    }
    let raw = rows.iter().find(|row| row["codec"] == "raw").unwrap();
    assert_eq!(raw["bytes_total"], 8000);
    assert_eq!(files(&folder), HashSet::new());
}

#[test]
fn filter_is_counted_separately() {
    let folder = Folder::new();
    let line = "ratio -n 2000 --layouts half-2 --blocks 256 --json --filter-bits";
    let rows = |bits: &str| folder.ok(&format!("{line} {bits}")).json()["rows"].clone();
    let (without, with) = (rows("0"), rows("10"));
    let last = |rows: &Value| rows.as_array().unwrap().last().unwrap().clone();
    let (without, with) = (last(&without), last(&with));
    assert_eq!(without["bytes_filters"], 0);
    assert!((number(&with["bytes_filters"]) / (2.0 * 2000.0 * 1.25) - 1.0).abs() < 0.01, "{with}");
    assert_eq!(with["bytes_blocks"], without["bytes_blocks"]);
}

#[test]
fn table_csv_and_page_agree_and_are_reproducible() {
    let folder = Folder::new();
    let line = format!("{SMALL} --csv ratio.csv --html ratio.html");
    let run = folder.ok(&line);
    let (table, csv, html) = (run.text(), folder.read("ratio.csv"), folder.read("ratio.html"));
    let mut read = csv::Reader::from_reader(csv.as_bytes());
    let title = read.headers().unwrap().iter().position(|h| h == "bits_per_fingerprint_per_table");
    let records: Vec<_> = read.records().map(Result::unwrap).collect();
    // For each of two sizes, the table has two lines of bounds.
    assert_eq!(
        (records.len() + 2 * 2 + 1, csv.lines().count()),
        (table.lines().count(), records.len() + 1)
    );
    for record in &records {
        let bits: f64 = record[title.unwrap()].parse().unwrap();
        let shown = format!("{bits:.2}");
        assert!(table.contains(&shown) && html.contains(&format!(">{shown}<")), "{shown}");
    }
    assert!(run.err.contains("over is what table takes above the entropy bound"), "{}", run.err);
    assert!(!run.err.contains("\\n"), "{}", run.err);
    for name in ["entropy bound", "half-2, 1024 B", "ring-3, 256 B"] {
        assert!(html.contains(name), "{name}");
    }
    assert_eq!(folder.ok(&line).text(), table);
    assert_eq!(folder.read("ratio.csv"), csv);
    let figures = |html: &str| {
        let lines = html.lines().filter(|line| !line.starts_with("<p>Made by fpdb-tool "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(figures(&folder.read("ratio.html")) == figures(&html), "the report has changed");
    assert_eq!(files(&folder), ["ratio.csv", "ratio.html"].map(str::to_owned).into());
}

#[test]
fn file_of_fingerprints_is_measured_as_it_is() {
    let folder = Folder::new();
    let mut state = 7;
    let list: Vec<u64> = (0..600).map(|_| random(&mut state)).collect();
    // Each fingerprint occurs twice.
    let bytes: Vec<u8> = list.iter().chain(&list).flat_map(|f| f.to_le_bytes()).collect();
    folder.write("f.u64le", bytes);
    let line = "ratio --data f.u64le --fp-format bin-le --layouts half-2 --blocks 256";
    let report = folder.ok(&format!("{line} --json")).json();
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["n"] == 1200 && row["fingerprints"] == 600), "{report}");
    assert_eq!(rows[0]["bytes_total"], 4800);
    let run = folder.exits(2, &format!("{line} -n 1201"));
    assert!(
        run.err.contains("f.u64le has 1200 fingerprints, fewer than -n requests"),
        "{}",
        run.err
    );

    let wide =
        folder.ok("ratio --bits 128 -n 500 --data clustered --layouts ring-4 --blocks 4096 --json");
    let rows = wide.json()["rows"].clone();
    assert_eq!(rows[0]["codec"], "raw");
    assert_eq!(number(&rows[0]["bytes_total"]), 16.0 * number(&rows[0]["fingerprints"]));
}

/// The bound depends on the data: clusters have a lower one than uniform data.
#[test]
fn entropy_bound_is_that_of_the_measured_fingerprints() {
    let folder = Folder::new();
    let line = "ratio -n 20000 --layouts half-2 --blocks 128,4096 --data clustered --json";
    let report = folder.ok(line).json();
    for row in report["rows"].as_array().unwrap() {
        let get = |key: &str| number(&row[key]);
        assert!(get("entropy_bound_bits") < get("uniform_bound_bits") - 5.0, "{row}");
        // Zstandard goes below it: it uses bits that the members of a cluster have in common.
        assert!(row["layout"].is_null() || get("bits_above_entropy_bound") > 0.0, "{row}");
    }
}

#[test]
fn page_has_bars_for_each_size_and_escapes_the_name_of_the_file() {
    let folder = Folder::new();
    folder.write("<b>.txt", "0x1\n0x2\n0x3\n");
    let line = "ratio --data <b>.txt --layouts half-2 --blocks 256";
    folder.ok(&format!("{line} -n 2,3 --filter-bits 8 --html ratio.html"));
    let html = folder.read("ratio.html");
    assert!(html.contains("<h1>Space per fingerprint: &lt;b&gt;.txt, 64 bits</h1>"), "{html}");
    assert!(!html.contains("<b>"), "{html}");
    for text in ["n = 2:", "n = 3:", "half-2, 256 B", "entropy bound", "<title>ids "] {
        assert!(html.contains(text), "{text}: {html}");
    }
}

#[test]
fn invalid_options_are_refused() {
    let folder = Folder::new();
    folder.write("empty", "");
    for (args, message) in [
        ("-n 0", "expected a whole number from 1 to 1e10"),
        ("-n 1000 --max-n 1e5", "cannot be used with"),
        ("--max-n 9999", "--max-n is below 1e4"),
        ("--layouts half", "no layout is named \"half\""),
        ("--blocks 200", "expected a power of two from 128 to 4096"),
        ("--blocks 8192", "expected a power of two from 128 to 4096"),
        ("--bits 32", "fingerprints have 64 or 128 bits"),
        ("--filter-bits 33", "33"),
        ("--data nowhere", "cannot open nowhere"),
        ("--data empty", "empty has no fingerprints"),
        ("--fp-format hex", "--fp-format is for files"),
        ("--html -", "standard output is for the results: give --html a file"),
        ("--csv -", "standard output is for the results: give --csv a file"),
        ("-n 100 --folder nowhere", "cannot write to nowhere"),
        ("-n 1e10 --layouts paper-20 --folder .", "which has"),
    ] {
        let run = folder.exits(2, &format!("ratio {args}"));
        assert!(run.err.contains(message) && run.out.is_empty(), "{args}: {}", run.err);
    }
    assert_eq!(files(&folder), ["empty".to_owned()].into());
}

/// A run that is ended while it writes removes its database.
#[cfg(unix)]
#[test]
fn interrupted_run_leaves_nothing() {
    for signal in ["-INT", "-TERM"] {
        let folder = Folder::new();
        let args = ["ratio", "-n", "5e6", "--folder", ".", "--layouts", "paper-20"];
        let mut child = folder.command(&args).spawn().unwrap();
        let start = Instant::now();
        let is_writing = || {
            let inside =
                files(&folder).into_iter().next().map(|name| folder.file(&name).join("db"));
            inside.is_some_and(|db| db.exists())
        };
        while !is_writing() {
            assert!(start.elapsed() < Duration::from_secs(120), "no database is written");
            std::thread::sleep(Duration::from_millis(20));
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        assert_eq!(files(&folder), HashSet::new(), "{signal}");
    }
}
