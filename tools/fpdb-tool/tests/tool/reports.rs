//! Every report says where it comes from.

use serde_json::Value;

use crate::common::{Folder, document, text};

/// A command, the file that it writes its report to, if not to standard output, and the database
/// that the report must name.
const TRACED: [(&str, Option<&str>, Option<&str>); 16] = [
    ("create new --json", None, Some("new")),
    ("dedup db docs --report dups --json", Some("dups"), Some("db")),
    ("import other docs --from ndjson --json", None, Some("other")),
    ("stats db --json", None, Some("db")),
    ("inspect db --json", None, Some("db")),
    ("verify db --json", None, Some("db")),
    ("stats db --bits --json", None, Some("db")),
    ("compact db --json", None, Some("db")),
    ("expire other --before 7 --dry-run --json", None, Some("other")),
    ("merge db other --out merged --json", None, Some("db")),
    ("backup db --out copy --json", None, Some("db")),
    ("recommend -n 1e6 --json", None, None),
    ("pairs db --json", None, Some("db")),
    ("clusters db --json", None, Some("db")),
    ("join db other --json", None, Some("db")),
    ("recipes --json", None, None),
];

#[test]
fn every_report_says_where_it_comes_from() {
    let folder = Folder::new();
    let line = |i: u64| {
        let mut document: Value =
            serde_json::from_str(&document(&i.to_string(), &text(i / 2, 60))).unwrap();
        document["seen"] = 9.into();
        document.to_string() + "\n"
    };
    folder.write("docs", (0..6).map(line).collect::<String>());
    for (line, file, database) in TRACED {
        // Without stamps, nothing could expire.
        if line.starts_with("expire") {
            folder.ok("dedup other docs --recrawl --stamp seen");
        }
        let run = folder.ok(line);
        let text = file.map_or_else(|| run.text(), |file| folder.read(file));
        let report: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let provenance = &report["provenance"];
        assert_eq!(provenance["version"], env!("CARGO_PKG_VERSION"), "{line}: {report}");
        assert_eq!(provenance["database"].as_str(), database, "{line}: {report}");
        assert!(provenance["date"].as_str().unwrap().starts_with("20"), "{line}: {report}");
        let command: Vec<_> = provenance["command"].as_array().unwrap()[1..]
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        assert_eq!(command.join(" "), line);
    }
}
