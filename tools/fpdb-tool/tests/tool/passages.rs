//! `passages`: which passages stand in an earlier document.

use serde_json::{Value, json};

use crate::common::{Folder, document};

/// Words that differ from those of other numbers.
fn words(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn each_passage_of_an_earlier_document_has_a_line_with_both_places() {
    let folder = Folder::new();
    let (first, quote) = (words(0..200), words(100..150));
    let second = format!("é {quote} {}", words(300..340));
    folder.write("a.ndjson", document("first", &first) + &document("se\u{1b}cond", &second));
    folder.write("b.ndjson", document("third", &words(101..150)) + &document("fourth", &quote));
    let run = folder.ok("passages a.ndjson b.ndjson");
    let begin = first.find("word100").unwrap();
    let end = begin + quote.len();
    let expected = format!(
        "se\\u{{1b}}cond\t3\t{}\tfirst\t{begin}\t{end}\nfourth\t0\t{}\tfirst\t{begin}\t{end}\n",
        3 + quote.len(),
        quote.len()
    );
    assert_eq!(run.text(), expected);
    assert!(run.err.contains("2 passages in 2 of 4 documents, "), "{}", run.err);

    let records = folder.ok("passages --memory 0 --threads 2 a.ndjson b.ndjson --json").records();
    let fourth = json!({
        "type": "passage", "i": 3, "id": "fourth", "begin": 0, "end": quote.len(),
        "source_i": 0, "source": "first", "source_begin": begin, "source_end": end,
    });
    assert_eq!(records[1], fourth);
    let summary = &records[2];
    let is = |name: &str, value: Value| assert_eq!(summary[name], value, "{name}");
    is("documents", json!(4));
    is("repeated_bytes", json!(2 * quote.len()));
    is("bytes", json!(first.len() + second.len() + words(101..150).len() + quote.len()));
    assert_eq!(folder.ok("passages --min-words 49 a.ndjson b.ndjson").text().lines().count(), 3);
}

#[test]
fn bad_lines_are_reported_once_although_files_are_read_twice() {
    let folder = Folder::new();
    let quote = words(0..60);
    folder.write("a.ndjson", document("a", &quote) + "{bad\n" + &document("b", &quote));
    assert_eq!(folder.exits(2, "passages a.ndjson").code, 2);
    let run = folder.run(&["passages", "--skip-bad", "a.ndjson"]);
    assert_eq!(run.text(), format!("b\t0\t{0}\ta\t0\t{0}\n", quote.len()));
    assert_eq!(run.err.matches("a.ndjson, line 2").count(), 1, "{}", run.err);
}

#[test]
fn standard_input_and_wrong_numbers_of_words_are_refused() {
    let folder = Folder::new();
    folder.write("a.txt", "A text.");
    assert!(folder.exits(2, "passages -").err.contains("cannot be read twice"));
    assert!(folder.exits(2, "passages --min-words 13 a.txt").err.contains("14 to 1000"));
}
