//! `inspect` of tables and blocks, and of databases of sketches. That of layouts is in
//! `maintenance`.

use serde_json::json;

use crate::common::{Folder, document, random, text};

#[test]
fn a_database_of_sketches_has_tables_of_bands() {
    let folder = Folder::new();
    folder
        .write("docs", (0..9).map(|i| document(&i.to_string(), &text(i, 50))).collect::<String>());
    folder.ok("dedup db docs --jaccard 0.8 --quiet");
    let report = folder.ok("inspect db --json").json();
    assert_eq!((&report["tables"], &report["cells"]), (&json!([]), &json!([])));
    let of_bands = std::fs::read_dir(folder.file("db")).unwrap().map(|file| file.unwrap().path());
    let of_bands = of_bands.filter(|file| file.to_string_lossy().contains(".b")).count();
    assert_eq!((of_bands, report["segments"][0]["tables"].as_array().unwrap().len()), (10, 10));
    assert_eq!(report["segments"][0]["tables"][9]["blocks"], 0);
    let text = folder.ok("inspect db").text();
    assert!(
        text.contains("bands       10 bands of 5 minima") && !text.contains("layout"),
        "{text}"
    );
    let text = folder.ok("stats db").text();
    assert!(text.contains("fingerprints  sketches\n") && !text.contains("layout"), "{text}");
    let run = folder.exits(2, "inspect db --table 0");
    assert!(run.err.contains("sketches"), "{}", run.err);
}

/// A folder with a database `db` of 3,000 fingerprints in one segment.
fn with_blocks(options: &str) -> Folder {
    let (folder, mut state) = (Folder::new(), 1);
    let list: String = (0..3000).map(|_| format!("{:x}\n", random(&mut state))).collect();
    folder.write("list", list);
    folder.ok(&format!("create db --layout half-2 {options}"));
    folder.ok("import db list --fp-format hex");
    folder
}

#[test]
fn the_overview_shows_how_many_blocks_a_table_has_and_what_its_parts_take() {
    let folder = with_blocks("");
    let report = folder.ok("inspect db --json").json();
    let parts = report["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2);
    for part in parts {
        let sum: f64 =
            ["first", "codewords", "remaining", "unused", "directory", "filter", "other"]
                .iter()
                .map(|name| part[name].as_f64().unwrap())
                .sum();
        assert!((sum - part["total"].as_f64().unwrap()).abs() < 1e-9, "{part}");
        let blocks = part["blocks"].as_u64().unwrap();
        assert_eq!(part["blocks_read"], blocks);
        assert!((part["first"].as_f64().unwrap() - blocks as f64 * 80.0 / 3000.0).abs() < 1e-9);
    }
    let text = folder.ok("inspect db").text();
    assert!(text.contains("blocks") && text.contains("code lengths"), "{text}");
}

#[test]
fn blocks_of_a_table_follow_each_other_and_have_all_fingerprints() {
    for (options, digits) in [("", 16), ("--block-size 1024", 16), ("--bits 128", 32)] {
        let folder = with_blocks(options);
        let lines = folder.ok("inspect db --table 1 --json").records();
        let (summary, blocks) = lines.split_last().unwrap();
        assert_eq!((&summary["fingerprints"], &summary["type"]), (&3000.into(), &"summary".into()));
        assert_eq!(summary["blocks"], blocks.len());
        let ends: Vec<&str> = blocks
            .iter()
            .flat_map(|block| [block["first"].as_str().unwrap(), block["last"].as_str().unwrap()])
            .collect();
        assert!(ends.iter().all(|end| end.len() == 2 + digits) && ends.is_sorted());
        let text = folder.ok("inspect db --table 1").text();
        assert_eq!(text.lines().count(), blocks.len() + 3, "{text}");
    }
}

#[test]
fn a_block_shows_the_codeword_and_the_documents_of_each_fingerprint() {
    let folder = with_blocks("");
    let block = folder.ok("inspect db --table 1 --block 5 --json").json();
    let rows = block["fingerprints"].as_array().unwrap();
    let value = |text: &serde_json::Value| {
        u64::from_str_radix(text.as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap()
    };
    let list: Vec<u64> =
        folder.read("list").lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect();
    for pair in rows.windows(2) {
        let (before, row) = (value(&pair[0]["permuted"]), &pair[1]);
        let permuted = value(&row["permuted"]);
        assert_eq!(permuted, value(&row["fingerprint"]).rotate_left(32));
        let h = row["h"].as_u64().unwrap();
        assert_eq!(h, u64::from((before ^ permuted).ilog2()));
        let remaining = row["remaining"].as_str().unwrap().len() as u64;
        assert!(remaining == h || remaining + 1 == h, "{row}");
        assert_eq!(row["code_length"], row["codeword"].as_str().unwrap().len());
        let fingerprint = value(&row["fingerprint"]);
        let id = list.iter().position(|&listed| listed == fingerprint).unwrap();
        assert_eq!(row["ids"], serde_json::json!([id]));
    }
    assert!(rows[0]["h"].is_null() && rows.len() > 10);
    let text = folder.ok("inspect db --table 1 --block 5").text();
    assert!(text.contains("codeword") && text.contains("code length"), "{text}");
}

#[test]
fn an_unknown_table_block_or_segment_lists_what_there_is() {
    let folder = with_blocks("");
    let fails = |line: &str, text: &str| {
        let run = folder.exits(2, line);
        assert!(run.err.contains(text), "{line}: {}", run.err);
    };
    fails("inspect db --table 9", "table 9 does not exist: this database has tables 0 to 1");
    fails("inspect db --table 0 --block 9999", "has blocks 0 to 1");
    folder.ok("import db list --fp-format hex --first-id 5000");
    let report = folder.ok("inspect db --json").json();
    let segments = report["segments"].as_array().unwrap();
    let ids: Vec<String> = segments.iter().map(|segment| segment["id"].to_string()).collect();
    fails("inspect db --table 0", &format!("choose one with --segment, of {}", ids.join(", ")));
    fails("inspect db --table 0 --segment 3", &ids.join(", "));
    for id in &ids {
        folder.ok(&format!("inspect db --table 0 --segment {id}"));
    }
    folder.ok("create empty");
    fails("inspect empty --table 0", "no segment yet");
    assert!(!folder.ok("inspect empty").text().contains("code lengths"));
}

#[test]
fn a_damaged_block_is_an_error_that_names_the_file() {
    let folder = with_blocks("");
    let files = std::fs::read_dir(folder.file("db")).unwrap().map(|file| file.unwrap().path());
    let table = files.into_iter().find(|file| file.to_string_lossy().ends_with(".t00")).unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[9000] ^= 1;
    std::fs::write(&table, bytes).unwrap();
    let run = folder.exits(2, "inspect db --table 0 --block 69");
    assert!(run.err.contains(".t00") && run.err.contains("checksum"), "{}", run.err);
}
