use serde_json::{Value, json};

use crate::common::{Folder, document, gzip, records, text};

/// Returns twenty documents, each followed by a copy in capitals under another id; and the
/// originals.
fn with_copies() -> (Vec<String>, Vec<String>) {
    let mut lines = Vec::new();
    let mut novel = Vec::new();
    for seed in 0..20 {
        let text = text(seed, 120);
        let copy = text.to_uppercase();
        lines.push(document(&format!("http://a/{seed}"), &text));
        novel.push(lines[lines.len() - 1].clone());
        lines.push(document(&format!("http://b/{seed}"), &copy));
    }
    (lines, novel)
}

fn summary(read: u64, novel: u64, duplicates: u64, skipped: u64, bad: u64) -> Value {
    json!({
        "type": "summary", "read": read, "novel": novel,
        "duplicates": duplicates, "skipped": skipped, "bad": bad, "ignored": 0,
    })
}

#[test]
fn novel_lines_are_printed_unchanged_and_duplicates_reported() {
    let folder = Folder::new();
    let (lines, novel) = with_copies();
    folder.write("docs.ndjson.gz", gzip(lines.concat().as_bytes()));
    let line = "dedup crawl.fpdb --from ndjson docs.ndjson.gz --report dups.ndjson";
    let run = folder.ok(line);
    assert_eq!(run.text(), novel.concat());
    assert!(run.err.contains("read 40: 20 novel, 20 duplicates, 0 skipped"), "{}", run.err);

    let report = records(&folder.read("dups.ndjson"));
    assert_eq!(report.len(), 21);
    for (i, record) in report[..20].iter().enumerate() {
        let expected = json!({
            "type": "duplicate", "id": format!("http://b/{i}"),
            "duplicate_of": format!("http://a/{i}"), "distance": 0,
        });
        assert_eq!(*record, expected);
    }
    assert_eq!(report[20], summary(40, 20, 20, 0, 0));

    let run = folder.ok(line);
    assert!(run.out.is_empty(), "{}", run.text());
    let report = records(&folder.read("dups.ndjson"));
    assert_eq!((report.len(), &report[40]), (41, &summary(40, 0, 40, 0, 0)));
    assert_eq!(folder.ok("stats crawl.fpdb --json").json()["entries"], 20);
}

#[test]
fn near_duplicates_are_found_within_the_distance_of_the_database() {
    let folder = Folder::new();
    let long = text(1, 400);
    folder.write("a", document("a", &long) + &document("b", &format!("{long} {}", text(2, 30))));
    let run = folder.ok("dedup exact a -k 0");
    assert_eq!(run.text().lines().count(), 2);
    folder.ok("dedup near a -k 8 --report dups");
    let report = records(&folder.read("dups"));
    assert_eq!(report[0]["duplicate_of"], "a");
    assert!((1..=8).contains(&report[0]["distance"].as_u64().unwrap()), "{}", report[0]);
    let run = folder.exits(2, "dedup near a -k 3");
    assert!(run.err.contains("the database has distance 8"), "{}", run.err);
    folder.ok("dedup near a -k 8 --layout auto");
}

#[test]
fn standard_input_and_several_files_are_read_in_order() {
    let folder = Folder::new();
    let docs: Vec<_> = (0..4).map(|i| document(&i.to_string(), &text(i, 50))).collect();
    folder.write("one", docs[0].trim_end());
    folder.write("two.gz", [gzip(docs[1].as_bytes()), gzip(docs[2].as_bytes())].concat());
    let args = ["dedup", "db", "one", "-", "two.gz", "one"];
    let run = folder.run_with(&args, &gzip(docs[3].as_bytes()));
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(run.text(), [&docs[0], &docs[3], &docs[1], &docs[2]].map(String::as_str).concat());
}

#[test]
fn a_last_line_without_a_line_feed_gets_none() {
    let folder = Folder::new();
    let lines = document("a", &text(1, 50)) + document("b", &text(2, 50)).trim_end();
    let run = folder.run_with(&["dedup", "db", "-"], lines.as_bytes());
    assert_eq!(run.text(), lines);
}

#[test]
fn lines_keep_every_byte() {
    let folder = Folder::new();
    let line =
        format!(" {{\"x\" : [1,{{}}], \"id\":5,\t\"text\":\"\\u0061 {}\"}} \r\n", text(3, 50));
    let run = folder.run_with(&["dedup", "db", "-"], line.as_bytes());
    assert_eq!(run.text(), line);
    let run = folder.run_with(&["dedup", "db", "-", "--report", "r"], line.as_bytes());
    assert!(run.out.is_empty());
    assert_eq!(records(&folder.read("r"))[0]["duplicate_of"], "5");
}

#[test]
fn documents_with_too_few_features_are_skipped_and_never_duplicates() {
    let folder = Folder::new();
    let short = [document("1", ""), document("2", "404"), document("3", "not found")].concat();
    let long = document("4", &text(1, 50));
    let lines = format!("{short}\n{long}  \n{}", document("5", "hello"));
    let args = ["dedup", "db", "-", "--report", "r"];
    let run = folder.run_with(&args, lines.as_bytes());
    assert_eq!(run.text(), long);
    assert_eq!(records(&folder.read("r")), [summary(5, 1, 0, 4, 0)]);

    let run = folder.run_with(&["dedup", "other", "-", "--keep-skipped"], lines.as_bytes());
    assert_eq!(run.text(), format!("{short}{long}{}", document("5", "hello")));
    let run = folder.run_with(&["dedup", "none", "-", "--keep-skipped"], short.as_bytes());
    assert_eq!(run.text(), short);
}

#[test]
fn a_bad_line_is_named_and_the_documents_before_it_are_stored() {
    let folder = Folder::new();
    let docs: Vec<_> = (0..600).map(|i| document(&i.to_string(), &text(i, 20))).collect();
    for at in [0, 1, 255, 256, 300, 599] {
        let db = format!("db{at}");
        let mut lines = docs.clone();
        lines[at] = "{\"id\":\"x\"}\n".to_owned();
        folder.write("docs", lines.concat());
        let run = folder.exits(2, &format!("dedup {db} docs --report r"));
        let place = format!("fpdb-tool: docs, line {}: no field \"text\"", at + 1);
        assert!(run.err.contains(&place), "{}", run.err);
        assert_eq!(run.text(), docs[..at].concat());
        match at {
            0 => assert!(!folder.file(&db).exists()),
            _ => assert_eq!(folder.ok(&format!("stats {db} --json")).json()["entries"], at),
        }
        assert_eq!(folder.read("r"), "", "no summary, because the run is incomplete");
    }
}

#[test]
fn skip_bad_leaves_out_bad_lines() {
    let folder = Folder::new();
    let good = [document("1", &text(1, 50)), document("2", &text(2, 50))];
    let mut lines = b"{]\n".to_vec();
    lines.extend(good[0].as_bytes());
    lines.extend(b"{\"id\":\"x\",\"text\":\"\xff\xfe\"}\n[]\n");
    lines.extend(good[1].as_bytes());
    folder.write("docs", lines);

    let run = folder.exits(2, "dedup a docs");
    assert!(run.err.contains("docs, line 1:"), "{}", run.err);
    let run = folder.ok("dedup a docs --skip-bad --keep-skipped --report r");
    assert_eq!(run.text(), good.concat());
    assert!(run.err.contains("docs, line 3: invalid UTF-8"), "{}", run.err);
    assert_eq!(records(&folder.read("r")), [summary(5, 2, 0, 3, 3)]);
}

#[test]
fn recipes_are_never_mixed() {
    let folder = Folder::new();
    folder.write("docs", document("1", &text(1, 50)));
    // An empty database adopts the recipe of the first run.
    folder.ok("create a --ids names");
    folder.ok("dedup a docs");
    assert_eq!(folder.ok("stats a --json").json()["recipe"], "pairs/1");
    folder.exits(2, "dedup a docs --recipe nonsense/1");
    let run = folder.exits(2, "dedup a docs --recipe fives/1");
    assert!(run.err.contains("pairs/1"), "{}", run.err);
    folder.ok("create b --ids names --custom-recipe ours/1");
    let run = folder.exits(2, "dedup b docs --recipe fives/1");
    assert!(run.err.contains("ours/1"), "{}", run.err);
    folder.exits(2, "dedup b docs");
    if cfg!(feature = "zh") {
        folder.exits(2, "dedup a docs --recipe pairs-zh/1");
        folder.ok("create c --ids names --recipe pairs-zh/1");
        folder.ok("dedup c docs");
    }
}

#[test]
fn databases_with_other_ids_or_width_are_refused() {
    let folder = Folder::new();
    folder.write("docs", document("1", &text(1, 50)));
    folder.ok("create user");
    let run = folder.exits(2, "dedup user docs");
    assert!(run.err.contains("--ids names"), "{}", run.err);
    folder.ok("create wide --ids names --bits 128");
    let run = folder.exits(2, "dedup wide docs --recipe seomoz/1");
    assert!(run.err.contains("128"), "{}", run.err);
}

#[test]
fn an_interrupted_creation_is_completed() {
    let folder = Folder::new();
    folder.write("docs", document("1", &text(1, 50)));
    std::fs::create_dir(folder.file("a")).unwrap();
    folder.write("a/LOCK", "");
    assert_eq!(folder.ok("dedup a docs").text().lines().count(), 1);
}

#[test]
fn standard_output_has_novel_lines_and_with_json_the_summary() {
    let folder = Folder::new();
    let line = document("1", &text(1, 50));
    folder.write("docs", &line);
    folder.exits(2, "dedup a docs --report -");
    let run = folder.ok("dedup a docs --json --durability buffered");
    assert_eq!((run.summarized(), &*run.err), ((line, summary(1, 1, 0, 0, 0)), ""));
    let run = folder.ok("dedup a docs --quiet");
    assert!(run.out.is_empty() && run.err.is_empty(), "{run:?}");
}

#[test]
fn a_mistyped_path_destroys_nothing() {
    let folder = Folder::new();
    let line = document("1", &text(1, 50));
    folder.write("docs", &line);
    let run = folder.exits(2, "dedup a docs --report ./docs");
    assert!(run.err.contains("which is an input"), "{}", run.err);
    assert_eq!(folder.read("docs"), line);
}

#[test]
fn a_reader_that_closes_the_pipe_ends_the_run() {
    let folder = Folder::new();
    let docs: Vec<_> = (0..3000).map(|i| document(&i.to_string(), &text(i, 20))).collect();
    folder.write("docs", docs.concat());
    let (first, run) = folder.first_line(&["dedup", "a", "docs", "--quiet"]);
    assert_eq!((first, run.code), (docs[0].clone(), 2));
    assert!(run.err.contains("the program that reads the output has ended"), "{}", run.err);
    let stored = folder.ok("stats a --json").json()["entries"].as_u64().unwrap();
    assert!(stored < 3000, "{stored}");
}

#[test]
fn a_database_with_another_writer_is_locked() {
    let folder = Folder::new();
    folder.write("docs", document("1", &text(1, 50)));
    let db = fpdb::Db::options().ids(fpdb::Ids::Names).create(folder.file("a")).unwrap();
    let run = folder.exits(3, "dedup a docs");
    assert!(run.err.starts_with("fpdb-tool: ") && run.out.is_empty(), "{run:?}");
    folder.exits(3, "compact a");
    folder.ok("stats a");
    folder.ok("export a");
    folder.ok("inspect a");
    folder.ok("verify a");
    folder.ok("query a 1");
    folder.ok("get a 1");
    db.close().unwrap();
    folder.ok("dedup a docs");
}

/// A web archive may have two captures of a URL.
fn captures() -> String {
    let texts: Vec<String> = (0..12).map(|seed| text(seed, 80)).collect();
    let ids = ["a", "a", "b", "a", "b", "c", "a", "a", "c", "d", "d", "d"];
    // The last but one is the first again.
    let text_of = |at: usize| if at == 10 { &texts[9] } else { &texts[at] };
    ids.iter().enumerate().map(|(at, id)| document(id, text_of(at))).collect()
}

#[test]
fn an_id_may_have_several_contents_and_a_second_run_finds_only_duplicates() {
    for options in ["", " --recipe fives/1"] {
        let folder = Folder::new();
        folder.write("docs.ndjson", captures());
        let line = format!("dedup crawl.fpdb docs.ndjson --report dups{options}");
        let first = folder.ok(&line);
        assert_eq!(first.text().lines().count(), 11, "{}", first.err);
        assert_eq!(records(&folder.read("dups"))[0]["duplicate_of"], "d");
        let second = folder.ok(&line);
        assert!(second.out.is_empty(), "{}", second.text());
        assert!(second.err.contains("0 novel, 12 duplicates"), "{}", second.err);
        let of: Vec<String> = records(&folder.read("dups"))[..12]
            .iter()
            .map(|record| record["duplicate_of"].as_str().unwrap().to_owned())
            .collect();
        let expected = "a|a (2)|b|a (3)|b (2)|c|a (4)|a (5)|c (2)|d|d|d (2)";
        assert_eq!(of.join("|"), expected);
        folder.ok("remove crawl.fpdb --name d");
        let third = folder.ok(&line);
        assert_eq!(third.text().lines().count(), 1, "{}", third.err);
    }
}

#[test]
fn a_version_of_a_document_does_not_take_the_name_of_another_one() {
    let folder = Folder::new();
    folder.write("first", document("a", &text(0, 80)));
    folder.ok("dedup crawl.fpdb --from ndjson first");
    folder.write("more", document("a", &text(1, 80)) + &document("a (2)", &text(2, 80)));
    let run = folder.ok("dedup crawl.fpdb --from ndjson more --print id");
    assert_eq!(run.text(), "a\na (2)\n");
    assert_eq!(folder.ok("stats crawl.fpdb --json").json()["documents"], 3);
}

#[test]
fn only_the_first_content_of_an_id_is_novel_if_that_is_requested() {
    let folder = Folder::new();
    folder.write("docs.ndjson", captures());
    let line = "dedup crawl.fpdb docs.ndjson --versions first --print id --report dups";
    assert_eq!(folder.ok(line).text(), "a\nb\nc\nd\n");
    let report = records(&folder.read("dups"));
    assert_eq!((&report[0]["id"], &report[0]["duplicate_of"]), (&json!("a"), &json!("a")));
    assert!(report[0]["distance"].as_u64() > Some(3), "{}", report[0]);
    assert!(folder.ok(line).out.is_empty());
    assert_eq!(folder.ok("stats crawl.fpdb --json").json()["documents"], 4);
    folder.exits(2, "dedup crawl.fpdb docs.ndjson --versions first --recrawl");
}

/// The message says what to change, and then that must work.
#[test]
fn a_run_that_fails_before_it_stores_anything_leaves_no_database() {
    let folder = Folder::new();
    folder.write("bad.ndjson", "no json\n");
    folder.write("good.ndjson", document("a", &text(1, 50)));
    folder.write("bad.csv", "id,fingerprint\n1,xyz\n");
    for line in [
        "dedup db bad.ndjson -k 5 --recipe fives/1",
        "dedup db good.ndjson -k 5 --report nowhere/r",
        "import db bad.ndjson --from ndjson -k 5",
        "import db bad.csv -k 5",
    ] {
        folder.exits(2, line);
        assert!(!folder.file("db").exists(), "{line}");
    }
    std::fs::create_dir(folder.file("db")).unwrap();
    folder.exits(2, "dedup db bad.ndjson -k 5");
    assert_eq!(std::fs::read_dir(folder.file("db")).unwrap().count(), 0);
    folder.ok("dedup db good.ndjson -k 4");
    // A database that was there before stays, and so does what was stored.
    folder.exits(2, "dedup db bad.ndjson");
    assert_eq!(folder.ok("stats db --json").json()["max_distance"], 4);
    folder.ok("create empty --ids names -k 4");
    folder.exits(2, "dedup empty bad.ndjson");
    assert_eq!(folder.ok("stats empty --json").json()["max_distance"], 4);
    folder.exits(2, "dedup partly good.ndjson bad.ndjson");
    assert_eq!(folder.ok("stats partly --json").json()["documents"], 1);
    folder.exits(2, "dedup buffered good.ndjson bad.ndjson --durability buffered");
    assert_eq!(folder.ok("stats buffered --json").json()["documents"], 1);
    folder.exits(2, "dedup db good.ndjson --report nowhere/r");
    assert_eq!(folder.ok("stats db --json").json()["documents"], 1);
}
