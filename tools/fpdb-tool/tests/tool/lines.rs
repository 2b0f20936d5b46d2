//! `lines`, and `--cut`: what is left of documents without what others have, too.

use serde_json::{Value, json};

use crate::common::{Folder, document};

fn page(id: &str, own: &str) -> String {
    document(id, &format!("Home | About\n{own}\n© 2026, all rights reserved\n"))
}

#[test]
fn each_line_that_enough_documents_have_is_said_but_the_first() {
    let folder = Folder::new();
    folder.write("a.ndjson", page("a", "One.") + &page("b", "Two.") + &page("c", "HOME, ABOUT"));
    let text = folder.ok("lines a.ndjson").text();
    let expected = "b\t0\t13\ta\t0\t13\nb\t18\t47\ta\t18\t47\n\
        c\t0\t13\ta\t0\t13\nc\t13\t25\ta\t0\t13\nc\t25\t54\ta\t18\t47\n";
    assert_eq!(text, expected);
    let records = folder.ok("lines a.ndjson --memory 0 --threads 2 --json").records();
    let (summary, lines) = records.split_last().unwrap();
    let first = json!({
        "type": "line", "i": 1, "id": "b", "begin": 0, "end": 13,
        "source_i": 0, "source": "a", "source_begin": 0, "source_end": 13,
    });
    assert_eq!((lines.len(), &lines[0]), (5, &first));
    let counts = ["most", "documents", "lines", "with_lines"].map(|name| &summary[name]);
    assert_eq!(counts, [1, 3, 5, 2]);
    assert_eq!(folder.ok("lines a.ndjson --most 2").text(), expected);
    assert_eq!(folder.ok("lines a.ndjson --most 3").text(), "");
    assert_eq!(folder.ok("lines a.ndjson --min-words 3").text().lines().count(), 2);

    folder.write("x.txt", "Dear reader,\nhello.\n\nNews.\n");
    folder.write("y.txt", "Dear reader,\nhello.\n\nhello.\n");
    let run = folder.ok("lines x.txt y.txt --paragraphs");
    assert_eq!(run.text(), "y.txt\t0\t21\tx.txt\t0\t21\n");
    assert!(run.err.contains("1 paragraphs in 1 of 2 documents, "), "{}", run.err);
}

#[test]
fn cut_changes_only_the_texts_of_lines_that_have_something_to_cut() {
    let folder = Folder::new();
    let line = |id: u32, text: &str| {
        let (id, text) = (json!(id), json!(text));
        // Another order, white space, and numbers that no program should write anew.
        format!("{{\"n\": 1.50e+3,  \"page\":{{\"t\":{text},\"x\":[ ]}} , \"id\":{id} }}\n")
    };
    let lines = [
        line(1, "Menu\nFirst\n"),
        line(2, "Menu\n\"Second\"\n"),
        line(3, "Third, which has no menu"),
        line(4, "MENU"),
    ];
    folder.write("a.ndjson", lines.concat());
    let cut = folder.ok("lines a.ndjson --text-field /page/t --cut").text();
    let expected = [
        lines[0].clone(),
        lines[1].replace("Menu\\n", ""),
        lines[2].clone(),
        lines[3].replace("MENU", ""),
    ];
    assert_eq!(cut, expected.concat());
    // What is left is cut no further.
    folder.write("b.ndjson", &cut);
    assert_eq!(folder.ok("lines b.ndjson --text-field /page/t --cut").text(), cut);
}

#[test]
fn cut_prints_pages_as_ndjson_and_lines_as_lines() {
    let folder = Folder::new();
    folder.write("a.txt", "Menu\nFirst\n");
    folder.write("b.txt", "Menu\nSecond\n");
    let records: Vec<Value> = folder.ok("lines a.txt b.txt --cut").records();
    let text = |id: &str, text: &str| json!({"id": id, "text": text});
    assert_eq!(records, [text("a.txt", "Menu\nFirst\n"), text("b.txt", "Second\n")]);

    let quote = (0..60).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
    // One of these looks like NDJSON.
    let json = format!("{{\"id\":1,\"text\":\"{quote}. More.\"}}");
    folder.write("lines", format!("{quote}.\nBefore. {quote}.\n{json}\n"));
    let cut = folder.ok("passages --from lines lines --cut").text();
    let lines: Vec<&str> = cut.lines().collect();
    assert_eq!((lines.len(), lines[1]), (3, "Before."));
    assert!(lines[2].ends_with("More.\"}"), "{cut}");
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let folder = Folder::new();
    folder.write("a.csv", "id,text\n1,Menu\n2,Menu\n");
    assert_eq!(folder.ok("lines a.csv").text(), "2\t0\t4\t1\t0\t4\n");
    let run = folder.exits(2, "lines a.csv --cut");
    assert!(run.text().is_empty() && run.err.contains("not for tables"), "{}", run.err);
    folder.write("a.txt", "Menu\n");
    assert!(folder.exits(2, "lines a.txt --cut --json").err.contains("leave one of them out"));
    assert!(folder.exits(2, "lines - --cut").err.contains("cannot be read twice"));
    folder.exits(2, "lines a.txt --most 0");
    let twice = r#"{"id":2,"page":{"t":"Menu"},"page":{}}"#;
    folder.write("twice", format!("{}\n{twice}\n", r#"{"id":1,"page":{"t":"Menu"}}"#));
    let run = folder.exits(2, "lines twice --from ndjson --text-field /page/t --cut");
    assert!(run.err.contains("a field occurs twice"), "{}", run.err);
}
