//! Errors about something too large name its place and the option that allows it. Memory stays
//! bounded.

use crate::common::{Folder, document, gzip, text};

#[test]
fn max_line_limits_the_length_of_a_line() {
    let folder = Folder::new();
    let long = document("long", &text(1, 60));
    let length = long.trim_end().len();
    let lines = format!("{}{long}{}", document("a", &text(2, 20)), document("b", &text(3, 20)));
    for end in ["\n", "\r\n"] {
        folder.write("docs", lines.replace('\n', end));
        folder.ok(&format!("fingerprint docs --max-line {length}"));
        let line = format!("fingerprint docs --max-line {}", length - 1);
        let run = folder.exits(2, &line);
        let message =
            format!("docs, line 2: a line of more than {} bytes (--max-line)", length - 1);
        assert!(run.err.contains(&message), "{}", run.err);
        assert_eq!(run.text().lines().count(), 1);
        let run = folder.ok(&(line + " --skip-bad"));
        assert!(run.text().lines().map(|line| &line[18..]).eq(["  a", "  b"]), "{}", run.text());
        assert!(run.err.contains("skipped docs, line 2: "), "{}", run.err);
    }
}

#[test]
fn max_document_limits_the_size_of_a_document() {
    let folder = Folder::new();
    let long = text(1, 60);
    let bytes = long.len();
    folder.write("a.txt", &long);
    folder.write("a.ndjson", document("x", &long));
    folder.write("a.csv", format!("id,text\nx,{long}\n"));
    for (file, place) in
        [("a.txt", "a.txt: "), ("a.ndjson", "a.ndjson, line 1: "), ("a.csv", "a.csv, line 2: ")]
    {
        folder.ok(&format!("fingerprint {file} --max-document {bytes}"));
        let run = folder.exits(2, &format!("fingerprint {file} --max-document {}", bytes - 1));
        assert!(run.err.contains(&format!("{place}a ")), "{}", run.err);
        assert!(run.err.contains("--max-document"), "{}", run.err);
    }
}

#[test]
fn a_row_that_is_too_long_or_never_ends_is_an_error_with_its_line() {
    let folder = Folder::new();
    folder.write("long.csv", format!("id,text\n1,short\n2,\"a\nb{}\"\n3,x\n", "x".repeat(1000)));
    folder.ok("fingerprint long.csv");
    let run = folder.exits(2, "fingerprint long.csv --max-line 500");
    assert!(run.err.contains("long.csv, line ") && run.err.contains("--max-line"), "{}", run.err);
    assert_eq!(run.text().lines().count(), 1);
    folder.write("open.csv", "id,text\n1,a\n2,\"never closed\n3,b\n");
    let run = folder.exits(2, "fingerprint open.csv");
    assert!(run.err.contains("begins on line 3 are never closed"), "{}", run.err);
    assert_eq!(run.text().lines().count(), 1);
}

#[test]
fn ids_that_are_empty_or_too_long_are_refused() {
    let folder = Folder::new();
    let id = |length: usize| "i".repeat(length);
    folder.write("good", document(&id(65_535), &text(1, 20)));
    folder.ok("dedup db good");
    for (length, lines) in [(0, document("", &text(2, 20))), (65_536, document(&id(65_536), "x"))] {
        folder.write("bad", lines);
        let run = folder.exits(2, "fingerprint bad");
        let message =
            format!("bad, line 1: an id must have 1 to 65535 bytes, but this one has {length}");
        assert!(run.err.contains(&message), "{}", run.err);
    }
}

/// A small file that contains a line of 512 MiB. The run ends after the first MiB.
#[test]
fn an_endless_line_is_not_read_into_memory() {
    let folder = Folder::new();
    let mut gz = Vec::new();
    let piece = gzip(&vec![b'x'; 1 << 20]);
    for _ in 0..512 {
        gz.extend_from_slice(&piece);
    }
    folder.write("bomb.ndjson.gz", gz);
    let run = folder.exits(2, "fingerprint bomb.ndjson.gz --max-line 1MiB");
    assert!(run.err.contains("line 1: a line of more than 1048576 bytes"), "{}", run.err);
    let run = folder.exits(2, "fingerprint --from text bomb.ndjson.gz --max-document 1MiB");
    assert!(run.err.contains("a document of more than 1048576 bytes"), "{}", run.err);
}

#[test]
#[cfg(feature = "zstd")]
fn max_ratio_stops_a_compression_bomb() {
    use std::io::Write;

    let folder = Folder::new();
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(document("a", &text(1, 20)).as_bytes()).unwrap();
    let blank = vec![b'\n'; 1 << 20];
    for _ in 0..96 {
        encoder.write_all(&blank).unwrap();
    }
    folder.write("bomb.zst", encoder.finish().unwrap());
    let run = folder.exits(2, "fingerprint bomb.zst");
    assert!(run.err.contains("bomb.zst, line ") && run.err.contains("--max-ratio"), "{}", run.err);
    assert_eq!(run.text().lines().count(), 1, "the documents before it are read");
    folder.ok("fingerprint bomb.zst --max-ratio 1000000");
}

#[test]
fn small_data_that_compresses_well_is_read() {
    let folder = Folder::new();
    let lines = document("same", &text(1, 200)).repeat(3000);
    folder.write("docs.gz", gzip(lines.as_bytes()));
    let run = folder.ok("fingerprint docs.gz --max-ratio 2");
    assert_eq!(run.text().lines().count(), 3000, "it is small, so its ratio does not matter");
}

#[cfg(unix)]
#[test]
fn a_file_beyond_the_limit_of_the_system_is_an_error() {
    let folder = Folder::new();
    let list: String = (0..20_000u64).map(|i| format!("{:016x}\n", i * 0x9e37_79b9)).collect();
    folder.write("list", list);
    let by = ["sh", "-c", "ulimit -f 8 && exec \"$0\" \"$@\""];
    let run = folder.run_by(&by, &["import", "db", "list"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("ulimit -f") && run.err.contains("raise the limit"), "{}", run.err);
}
