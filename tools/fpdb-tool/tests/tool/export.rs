use serde_json::json;

use crate::common::{Folder, document, text};

#[test]
fn csv_has_a_header_and_is_sorted() {
    let folder = Folder::new();
    folder.write("fps", "ff\n1\nff\n0\n");
    folder.ok("import a fps --fp-format hex");
    let expected = "fingerprint,id\n0x0000000000000000,3\n0x0000000000000001,1\n\
                    0x00000000000000ff,0\n0x00000000000000ff,2\n";
    assert_eq!(folder.ok("export a --format csv").text(), expected);
    assert_eq!(folder.ok("export a").text(), expected);
}

#[test]
fn csv_quotes_names() {
    let folder = Folder::new();
    folder.write("docs", document("a,\"b\"\nc", &text(1, 50)) + &document("plain", &text(2, 50)));
    folder.ok("dedup a docs");
    let text = folder.ok("export a --format csv").text();
    assert!(text.starts_with("fingerprint,id,name\n"), "{text}");
    assert!(text.contains(",0,\"a,\"\"b\"\"\nc\"\n") && text.contains(",1,plain\n"), "{text}");
}

#[test]
fn csv_for_spreadsheets_has_no_formulas() {
    let folder = Folder::new();
    let names = [
        "=cmd|' /C calc'!A0",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "a=1",
        "'x",
        " =1",
        "\u{3000}=1",
        "\u{feff}+1",
        "\n -1",
        "＝1",
        "＋1",
        "－1",
        "＠SUM(A1)",
        " ＝1",
        " a=1",
        "a ＝1",
    ];
    let docs = (1..).zip(names).map(|(seed, name)| document(name, &text(seed, 50)));
    folder.write("docs", docs.collect::<String>());
    folder.ok("dedup a docs --from ndjson");
    let cells = |line: &str| {
        let exported = folder.ok(line).out;
        let mut csv = csv::Reader::from_reader(exported.as_slice());
        let mut cells: Vec<(u64, String)> = csv
            .records()
            .map(|record| record.unwrap())
            .map(|record| (record[1].parse().unwrap(), record[2].to_owned()))
            .collect();
        cells.sort();
        cells.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    assert_eq!(cells("export a"), names);
    let safe = cells("export a --spreadsheet");
    for (name, cell) in names.iter().zip(&safe) {
        let is_formula = !name.contains(['a', 'x']) || name.contains("calc");
        assert_eq!(*cell, format!("{}{name}", if is_formula { "'" } else { "" }));
    }
    folder.exits(2, "export a --spreadsheet --format hex");
    folder.exits(2, "export a --spreadsheet --json");
}

#[test]
fn ndjson_ends_in_a_summary() {
    let folder = Folder::new();
    folder.write("fps", "7\n");
    folder.ok("import a fps");
    let expected = [
        json!({"type": "entry", "fingerprint": "0x0000000000000007", "id": 0}),
        json!({"type": "summary", "entries": 1}),
    ];
    assert_eq!(folder.ok("export a --format ndjson").records(), expected);
    assert_eq!(folder.ok("export a --json").records(), expected);
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_error() {
    let folder = Folder::new();
    folder.write("fps", "1\n".repeat(20_000));
    folder.ok("import a fps");
    for format in ["csv", "ndjson", "hex"] {
        let (_, run) = folder.first_line(&["export", "a", "--format", format]);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{format}");
    }
}
