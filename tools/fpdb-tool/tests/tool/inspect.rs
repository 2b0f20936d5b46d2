//! `inspect` of databases of sketches. Those of fingerprints are in `maintenance`.

use serde_json::json;

use crate::common::{Folder, document, text};

#[test]
fn a_database_of_sketches_has_tables_of_keys() {
    let folder = Folder::new();
    folder
        .write("docs", (0..9).map(|i| document(&i.to_string(), &text(i, 50))).collect::<String>());
    folder.ok("dedup db docs --jaccard 0.8 --quiet");
    let report = folder.ok("inspect db --json").json();
    assert_eq!((&report["tables"], &report["cells"]), (&json!([]), &json!([])));
    let of_keys = std::fs::read_dir(folder.file("db")).unwrap().map(|file| file.unwrap().path());
    let of_keys = of_keys.filter(|file| file.to_string_lossy().contains(".k")).count();
    assert_eq!((of_keys, report["segments"][0]["tables"].as_array().unwrap().len()), (8, 8));
    assert_eq!(report["segments"][0]["tables"][7]["blocks"], 0);
    let text = folder.ok("inspect db").text();
    assert!(text.contains("keys        8 keys of 5 minima") && !text.contains("layout"), "{text}");
    let text = folder.ok("stats db").text();
    assert!(text.contains("fingerprints  sketches\n") && !text.contains("layout"), "{text}");
}
