use super::*;
use crate::documents::{DocumentsBuilder, KeyHasher, SymbolTable};
use crate::file::codec::header::{FileHeader, HEADER_LEN};
use crate::file::names::FileId;
use crate::file::paged::PagedWriter;
use crate::file::scratch::{Scratch, ScratchFiles};
use crate::file::sorter::Sorter;
use crate::file::storage::{Disk, LockedFolder, MemoryBudget, PageBudget, READ_AHEAD, Sim};
use crate::fingerprint::Entry;
use crate::fingerprint::Ids as KindOfIds;
use crate::fingerprint::Sketch;
use crate::index::bands::{Jaccard, Row};
use crate::index::rule::MatchRule;
use crate::index::tables::block::{self, Job};
use crate::index::tables::layout::Layout;
use crate::index::tables::postings::Ids;
use crate::index::tables::table::FilterChecks;
use crate::index::tables::table::Profile;
use crate::settings::{IndexSettings, TableSettings};

/// More errors than `verify` can report for so small a segment if it stays within its files.
const MAX_ERRORS: usize = 500;

fn settings() -> Settings {
    with_index(tables(10))
}

fn with_index(index: IndexSettings) -> Settings {
    Settings {
        database_id: 1,
        ids: KindOfIds::Names,
        recipe: None,
        extraction: None,
        passages: None,
        index,
    }
}

fn tables(filter_bits: u32) -> IndexSettings {
    let layout = Layout::preset("half-2", 64).unwrap();
    IndexSettings::Tables(TableSettings { layout, distance: 3, block_size: 128, filter_bits })
}

/// Ascending fingerprints with three ids each, for two tables.
struct Contents {
    fingerprints: Vec<u64>,
    /// How many entries or fingerprints are passed on together.
    together: usize,
}

impl SegmentContents<u64> for Contents {
    fn profile(&self) -> Result<Profile> {
        TableContents::profile(self)
    }

    fn for_each_entry(&self, push: &mut dyn FnMut(&[Entry<u64>]) -> Result<()>) -> Result<()> {
        let ids = (0..).map(DocId);
        let fingerprints = self.fingerprints.iter().flat_map(|&fingerprint| [fingerprint; 3]);
        let entries = fingerprints.zip(ids).map(|(fingerprint, id)| Entry { fingerprint, id });
        entries.collect::<Vec<_>>().chunks(self.together).try_for_each(push)
    }

    fn table(&self, _: usize) -> Result<Box<dyn TableContents<u64> + '_>> {
        let mut fingerprints: Vec<u64> =
            self.fingerprints.iter().map(|f| f.rotate_left(32)).collect();
        fingerprints.sort_unstable();
        Ok(Box::new(Self { fingerprints, ..*self }))
    }
}

impl TableContents<u64> for Contents {
    fn profile(&self) -> Result<Profile> {
        Ok(Profile::of(&self.fingerprints))
    }

    fn for_each(&self, push: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        self.fingerprints.chunks(self.together).try_for_each(push)
    }
}

/// Writes 570 documents. 20 of them replace documents of older segments.
fn write_documents(writer: &mut DocumentsBuilder<'_>) -> Result<Replaced> {
    for id in 0..570 {
        let (id, stamp) = (DocId(id), (id % 3 == 0).then_some(id));
        let document = Document { fingerprint: id.0 << 40, id, stamp, duplicate_of: None };
        writer.push(format!("https://例/{id:03}").as_bytes(), Some(&document))?;
    }
    Ok(Replaced { documents: 20, originals: 0 })
}

/// Writes a segment of 190 fingerprints with three ids each, with tombstones and documents. Enough
/// of them are close together that the index of table 0 has an overflow.
fn written(storage: &Arc<dyn Storage>, settings: &Settings) -> SegmentMeta {
    written_in_parts(storage, settings, 1000)
}

fn written_in_parts(
    storage: &Arc<dyn Storage>,
    settings: &Settings,
    together: usize,
) -> SegmentMeta {
    let mut fingerprints: Vec<u64> =
        (0..90u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i).collect();
    fingerprints.extend((0..100).map(|i| (7 << 60) + (i << 34)));
    fingerprints.sort_unstable();
    let folder = LockedFolder::lock(storage).unwrap();
    let mut writer = SegmentWriter::new(&folder, settings, 1);
    writer.tables(&Contents { fingerprints, together }, 1).unwrap();
    let entry = |id| Entry { fingerprint: 7u64, id: DocId(id) };
    writer.tombstones(&[entry(1000), entry(1001)]).unwrap();
    writer.documents(SymbolTable::none(), 570, &mut write_documents).unwrap();
    writer.finish().unwrap()
}

/// Reads the segment in every way. Errors are allowed; panics and endless loops are not.
fn read_everything(storage: &Arc<dyn Storage>, settings: &Settings, meta: &SegmentMeta) {
    let Ok(segment) = Segment::<u64>::open(storage, settings, meta.clone()) else { return };
    let mut inspection = Inspection::new(None);
    segment.verify(settings, &mut inspection).unwrap();
    let errors = inspection.found();
    assert!(errors < MAX_ERRORS, "{errors} errors");
    segment.index_memory();
    let part = segment.tables().unwrap();
    for probe in [0, 7, u64::MAX / 2, u64::MAX] {
        // If it is there twice, its block is decoded.
        for wanted in [&[probe][..], &[probe, probe]] {
            let wanted = wanted.iter().enumerate().map(|(number, &probe)| (number, probe, None));
            let read = |_, ids: Ids<'_>| assert!(ids.count() < 1 << 20);
            let _ = segment.find_ids(wanted, &mut IdFinder::new(), read);
        }
        let _ = part.removes(Entry { fingerprint: probe, id: DocId(probe) });
        let _ = segment.document_by_id(DocId(probe));
        let key = probe.to_be_bytes();
        let _ = segment.document(&key, KeyHasher::of_database(9).hash(&key));
        for table in part.tables() {
            let view = table.view();
            for filter in (0..=64).filter_map(|depth| view.filter(depth)) {
                let mut checks = FilterChecks::new();
                filter.start_checks(probe, &[[0, 7, u64::MAX, 1 << 63, 1, 2, 3, 4]], &mut checks);
                let _ = filter.passing(&checks);
                if let Ok(Some(near)) = filter.near() {
                    let _ = near.passing(probe, &[[7; 8]]);
                }
            }
            let mut lookup = view.start_lookup(probe, 8);
            let _ = view.find_blocks(&mut lookup);
            let mut blocks = lookup.blocks().map(|block| view.packed(block));
            let mut next = || {
                let Some(block) = blocks.next() else { return Ok(None) };
                Ok(Some(Job { block: block?, query: 0, low: 0, high: u64::MAX, tag: () }))
            };
            let _ = block::search(&mut next, 64, &block::Searched::default(), |(), _| ());
            let _ = table.scan(|_| Ok(()));
            let _ = table.cursor(probe);
        }
    }
}

/// Reads the segment with each file damaged in turn, under valid checksums. `damage` changes the
/// body and the meta of a file; it is called for cases 0, 1, … until it returns false.
fn damaged_under_valid_checksums(damage: impl Fn(&mut [u8], &mut [u8], usize) -> bool) {
    let settings = settings();
    let sim = Sim::new();
    sim.create_root().unwrap();
    let storage: Arc<dyn Storage> = sim.clone();
    let meta = written(&storage, &settings);
    let kinds = [FileKind::Table, FileKind::Table, FileKind::Postings];
    let kinds = kinds.into_iter().chain([FileKind::Tombstones, FileKind::Documents]);
    for ((part, (name, _)), kind) in (0u16..).zip(meta.files()).zip(kinds) {
        let part = if kind == FileKind::Table { part } else { 0 };
        let name = name.to_string();
        let good = sim.contents(&name).unwrap();
        for case in 0.. {
            let (mut body, mut footer) = parts(&good);
            if !damage(&mut body, &mut footer, case) {
                break;
            }
            let header: FileHeader =
                settings.header(kind, part, FileId { number: 1, nonce: meta.nonce });
            storage.remove(&name).unwrap();
            let mut writer = PagedWriter::create(&*storage, &name, &header).unwrap();
            writer.write(&body[HEADER_LEN..]).unwrap();
            writer.finish(&footer).unwrap();
            read_everything(&storage, &settings, &meta);
        }
        sim.set_contents(&name, &good);
    }
    read_everything(&storage, &settings, &meta);
    assert!(Segment::<u64>::open(&storage, &settings, meta).is_ok());
}

/// Returns the body and the meta of a paged file.
fn parts(file: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let trailer = file.len() - 24;
    let body = u64::from_le_bytes(*file[trailer..].first_chunk().unwrap());
    let meta = u32::from_le_bytes(*file[trailer + 8..].first_chunk().unwrap());
    let meta = trailer - usize::try_from(meta).unwrap();
    (file[..usize::try_from(body).unwrap()].to_vec(), file[meta..trailer].to_vec())
}

#[test]
fn files_are_the_same_with_and_without_scratch_files() {
    // The filter makes the file so large that the checksums of its pages are not kept in memory.
    let settings = with_index(tables(32));
    let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // Half of them are close together, so their block keys are in the overflow.
    let mut fingerprints: Vec<u64> = (0..60_000).map(spread).collect();
    fingerprints.extend((0..60_000).map(|i| 7 << 60 | spread(i) >> 30));
    fingerprints.sort_unstable();
    fingerprints.dedup();
    let segments = [None, Some(1 << 20), Some(1 << 14)].map(|filter_memory| {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let storage: Arc<dyn Storage> = sim.clone();
        let folder = LockedFolder::lock(&storage).unwrap();
        let mut writer = SegmentWriter::new(&folder, &settings, 1);
        if let Some(filter_memory) = filter_memory {
            let files = ScratchFiles::InDatabase(&folder);
            writer.set_scratch(Scratch { files, filter_memory });
        }
        let contents = Contents { fingerprints: fingerprints.clone(), together: 1000 };
        writer.tables(&contents, 1).unwrap();
        let meta = writer.finish().unwrap();
        assert_eq!(sim.list().unwrap().unwrap().len(), 4, "scratch files are left");
        (SegmentMeta { nonce: 0, ..meta }, folder.next_scratch())
    });
    let [(in_memory, 0), (spooled, some), (sorted, more)] = segments else { panic!() };
    assert_eq!((&spooled, &sorted), (&in_memory, &in_memory));
    // The keys and checksums of two tables, the overflow of one, and the heads of the ids. If the
    // filters exceed their memory, their hashes too.
    assert!(some >= 6 && more > some, "{some} {more}");
}

#[test]
fn segment_is_opened_without_reading_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
    let settings = settings();
    let meta = written(&storage, &settings);
    let before = READ_AHEAD.get();
    let segment = Segment::<u64>::open(&storage, &settings, meta.clone()).unwrap();
    assert_eq!(READ_AHEAD.get(), before);
    segment.load_indexes(&Arc::new(MemoryBudget::new(0)), &|| true).unwrap();
    assert!(READ_AHEAD.get() > before);
}

#[test]
fn blocks_of_fingerprints_are_fetched_before_they_are_read_unless_they_are_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
    let settings = Settings { ids: KindOfIds::User, ..settings() };
    let fingerprints: Vec<u64> = (0..20_000).map(|i| i << 40).collect();
    let all = fingerprints.clone();
    let folder = LockedFolder::lock(&storage).unwrap();
    let mut writer = SegmentWriter::new(&folder, &settings, 1);
    writer.tables(&Contents { fingerprints, together: 1000 }, 1).unwrap();
    let meta = writer.finish().unwrap();
    let segment = Segment::<u64>::open(&storage, &settings, meta).unwrap();
    let blocks = segment.tables().unwrap().first().block_bytes();
    let fetched = |fingerprints: &[u64]| {
        let before = READ_AHEAD.get();
        segment.tables().unwrap().first().fetch_each(fingerprints).unwrap();
        (READ_AHEAD.get() - before) as u64
    };
    assert_eq!(fetched(&[]), 0);
    let some = fetched(&all);
    assert!(blocks / 2 < some && some <= blocks, "{some} of {blocks} bytes");
    for &fingerprint in &all {
        assert!(segment.tables().unwrap().contains(Entry { fingerprint, id: DocId(0) }).is_ok());
    }
    assert_eq!(fetched(&all), 0);
}

#[test]
fn files_do_not_depend_on_how_many_entries_arrive_together() {
    let settings = settings();
    let segments = [1, 2, 7, 64, 1000].map(|together| {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let storage: Arc<dyn Storage> = sim;
        written_in_parts(&storage, &settings, together)
    });
    assert_eq!(segments[0].entries, 3 * segments[0].fingerprints);
    for segment in &segments[1..] {
        assert_eq!(segment, &segments[0]);
    }
}

#[test]
fn any_number_in_a_footer_is_an_error_or_harmless() {
    const VALUES: [u64; 8] =
        [0, 1, 2, u32::MAX as u64, 1 << 58, (1 << 61) - 1, u64::MAX - 1, u64::MAX];
    damaged_under_valid_checksums(|_, meta, case| {
        let (at, value) = (case / VALUES.len() * 4, VALUES[case % VALUES.len()]);
        let Some(field) = meta.get_mut(at..at + 8) else { return false };
        field.copy_from_slice(&value.to_le_bytes());
        true
    });
}

#[test]
fn any_byte_in_a_body_is_an_error_or_harmless() {
    damaged_under_valid_checksums(|body, _, case| {
        let Some(byte) = body.get_mut(HEADER_LEN + case / 3) else { return false };
        *byte = [0, 0xff, *byte ^ 1][case % 3];
        true
    });
}

#[test]
fn ids_are_found_alone_and_together_with_and_without_their_blocks() {
    let settings = settings();
    let sim = Sim::new();
    sim.create_root().unwrap();
    let storage: Arc<dyn Storage> = sim.clone();
    let segment = Segment::<u64>::open(&storage, &settings, written(&storage, &settings)).unwrap();
    let table = segment.tables().unwrap().first();
    let mut fingerprints = Vec::new();
    let add = |some: &[u64]| {
        fingerprints.extend_from_slice(some);
        Ok(())
    };
    table.scan(add).unwrap();
    let block_of = |f| u32::try_from(table.locate(f).unwrap().unwrap().0).ok();
    for blocks in [
        (|_, _| None) as fn(usize, Option<u32>) -> Option<u32>,
        |_, b| b,
        |i, b| b.filter(|_| i % 2 == 0),
    ] {
        let wanted = fingerprints.iter().enumerate().map(|(i, &f)| (i, f, blocks(i, block_of(f))));
        let mut together = vec![Vec::new(); fingerprints.len()];
        segment
            .find_ids(wanted.clone(), &mut IdFinder::new(), |i, ids| together[i].extend(ids))
            .unwrap();
        let mut entries = 0;
        for (one, together) in wanted.zip(together) {
            let mut alone = Vec::new();
            let one = std::iter::once(one);
            segment
                .find_ids(one.clone(), &mut IdFinder::new(), |_, ids| alone.extend(ids))
                .unwrap();
            assert_eq!(alone, together);
            for (_, fingerprint, _) in one {
                let holds = |&id: &DocId| {
                    segment.tables().unwrap().contains(Entry { fingerprint, id }).unwrap()
                };
                assert!(alone.iter().all(holds));
            }
            entries += alone.len() as u64;
        }
        assert_eq!(entries, segment.meta().entries);
    }
}

#[test]
fn writing_of_bands_can_be_stopped_before_a_row_is_written_and_after() {
    let rule = MatchRule::of_bands(Jaccard::at_least(0.8), (3, 5), 38, 186).unwrap();
    let settings = with_index(IndexSettings::Bands(rule.band_rule().unwrap()));
    for stops_at_once in [true, false] {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let folder = LockedFolder::lock(&(sim as Arc<dyn Storage>)).unwrap();
        let mut writer = SegmentWriter::new(&folder, &settings, 1);
        let mut all = |file: &mut DocumentsBuilder<'_>| {
            for id in 0..200u64 {
                let sketch = Sketch::of_parts([id.into(); 6], 5, [id; 16]);
                file.push(format!("{id:05}").as_bytes(), Some(&Document::new(sketch, DocId(id))))?;
            }
            Ok(Replaced::default())
        };
        writer.documents(SymbolTable::train(&[]), 200, &mut all).unwrap();
        let stop = |rows: u64| match (rows == 0) == stops_at_once {
            true => Err(Error::invalid("stopped")),
            false => Ok(()),
        };
        let error = writer.bands::<Sketch>(2, &stop).unwrap_err();
        assert!(error.to_string().starts_with("stopped"), "{error}");
    }
}

#[test]
fn rows_of_bands_fit_in_the_memory_of_a_plan_without_scratch_files() {
    let rule = MatchRule::of_bands(Jaccard::at_least(0.8), (3, 5), 38, 186).unwrap();
    let rule = rule.band_rule().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (missing, pages) = (folder.path().join("missing"), Arc::new(PageBudget::new(0)));
    let files = ScratchFiles::InFolder(&missing, &pages);
    let (mut random, mut in_memory) = (fastrand::Rng::with_seed(1), 0);
    for documents in [1, 1 << 10, 1 << 15, 100_000] {
        for memory in (16..26).flat_map(|bits| [1 << bits, 3 << (bits - 1)]) {
            for threads in [1, 2, 8] {
                let plan = BandsPlan::new(rule, documents, threads, memory);
                let together = plan.tables_at_a_time(rule) * plan.memory;
                assert!(together <= memory && plan.threads <= threads, "{plan:?}");
                if plan.is_on_disk {
                    continue;
                }
                in_memory += 1;
                let mut sorter = Sorter::new(files, plan.memory, 1);
                for _ in 0..documents {
                    let row = random.u128(..) >> 80 << 80 | random.u128(..) >> 80;
                    sorter.push(Row(row)).unwrap();
                }
                assert_eq!(sorter.finish(&|_| Ok(())).unwrap().len(), documents);
            }
        }
    }
    assert!(in_memory > 50);
    // A thread with one table has no use for scratch files if its rows fit.
    let plan = BandsPlan::new(rule, 1 << 20, 3, 60 << 20);
    assert_eq!((plan.in_one_pass, plan.is_on_disk), (1, false));
    // As few passes as there are threads.
    let plan = BandsPlan::new(rule, 1 << 20, 2, 1 << 30);
    assert_eq!((plan.threads, plan.in_one_pass, plan.is_on_disk), (2, 2, false));
}

#[test]
fn scratch_files_of_bands_count_if_their_rows_do_not_fit_in_memory() {
    let rule = MatchRule::of_bands(Jaccard::at_least(0.8), (3, 5), 38, 186).unwrap();
    let of_sketches = with_index(IndexSettings::Bands(rule.band_rule().unwrap()));
    let rows = |documents: u64, tables: u64| documents * 12 * tables;
    for (threads, tables) in [(1, 3), (2, 3), (64, 3)] {
        // Numbers of pages are written by as many threads as there are tables.
        let pages = |documents: u64| documents * 4 * threads.min(3) as u64;
        assert_eq!(bound::bands_scratch(&of_sketches, 1 << 19, threads), pages(1 << 19));
        let most = bound::bands_scratch(&of_sketches, 1 << 23, threads);
        assert_eq!(most, rows(1 << 23, tables) + pages(1 << 23));
        assert_eq!(bound::bands_scratch(&settings(), 1 << 23, threads), 0);
    }
}
