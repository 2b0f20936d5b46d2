use serde_json::json;

use crate::common::Folder;

#[test]
fn differing_bits_are_listed_and_marked() {
    let expected = "\
a         0x8000000000000001
b         0x0000000000080001
distance  2 of 64 bits
differ    19 63

   63       55       47       39       31       23       15       7
a  10000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001
b  00000000 00000000 00000000 00000000 00000000 00001000 00000000 00000001
   ^                                                ^
";
    assert_eq!(Folder::new().ok("hamming 0x8000000000000001 0x80001").text(), expected);
}

#[test]
fn fingerprints_are_read_in_each_notation_and_width() {
    let folder = Folder::new();
    for (line, bits, differing) in [
        ("-1 0xfffffffffffffffe", 64, vec![0]),
        ("5 4", 64, vec![0]),
        ("10 0x10", 64, vec![1, 3, 4]),
        ("ff 0", 64, (0..8).collect()),
        ("08b73006b558c876 08b73006b558c874", 64, vec![1]),
        ("18446744073709551616 0", 128, vec![64]),
        ("0x80000000000000000000000000000000 0x0", 128, vec![127]),
        ("00000000000000000000000000000001 0x0", 128, vec![0]),
        ("--bits 128 -1 0x7fffffffffffffffffffffffffffffff", 128, vec![127]),
        ("--fp-format hex 10 0x10", 64, vec![]),
    ] {
        let report = folder.ok(&format!("hamming {line} --json")).json();
        assert_eq!(report["schema"], "fpdb.hamming/1");
        assert_eq!(report["differing_bits"], json!(differing), "{line}");
        assert_eq!((&report["bits"], &report["distance"]), (&json!(bits), &json!(differing.len())));
    }
    let wide = folder.ok("hamming 0x80000000000000000000000000000001 0x0").text();
    assert!(wide.contains("   127      119 ") && wide.contains("   63       55 "), "{wide}");
    assert_eq!(wide.matches('^').count(), 2, "{wide}");
    assert!(folder.ok("hamming 1 1").text().contains("differ    none\n"));
}

#[test]
fn pairs_are_read_from_standard_input() {
    let folder = Folder::new();
    let stdin = b"1 2\n\n0x8000000000000000\t0\n";
    let text = folder.run_with(&["hamming", "-"], stdin).text();
    let expected = "\
0x0000000000000001  0x0000000000000002    2  0 1
0x8000000000000000  0x0000000000000000    1  63
";
    assert_eq!(text, expected);
    let records = folder.run_with(&["hamming", "-", "--json"], stdin).records();
    assert_eq!(
        records[0],
        json!({"type": "pair", "a": "0x0000000000000001", "b": "0x0000000000000002", "bits": 64,
            "distance": 2, "differing_bits": [0, 1]})
    );
    assert_eq!(records[2], json!({"type": "summary", "pairs": 2}));
}

#[test]
fn anything_but_a_pair_is_refused() {
    let folder = Folder::new();
    for line in [
        "hamming",
        "hamming 1",
        "hamming 1 2 3",
        "hamming 1 x",
        "hamming --bits 64 0 18446744073709551616",
    ] {
        folder.exits(2, line);
    }
    let run = folder.run_with(&["hamming", "-"], b"1 2\n3\n");
    assert_eq!((run.code, run.text().lines().count()), (2, 1));
    assert!(run.err.contains("standard input, line 2: expected two fingerprints"), "{}", run.err);
}
