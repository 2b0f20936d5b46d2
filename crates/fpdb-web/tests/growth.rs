//! Time grows no faster than the input, whatever it is: four times as much of the same takes less
//! than eight times as long. Quadratic work would take sixteen times as long.

use std::io::Write;
use std::time::Instant;

use flate2::Compression;
use flate2::write::GzEncoder;
use fpdb_web::{Archive, Extracted, Extraction, Extractor, SkipReason};

/// Returns the processor time that this thread has used, in nanoseconds, which does not depend on
/// what else the machine does; or the time of day where that is unknown.
fn now(start: Instant) -> u128 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = schedstat.as_deref().and_then(|line| line.split(' ').next()?.parse().ok());
    nanoseconds.unwrap_or_else(|| start.elapsed().as_nanos())
}

/// Returns the time of one run, which is repeated until it can be measured.
fn time(run: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    let before = now(start);
    for runs in 1.. {
        run();
        let passed = now(start) - before;
        // The clock ticks every few milliseconds.
        if passed > 20_000_000 || runs == 1000 {
            return (passed as f64 / f64::from(runs)).max(1.0);
        }
    }
    f64::NAN
}

/// Checks that an input of four times the size takes less than eight times as long.
fn check_growth(name: &str, input: impl Fn(usize) -> Vec<u8>, run: impl Fn(&[u8])) {
    check_growth_from(if cfg!(debug_assertions) { 1 << 14 } else { 1 << 18 }, name, input, run);
}

fn check_growth_from(
    size: usize,
    name: &str,
    input: impl Fn(usize) -> Vec<u8>,
    run: impl Fn(&[u8]),
) {
    let (small, large) = (input(size), input(4 * size));
    let mut ratios = Vec::new();
    for _ in 0..5 {
        let times = [&small, &large].map(|input| time(&mut || run(input)));
        let ratio = times[1] / times[0];
        ratios.push(ratio);
        if ratio < 8.0 {
            let speed = large.len() as f64 / times[1] * 1e9 / f64::from(1 << 20);
            eprintln!("{name:?}: {ratio:.1}, {speed:.1} MiB/s");
            return;
        }
    }
    panic!("{name:?}: {ratios:.1?}");
}

fn repeated(before: &str, part: &str, after: &str) -> impl Fn(usize) -> Vec<u8> {
    move |size| format!("{before}{}{after}", part.repeat(size / part.len())).into_bytes()
}

#[test]
fn pages_of_one_repeated_part_take_linear_time() {
    let text = |page: &[u8]| {
        for extraction in Extraction::all() {
            let outcome =
                Extractor::new(extraction).document("http://a.example/", "text/html", page);
            assert!(matches!(outcome, Extracted::Page(_) | Extracted::Skipped(SkipReason::NoText)));
        }
    };
    for part in [
        "<div>",
        "<b>",
        "<div></div>",
        "<svg>",
        "<svg></svg>",
        "<svg><object>",
        "<svg></object>",
        "<div role=main>",
        "<div role=main></div>",
        "<div role=main><p></div>",
        "<nav>",
        "<pre>",
        "<!--",
        "<!-- -",
        "<!-->",
        "<!",
        "<?",
        "<![CDATA[",
        "<![CDATA[]]>",
        "<",
        "</",
        "</<",
        "<<b>",
        "<script>",
        "<script></scrip",
        "<script></script>",
        "<title></",
        "<textarea><",
        "<style/>",
        "<p a=\"",
        "<p a='b\" ",
        "<p a=\"'",
        "<p a=\">'>",
        "='",
        "=\"'",
        "<a href=",
        "<a href=x>a",
        "<a >",
        "&",
        "&amp",
        "&amp;",
        "&#",
        "&#x",
        "&#1",
        "&#x110000",
        "&nGt;",
        "&notit;",
        "&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        " ",
        "\n",
        "\u{a0}",
        "\u{c2}",
        "\0",
        "\u{feff}",
        "<br>",
        "<br>\n",
        "<p>a",
        "<p>",
        "<li><a href=x>a</a>",
        "<h1>a",
        "<td>a",
        "<td>a<p>",
        "a b ",
        "<template><svg>",
        "<svg><template></svg></template>",
        "<plaintext>",
        "<header>x</header>",
        "<meta charset=gbk>",
        "<meta a=b c='d' e>",
        "中\n",
        "<noscript></NOSCRIPT",
        "\u{1f468}\u{200d}",
    ] {
        check_growth(part, repeated("<!doctype html>", part, ""), text);
    }
    for (before, part, after) in [
        ("<p ", "a ", ">x"),
        ("<p ", "a=b ", ">x"),
        ("<p ", "a='b' ", ">x"),
        ("<p ", "='", ""),
        ("<p ", " \"", ""),
        ("<p ", "=\"", ""),
        ("<p ", "= ' ", ">"),
        ("<p ", "/", ">"),
        ("<a ", "hre", ">x"),
        ("<div role='", "main ", "'>x"),
        ("<div ", "role=", ">x"),
        ("<meta ", "a ", " charset=gbk>"),
        ("<pre>", " \n", ""),
        ("<pre>a", " ", "\n"),
        ("<pre>a", "\t\n", ""),
        ("<p>", "<b>", "</p>"),
        ("<svg>", "<svg></svg>", ""),
        ("<script>", "</script", ""),
        ("<!--", "--!>", ""),
        ("<?xml version='1.0'?>", "<svg/>", ""),
        ("<", "a", ""),
        ("<p>&#", "1", ""),
        ("<p>&#x", "f", ";"),
        ("<!doctype ", "a>", ""),
        ("<p>a", "\u{a0}", "b"),
        ("<table>", "<tr><td>a<td>b", "</table>"),
        ("<title>", "a ", "</title>a"),
        ("<pre>", "<span class=ln>1</span>", ""),
        ("<div class=gutter>", "<p>1", "</div>"),
        ("<script type=application/ld+json>", "[", ""),
        ("<script type=application/ld+json>", "{\"a\":", ""),
        ("<script type=application/ld+json>\"", "\\", "\""),
        ("<script type=application/ld+json>{", "\"text\":\"a\",", "}</script>"),
        ("<script id=__NEXT_DATA__>", "{\"title\":\"aaaaaaaa\",\"a\":", ""),
        ("<script id=__NEXT_DATA__>", "\"{\\\":\",", ""),
    ] {
        check_growth(&format!("{before}{part}{after}"), repeated(before, part, after), text);
    }
    let numbers = |size: usize| -> Vec<u8> {
        let rising = (1..=size / 8).map(|number| format!("<p>{number}"));
        rising.collect::<String>().into_bytes()
    };
    check_growth("rising numbers", numbers, text);
    for kind in ["type=application/ld+json", "id=__NEXT_DATA__"] {
        let named = |size: usize| {
            let title = "a".repeat(size / 4);
            let names = "\"name\":\"aaaaaaab\",".repeat(size / 24);
            format!("<title>{title}</title><script {kind}>{{{names}}}</script>").into_bytes()
        };
        let name = format!("a long title, and names for {kind}");
        // In less, comparing them takes no more time than the rest.
        check_growth_from(1 << 17, &name, named, text);
    }
}

#[test]
fn headers_take_linear_time() {
    let extractor = Extractor::default();
    let respond = |response: &[u8]| drop(extractor.response("http://a.example/", response));
    for (before, part, after) in [
        ("", "a: b\r\n", "\r\n<p>"),
        ("", "\r", "\r\n<p>"),
        ("a: b\r\n", " c\r\n", "\r\n<p>"),
        ("", ":\n", "\n<p>"),
        ("Transfer-Encoding: ", "chunked, ", "\r\n\r\n<p>"),
        ("Transfer-Encoding: ", ",", "\r\n\r\n<p>"),
        ("", "Content-Encoding: gzip\r\n", "\r\n<p>"),
        ("Content-Type: text/html; ", "charset ", "\r\n\r\n<p>"),
        ("Content-Type: text/html; ", "charset=\"", "\r\n\r\n<p>"),
        ("Content-Type: ", ";", "\r\n\r\n<p>"),
        ("Content-Type: ", "text/html,", "\r\n\r\n<p>"),
    ] {
        let before = format!("HTTP/1.1 200 OK\r\n{before}");
        let input = |size: usize| repeated(&before, part, after)(size / 4);
        check_growth(&format!("{before}{part}{after}"), input, respond);
    }
    let chunked =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";
    for part in ["1\r\na\r\n", "1;ext=1\na\n", "0001\na\n", "f\na"] {
        check_growth(part, repeated(chunked, part, "0\r\n\r\n"), respond);
    }
    let urls = ["http://", "a.", "@", "/", ":", "."];
    for part in urls {
        let url = |url: &[u8]| {
            let url = format!("http://{}", String::from_utf8_lossy(url));
            fpdb_web::decode(b"caf\xe9", "", &url);
        };
        check_growth(part, repeated("", part, ""), url);
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn record(length: usize, block: &[u8]) -> Vec<u8> {
    let header = format!(
        "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: u\r\nContent-Type: text/html\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    [header.as_bytes(), block, b"\r\n\r\n"].concat()
}

fn read(archive: &[u8]) {
    let extractor = Extractor::default();
    for record in Archive::new(archive).unwrap().flatten() {
        let _ = extractor.record(&record);
    }
}

fn parts(before: Vec<u8>, part: Vec<u8>) -> impl Fn(usize) -> Vec<u8> {
    move |size| [before.as_slice(), &part.repeat(size / part.len())].concat()
}

#[test]
fn archives_take_linear_time() {
    let good = record(7, b"<p>text");
    let short = record(1, b"<p>text");
    let swallows = record(40, b"<p>text");
    let arc = b"http://a/ 127.0.0.1 20140216050221 text/html 3\nabc\n";
    let arc_start = b"filedesc://x 127.0.0.1 20140216050221 text/plain 3\n1 0\n\n";
    // The headers of a gzip member and of a stored block of 65,535 bytes.
    let false_member = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\xff\xff\0\0";
    for (name, before, part) in [
        ("records", vec![], good.clone()),
        ("members", vec![], gzip(&good)),
        ("empty members", vec![], gzip(b"")),
        ("short lengths", vec![], short.clone()),
        ("long lengths", vec![], swallows.clone()),
        ("long lengths in a long one", record(1 << 30, b""), swallows.clone()),
        ("long lengths in one that ends", record(usize::MAX, b""), swallows.clone()),
        ("magic", vec![], b"WARC/".to_vec()),
        ("versions", vec![], b"WARC/1.0\r\n".to_vec()),
        ("versions with a blank line", vec![], b"WARC/1.0\r\n\r\n".to_vec()),
        ("line ends after a record", good.clone(), b"\r\n".to_vec()),
        ("records of ARC", arc_start.to_vec(), arc.to_vec()),
        ("colons in ARC", arc_start.to_vec(), b"a:".to_vec()),
        ("lines in ARC", arc_start.to_vec(), b"a: b 20140216 c 9\n".to_vec()),
        ("false members", gzip(&good), false_member.to_vec()),
        ("false headers", gzip(&good), false_member[..10].to_vec()),
        ("magic of gzip", gzip(&good), vec![0x1f, 0x8b, 8]),
        ("first byte of gzip", gzip(&good), vec![0x1f]),
        ("members with a wrong record", vec![], gzip(&swallows)),
    ] {
        check_growth_from(1 << 18, name, parts(before, part), read);
    }
    check_growth_from(1 << 18, "one member", |size| gzip(&parts(vec![], good.clone())(size)), read);
    check_growth_from(
        1 << 18,
        "one member of long lengths",
        |size| gzip(&parts(vec![], swallows.clone())(size)),
        read,
    );
    // A sound member that holds false ones, and whose checksum at its end is wrong.
    check_growth_from(
        1 << 18,
        "false members in a damaged one",
        |size| {
            let mut archive = Vec::new();
            for _ in 0..size >> 16 {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
                let header = record(1 << 15, b"");
                encoder.write_all(&header).unwrap();
                encoder.write_all(&false_member.repeat((1 << 16) / false_member.len())).unwrap();
                let mut member = encoder.finish().unwrap();
                let at = member.len() - 8;
                member[at] ^= 1;
                archive.extend(member);
            }
            archive
        },
        read,
    );
}
