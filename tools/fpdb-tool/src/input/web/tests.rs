//! Damage of every kind at every place: it may cost records, but never a panic, and never an
//! endless reading.

use std::io::{Cursor, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Event, Options, Records};

const OPTIONS: Options =
    Options { text: super::TextMode::Main, max_record: Options::DEFAULT_MAX_RECORD };

fn events(bytes: Vec<u8>, options: Options) -> Vec<Event> {
    let records = Records::archive(Box::new(Cursor::new(bytes)), options).unwrap();
    records.map(|record| record.extract(&options)).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn record(url: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html{headers}\r\n\r\n");
    let head = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n\
         Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{head}",
        head.len() + body.len()
    );
    [head.as_bytes(), body, b"\r\n\r\n"].concat()
}

/// A small archive of each kind, with pages of each encoding.
fn samples() -> Vec<Vec<u8>> {
    let page = b"<!doctype html><meta charset=gbk><title>t</title><p class=\"a>b\">\xd6\xd0&amp;\
        &#x4e2d;<script>x</script><pre>a\n b</pre><!-- c --><svg></svg><a href=x>link</a>";
    let chunked = [b"20\r\n", &page[..32], b"\r\n0\r\n\r\n"].concat();
    let records = [
        record("u:1", "", page),
        record("u:2", "\r\nTransfer-Encoding: chunked", &chunked),
        record("u:3", "; charset=utf-8\r\nContent-Encoding: gzip", &gzip(page)),
        record("u:4", "\r\nContent-Encoding: br", b"\x0b\x02\x80hello\x03"),
    ];
    let answer = "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>text";
    let arc = format!(
        "filedesc://x 127.0.0.1 20140216050221 text/plain 3\n1 0\n\nhttp://a/ 127.0.0.1 \
         20140216050221 text/html {}\n{answer}\n",
        answer.len()
    );
    let members = records.iter().flat_map(|record| gzip(record)).collect();
    vec![
        records.concat(),
        gzip(&records.concat()),
        members,
        arc.clone().into(),
        gzip(arc.as_bytes()),
    ]
}

fn check(bytes: Vec<u8>) {
    let bound = bytes.len() + 10;
    assert!(events(bytes, OPTIONS).len() < bound);
}

#[test]
fn every_flipped_byte_is_survived() {
    for sample in samples() {
        for at in 0..sample.len() {
            for flip in [0x01, 0xff] {
                let mut damaged = sample.clone();
                damaged[at] ^= flip;
                check(damaged);
            }
        }
    }
}

#[test]
fn every_cut_is_survived() {
    for sample in samples() {
        let whole = events(sample.clone(), OPTIONS).len();
        for at in 0..sample.len() {
            check(sample[..at].to_vec());
            check(sample[at..].to_vec());
            let cut = events(sample[..at].to_vec(), OPTIONS);
            assert!(cut.len() <= whole + 1, "cut at {at}");
        }
    }
}

#[test]
fn records_behind_a_wrong_length_are_found() {
    let page = |i: usize| record(&format!("u:{i}"), "", b"<p>text");
    let wrong = |length: &str| {
        let head = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: u:0\r\n";
        format!("{head}Content-Length: {length}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n\r\n\r\n")
            .into_bytes()
    };
    for length in ["1", "100", "1000", "1000000000000000000", "-1", "99999999999999999999"] {
        let bytes = [page(1), wrong(length), page(2), page(3)].concat();
        // That a member holds several records is told too.
        for (bytes, told) in [(gzip(&bytes), 2), (bytes, 1)] {
            let events = events(bytes, OPTIONS);
            let found = events.iter().filter(|event| matches!(event, Event::Page(_))).count();
            assert_eq!((found, events.len()), (3, 3 + told), "{length}: {events:?}");
        }
    }
}

#[test]
fn an_archive_compressed_as_a_whole_is_read_and_told_of_once() {
    let bytes: Vec<u8> = (0..5).flat_map(|i| record(&format!("u:{i}"), "", b"<p>text")).collect();
    let events = events(gzip(&bytes), OPTIONS);
    let ids = events.iter().filter_map(|event| match event {
        Event::Page(page) => Some(page.id.as_str()),
        _ => None,
    });
    assert_eq!(ids.collect::<Vec<_>>(), ["u:0", "u:1", "u:2", "u:3", "u:4"]);
    assert_eq!(events.len(), 6);
    assert!(
        matches!(&events[1], Event::Broken { error, .. } if error.contains("record by record"))
    );
}

/// It would be quadratic if each record were read again for the lie of the one before.
#[test]
fn a_file_of_wrong_lengths_is_read_a_bounded_number_of_times() {
    let lie = record("u:1", "", b"<p>text");
    let lie = String::from_utf8(lie).unwrap().replace("Content-Length: ", "Content-Length: 9");
    let options = Options { max_record: 1 << 16, ..OPTIONS };
    let events = events(lie.repeat(1 << 13).into_bytes(), options);
    assert!(events.len() < 1 << 13, "{}", events.len());
}

#[test]
fn a_limit_bounds_every_stage() {
    let sample = record("u:1", "\r\nContent-Encoding: gzip", &gzip(&[b' '; 100_000]));
    for (max_record, pages) in [(100, 0), (1000, 0), (200_000, 1)] {
        let options = Options { max_record, ..OPTIONS };
        let events = events(sample.clone(), options);
        let found = events.iter().filter(|event| matches!(event, Event::Page(_))).count();
        assert_eq!((found, events.len()), (pages, 1), "{max_record}: {events:?}");
    }
}

/// The same with real archives, where the data for developers lies; each at some places only.
#[test]
fn damage_to_real_archives_is_survived() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/warc");
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        if bytes.len() > 10_000 || path.extension().is_some_and(|e| e == "tsv") {
            continue;
        }
        for at in 0..bytes.len() {
            if at % 7 == 0 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x5a;
                check(damaged);
            }
            if at % 11 == 0 {
                check(bytes[..at].to_vec());
            }
        }
    }
}
