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

#[test]
fn quotes_with_changed_words_are_whole_and_can_be_cut() {
    let folder = Folder::new();
    let source = words(0..200);
    // A window that is kept need not be in one quote, but is in some.
    let quotes: Vec<String> = (0..8)
        .map(|n| words(20 * n..20 * n + 60).replacen(&format!("word{} ", 20 * n + 40), "new ", 1))
        .collect();
    let lines = quotes
        .iter()
        .enumerate()
        .map(|(n, quote)| document(&format!("q{n}"), &format!("Mine. {quote}.")));
    folder.write("a.ndjson", document("source", &source) + &lines.collect::<String>());
    assert_eq!(folder.ok("passages a.ndjson --gaps 0").text(), "");
    let found = folder.ok("passages a.ndjson --gaps 5 --json").records();
    let (summary, spans) = found.split_last().unwrap();
    assert_eq!((&summary["gaps"], &summary["passages"]), (&json!(5), &json!(spans.len())));
    assert!(!spans.is_empty());
    for span in spans {
        let quote = &quotes[usize::try_from(span["i"].as_u64().unwrap()).unwrap() - 1];
        let length = span["end"].as_u64().unwrap() - span["begin"].as_u64().unwrap();
        assert_eq!((length, &span["begin"]), (quote.len() as u64, &json!(6)), "{span}");
    }
    // Which quotes are found depends on a seed.
    let cut = folder.ok("passages a.ndjson --gaps 5 --cut").records();
    let left: Vec<&str> = cut[1..].iter().map(|record| record["text"].as_str().unwrap()).collect();
    assert!(left.contains(&"Mine."), "{left:?}");
    let is_whole = |(text, quote): (&&str, &String)| **text == format!("Mine. {quote}.");
    assert!(left.iter().zip(&quotes).filter(|it| *it.0 != "Mine.").all(is_whole));
    assert!(folder.exits(2, "passages a.ndjson --gaps 2000").err.contains("0 to 1000"));
}

#[test]
fn passages_of_an_earlier_collection_are_found_too() {
    let folder = Folder::new();
    let (old, quote) = (words(0..200), words(100..160));
    folder.write("old.ndjson", document("old", &old) + &document("again", &old));
    folder.write(
        "new.ndjson",
        document("a", &quote) + &document("b", &format!("Own. {quote}. More.")),
    );
    let begin = old.find("word100").unwrap();
    let of_old = format!("old\t{begin}\t{}\n", begin + quote.len());
    let expected = format!("a\t0\t{0}\t{of_old}b\t5\t{1}\t{of_old}", quote.len(), quote.len() + 5);
    let run = folder.ok("passages new.ndjson --against old.ndjson");
    assert_eq!(run.text(), expected);
    assert!(run.err.contains("2 passages in 2 of 2 documents, "), "{}", run.err);
    let records = folder.ok("passages new.ndjson --against old.ndjson --json").records();
    assert_eq!((&records[0]["source_i"], &records[0]["source"]), (&Value::Null, &json!("old")));
    let cut = folder.ok("passages new.ndjson --against old.ndjson --cut").records();
    let texts = cut.iter().map(|record| record["text"].clone());
    assert_eq!(texts.collect::<Vec<_>>(), ["", "Own. More."]);
}
