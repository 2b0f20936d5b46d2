//! `--html`: a page that shows what a command found.

use crate::common::{Folder, document, text};

const HOSTILE: &str = "</p><script>alert(1)</script><img src=x onerror='alert(2)'>&amp;";

/// Documents of 100 words: `a`, its copy with another word in the middle, and another one.
fn documents() -> String {
    let a = text(1, 100);
    let words: Vec<&str> = a.split(' ').collect();
    let b = [&words[..50], &[HOSTILE], &words[51..]].concat().join(" ");
    [("a", &*a), (HOSTILE, &b), ("other", &text(9, 100))]
        .map(|(id, text)| document(id, text))
        .concat()
}

/// Checks that no text is markup and nothing is loaded, and returns the page.
fn page(folder: &Folder) -> String {
    let page = folder.read("page.html");
    for markup in ["<script", "<img", "http:", "https:", "url("] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    page
}

#[test]
fn a_page_of_dedup_has_the_counts_the_similarities_and_the_pairs() {
    let folder = Folder::new();
    folder.write("docs", documents());
    let run = folder.ok("dedup db docs --jaccard 0.8 --exact --html page.html");
    assert!(run.err.contains("2 novel, 1 duplicates"), "{}", run.err);
    let shown = page(&folder);
    assert!(shown.contains("<td>novel</td><td class=number>2</td>"));
    assert!(shown.contains("Rows by threshold") && shown.contains("<title>0."));
    assert!(shown.contains("is like <bdi>a</bdi><br>similarity 0.8"), "{shown}");
    assert!(shown.contains("<b>script</b>"));
    // The texts of an earlier run are not known.
    folder.write("more", document("again", &text(1, 100)));
    folder.ok("dedup db more --jaccard 0.8 --exact --html page.html");
    assert!(page(&folder).contains("<small>not known</small>"));
    let run = folder.exits(2, "dedup db docs --html docs");
    assert!(run.err.contains("--html"), "{}", run.err);
    assert_eq!(folder.read("docs"), documents());
    assert!(folder.exits(2, "dedup db docs --html -").err.contains("give --html a file"));
}

#[test]
fn a_page_of_fingerprints_has_distances() {
    let folder = Folder::new();
    folder.write("docs", documents());
    folder.ok("dedup db docs --max-distance 12 --html page.html --recrawl");
    let shown = page(&folder);
    assert!(shown.contains("Distances of dropped rows") && shown.contains("greatest distance"));
    assert!(shown.contains("<td>inserted</td><td class=number>2</td>"));
    assert!(shown.contains("is like <bdi>a</bdi><br>distance "));
}

#[test]
fn pages_of_other_commands_show_what_stands_elsewhere_too() {
    let folder = Folder::new();
    let quote = text(1, 60);
    let page_of_b = format!("{HOSTILE} {quote} {}", text(2, 30));
    let c = format!("{quote}\n{}", text(3, 20));
    folder
        .write("docs", document("a", &quote) + &document(HOSTILE, &page_of_b) + &document("c", &c));
    folder.ok("passages docs --html page.html");
    let shown = page(&folder);
    assert!(shown.contains("<td>passages found</td><td class=number>2</td>"), "{shown}");
    assert!(shown.contains("<mark>") && shown.contains("also <bdi>in a</bdi></small>"));
    folder.ok("lines docs --html page.html");
    assert!(page(&folder).contains("<td>lines found</td><td class=number>1</td>"));
    folder.ok("contained docs --html page.html");
    let shown = page(&folder);
    assert!(shown.contains("<td>contained in another one</td><td class=number>1</td>"));
    assert!(
        shown.contains("<bdi>a</bdi> stands in <bdi>") && shown.contains("<br>share 1.00"),
        "{shown}"
    );
    for command in ["lines docs --html docs", "passages docs --against more --html more"] {
        folder.write("more", document("d", &quote));
        assert!(folder.exits(2, command).err.contains("--html"), "{command}");
        assert_eq!(folder.read("more"), document("d", &quote));
    }
}

#[test]
fn a_run_that_fails_leaves_an_earlier_page_as_it_was() {
    let folder = Folder::new();
    folder.write("docs", documents());
    folder.write("page.html", "earlier");
    folder.write("bad", documents() + "no json\n");
    for command in [
        "dedup db bad --from ndjson --html page.html",
        "dedup db docs --exact --html page.html",
        "dedup db none --html page.html",
        "lines none --html page.html",
        "lines bad --from ndjson --html page.html",
        "contained docs --report page.html --html page.html",
        "dedup db docs --report page.html --html page.html",
        "dedup db docs --html db",
    ] {
        folder.exits(2, command);
        assert_eq!(folder.read("page.html"), "earlier", "{command}");
    }
    assert!(!folder.file("page.html.unfinished").exists());
}

#[test]
fn versions_that_are_dropped_for_their_id_are_not_measured() {
    let folder = Folder::new();
    folder.write("docs", document("a", &text(1, 100)) + &document("a", &text(2, 100)));
    for options in ["--jaccard 0.8 --exact", "--jaccard 0.8", "--max-distance 3"] {
        folder.ok(&format!("dedup db docs {options} --versions first --html page.html"));
        let shown = page(&folder);
        assert!(shown.contains("<td>duplicates</td><td class=number>1</td>"), "{options}");
        assert!(!shown.contains("<rect") && !shown.contains("Least similar"), "{options}");
        for database in ["db", "db-features"] {
            let _ = std::fs::remove_dir_all(folder.file(database));
        }
    }
}
