//! Every report says what it is and where it comes from.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::common::{Folder, document, text};

/// Commands, the schemas of their reports, and the databases that the reports must name.
const REPORTS: [(&str, &str, Option<&str>); 34] = [
    ("create new", "create", Some("new")),
    ("dedup db docs", "dedup", Some("db")),
    ("dedup db docs --recrawl --stamp 8", "dedup", Some("db")),
    ("dedup similar docs --jaccard 0.8 --recipe pairs/1", "dedup", Some("similar")),
    ("import other docs --from ndjson", "import-documents", Some("other")),
    ("import list fps", "import", Some("list")),
    ("stats db", "stats", Some("db")),
    ("inspect db", "inspect", Some("db")),
    ("inspect list --table 0", "inspect-table", Some("list")),
    ("inspect list --table 0 --block 0", "inspect-block", Some("list")),
    ("verify db", "verify", Some("db")),
    ("compact db", "compact", Some("db")),
    ("expire db --before 7 --dry-run", "expire", Some("db")),
    ("merge db other --out merged", "merge", Some("db")),
    ("backup db --out copy", "backup", Some("db")),
    ("repair db --out repaired", "repair", Some("db")),
    ("ratio --entries 1e4", "ratio", None),
    ("recommend -n 1e6", "recommend", None),
    ("recommend -n 1e6 --jaccard 0.8", "recommend-similarity", None),
    ("passages docs", "passages", None),
    ("lines docs", "lines", None),
    ("contained docs", "contained", None),
    ("recipes", "recipes", None),
    ("fingerprint docs", "fingerprint", None),
    ("extract page.html", "extract", None),
    ("query list 1 --explain", "query", Some("list")),
    ("query similar --from ndjson docs", "query", Some("similar")),
    ("get db 0 nobody", "get", Some("db")),
    ("pairs db", "pairs", Some("db")),
    ("clusters db", "clusters", Some("db")),
    ("join db other", "join", Some("db")),
    ("export db", "export-entries", Some("db")),
    ("export db --documents", "export-documents", Some("db")),
    ("remove db --name 0", "remove", Some("db")),
];

fn folder() -> Folder {
    let folder = Folder::new();
    let line = |i: u64| document(&i.to_string(), &text(i / 2, 60));
    folder.write("docs", (0..6).map(line).collect::<String>());
    folder.write("fps", "1\n2\n");
    folder.write("page.html", "<p>a page");
    folder
}

/// Returns the rows of the tables in docs/json.md, by their schemas.
fn described() -> Vec<(String, String)> {
    let page = include_str!("../../../../docs/json.md");
    let schema = |row: &str| Some(row.strip_prefix("| `fpdb.")?.split_once('`')?.0.to_owned());
    page.lines().filter_map(|row| Some((schema(row)?, row.to_owned()))).collect()
}

#[test]
fn every_report_says_what_it_is_and_where_it_comes_from() {
    let folder = folder();
    let described = described();
    for (line, schema, database) in REPORTS {
        let run = folder.ok(&format!("{line} --json"));
        let text = run.text();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let report = lines.last().unwrap();
        let name = report["schema"].as_str().unwrap().strip_prefix("fpdb.").unwrap();
        assert_eq!(name.split_once('/').unwrap().0, schema, "{line}: {report}");
        let row = described.iter().find(|(described, _)| described == name);
        let (_, row) = row.unwrap_or_else(|| panic!("docs/json.md lacks fpdb.{name}"));
        let keys = lines.iter().flat_map(|line| line.as_object().unwrap().keys());
        for key in keys.filter(|key| !["schema", "type", "provenance"].contains(&key.as_str())) {
            assert!(row.contains(&format!("`{key}`")), "docs/json.md, fpdb.{name}: {key}");
        }
        let provenance = &report["provenance"];
        assert_eq!(provenance["version"], env!("CARGO_PKG_VERSION"), "{line}: {report}");
        assert_eq!(provenance["database"].as_str(), database, "{line}: {report}");
        assert!(provenance["date"].as_str().unwrap().starts_with("20"), "{line}: {report}");
        let command: Vec<_> = provenance["command"].as_array().unwrap()[1..]
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        assert_eq!(command.join(" "), format!("{line} --json"));
    }
    let names = described.iter().map(|(name, _)| name.split_once('/').unwrap().0);
    // The server does not end by itself.
    let known = REPORTS.iter().map(|(_, schema, _)| *schema).chain(["serve"]);
    assert_eq!(names.collect::<BTreeSet<_>>(), known.collect());
}

#[test]
fn a_server_and_a_complete_export_begin_with_their_schemas() {
    let folder = folder();
    folder.ok("import list fps");
    let args = ["serve", "list", "--listen", "127.0.0.1:0", "--json", "--quiet"];
    let mut server = folder.command(&args).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let all = folder.ok("export list --all").text();
    for (line, name) in [(&*line, "serve"), (all.lines().next().unwrap(), "export")] {
        let begin: Value = serde_json::from_str(line).unwrap();
        assert_eq!(begin["schema"], format!("fpdb.{name}/1"));
    }
}
