//! Damage of every kind at every place: it may cost records, but never causes a panic or an endless
//! loop.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use fpdb_web::{Archive, Error, ErrorKind, Extracted, Extractor, Limits, Page};

type Outcomes = Vec<Result<Extracted, Error>>;

fn outcomes(bytes: &[u8], limits: Limits) -> Outcomes {
    let extractor = Extractor::default().limits(limits);
    let records = Archive::with_limits(bytes, limits).unwrap();
    records.map(|record| extractor.record(&record?)).collect()
}

fn pages(outcomes: &Outcomes) -> Vec<&Page> {
    let page = |outcome| match outcome {
        &Ok(Extracted::Page(ref page)) => Some(page),
        _ => None,
    };
    outcomes.iter().filter_map(page).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn record(url: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let header = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html{headers}\r\n\r\n");
    let header = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n\
         Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{header}",
        header.len() + body.len()
    );
    [header.as_bytes(), body, b"\r\n\r\n"].concat()
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

fn check(bytes: &[u8]) {
    assert!(outcomes(bytes, Limits::default()).len() < bytes.len() + 10);
}

#[test]
fn every_flipped_byte_is_survived() {
    for sample in samples() {
        for at in 0..sample.len() {
            for flip in [0x01, 0xff] {
                let mut damaged = sample.clone();
                damaged[at] ^= flip;
                check(&damaged);
            }
        }
    }
}

#[test]
fn every_truncation_is_survived() {
    for sample in samples() {
        let complete = outcomes(&sample, Limits::default()).len();
        for at in 0..sample.len() {
            check(&sample[..at]);
            check(&sample[at..]);
            let cut = outcomes(&sample[..at], Limits::default());
            assert!(cut.len() <= complete + 1, "cut at {at}");
        }
    }
}

fn urls(outcomes: &Outcomes) -> Vec<&str> {
    pages(outcomes).iter().map(|page| page.url.as_str()).collect()
}

#[test]
fn records_after_what_is_no_record_are_found() {
    let good: Vec<_> = (0..4).map(|i| record(&format!("u:{i}"), "", b"<p>text")).collect();
    let altered = |from: &str, to: &str| {
        let text = String::from_utf8(record("u:bad", "", b"<p>bad")).unwrap();
        text.replacen(from, to, 1).into_bytes()
    };
    for bad in [
        b"no record at all\r\nWARC/ nor this\r\n".to_vec(),
        altered("Content-Length", "Length"),
        altered("WARC/1.0", "WARC/9.0"),
    ] {
        let parts = [&good[0], &good[1], &bad, &good[2], &good[3]];
        let members: Vec<u8> = parts.iter().flat_map(|part| gzip(part)).collect();
        for bytes in [parts.map(Vec::as_slice).concat(), members] {
            let outcomes = outcomes(&bytes, Limits::default());
            assert_eq!(urls(&outcomes), ["u:0", "u:1", "u:2", "u:3"], "{outcomes:?}");
            assert_eq!(outcomes.len(), 5, "{outcomes:?}");
        }
    }
}

#[test]
fn a_damaged_member_does_not_affect_others() {
    // Text that gzip does not make much shorter.
    let text: String = (0..200u64).map(|i| format!("{:x} ", i.wrapping_pow(7) % 99_991)).collect();
    let page = |i: usize| record(&format!("u:{i}"), "", format!("<p>{text}").as_bytes());
    let members: Vec<_> = (0..4).map(|i| gzip(&page(i))).collect();
    for at in 0..members[1].len() {
        let mut bad = members[1].clone();
        bad[at] ^= 0x55;
        let bytes = [&members[0], &bad, &members[2], &members[3]].map(Vec::as_slice).concat();
        let outcomes = outcomes(&bytes, Limits::default());
        // Some bytes of a gzip header have no effect.
        if outcomes.iter().all(Result::is_ok) {
            assert!(at < 10 && outcomes.len() == 4, "byte {at}");
            continue;
        }
        // Damage near the end may leave most of the record.
        let mut others = urls(&outcomes);
        others.retain(|url| *url != "u:1");
        assert_eq!(others, ["u:0", "u:2", "u:3"], "byte {at}: {outcomes:?}");
        // Damage that can be uncompressed is found twice: in the record and by the checksum.
        let errors: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
        assert!((1..=2).contains(&errors.len()), "byte {at}: {outcomes:?}");
        assert!(errors.iter().all(|error| error.offset() == members[0].len() as u64), "{errors:?}");
    }
}

#[test]
fn all_complete_records_of_a_truncated_archive_are_read() {
    let records: Vec<_> = (0..3).map(|i| record(&format!("u:{i}"), "", b"<p>text")).collect();
    let members: Vec<_> = records.iter().map(|record| gzip(record)).collect();
    for parts in [records, members] {
        let bytes = parts.concat();
        for cut in 1..bytes.len() {
            let outcomes = outcomes(&bytes[..cut], Limits::default());
            let (one, two) = (parts[0].len(), parts[0].len() + parts[1].len());
            let complete = usize::from(cut >= one) + usize::from(cut >= two);
            let found = pages(&outcomes).len();
            let errors = outcomes.len() - found;
            assert!(
                found >= complete && found <= complete + 1 && errors <= 1,
                "{cut}: {outcomes:?}"
            );
        }
    }
}

#[test]
fn records_after_a_wrong_length_are_found() {
    let page = |i: usize| record(&format!("u:{i}"), "", b"<p>text");
    let wrong = |length: &str| {
        let header = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: u:0\r\n";
        let block = "<p>text ".repeat(1000);
        format!("{header}Content-Length: {length}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{block}\r\n\r\n")
            .into_bytes()
    };
    for length in ["1", "12000", "1000000000000000000", "-1", "99999999999999999999"] {
        let bytes = [page(1), wrong(length), page(2), page(3)].concat();
        // That a member holds several records is an error too.
        for (bytes, errors) in [(gzip(&bytes), 2), (bytes, 1)] {
            let outcomes = outcomes(&bytes, Limits::default());
            let found = (pages(&outcomes).len(), outcomes.len());
            assert_eq!(found, (3, 3 + errors), "{length}: {outcomes:?}");
        }
    }
}

#[test]
fn a_length_that_is_wrong_by_little_loses_nothing() {
    let texts = |outcomes: &Outcomes| -> Vec<String> {
        pages(outcomes).iter().map(|page| page.text.clone()).collect()
    };
    let filler = "word ".repeat(400);
    for by in [-1000, -100, -10, -5, -1, 0, 1, 3, 4, 5, 10, 100, 300, 1000] {
        let warc = |i: i64| {
            let page = format!("<p>{filler} page {i}");
            let good = record(&format!("u:{i}"), "", page.as_bytes());
            let length = 44 + page.len() as i64;
            let at = format!("Content-Length: {length}\r\n");
            let text = String::from_utf8(good).unwrap();
            assert!(text.contains(&at), "{text}");
            let wrong = if i == 2 || i == 3 { by } else { 0 };
            text.replacen(&at, &format!("Content-Length: {}\r\n", length + wrong), 1).into_bytes()
        };
        let arc = |i: i64| {
            let body =
                format!("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{filler} page {i}");
            let wrong = if i == 2 || i == 3 { by } else { 0 };
            let length = body.len() as i64 + wrong;
            format!("http://a/{i} 127.0.0.1 20140216050221 text/html {length}\n{body}\n")
                .into_bytes()
        };
        let expected: Vec<_> = (1..=5).map(|i| format!("{} page {i}", filler.trim())).collect();
        let warcs: Vec<Vec<u8>> = (1..=5).map(warc).collect();
        let arcs: Vec<Vec<u8>> = (1..=5).map(arc).collect();
        for (kind, bytes) in [
            ("plain", warcs.concat()),
            ("members", warcs.iter().flat_map(|record| gzip(record)).collect()),
            ("one member", gzip(&warcs.concat())),
            ("arc", arcs.concat()),
            ("arc members", arcs.iter().flat_map(|record| gzip(record)).collect()),
        ] {
            let outcomes = outcomes(&bytes, Limits::default());
            assert_eq!(texts(&outcomes), expected, "{kind}, {by}: {outcomes:?}");
            let errors = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
            assert!(errors.clone().all(|e| e.kind() != ErrorKind::Record), "{kind}, {by}");
            let errors = errors.count();
            assert!(by.abs() <= 4 || errors >= 2, "{kind}, {by}: {outcomes:?}");
            assert!(by != 0 || errors == usize::from(kind == "one member"), "{kind}: {outcomes:?}");
        }
    }
}

#[test]
fn the_last_record_is_read_if_its_length_is_too_large_by_little() {
    let page = record("u:1", "", b"<p>text");
    let last = String::from_utf8(record("u:2", "", b"<p>last")).unwrap();
    for by in [0, 1, 3, 4, 5, 100, 1000, 1100] {
        let length = format!("Content-Length: {}\r\n", 44 + 7 + by);
        let last = last.replacen("Content-Length: 51\r\n", &length, 1).into_bytes();
        for bytes in [[&page[..], &last].concat(), [gzip(&page), gzip(&last)].concat()] {
            let outcomes = outcomes(&bytes, Limits::default());
            let texts: Vec<_> = pages(&outcomes).iter().map(|page| page.text.clone()).collect();
            let expected = if by <= 1000 { &["text", "last"][..] } else { &["text"] };
            assert_eq!(texts, expected, "{by}: {outcomes:?}");
            let errors = outcomes.iter().filter(|outcome| outcome.is_err()).count();
            assert_eq!(errors, usize::from(by > 4), "{by}: {outcomes:?}");
        }
        // A file that is cut off is not read as if it were complete.
        let cut = [&page[..], &last[..last.len() - 5]].concat();
        assert_eq!(pages(&outcomes(&cut, Limits::default())).len(), 1, "{by}");
    }
}

#[test]
fn gzip_members_after_uncompressed_records_are_found() {
    let page = |i: usize| record(&format!("u:{i}"), "", b"<p>text");
    let members = |from: usize| (from..from + 3).flat_map(|i| gzip(&page(i))).collect::<Vec<u8>>();
    let found = |parts: &[Vec<u8>]| {
        let outcomes = outcomes(&parts.concat(), Limits::default());
        let urls = urls(&outcomes);
        (urls.join(" "), outcomes.len() - urls.len())
    };
    let all = "u:1 u:2 u:3 u:4 u:5 u:6 u:7 u:8";
    let plain = [page(4), page(5)].concat();
    assert_eq!(found(&[members(1), plain.clone(), members(6)]), (all.to_owned(), 0));
    let zeros = vec![0; 3 << 20];
    let padded = found(&[members(1), zeros.clone()]);
    assert_eq!(padded, ("u:1 u:2 u:3".to_owned(), 0), "zeros at the end, as on tapes");
    let hole = found(&[members(1), zeros, members(4)]);
    assert_eq!(hole, ("u:1 u:2 u:3 u:4 u:5 u:6".to_owned(), 1), "zeros in place of records");
    let garbage = b"\x1f\x8b\x08garbage\x1f\x8b\x08\0 that is none\n\x1f\x8b".to_vec();
    assert_eq!(found(&[members(1), plain, garbage, members(6)]), (all.to_owned(), 1));
    assert_eq!(found(&[page(1), members(2)]), ("u:1 u:2 u:3 u:4".to_owned(), 0));
}

#[test]
fn an_arc_file_is_read_around_its_description_and_damage() {
    let record = |url: &str, kind: &str, block: &str| {
        format!("{url} 127.0.0.1 20140216050221 {kind} {}\n{block}\n", block.len())
    };
    let answer =
        |text: &str| format!("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{text}");
    let parts = [
        record("filedesc://x.arc", "text/plain", "1 0 x\nURL IP-address Archive-date\n"),
        record("http://a/1", "text/html", &answer("one")),
        record("dns:a", "text/dns", "20140216050221\na 1 IN A 127.0.0.1\n"),
        record("http://a/2 b", "text/html", &answer("two")),
    ];
    let (plain, damaged) = (parts.concat(), parts.concat().replacen("dns:a", "dns a b", 1));
    // The line feed after a record may be missing from its member.
    let trim = |part: &'_ String| gzip(part.strip_suffix('\n').unwrap().as_bytes());
    let members: Vec<u8> = parts.iter().flat_map(|part| gzip(part.as_bytes())).collect();
    let exact: Vec<u8> = parts.iter().flat_map(trim).collect();
    for (bytes, errors) in
        [(plain.as_bytes(), 0), (&members, 0), (&exact, 0), (damaged.as_bytes(), 1)]
    {
        let outcomes = outcomes(bytes, Limits::default());
        assert_eq!(urls(&outcomes), ["http://a/1", "http://a/2 b"], "{outcomes:?}");
        let found = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        assert_eq!(found, errors, "{outcomes:?}");
    }
}

#[test]
fn arc_records_are_read_without_the_description_of_the_file() {
    let body = "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>text";
    let length = body.len();
    let record = |media_type: &str| {
        format!("http://a/ 127.0.0.1 20140216050221 {media_type} {length}\n{body}\n")
    };
    let dns = "dns:a 127.0.0.1 20140216050221 text/dns 3\nabc\n";
    let arc = ["text/html", "", "no-type", "text/html; charset=utf-8"].map(record).concat() + dns;
    for bytes in [arc.clone().into_bytes(), gzip(arc.as_bytes())] {
        let outcomes = outcomes(&bytes, Limits::default());
        assert_eq!(pages(&outcomes).len(), 4, "{outcomes:?}");
    }
}

#[test]
fn an_archive_may_be_divided_into_gzip_members_in_any_way() {
    let bytes: Vec<u8> = (0..5).flat_map(|i| record(&format!("u:{i}"), "", b"<p>text")).collect();
    for size in [1, 2, 100, 300] {
        let members: Vec<u8> = bytes.chunks(size).flat_map(gzip).collect();
        let outcomes = outcomes(&members, Limits::default());
        assert_eq!(urls(&outcomes), ["u:0", "u:1", "u:2", "u:3", "u:4"], "{size}: {outcomes:?}");
    }
}

/// It would be quadratic if all records were read again because of each wrong length.
#[test]
fn a_file_of_wrong_lengths_is_read_a_bounded_number_of_times() {
    let wrong = String::from_utf8(record("u:1", "", b"<p>text")).unwrap();
    let wrong = wrong.replace("Content-Length: ", "Content-Length: 9");
    let limits = Limits::default().max_record(1 << 16);
    let outcomes = outcomes(wrong.repeat(1 << 13).as_bytes(), limits);
    assert!(outcomes.len() < 1 << 13, "{}", outcomes.len());
}

#[test]
fn the_size_limit_applies_to_every_stage() {
    let sample = record("u:1", "\r\nContent-Encoding: gzip", &gzip(&[b' '; 100_000]));
    for (max_record, expected) in [(100, 0), (1000, 0), (200_000, 1)] {
        let outcomes = outcomes(&sample, Limits::default().max_record(max_record));
        let found = (pages(&outcomes).len(), outcomes.len());
        assert_eq!(found, (expected, 1), "{max_record}: {outcomes:?}");
    }
}

/// Without a limit, each record of such an archive would cost as much as the largest record.
#[test]
fn a_bomb_in_a_small_record_is_skipped() {
    let twice = gzip(&gzip(&vec![b' '; 32 << 20]));
    assert!(twice.len() < 1 << 10, "{} bytes", twice.len());
    let small = gzip(&gzip(&vec![b' '; 1 << 20]));
    let headers = "\r\nContent-Encoding: gzip, gzip";
    let sample = [record("u:1", headers, &twice), record("u:2", headers, &small)].concat();
    for (limits, expected) in [
        (Limits::default(), ["Skipped(TooLarge)", "Page"]),
        (Limits::default().max_expansion(usize::MAX), ["Page", "Page"]),
    ] {
        let outcomes = outcomes(&sample, limits);
        assert_eq!(outcomes.len(), 2);
        for (outcome, expected) in outcomes.iter().zip(expected) {
            let outcome = format!("{:?}", outcome.as_ref().unwrap());
            assert!(outcome.starts_with(expected), "{:.60} instead of {expected}", outcome);
        }
    }
}

#[test]
fn headers_of_very_many_lines_are_errors() {
    let lines = "\r\na:".repeat(5000);
    let archive = record("u:1", "", b"<p>text");
    let (head, rest) = archive.split_at(b"WARC/1.0".len());
    let warc = [head, lines.as_bytes(), rest].concat();
    let http = record("u:1", &lines, b"<p>text");
    for bytes in [warc, http] {
        let outcomes =
            outcomes(&[bytes, record("u:2", "", b"<p>text")].concat(), Limits::default());
        let error = outcomes[0].as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(error.message().contains("more than 4096 lines"), "{error}");
        assert_eq!(pages(&outcomes).len(), 1);
    }
}

/// Each coding is a pass over the body: 90 KB of them once took more than 90 seconds.
#[test]
fn a_record_with_very_many_codings_costs_no_more_than_an_error() {
    let codings = vec!["chunked"; 10_000].join(",");
    let many = record("u:1", &format!("\r\nTransfer-Encoding: {codings}"), &[b'x'; 100_000]);
    let outcomes = outcomes(&[many, record("u:2", "", b"<p>text")].concat(), Limits::default());
    let error = outcomes[0].as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!(error.message(), "u:1: the body has more than 8 codings");
    assert_eq!(pages(&outcomes).len(), 1);
}

#[test]
fn errors_have_the_offset_of_their_record() {
    let good = record("u:1", "", b"<p>text");
    let bad = record("u:2", "\r\nContent-Encoding: gzip", b"\x1f\x8bnot gzip");
    for (bytes, offset) in [
        ([good.clone(), bad.clone()].concat(), good.len()),
        ([gzip(&good), gzip(&bad)].concat(), gzip(&good).len()),
    ] {
        let outcomes = outcomes(&bytes, Limits::default());
        let error = outcomes[1].as_ref().unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Coding, offset as u64), "{error}");
        assert!(error.message().starts_with("u:2: gzip body: "), "{error}");
    }
}

/// A reader whose connection breaks.
struct Broken(bool);

impl std::io::Read for Broken {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if std::mem::replace(&mut self.0, true) {
            return Err(std::io::ErrorKind::ConnectionReset.into());
        }
        into[..5].copy_from_slice(b"WARC/");
        Ok(5)
    }
}

#[test]
fn a_failing_reader_is_one_error_and_the_end() {
    let mut archive = Archive::new(Broken(false)).unwrap();
    let error = archive.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io(std::io::ErrorKind::ConnectionReset));
    assert!(archive.next().is_none());
}
