use serde_json::Value;

use crate::common::Folder;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Runs the command that a report recommends, and returns what it has created.
fn create(folder: &Folder, report: &Value) -> Value {
    let create = report["create"].as_str().unwrap();
    folder.ok(&create.strip_prefix("fpdb-tool ").unwrap().replace("DB", "db"));
    folder.ok("inspect db --json").json()
}

#[test]
fn the_layout_that_is_chosen_comes_first_and_can_be_created() {
    for (line, bits) in [("-n 1e9 -k 3", 64), ("-n 1e6 -k 10 --bits 128", 128)] {
        let folder = Folder::new();
        let report = folder.ok(&format!("recommend {line} --json")).json();
        assert_eq!(
            (&report["schema"], &report["bits"]),
            (&"fpdb.recommend/3".into(), &bits.into())
        );
        let layouts = report["layouts"].as_array().unwrap();
        let names: Vec<_> = layouts.iter().map(|row| row["layout"].as_str().unwrap()).collect();
        for preset in fpdb::Layout::preset_names() {
            assert_eq!(names.iter().filter(|name| *name == preset).count(), 1, "{names:?}");
        }
        let created = create(&folder, &report);
        assert_eq!(created["layout"], names[0]);
        assert_eq!(created["filter_bits"], layouts[0]["filter_bits"]);
        let table = folder.ok(&format!("recommend {line}"));
        assert!(table.text().starts_with("layout ") && table.err.contains("create DB"));
        assert_eq!(table.text().lines().count(), layouts.len() + 1);
    }
}

/// The paper (section 3.1.1) has the same candidates: 2^34 fingerprints, divided by two to the
/// power of the leading bits.
#[test]
fn tables_and_candidates_stand_side_by_side_at_the_size_of_the_paper() {
    let folder = Folder::new();
    let report = folder.ok("recommend -n 2^34 --json").json();
    let row = |name: &str| {
        let rows = report["layouts"].as_array().unwrap();
        rows.iter().find(|row| row["layout"] == name).unwrap().clone()
    };
    for (name, tables, lead, candidates) in [
        ("paper-10", 10, [25, 26], 6 << 8 | 4 << 9),
        ("paper-16", 16, [28, 28], 16 << 6),
        ("paper-20", 20, [31, 33], 4 * 8 + 12 * 4 + 4 * 2),
    ] {
        let row = row(name);
        assert_eq!(
            (number(&row["tables"]), number(&row["probes"])),
            (tables.into(), tables.into())
        );
        assert_eq!(row["leading_bits"], serde_json::json!(lead), "{name}");
        let found = number(&row["candidates"]);
        assert!((found / f64::from(candidates) - 1.0).abs() < 0.01, "{name}: {found}");
        assert!(number(&row["pages"]) >= number(&row["probes"]), "{name}");
    }
    let (half, paper) = (row("half-2"), row("paper-10"));
    assert!(number(&half["disk_bytes"]) * 4.0 < number(&paper["disk_bytes"]));
    assert!(number(&half["pages"]) > number(&paper["pages"]) * 3.0);
    let text = folder.ok("recommend -n 8e9").text();
    assert!(text.contains("candidates") && text.contains("reads"), "{text}");
}

#[test]
fn what_cannot_be_recommended_is_refused() {
    let folder = Folder::new();
    for line in [
        "recommend",
        "recommend -n 0",
        "recommend -n 2^37",
        "recommend -n 1e6 -k 13",
        "recommend -n 1e6 -k 25 --bits 128",
        "recommend -n 1e6 --jaccard 0.8 --bits 128",
        "recommend -n 1e6 --jaccard 0.3",
        "recommend -n 1e6 --jaccard 0.8 --bits 64",
        "recommend -n 1e6 --jaccard 0.8 -k 3",
        "recommend -n 1e6 --recall 0.9",
        "recommend -n 1e6 --bits 32",
    ] {
        folder.exits(2, line);
    }
}

#[test]
fn a_recommendation_for_a_similarity_can_be_created_and_finds_what_it_says() {
    let folder = Folder::new();
    let line = "recommend --documents 1e7 --jaccard 0.8 --recall 0.96";
    let report = folder.ok(&format!("{line} --json")).json();
    assert_eq!(report["schema"], "fpdb.recommend-similarity/1");
    let rows = report["similarities"].as_array().unwrap();
    let read: Vec<f64> = rows.iter().map(|row| number(&row["read"])).collect();
    assert!(read.is_sorted() && read.len() == 14, "{report}");
    for features in 0..4 {
        let found: Vec<f64> = rows.iter().map(|row| number(&row["found"][features])).collect();
        assert!(found.is_sorted(), "{report}");
        assert!(found.iter().zip(&read).all(|(found, read)| found <= read), "{report}");
        assert!(found[0] < 1e-6 && found[8] < 1e-4 && found[9] < 0.06, "{found:?}");
        assert!(found[10] >= 0.96 && found[12] > 0.999, "{found:?}");
    }
    assert!(number(&report["false_matches"]) < 1e-6, "{report}");
    let bytes = number(&report["disk_bytes"]) / 1e7;
    let expected = 236.0 + 5.1 * number(&report["bands"]);
    assert!((bytes - expected).abs() < 1.0, "{bytes} bytes, not {expected}");
    let created = create(&folder, &report);
    assert_eq!(created["max_distance"], report["distance"], "{created}");
    let of_bands = format!("{} bands of {} minima", report["bands"], report["minima"]);
    let described = folder.ok("stats db").text();
    assert!(described.contains(&of_bands), "{of_bands}: {described}");
    let table = folder.ok(line);
    assert!(table.text().starts_with("similarity "), "{}", table.text());
    assert!(table.text().contains(&of_bands), "{}", table.text());
}

#[test]
fn a_similarity_that_too_many_unrelated_documents_have_by_their_bands_is_advised_against() {
    for (line, is_possible) in [
        ("-n 1e9 --jaccard 0.7", true),
        ("-n 1e9 --jaccard 0.65", false),
        ("-n 1e6 --jaccard 0.6", true),
    ] {
        let run = Folder::new().ok(&format!("recommend {line}"));
        assert_eq!(!run.err.contains("bands are no way"), is_possible, "{line}: {}", run.err);
    }
}
