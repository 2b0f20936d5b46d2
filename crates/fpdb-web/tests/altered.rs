//! Real archives and pages, altered at random as damage, bad writers and attackers would: reading
//! them neither panics nor goes on for ever, and takes bounded memory. `FPDB_ROUNDS=20` alters
//! 5,000 files instead of 250.

use std::path::Path;

use fpdb_web::{Archive, Extracted, Extraction, Extractor, Limits};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Altered files per round: half are archives and half are pages.
const FILES: usize = 250;
/// The largest record, as stored and uncompressed.
const MAX_RECORD: usize = 1 << 20;
/// What a file may take: buffers and a few copies of the largest record, and a few copies of itself.
const FIXED_MEMORY: usize = 24 << 20;
const MEMORY_PER_BYTE: usize = 16;

/// Parts that formats give a meaning.
const PARTS: &[&[u8]] = &[
    b"WARC/1.0\r\n",
    b"\r\n\r\n",
    b"Content-Length: 99999999999\r\n",
    b"Content-Length: 0\r\n",
    b"Content-Encoding: gzip, br, zstd\r\n",
    b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    b"http://a/ 1.2.3.4 20140216050221 text/html 9\n",
    b"\x1f\x8b\x08\0\0\0\0\0",
    b"\x28\xb5\x2f\xfd",
    b"<nav>",
    b"</div></div>",
    b"<table><tr><td>",
    b"<script>",
    b"<!--",
    b"<a href='",
    b"<div class=\"nav ",
    b"<svg><template>",
    b"&#x10ffff;",
    b"<meta charset=utf-16>",
    b"\xff\xfe\0",
    b"\xf0\x9f\x98",
    b"\xe3\x80\x80",
];

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    /// A range of up to an eighth of `len`, most of them short.
    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        let most = [1, 16, 1 << 10, len / 8 + 1][self.below(4)];
        start..len.min(start + self.below(most + 1))
    }
}

fn alter(bytes: &mut Vec<u8>, random: &mut Random) {
    let range = random.range(bytes.len());
    match random.below(8) {
        0 => bytes.truncate(range.start),
        1 => drop(bytes.drain(range)),
        2 => bytes[range]
            .iter_mut()
            .for_each(|byte| *byte = u8::try_from(random.below(256)).unwrap()),
        3 => {
            let copy = bytes[range].to_vec();
            let at = random.below(bytes.len());
            bytes.splice(at..at, copy);
        }
        4 => {
            let part = PARTS[random.below(PARTS.len())].repeat(1 + random.below(3000));
            bytes.splice(range.start..range.start, part);
        }
        5 => bytes[range].reverse(),
        6 => {
            // A digit, as in a length or a charset.
            let digit = bytes.iter().skip(range.start).position(u8::is_ascii_digit);
            if let Some(at) = digit {
                bytes[range.start + at] = b"0123456789-"[random.below(11)];
            }
        }
        _ => {
            let part = PARTS[random.below(PARTS.len())];
            bytes.splice(range, part.iter().copied());
        }
    }
}

fn limits() -> Limits {
    Limits::default().max_record(MAX_RECORD)
}

fn read_archive(bytes: &[u8]) {
    let extractor = Extractor::default().limits(limits());
    let mut outcomes = 0;
    for record in Archive::with_limits(bytes, limits()).unwrap() {
        outcomes += 1;
        if let Ok(Extracted::Page(page)) = record.and_then(|record| extractor.record(&record)) {
            assert!(page.text.len() <= 4 * MAX_RECORD);
        }
    }
    // A few bytes of gzip can hold several records.
    assert!(outcomes <= 1100 * bytes.len() + 10, "{outcomes} records in {} bytes", bytes.len());
}

fn read_page(bytes: &[u8]) {
    for extraction in Extraction::all() {
        let extractor = Extractor::new(extraction).limits(limits());
        extractor.document("http://a.example/", "text/html", bytes);
    }
}

fn tests() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// The archives of the other tests, and the pages in them.
fn samples() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut paths: Vec<_> =
        std::fs::read_dir(tests().join("edge")).unwrap().map(|file| file.unwrap().path()).collect();
    paths.extend(["pages.warc.gz", "layouts.warc"].map(|name| tests().join("pages").join(name)));
    paths.sort();
    let is_page = |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "html");
    let read = |path: &std::path::PathBuf| std::fs::read(path).unwrap();
    let mut pages: Vec<_> = paths.iter().filter(is_page).map(read).collect();
    let archives: Vec<_> = paths.iter().filter(|path| !is_page(path)).map(read).collect();
    for archive in &archives {
        for record in Archive::new(archive.as_slice()).unwrap().flatten() {
            pages.push(record.block().to_vec());
        }
    }
    (archives, pages)
}

// One test: the allocator counts for all threads.
#[test]
fn altered_archives_and_pages_are_read_in_bounded_memory() {
    let rounds: u64 = std::env::var("FPDB_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap());
    let (archives, pages) = samples();
    // What is initialised once does not count.
    archives.iter().for_each(|archive| read_archive(archive));
    pages.iter().for_each(|page| read_page(page));
    for round in 0..rounds {
        for file in 0..FILES {
            let seed = round * FILES as u64 + file as u64;
            let mut random = Random(seed);
            random.below(1);
            let (from, read) = match file % 2 {
                0 => (&archives, read_archive as fn(&[u8])),
                _ => (&pages, read_page as fn(&[u8])),
            };
            let mut bytes = from[random.below(from.len())].clone();
            for _ in 0..=random.below(6) {
                alter(&mut bytes, &mut random);
            }
            MEMORY.reset_peak_usage();
            let before = MEMORY.current_usage();
            let outcome = std::panic::catch_unwind(|| read(&bytes));
            assert!(outcome.is_ok(), "file {seed}: panicked");
            let taken = MEMORY.peak_usage().saturating_sub(before);
            let allowed = FIXED_MEMORY + MEMORY_PER_BYTE * bytes.len();
            assert!(taken <= allowed, "file {seed} of {} bytes took {taken}", bytes.len());
        }
    }
}
