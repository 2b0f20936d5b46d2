//! Tables of bands: what a lookup reads, and what verify finds.

use std::sync::Arc;

use super::builder::BandBuilder;
use super::reader::BandTable;
use super::row::{Row, bucket_bits, page_bytes};
use super::*;
use crate::base::inspection::Inspection;
use crate::documents::{Documents, DocumentsBuilder, SymbolTable};
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::paged::{FileSummary, OpenPaged};
use crate::file::scratch::ScratchFiles;
use crate::file::sorter::Record;
use crate::file::storage::{LockedFolder, Sim, Storage};
use crate::fingerprint::Ids;
use crate::fingerprint::{DocId, Document, Fingerprint, Sketch};

/// The band of the table, and its minima.
const BAND: (u32, u32) = (3, 5);

fn header(kind: FileKind) -> FileHeader {
    FileHeader { kind, bits: Sketch::BITS, part: 3, file_id: 1, nonce: 8, database_id: 2 }
}

/// Documents, and a table of one of their bands.
struct Built {
    documents: Documents<Sketch>,
    bands: BandTable,
    summary: FileSummary,
}

/// Random sketches, and crowds that share the band, or all of it but the last minimum.
fn sketches(count: usize) -> Vec<Sketch> {
    let mut rng = fastrand::Rng::with_seed(count as u64);
    let mut random = || -> [u128; 6] { std::array::from_fn(|_| rng.u128(..)) };
    let (centre, mut sketches) = (random(), Vec::new());
    for number in 0..count as u128 {
        let mut sketch = random();
        match number % 4 {
            0 => sketch = centre,
            1 => sketch.iter_mut().zip(centre).for_each(|(plane, of_centre)| {
                let band = 0xff << 24;
                *plane = *plane & !band | of_centre & band;
            }),
            _ => {}
        }
        let sketch = Sketch::of_parts(sketch, 0, [0; 16]);
        sketches.push(if number % 8 == 1 { sketch.with_flipped(24 + 4) } else { sketch });
    }
    sketches
}

fn build(sketches: &[Sketch]) -> Built {
    build_for(sketches, 0)
}

/// Builds a table whose rows have room for the numbers of at least this many pages.
fn build_for(sketches: &[Sketch], pages: u64) -> Built {
    let sim: Arc<dyn Storage> = Sim::new();
    sim.create_root().unwrap();
    let folder = LockedFolder::lock(&sim).unwrap();
    let (count, symbols) = (sketches.len() as u64, SymbolTable::none());
    let of_documents = header(FileKind::Documents);
    let mut builder =
        DocumentsBuilder::create(&*sim, "d", &of_documents, Ids::Unique, symbols, count, None)
            .unwrap();
    for (id, &sketch) in (0u64..).zip(sketches) {
        let document = Document::new(sketch, DocId(id));
        builder.push(&id.to_be_bytes(), Some(&document)).unwrap();
    }
    let summary = builder.finish().unwrap();
    let documents =
        Documents::<Sketch>::open(&*sim, "d", &of_documents, summary.len, Ids::Unique).unwrap();
    let (mut rows, mut of_leaf) = (Vec::new(), Vec::new());
    let add = |page, sketches: &[Sketch]| {
        rows_of_leaf(sketches, BAND, count, page, &mut of_leaf);
        rows.extend_from_slice(&of_leaf);
        Ok(())
    };
    documents.for_each_leaf(add).unwrap();
    rows.sort_unstable();
    let (files, of_bands) = (ScratchFiles::InDatabase(&folder), header(FileKind::Bands));
    let size = (documents.originals(), documents.leaf_pages().max(pages));
    let mut builder = BandBuilder::create(&*sim, "k", &of_bands, size, files).unwrap();
    rows.chunks(7).for_each(|some| builder.push_all(some).unwrap());
    let summary = builder.finish().unwrap();
    assert!(summary.len < most_body_bytes(size.0, size.1) + (2 << 12));
    let bands = BandTable::open(&*sim, "k", &of_bands, summary.len).unwrap();
    Built { documents, bands, summary }
}

fn errors(built: &Built) -> Vec<String> {
    let mut inspection = Inspection::new(None);
    let Built { documents, bands, summary } = built;
    bands.verify(*summary, BAND, Some(documents), &mut inspection).unwrap();
    inspection.into_errors().iter().map(ToString::to_string).collect()
}

/// The pages to which a band leads.
fn pages(bands: &BandTable, band: u64) -> Vec<u32> {
    let view = bands.view();
    let bucket = view.rows_of(view.bucket(band)).unwrap();
    let rows = view.rows_with(band, &bucket).unwrap();
    view.pages(&rows).unwrap().collect()
}

#[test]
fn a_band_leads_to_every_leaf_that_has_it() {
    // With numbers of pages of 1 to 4 bytes, in spools that do and do not fit into memory.
    let pages = [0, 1 << 9, 1 << 17, 1 << 25];
    for (count, pages) in [0, 1, 7, 600, 5000].into_iter().flat_map(|n| pages.map(|p| (n, p))) {
        let sketches = sketches(count);
        let built = build_for(&sketches, pages);
        assert_eq!(built.bands.rows(), count);
        assert_eq!(errors(&built), [""; 0]);
        let mut leaves = Vec::new();
        let all = |page, of_leaf: &[Sketch]| {
            leaves.extend(of_leaf.iter().map(|sketch| (page, sketch.band(BAND.0, BAND.1))));
            Ok(())
        };
        built.documents.for_each_leaf(all).unwrap();
        let mask = built.bands.band_mask();
        for sketch in sketches.iter().step_by(7) {
            let band = sketch.band(BAND.0, BAND.1);
            let has_band = |&&(_, other): &&(u32, u64)| other & mask == band & mask;
            let expected: Vec<u32> =
                leaves.iter().filter(has_band).map(|&(page, _)| page).collect();
            assert_eq!(self::pages(&built.bands, band), expected, "{count} {pages}");
        }
    }
}

#[test]
fn bands_of_other_documents_are_found_by_verify() {
    let sketches = sketches(500);
    let (mut built, mut others) = (build(&sketches), sketches.clone());
    others[9] = others[9].with_flipped(24);
    built.documents = build(&others).documents;
    let found = errors(&built);
    assert!(found.len() == 1 && found[0].contains("do not match the sketches"), "{found:?}");
}

#[test]
fn rows_are_the_same_after_they_were_stored_by_a_sorter() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut bytes = [0; Row::LEN];
    for documents in [1, 1 << 6, 1 << 20, u64::from(u32::MAX)] {
        for (page, place) in [(0, 0), (u32::MAX, u16::MAX), (random.u32(..), random.u16(..))] {
            for band in [0, u64::MAX, random.u64(..)] {
                let row = Row::new(band, documents, page, place);
                row.put(&mut bytes);
                assert_eq!(Row::read(&bytes), Some(row));
            }
        }
    }
    assert_eq!(Row::read(&bytes[1..]), None);
}

#[test]
fn sizes_of_rows_follow_from_the_numbers() {
    let bits = [0, 1, 31, 63, 64, 1 << 20, 1 << 40].map(bucket_bits);
    assert_eq!(bits, [0, 0, 0, 0, 1, 15, 27]);
    let bytes = [0, 1, 256, 257, 1 << 16, (1 << 16) + 1, 1 << 24, (1 << 24) + 1, 1 << 32];
    assert_eq!(bytes.map(page_bytes), [1, 1, 1, 2, 2, 3, 3, 4, 4]);
    let row = Row::of_parts(5, 3, 0x1234, 77);
    assert_eq!((row.bucket(3), row.rest(3), row.page()), (5, 0x1234, 77));
}
