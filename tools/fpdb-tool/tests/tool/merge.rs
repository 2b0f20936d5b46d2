//! `merge` and `rebuild`

use crate::common::Folder;

/// Two databases with names; one name is in both, and two documents are alike.
fn folder() -> Folder {
    let folder = Folder::new();
    let page = |name: &str, words: &str| {
        let text =
            format!("{words} {}", "a long page about trains, weather and cooking ".repeat(9));
        format!("{{\"id\":\"{name}\",\"text\":\"{text}\"}}\n")
    };
    let first = ["one", "two"].map(|name| page(name, &format!("{name} ").repeat(60)));
    let same = page("copy of one", &"one ".repeat(60));
    let second = [same, page("two", &"changed ".repeat(60)), page("new", &"fresh ".repeat(60))];
    folder.write("first.ndjson", first.concat());
    folder.write("second.ndjson", second.concat());
    folder.ok("dedup a first.ndjson");
    folder.ok("dedup b second.ndjson");
    folder
}

#[test]
fn merge_takes_each_name_once() {
    let folder = folder();
    let report = folder.ok("merge a b --out all --json").json();
    assert_eq!(report["schema"], "fpdb.merge/1");
    let counts = |report: &serde_json::Value| {
        ["read", "written"].map(|field| report[field].as_u64().unwrap())
    };
    assert_eq!(counts(&report), [5, 4], "{report}");
    assert_eq!(folder.ok("stats all --json").json()["entries"], 4);
    folder.ok("verify all");
}

#[test]
fn rebuild_changes_the_layout_and_nothing_else() {
    let folder = folder();
    let report =
        folder.ok("rebuild a --out fast --layout ring-4 -k 5 --block-size 1024 --json").json();
    assert_eq!(report["written"], 2);
    let stats = folder.ok("stats fast --json").json();
    assert_eq!((&stats["layout"], &stats["max_distance"]), (&"ring-4".into(), &5.into()));
    assert_eq!(folder.ok("export fast").out, folder.ok("export a").out);
}
