use std::sync::Arc;

use super::*;
use crate::codec::header::FileKind;
use crate::error::{Error, ErrorKind};
use crate::inspection::Inspection;
use crate::storage::{Sim, Storage};

const HEADER: FileHeader =
    FileHeader { kind: FileKind::Names, bits: 64, part: 0, file_id: 5, database_id: 77 };

/// Creates a file whose body has `len` bytes after the header.
fn file_of(len: usize) -> (Arc<Sim>, FileSummary) {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let mut writer = PagedWriter::create(&*sim, "f", &HEADER).unwrap();
    for i in 0..len {
        writer.write(&[i.to_le_bytes()[0] ^ i.to_le_bytes()[1]]).unwrap();
    }
    let summary = writer.finish(b"meta").unwrap();
    (sim, summary)
}

fn read_all(sim: &Sim, summary: FileSummary) -> Result<Vec<u8>, Error> {
    let file = PagedFile::open(sim, "f", &HEADER, summary.len)?;
    assert_eq!(file.meta().bytes(4, "meta")?, b"meta");
    let len = file.body_len();
    Ok(file.bytes(0, len)?.to_vec())
}

#[test]
fn bodies_round_trip_at_boundaries_of_pages_and_checksum_pages() {
    for len in [
        0,
        1,
        PAGE - 65,
        PAGE - 64,
        PAGE - 63,
        3 * PAGE,
        CHECKSUMS_PER_PAGE * PAGE,
        (CHECKSUMS_PER_PAGE + 1) * PAGE,
    ] {
        let (sim, summary) = file_of(len);
        let body = read_all(&sim, summary).unwrap();
        assert_eq!(body.len(), len + 64);
        assert!(
            body[64..]
                .iter()
                .enumerate()
                .all(|(i, &b)| b == i.to_le_bytes()[0] ^ i.to_le_bytes()[1])
        );
        let file = PagedFile::open(&*sim, "f", &HEADER, summary.len).unwrap();
        assert!(file.verify(summary, &mut Inspection::new(None)).unwrap());
    }
}

#[test]
fn every_flipped_bit_is_found() {
    let (sim, summary) = file_of(PAGE + 100);
    let good = sim.contents("f").unwrap();
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        sim.set_contents("f", &bytes);
        let err = read_all(&sim, summary).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::Corruption, "bit {bit}");
        assert!(err.path().unwrap().ends_with("f") && err.offset().is_some(), "{err}");
    }
}

#[test]
fn every_truncation_and_growth_is_found_at_open() {
    let (sim, summary) = file_of(300);
    let good = sim.contents("f").unwrap();
    for len in (0..good.len()).chain([good.len() + 1, good.len() + PAGE]) {
        let mut bytes = good.clone();
        bytes.resize(len, 0);
        sim.set_contents("f", &bytes);
        assert_eq!(read_all(&sim, summary).unwrap_err().kind(), ErrorKind::Corruption);
        let wrong_length = FileSummary { len: len as u64, ..summary };
        assert_eq!(read_all(&sim, wrong_length).unwrap_err().kind(), ErrorKind::Corruption);
    }
}

#[test]
fn page_copied_to_another_place_is_found() {
    let (sim, summary) = file_of(4 * PAGE);
    let mut bytes = sim.contents("f").unwrap();
    bytes.copy_within(PAGE..2 * PAGE, 2 * PAGE);
    sim.set_contents("f", &bytes);
    let err = read_all(&sim, summary).unwrap_err();
    assert_eq!(err.offset(), Some(2 * PAGE as u64));
}

#[test]
fn undamaged_pages_of_a_damaged_file_are_readable() {
    let (sim, summary) = file_of(4 * PAGE);
    let mut bytes = sim.contents("f").unwrap();
    bytes[3 * PAGE] ^= 1;
    sim.set_contents("f", &bytes);
    let file = PagedFile::open(&*sim, "f", &HEADER, summary.len).unwrap();
    assert!(file.bytes(PAGE, 2 * PAGE).is_ok());
    assert!(file.bytes(PAGE, 2 * PAGE + 1).is_err());
    let mut inspection = Inspection::new(None);
    assert!(!file.verify(summary, &mut inspection).unwrap());
    let offsets: Vec<_> = inspection.into_errors().iter().map(Error::offset).collect();
    assert_eq!(offsets, [Some(3 * PAGE as u64)]);
}

#[test]
fn reading_past_the_body_is_an_error() {
    let (sim, summary) = file_of(10);
    let file = PagedFile::open(&*sim, "f", &HEADER, summary.len).unwrap();
    assert!(file.bytes(70, 5).is_err());
    assert!(file.bytes(usize::MAX, 5).is_err());
}
