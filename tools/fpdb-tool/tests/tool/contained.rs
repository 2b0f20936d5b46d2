//! `contained`: documents that stand in another one.

use serde_json::json;

use crate::common::{Folder, document, records, text};

/// An article, an excerpt of it, the article with comments around it, and another one.
fn documents() -> [(&'static str, String); 4] {
    let article = text(1, 120);
    let excerpt = article.split(' ').skip(30).take(60).collect::<Vec<_>>().join("\n");
    let page = format!("{} {} {}", text(2, 20), article.to_uppercase(), text(3, 40));
    [("article", article), ("excerpt", excerpt), ("page", page), ("other", text(9, 100))]
}

#[test]
fn documents_that_stand_in_a_longer_one_are_left_out() {
    let folder = Folder::new();
    let lines: Vec<String> = documents().iter().map(|(id, text)| document(id, text)).collect();
    folder.write("docs", lines.concat());
    let run = folder.ok("contained docs --report report");
    assert_eq!(run.text(), lines[2..].concat());
    assert!(
        run.err.contains("read 4: 2 kept, 2 contained in another one, 0 in a crowd"),
        "{}",
        run.err
    );
    let mut report = records(&folder.read("report"));
    let summary = report.pop().unwrap();
    assert_eq!([&summary["documents"], &summary["kept"], &summary["contained"]], [4, 2, 2]);
    let of_page = |i: u64, id: &str| json!({"type": "contained", "i": i, "id": id, "source_i": 2, "source": "page", "share": 1.0});
    assert_eq!(report, [of_page(0, "article"), of_page(1, "excerpt")]);
    for more in ["--memory 0 --threads 2", "--share 0.9"] {
        let ids = folder.ok(&format!("contained docs --print id {more}")).text();
        assert_eq!(ids, "page\nother\n", "{more}");
    }
    let run = folder.exits(2, "contained docs --share 0.4");
    assert!(run.err.contains("0.5 to 1"), "{}", run.err);
    assert!(folder.exits(2, "contained -").err.contains("cannot be read twice"));
    assert!(folder.exits(2, "contained docs --report docs").err.contains("--report"));
}

#[test]
fn a_share_finds_documents_of_which_a_part_is_their_own() {
    let folder = Folder::new();
    let article = text(1, 120);
    let edited = article.replacen(' ', " edited ", 1);
    folder.write(
        "docs",
        document("a", &format!("{article} {}", text(2, 30))) + &document("b", &edited),
    );
    assert_eq!(folder.ok("contained docs --print id").text(), "a\nb\n");
    // Two of its 119 runs are its own.
    assert_eq!(folder.ok("contained docs --print id --share 0.95").text(), "a\n");
}

#[test]
fn rows_of_tables_and_texts_are_printed_as_dedup_prints_them() {
    let folder = Folder::new();
    let rows: Vec<String> =
        documents().iter().map(|(id, text)| format!("{id},\"{text}\"\n")).collect();
    folder.write("a.csv", format!("id,text\n{}{}", rows[0], rows[1]));
    folder.write("b.csv", format!("id,text\n{}{}", rows[2], rows[3].trim_end()));
    let text = folder.ok("contained a.csv b.csv").text();
    assert_eq!(text, format!("id,text\n{}{}", rows[2], rows[3]));
    for (id, text) in documents() {
        folder.write(&format!("{id}.txt"), text);
    }
    let run = folder.ok("contained article.txt excerpt.txt page.txt other.txt");
    let ids: Vec<_> = run.records().iter().map(|record| record["id"].clone()).collect();
    assert_eq!(ids, ["page.txt", "other.txt"]);
}
