//! Tests that compare the examples and constants in storage-format.md with the code, so that the
//! two cannot drift apart.

use crate::documents::{KeyHash, KeyHasher};
use crate::file::codec::header::{FileHeader, FileKind, HEADER_LEN, MAJOR, MINOR};
use crate::file::codec::huffman::{Code, Histogram};
use crate::file::codec::prefix_hash::prefix_hash;
use crate::file::paged;
use crate::file::storage::{Sim, Storage};
use crate::fingerprint::{Fingerprint, Sketch};
use crate::index::bands::{MAX_BUCKET_BITS, REST_BITS, bucket_bits};
use crate::index::rule::MatchRule;
use crate::index::tables::block::{self, BlockBuilder, leading_difference};
use crate::index::tables::layout::Layout;
use crate::settings;
use crate::store::log::{self, LogWriter, Start};

const DOCUMENT: &str = include_str!("../storage-format.md");

/// Returns the bytes of an example, whose lines are `offset | hex bytes | meaning`.
pub(crate) fn example(name: &str) -> Vec<u8> {
    let (_, rest) = DOCUMENT.split_once(&format!("<!-- example: {name} -->\n```text\n")).unwrap();
    let (lines, _) = rest.split_once("```").unwrap();
    let mut bytes = Vec::new();
    for line in lines.lines() {
        let mut columns = line.split('|');
        assert_eq!(columns.next().unwrap().trim().parse(), Ok(bytes.len()), "{line}");
        let hex = columns.next().unwrap().split_whitespace();
        bytes.extend(hex.map(|byte| u8::from_str_radix(byte, 16).unwrap()));
    }
    bytes
}

/// Returns the section under a heading of the second level.
fn section(heading: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap()
}

/// Returns the columns of each table row, without backquotes.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.map(|row| row.split(" | ").map(|column| column.trim_matches('`').trim()).collect())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}

const DATABASE: u128 = u128::from_le_bytes([
    0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf,
]);

const NONCE: u64 = u64::from_le_bytes([0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7]);

fn header(kind: FileKind, part: u16) -> FileHeader {
    FileHeader { kind, bits: 64, part, file_id: 7, nonce: NONCE, database_id: DATABASE }
}

#[test]
fn header_is_written_as_in_the_example() {
    assert_eq!(example("header"), header(FileKind::Table, 3).encode());
}

#[test]
fn block_is_written_as_in_the_example() {
    let listed = rows(section("Block")).filter_map(|row| Some((u64::parse(row[0]).ok()?, row)));
    let listed: Vec<(u64, Vec<&str>)> = listed.filter(|(_, row)| row[0].len() == 18).collect();
    assert_eq!(listed.len(), 4);
    let mut histogram = Histogram::default();
    for pair in listed.windows(2) {
        let h = leading_difference(pair[0].0, pair[1].0);
        assert_eq!(pair[1].1[1], h.to_string());
        histogram.add(h);
    }
    let code = Code::from_histogram(&histogram);
    assert_eq!(&code.lengths(64)[..6], [2, 2, 0, 0, 0, 1]);
    for (&(fingerprint, ref row), next) in listed.iter().skip(1).zip(listed.windows(2).skip(1)) {
        let h = row[1].parse::<u32>().unwrap();
        let (word, length) = code.word(h);
        assert_eq!(row[2], format!("{word:0width$b}", width = length as usize));
        let mut below = format!("{:064b}", fingerprint)[64 - h as usize..].to_owned();
        assert_eq!(row[3], below);
        let next_h = leading_difference(next[0].0, next[1].0);
        if next_h < h {
            assert_eq!(below.remove((h - 1 - next_h) as usize), '0');
        }
        assert_eq!(row[4], below);
    }
    let mut builder = BlockBuilder::new(128, &code, 0);
    let fingerprints: Vec<u64> = listed.iter().map(|&(fingerprint, _)| fingerprint).collect();
    assert_eq!(builder.push_all(&fingerprints), fingerprints.len());
    let mut written = Vec::new();
    builder.finish(&mut written);
    let mut expected = example("block");
    expected.resize(128, 0);
    expected[127] = 0x15;
    assert_eq!(written, expected);
}

#[test]
fn watermark_is_written_as_in_the_example() {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let start = Start { previous_log: 0, previous_end: 0, last_seq: 5 };
    let mut log =
        LogWriter::begin(sim.create("log").unwrap(), header(FileKind::Log, 0), start).unwrap();
    let begin = usize::try_from(log.len()).unwrap();
    log.append_watermark();
    log.write().unwrap();
    assert_eq!(example("watermark"), sim.contents("log").unwrap()[begin..]);
}

#[test]
fn prefix_hash_is_that_of_the_example() {
    let hash = prefix_hash(0x1234_5678_u64 << 32, 32);
    let sentence = format!("the hash of 0x12345678 is `{hash:#018x}`");
    assert!(section("Prefix filter").contains(&sentence), "{sentence}");
}

#[test]
fn key_hashes_are_those_of_the_table() {
    let listed = rows(section("Documents")).filter(|row| row[1].starts_with("0x"));
    let listed: Vec<(usize, &str)> = listed.map(|row| (row[0].parse().unwrap(), row[1])).collect();
    assert_eq!(listed.len(), 7);
    for (len, listed) in listed {
        let key: Vec<u8> = (0..=u8::MAX).cycle().take(len).collect();
        let KeyHash(hash) = KeyHasher::of_database(DATABASE).hash(&key);
        assert_eq!(listed, format!("{hash:#018x}"), "{len} bytes");
    }
}

#[test]
fn presets_match_the_documented_table() {
    let listed: Vec<_> = rows(section("Layout")).filter(|r| r.len() == 5).collect();
    let listed = &listed[2..];
    let names: Vec<&str> = listed.iter().map(|row| row[0]).collect();
    assert_eq!(names, Layout::preset_names());
    for row in listed {
        for (bits, cells) in [(64, row[2]), (128, row[3])] {
            let layout = Layout::preset(row[0], bits).unwrap();
            assert_eq!(layout.tables().to_string(), row[1], "{}", row[0]);
            let widths: Vec<String> = layout.cells().iter().map(u8::to_string).collect();
            assert_eq!(widths.join(" "), cells, "{}", row[0]);
        }
    }
}

#[test]
fn constants_match_the_documented_ones() {
    let says = |heading: &str, text: &str| {
        assert!(section(heading).contains(text), "{heading}: {text}");
    };
    let bytes = header(FileKind::Manifest, 0).encode();
    says("File header", &format!("the first {HEADER_LEN} bytes"));
    says("File header", &format!("| magic | `{}` |", hex(&bytes[..8])));
    says("File header", &format!("| major | {MAJOR} |"));
    says("File header", &format!("| minor | {MINOR} |"));
    assert!(DOCUMENT.contains(&format!("version **{MAJOR}.{MINOR}** of the format")));
    let kinds = [
        FileKind::Manifest,
        FileKind::Log,
        FileKind::Table,
        FileKind::Postings,
        FileKind::Tombstones,
        FileKind::Documents,
        FileKind::Bands,
        FileKind::Spare,
    ];
    let kinds: Vec<String> = kinds.iter().map(|&kind| format!("{} {kind}", kind as u8)).collect();
    says("File header", &format!("| kind | {} |", kinds.join(", ")));
    says("Conventions", &format!("0x{:X}", crc32fast::hash(b"123456789")));
    says("Bands", &format!("the next {REST_BITS} bits"));
    says("Bands", &format!("b, at most {MAX_BUCKET_BITS} |"));
    assert_eq!(bucket_bits(1 << 20), 20 - 5);
    says("Bands", "b is floor(log2 R) − 5");
    says("Paged files", &format!("`{}`", hex(&paged::END_MARK)));
    says("Paged files", &format!("pages of {} bytes", paged::PAGE));
    says("Paged files", &format!("checksum pages of {}", paged::CHECKSUMS_PER_PAGE));
    says("Paged files", &format!("trailer       {} bytes", paged::TRAILER_LEN));
    says("Limits", &format!("{} to {} bytes; 65,535", block::MIN_SIZE, block::MAX_SIZE));
    let most = |bits| MatchRule::max_distance(bits);
    says("Limits", &format!("| max distance | {} at 64 bits, {} at 128 ", most(64), most(128)));
    says("Limits", &format!("| filter | {} bits", settings::MAX_FILTER_BITS));
    says("Limits", &format!("| {} bytes; 64 bytes |", settings::MAX_RECIPE));
    says("Limits", &format!("| codeword | {} bits |", crate::file::codec::huffman::MAX_LENGTH));
    assert_eq!(log::MAX_NAME_LEN, 65_535);
    says("Limits", "1 to 65,535 bytes of UTF-8");
}

#[test]
fn bands_of_a_sketch_are_those_of_the_example() {
    let sketch = Sketch::read_le(&example("sketch")).unwrap();
    let listed: Vec<_> =
        rows(section("Bands")).filter(|row| row[0].starts_with("minimum")).collect();
    let mut band = String::new();
    for (minimum, row) in (24..).zip(listed) {
        let bits = sketch.planes().iter().rev().map(|plane| (plane >> minimum & 1).to_string());
        let bits: String = bits.collect();
        assert_eq!(row, [format!("minimum {minimum}"), bits.clone()]);
        band += &bits;
    }
    assert_eq!(band.len(), 30);
    assert_eq!(format!("{:030b}", sketch.band(3, 5) >> (64 - 30)), band);
    assert!(section("Bands").contains(&format!("band 3 is `{band}`")), "{band}");
}

#[test]
fn table_of_contents_lists_every_section() {
    let (_, contents) = DOCUMENT.split_once("Contents: ").unwrap();
    let (contents, _) = contents.split_once("\n\n").unwrap();
    let named: Vec<&str> =
        contents.split('[').skip(1).map(|link| link.split(']').next().unwrap()).collect();
    let headings: Vec<&str> =
        DOCUMENT.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(named, headings);
}
