//! `dedup --recrawl` and `--stamp`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::common::{Folder, Run, document, records, text};

/// Returns a page as a line of NDJSON.
fn page(id: &str, text: &str, seen: u64) -> String {
    format!("{}\n", json!({ "id": id, "text": text, "seen": seen }))
}

/// Returns the lines of three visits to the same site, with the ids of the lines.
///
/// First, there are 60 pages, copies of pages 20 to 29, and a page that is too short. Then, pages 0
/// to 5 have changed a little and 6 and 7 completely, 8 and 9 are gone, and there are 5 more. Last,
/// page 0 is as it was first, and page 12 is a copy of page 13.
fn visits() -> [Vec<(String, String)>; 3] {
    let visit = |number: u64| {
        let mut pages = Vec::new();
        let mut add = |id: String, text: &str| {
            let line = page(&id, text, number);
            pages.push((id, line));
        };
        for i in 0..if number == 1 { 60 } else { 65 } {
            let content = match (number, i) {
                (2 | 3, 8 | 9) => continue,
                (2, 0) | (2 | 3, 1..=5) => format!("{} {}", text(i, 120), text(100 + i, 30)),
                (2 | 3, 6 | 7) => text(200 + i, 120),
                (3, 12) => text(13, 120),
                _ => text(i, 120),
            };
            add(format!("http://a/{i}"), &content);
        }
        for i in 20..30 {
            add(format!("http://copy/{i}"), &text(i, 120));
        }
        add("http://short/".to_owned(), "404");
        pages
    };
    [visit(1), visit(2), visit(3)]
}

/// The counts of a summary: read, inserted, unchanged, updated, novel, duplicates, skipped.
type Counts = [u64; 7];

fn counts(run: &Run) -> Counts {
    let (_, summary) = run.summarized();
    let keys = ["read", "inserted", "unchanged", "updated", "novel", "duplicates", "skipped"];
    keys.map(|key| summary[key].as_u64().unwrap_or_else(|| panic!("{key}: {summary}")))
}

/// Visits the pages three times. Returns the folder and the counts of each visit.
fn visit_all(options: &str) -> (Folder, [Counts; 3]) {
    let folder = Folder::new();
    let counts = visits().map(|lines| {
        let lines: String = lines.into_iter().map(|(_, line)| line).collect();
        folder.write("pages.ndjson", lines);
        let line = "dedup db pages.ndjson --recrawl --stamp seen --print id --json";
        let run = folder.ok(&format!("{line} {options}"));
        let counts = counts(&run);
        assert_eq!(run.summarized().0.lines().count() as u64, counts[4], "novel ids are printed");
        counts
    });
    (folder, counts)
}

fn get(folder: &Folder, id: &str) -> Value {
    folder.ok(&format!("get db {id} --json")).records()[0].clone()
}

#[test]
fn three_visits_count_what_changed() {
    let (folder, counts) = visit_all("");
    assert_eq!(counts[0], [71, 60, 0, 0, 60, 10, 1]);
    assert_eq!(counts[1], [74, 5, 50, 8, 13, 10, 1]);
    assert_eq!(counts[2], [74, 0, 61, 1, 1, 11, 1]);
    // The copy keeps its old version, with the new stamp.
    assert_eq!(get(&folder, "http://a/12")["stamp"], 3);
    assert_eq!(get(&folder, "http://a/9")["stamp"], 1);
    assert_eq!(folder.ok("expire db --before 3").err, "examined 65 documents: 2 removed\n");
    assert_eq!(get(&folder, "http://a/9")["type"], "missing");
    folder.ok("verify db");
}

#[test]
fn only_ids_with_several_contents_are_updated_when_the_same_files_are_read_again() {
    let folder = Folder::new();
    let twice = [("http://a/", 1), ("http://b/", 2), ("http://b/", 3), ("http://c/", 4)];
    let twice = twice.map(|(id, seed)| page(id, &text(seed, 60), 1)).concat();
    folder.write("pages.ndjson", &twice);
    let line = "dedup db pages.ndjson --recrawl --json";
    assert_eq!(counts(&folder.ok(line)), [4, 3, 0, 1, 4, 0, 0]);
    let first = get(&folder, "http://b/");
    let both: String = twice.lines().skip(1).take(2).map(|line| line.to_owned() + "\n").collect();
    for _ in 0..2 {
        let run = folder.ok(line);
        assert_eq!(counts(&run), [4, 0, 2, 2, 2, 0, 0]);
        assert_eq!(run.summarized().0, both);
        // The last content stays.
        assert_eq!(get(&folder, "http://b/")["fingerprint"], first["fingerprint"]);
    }
}

#[test]
fn remembered_duplicates_are_unchanged_on_the_next_visit() {
    let (folder, counts) = visit_all("--on-duplicate remember");
    assert_eq!(counts[0], [71, 60, 0, 0, 60, 10, 1]);
    assert_eq!(counts[1], [74, 5, 60, 8, 13, 0, 1]);
    assert_eq!(counts[2], [74, 0, 71, 1, 1, 1, 1]);
    assert_eq!(get(&folder, "http://a/12")["duplicate_of"]["name"], "http://a/13");
    let stats = folder.ok("stats db --json").json();
    assert_eq!((&stats["documents"], &stats["duplicates"]), (&json!(75), &json!(11)));
}

#[test]
fn the_lines_of_new_and_changed_documents_are_printed_in_order() {
    let folder = Folder::new();
    let [first, second, _] = visits();
    for (lines, is_printed) in [
        (first, (|id| id.starts_with("http://a/")) as fn(&str) -> bool),
        (second, |id| {
            let number = id.strip_prefix("http://a/").map(|n| n.parse::<u64>().unwrap());
            number.is_some_and(|n| !(8..60).contains(&n))
        }),
    ] {
        folder
            .write("pages.ndjson", lines.iter().map(|(_, line)| line.as_str()).collect::<String>());
        let run = folder.ok("dedup db pages.ndjson --recrawl");
        let printed = lines.iter().filter(|(id, _)| is_printed(id)).map(|(_, line)| line.as_str());
        assert_eq!(run.text(), printed.collect::<String>());
    }
    let run = folder.ok("dedup db pages.ndjson --recrawl");
    assert!(run.out.is_empty(), "{}", run.text());
    let sentence =
        "read 74: 0 novel (0 inserted, 0 updated), 63 unchanged, 10 duplicates, 1 skipped\n";
    assert_eq!(run.err, sentence);
}

#[test]
fn the_report_of_a_recrawl_has_its_duplicates_and_counts() {
    let folder = Folder::new();
    let docs = document("a", &text(1, 50)) + &document("b", &text(1, 50)) + &document("c", "404");
    folder.write("docs", docs);
    folder.ok("dedup db docs --recrawl --report r");
    let expected = [
        json!({"type": "duplicate", "id": "b", "duplicate_of": "a", "distance": 0}),
        json!({"type": "summary", "read": 3, "inserted": 1, "unchanged": 0, "updated": 0,
            "novel": 1, "duplicates": 1, "skipped": 1, "bad": 0, "ignored": 0}),
    ];
    assert_eq!(records(&folder.read("r")), expected);
    // The original is named even if the same batch removes it.
    let docs = [("x", 2), ("a", 2), ("y", 3), ("x", 3)];
    folder.write("docs", document("b", &text(1, 50)) + &documents(&docs));
    folder.ok("dedup db docs --recrawl --on-duplicate remove --report r");
    let report = records(&folder.read("r"));
    let originals: Vec<_> = report.iter().filter_map(|r| r["duplicate_of"].as_str()).collect();
    assert_eq!(originals[..2], ["a", "x"]);
}

fn documents(docs: &[(&str, u64)]) -> String {
    docs.iter().map(|(id, seed)| document(id, &text(*seed, 50))).collect()
}

#[test]
fn small_changes_are_counted_and_not_printed() {
    let folder = Folder::new();
    let bits = |id: &str| {
        let hex = get(&folder, id)["fingerprint"].as_str().unwrap().to_owned();
        u64::from_str_radix(&hex[2..], 16).unwrap()
    };
    let long = text(1, 200);
    folder.write("docs", document("a", &long));
    folder.ok("dedup db docs");
    let before = bits("a");
    folder.write("docs", document("a", &format!("{long} {}", text(2, 20))));
    let distance = (before ^ bits_of(&folder, "docs")).count_ones();
    assert!(distance > 0);
    folder.write("old", document("a", &long));
    for (changed_by, is_printed) in [(distance - 1, true), (distance, false), (64, false)] {
        let run = folder.ok(&format!("dedup db docs --recrawl --changed-by {changed_by} --json"));
        assert_eq!(counts(&run), [1, 0, 0, 1, 1, 0, 0]);
        assert_eq!(!run.summarized().0.is_empty(), is_printed, "{changed_by} of {distance}");
        folder.ok("dedup db old --recrawl");
    }
    assert_eq!(bits("a"), before);
}

fn bits_of(folder: &Folder, file: &str) -> u64 {
    let record = &folder.ok(&format!("fingerprint {file} --json")).records()[0];
    u64::from_str_radix(&record["fingerprint"].as_str().unwrap()[2..], 16).unwrap()
}

#[test]
fn a_duplicate_that_becomes_an_original_is_printed_whatever_the_distance() {
    let folder = Folder::new();
    let lines = [("a", 1), ("b", 1)].map(|(id, seed)| document(id, &text(seed, 50)));
    folder.write("docs", lines.concat());
    let line = "dedup db docs --recrawl --on-duplicate remember --changed-by 64 --json";
    assert_eq!(counts(&folder.ok(line)), [2, 1, 0, 0, 1, 1, 0]);
    folder.ok("remove db --name a");
    folder.write("docs", &lines[1]);
    let run = folder.ok(line);
    assert_eq!((counts(&run), &run.summarized().0), ([1, 0, 0, 1, 1, 0, 0], &lines[1]));
}

#[test]
fn stamps_come_from_the_clock_or_a_field() {
    let folder = Folder::new();
    let time = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let stamp = |id: &str| get(&folder, id)["stamp"].clone();
    folder.write("docs.ndjson", document("a", &text(1, 50)));
    let before = time();
    folder.ok("dedup db docs.ndjson --stamp now");
    assert!((before..=time()).contains(&stamp("a").as_u64().unwrap()));
    // Without --recrawl, a stored document is a duplicate of itself and keeps its stamp.
    folder.write("docs.ndjson", page("a", &text(1, 50), 7) + &page("b", &text(2, 50), u64::MAX));
    folder.ok("dedup db docs.ndjson --stamp seen");
    assert!(stamp("a").as_u64().unwrap() >= before);
    assert_eq!(stamp("b"), u64::MAX);
    folder.write("docs.ndjson", page("a", &text(1, 50), u64::MAX - 1));
    folder.ok("dedup db docs.ndjson --stamp seen --recrawl");
    assert_eq!(stamp("a"), u64::MAX - 1);
    folder.ok("dedup db docs.ndjson --stamp now --recrawl");
    assert_eq!(stamp("a"), u64::MAX - 1, "no stamp becomes smaller");
    folder.ok("dedup db docs.ndjson --recrawl");
    assert_eq!(stamp("a"), u64::MAX - 1, "without --stamp, stamps stay");

    folder.write(
        "docs.ndjson",
        format!("{}\n", json!({"m": {"now": 9}, "id": "c", "text": text(3, 50)})),
    );
    folder.ok("dedup db docs.ndjson --stamp /m/now");
    assert_eq!(stamp("c"), 9);
    folder.write("table.csv", format!("id,seen,text\nd,12,{}\n", text(4, 50)));
    folder.ok("dedup db table.csv --stamp seen");
    assert_eq!(stamp("d"), 12);
}

#[test]
fn records_without_a_stamp_are_errors_with_their_place() {
    let folder = Folder::new();
    let good = page("a", &text(1, 50), 1);
    for (value, message) in [
        (None, "docs.ndjson, line 2: no field \"seen\""),
        (Some("-1"), "docs.ndjson, line 2: field \"seen\" is not a whole number from 0 to"),
        (Some("\"5\""), "docs.ndjson, line 2: field \"seen\" is not a whole number from 0 to"),
        (Some("1.5"), "docs.ndjson, line 2: field \"seen\" is not a whole number from 0 to"),
        (Some("null"), "docs.ndjson, line 2: field \"seen\" is not a whole number from 0 to"),
    ] {
        let field = value.map_or_else(String::new, |value| format!(",\"seen\":{value}"));
        folder.write("docs.ndjson", format!("{good}{{\"id\":1,\"text\":\"x\"{field}}}\n"));
        let run = folder.exits(2, "dedup db docs.ndjson --stamp seen --recrawl");
        assert!(run.err.contains(message), "{}", run.err);
    }
    let run = folder.ok("dedup db docs.ndjson --stamp seen --recrawl --skip-bad --json");
    assert_eq!(run.summarized().1["bad"], 1);

    folder.write("table.csv", format!("id,text,seen\na,{},1\nb,x,\n", text(1, 50)));
    let run = folder.exits(2, "dedup db table.csv --stamp seen");
    let message = "table.csv, line 3: field \"seen\" is not a whole number from 0 to";
    assert!(run.err.contains(message), "{}", run.err);
    let run = folder.exits(2, "dedup db table.csv --stamp when");
    let message = "table.csv, line 1: the header has no column \"when\"";
    assert!(run.err.contains(message), "{}", run.err);
}

#[test]
fn formats_without_fields_have_no_stamps() {
    let folder = Folder::new();
    folder.write("page.html", "<html><p>text</p></html>");
    folder.write("page.txt", "text");
    folder.write("crawl.warc", "WARC/1.0\r\n\r\n");
    for (file, from) in [
        ("page.html", "html"),
        ("page.txt", "text"),
        ("page.txt", "lines"),
        ("crawl.warc", "warc"),
        ("page.html", "auto"),
    ] {
        let run = folder.exits(2, &format!("dedup db {file} --from {from} --stamp seen"));
        assert!(run.err.contains(&format!("{file}: a field \"seen\"")), "{}", run.err);
        assert!(run.err.contains("give --stamp now"), "{}", run.err);
    }
    folder.ok("dedup db page.txt --from text --stamp now");
}

#[test]
fn options_of_a_recrawl_need_it() {
    let folder = Folder::new();
    folder.write("docs.ndjson", document("a", &text(1, 50)));
    for options in [
        "--on-duplicate remove",
        "--changed-by 3",
        "--recrawl --on-duplicate forget",
        "--recrawl --changed-by few",
        "--recrawl --stamp=",
    ] {
        folder.exits(2, &format!("dedup db docs.ndjson {options}"));
    }
    assert!(!folder.file("db").exists());
}

#[test]
fn what_could_not_be_printed_is_not_stored() {
    use std::process::Stdio;

    let folder = Folder::new();
    folder.write("docs", document("a", &text(1, 50)));
    folder.ok("dedup db docs");
    folder.write("docs", document("a", &text(2, 50)) + &document("b", &text(3, 50)));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let Ok(full) = full else { return };
    let before = get(&folder, "a");
    let mut command = folder.command(&["dedup", "db", "docs", "--recrawl"]);
    let output = command.stdout(Stdio::from(full)).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("fpdb-tool: cannot write to standard output"), "{err}");
    assert_eq!(get(&folder, "a"), before);
    assert_eq!(get(&folder, "b")["type"], "missing");
    assert_eq!(folder.ok("dedup db docs --recrawl").text().lines().count(), 2);
}

#[test]
fn stamps_are_numbers_dates_or_durations() {
    let folder = Folder::new();
    folder.write("old", documents(&[("a", 1)]));
    folder.write("new", documents(&[("b", 2)]));
    folder.ok("dedup db old --stamp 2026-01-31");
    folder.ok("dedup db new --stamp now");
    assert_eq!(get(&folder, "a")["stamp"], 1_769_817_600);
    let expire = |before: &str| folder.ok(&format!("expire db --dry-run --before {before}")).err;
    assert!(expire("2026-01-31").contains(": 0 would be removed"), "{}", expire("2026-01-31"));
    assert!(expire("2026-02-01T00:00:00Z").contains(": 1 would be removed"));
    assert!(expire("1h").contains(": 1 would be removed"));
    let found = folder.ok("query db 0 -k 64 --since 30m").text();
    assert_eq!(found.lines().count(), 2, "a header and a document: {found}");
    let wrong = folder.exits(2, "expire db --before yesterday");
    assert!(wrong.err.contains("such as 30d"), "{}", wrong.err);
}
