//! `ratio`

use serde_json::Value;

use crate::common::{Folder, random};

/// Returns the code with this name.
fn code<'a>(report: &'a Value, name: &str) -> &'a Value {
    let codes = report["codes"].as_array().unwrap();
    codes.iter().find(|code| code["name"] == name).unwrap_or_else(|| panic!("{name}: {report}"))
}

fn bits(report: &Value, name: &str) -> f64 {
    code(report, name)["bits"].as_f64().unwrap()
}

#[test]
fn tables_of_random_fingerprints_are_between_the_bound_and_raw() {
    let folder = Folder::new();
    for (width, options) in [(64.0, ""), (128.0, "--bits 128")] {
        let report = folder.ok(&format!("ratio --entries 1e5 {options} --json")).json();
        let (raw, bound) = (bits(&report, "raw"), bits(&report, "entropy bound"));
        assert_eq!((raw, &report["built"]), (width, &100_000.into()));
        assert!((bound - (width - 1e5f64.log2() + 1.443)).abs() < 0.01, "{bound}");
        let large = bits(&report, "blocks of 1024 B");
        assert!(bound < large && large < bits(&report, "blocks of 128 B"), "{report}");
        assert!(large < bits(&report, "zstd") && large < bits(&report, "gzip of differences"));
        for size in [128, 4096] {
            let of_blocks = code(&report, &format!("blocks of {size} B"));
            let parts = ["first", "codewords", "remaining", "unused", "directory", "other"];
            let sum: f64 = parts.iter().map(|part| of_blocks[part].as_f64().unwrap()).sum();
            assert!((sum - of_blocks["bits"].as_f64().unwrap()).abs() < 1e-9, "{of_blocks}");
            assert_eq!(of_blocks["block_size"], size);
        }
    }
}

#[test]
fn eight_billion_fingerprints_take_nearly_half() {
    let folder = Folder::new();
    let report = folder.ok("ratio --entries 8e9 --json").json();
    assert_eq!(report["fingerprints"], 8_000_000_000u64);
    let ratio = |name: &str| code(&report, name)["ratio"].as_f64().unwrap();
    assert!((0.53..0.545).contains(&ratio("blocks of 1024 B")), "{report}");
    assert!((0.575..0.585).contains(&ratio("blocks of 128 B")), "{report}");
}

#[test]
fn a_list_and_a_database_of_the_same_fingerprints_have_the_same_ratios() {
    let (folder, mut state) = (Folder::new(), 1);
    let list: String = (0..5000).map(|_| format!("{:016x}\n", random(&mut state))).collect();
    folder.write("list", list.repeat(2));
    folder.ok("create db --layout half-2");
    folder.ok("import db list");
    let of_list = folder.ok("ratio --from fp list --json").json();
    let of_database = folder.ok("ratio db --json").json();
    assert_eq!((&of_list["source"], &of_list["fingerprints"]), (&"list".into(), &5000.into()));
    assert_eq!(of_list["codes"], of_database["codes"]);
    let text = folder.ok("ratio db").text();
    for name in ["raw", "gzip", "zstd", "blocks of 128 B", "entropy bound"] {
        assert!(text.contains(name), "{text}");
    }
    let text = folder.ok("stats db").text();
    assert!(text.contains(" of raw (entropy bound"), "{text}");
}

#[test]
fn a_picture_has_a_bar_and_a_label_for_each_code() {
    let folder = Folder::new();
    let report = folder.ok("ratio --entries 1e4 --picture bars.svg --json").json();
    let svg = folder.read("bars.svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("bits per"));
    for code in report["codes"].as_array().unwrap() {
        assert!(svg.contains(&format!(">{}</text>", code["name"].as_str().unwrap())), "{svg}");
    }
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    folder.exits(2, "ratio --entries 1e4 --picture no/such/folder.svg");
}

#[test]
fn what_has_no_fingerprints_is_refused() {
    let folder = Folder::new();
    folder.write("empty", "");
    folder.ok("create sketches --jaccard 0.8");
    folder.ok("create db");
    let fails = |line: &str, text: &str| {
        let run = folder.exits(2, line);
        assert!(run.err.contains(text), "{line}: {}", run.err);
    };
    fails("ratio --from fp empty", "no fingerprints");
    fails("ratio --from ndjson empty", "not documents");
    fails("ratio sketches", "sketches");
    fails("ratio db --bits 128", "64 bits");
    fails("ratio db db", "one database");
    fails("ratio db --entries 5", "cannot be used");
    fails("ratio", "required");
}
