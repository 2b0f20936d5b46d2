//! Every report in a real browser: it loads without errors and without network requests.

use serde_json::Value;

use crate::browser;
use crate::common::{Folder, document, text};

/// A command, the report that it writes, and text that is in the loaded document.
const REPORTS: [(&str, &str, &str); 3] = [
    (
        "ratio -n 1000,2000 --layouts half-2 --blocks 256 --html lines.html",
        "lines.html",
        "fpdb, blocks of 256 B",
    ),
    ("ratio -n 1000 --layouts half-2 --blocks 256 --html bars.html", "bars.html", "half-2, 256 B"),
    ("evaluate docs --pairs pairs.tsv --svg curve.svg", "curve.svg", "best F1"),
];

#[test]
fn reports_load_without_errors_or_requests() {
    let Some(browser) = browser::find() else { return };
    let folder = Folder::new();
    let documents: String = (0..6).map(|i| document(&i.to_string(), &text(i / 2, 60))).collect();
    folder.write("docs", documents);
    folder.write("pairs.tsv", "id_a\tid_b\tlabel\n0\t1\t1\n2\t3\t1\n0\t2\t0\n");
    for (line, file, content) in REPORTS {
        folder.ok(line);
        let loaded = browser::load(&browser, &folder.file(file));
        assert!(loaded.document.contains(content), "{file}: {}", loaded.document);
        assert!(loaded.document.contains("</svg>"), "{file}: {}", loaded.document);
        assert!(!loaded.document.contains("parsererror"), "{file}: {}", loaded.document);
        assert_eq!((loaded.console, loaded.requests), (vec![], vec![]), "{file}");
    }
}

/// The test above relies on this: the browser reports what a page writes to the console, what it
/// requests, and what its policy forbids.
#[test]
fn planted_errors_and_requests_are_noticed() {
    let Some(browser) = browser::find() else { return };
    let folder = Folder::new();
    let load = |head: &str, body: &str| {
        let page = format!("<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>");
        folder.write("page.html", page);
        browser::load(&browser, &folder.file("page.html"))
    };
    let image = "<img src=\"http://fpdb.example/image.png\">";

    let plain = load("", "<p>text</p>");
    assert_eq!((plain.console, plain.requests), (vec![], vec![]));

    let error = load("", "<script>console.error('planted')</script>");
    assert!(error.console.iter().any(|line| line.contains("planted")), "{:?}", error.console);

    assert_eq!(load("", image).requests, ["http://fpdb.example/image.png"]);
    let script = load("", "<script src=\"https://fpdb.example/x.js\"></script>");
    assert_eq!(script.requests, ["https://fpdb.example/x.js"]);
    let style = load("<style>@import 'https://fpdb.example/x.css';</style>", "");
    assert_eq!(style.requests, ["https://fpdb.example/x.css"]);

    // The policy of the reports stops the request and reports the attempt.
    folder.ok("ratio -n 1000 --layouts half-2 --blocks 256 --html report.html");
    let report = folder.read("report.html").replace("</body>", &format!("{image}</body>"));
    folder.write("report.html", report);
    let blocked = browser::load(&browser, &folder.file("report.html"));
    assert_eq!(blocked.requests, Vec::<String>::new());
    assert!(
        blocked.console.iter().any(|line| line.contains("Content Security Policy")),
        "{:?}",
        blocked.console
    );
}

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
