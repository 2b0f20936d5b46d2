use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::*;
use crate::base::error::{Error, ErrorKind};
use crate::base::inspection::Inspection;
use crate::file::codec::header::FileKind;
use crate::file::storage::{Disk, MemoryBudget, READ_AHEAD, Sim, Storage};

const HEADER: FileHeader = FileHeader {
    kind: FileKind::Documents,
    bits: 64,
    part: 0,
    file_id: 5,
    nonce: 8,
    database_id: 77,
};

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
fn copy_is_used_for_its_part_and_checked_while_it_is_made() {
    let (sim, summary) = file_of(80 * PAGE + 100);
    let budget = Arc::new(MemoryBudget::new(1 << 20));
    let open = || PagedFile::open(&*sim, "f", &HEADER, summary.len).unwrap();
    let copy = |file: &PagedFile, goes_on: bool| {
        file.copy_from(3 * PAGE + 64, budget.reserve(1 << 19).unwrap(), &|| goes_on)
    };
    let file = open();
    copy(&file, false).unwrap();
    assert!(file.needs_copy() && !file.has_copy());
    copy(&file, true).unwrap();
    assert!(!file.needs_copy() && file.has_copy());
    assert_eq!(file.copy_len(3 * PAGE + 64), 77 * PAGE + 164);
    let (body, copied) = (file.body(), file.copied_body());
    for at in (3 * PAGE..80 * PAGE).step_by(56) {
        assert_eq!(copied.bytes(at, 8).unwrap(), body.bytes(at, 8).unwrap());
        assert_eq!(copied.bytes_of_pages(at, 8).unwrap(), body.bytes_of_pages(at, 8).unwrap());
    }
    assert!(
        copied.bytes(80 * PAGE + 164, 1).is_err()
            && copied.bytes_of_pages(usize::MAX - 7, 8).is_err()
    );

    let mut bytes = sim.contents("f").unwrap();
    bytes[70 * PAGE + 5] ^= 1;
    sim.set_contents("f", &bytes);
    let file = open();
    let error = copy(&file, true).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Corruption, Some(70 * PAGE as u64)));
    assert!(!file.needs_copy() && !file.has_copy());
    assert!(file.copied_body().bytes(70 * PAGE, 8).is_err());
    assert!(file.copied_body().bytes(71 * PAGE, 8).is_ok());
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

#[test]
fn sequential_reader_returns_what_others_do() {
    let (sim, summary) = file_of(1000 * PAGE + 10);
    let mut bytes = sim.contents("f").unwrap();
    bytes[700 * PAGE] ^= 1;
    sim.set_contents("f", &bytes);
    let file = PagedFile::open(&*sim, "f", &HEADER, summary.len).unwrap();
    let mut reader = file.sequential().unwrap().unwrap();
    let error = |error: Error| (error.kind(), error.offset(), error.to_string());
    let (mut offset, mut forgot) = (0, 0);
    while offset < file.body_len() + PAGE {
        if reader.has_many_pages() {
            reader.forget_pages();
            forgot += 1;
        }
        let len = offset % 5000;
        let (a, b) = (reader.bytes(offset, len), file.bytes(offset, len));
        assert_eq!(a.map_err(error), b.map_err(error), "{len} bytes at {offset}");
        let (a, b) = (reader.bytes_with_tail(offset, len), file.bytes_with_tail(offset, len));
        assert_eq!(a.map_err(error), b.map_err(error));
        let (a, b) = (reader.body(), file.body());
        let [a, b] = [a, b].map(|body| body.until_page_end(offset, len % 4000).map_err(error));
        assert_eq!(a, b, "{len} bytes at {offset}");
        assert_eq!(reader.is_ready(offset, len), reader.bytes(offset, len).is_ok());
        offset += 1777;
    }
    assert!(forgot > 0);
}

#[test]
fn background_reads_nothing_ahead_while_queries_wait() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(folder.path()).page_memory(1 << 30);
    let mut writer = PagedWriter::create(&disk, "f", &HEADER).unwrap();
    writer.write(&vec![7; 8 << 20]).unwrap();
    let summary = writer.finish(b"meta").unwrap();
    let file = PagedFile::open(&disk, "f", &HEADER, summary.len).unwrap();
    // KiB that each step asks for.
    let (steps, before) = (RefCell::new(Vec::new()), Cell::new(READ_AHEAD.get()));
    file.load_all(&|_| {
        steps.borrow_mut().push((READ_AHEAD.get() - before.get()) >> 10);
        let step = steps.borrow().len();
        if step % 4 == 2 {
            let page = file.body_len() / PAGE - 8 * step;
            assert_eq!(file.bytes(page * PAGE, 1).unwrap(), [7]);
        }
        before.set(READ_AHEAD.get());
        true
    });
    assert_eq!(steps.into_inner()[..8], [512, 512, 256, 512, 512, 512, 256, 512]);
    assert!(!file.is_cold());
}

#[test]
fn scan_of_shared_pages_reads_ahead_and_queries_do_not() {
    let (sim, summary) = file_of(400 * PAGE);
    let open = || PagedFile::open(&*sim, "f", &HEADER, summary.len).unwrap();
    let (file, before) = (open(), READ_AHEAD.get());
    for page in 0..300 {
        file.bytes(page * PAGE, 1).unwrap();
    }
    assert!((300 * PAGE..400 * PAGE).contains(&(READ_AHEAD.get() - before)));
    let (file, before) = (open(), READ_AHEAD.get());
    for query in 0..300 {
        file.bytes(query * 37 % 400 * PAGE, 1).unwrap();
    }
    assert_eq!(READ_AHEAD.get(), before);
}
