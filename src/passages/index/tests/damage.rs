//! What an index answers after damage and a repair.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;
use crate::Source;
use crate::reports::{BuildReport, Loss, LossKind};

const PAGE: usize = 4096;
const TEXTS: u32 = 400;

/// Neighbouring texts have words in common.
fn text(number: u32) -> String {
    words(500 * number..500 * number + 600)
}

/// Creates an index with tombstones in a folder, and returns its files that segments have.
fn create(path: &Path) -> Vec<PathBuf> {
    let options = Db::options().background(false).durability(Durability::Buffered);
    let index = Index::create_with_seed(path, 50, 5, options.filter_bits(8)).unwrap();
    let texts: Vec<_> = (0..TEXTS).map(text).collect();
    insert(&index, &texts[..380]);
    index.remove(&[(DocId(9), &texts[9])]).unwrap();
    index.database().flush().unwrap();
    index.insert(&[(DocId(9), &texts[9])]).unwrap();
    index.remove(&[(DocId(7), &texts[7]), (DocId(300), &texts[300])]).unwrap();
    for number in 380..TEXTS {
        index.insert(&[(DocId(number.into()), &texts[number as usize])]).unwrap();
    }
    index.database().flush().unwrap();
    index.database().clone().close().unwrap();
    let files = path.read_dir().unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|file| {
            let ending = file.extension().unwrap_or_default();
            ["t00", "ids", "del"].iter().any(|kind| ending == *kind)
        })
        .collect();
    files.sort();
    files
}

/// Repairs the index with one byte of a page changed.
fn repaired(path: &Path, file: &Path, page: usize) -> (BuildReport, Index) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[page * PAGE + 70] ^= 1;
    let good = std::fs::read(file).unwrap();
    std::fs::write(file, bytes).unwrap();
    let fixed = path.with_extension("fixed");
    let _ = std::fs::remove_dir_all(&fixed);
    let report = Db::options().build(&fixed, Source::damaged(path)).unwrap();
    std::fs::write(file, good).unwrap();
    (report, Index::open(&fixed, Db::options().background(false)).unwrap())
}

fn ids_lost(report: &BuildReport, kind: LossKind) -> BTreeSet<DocId> {
    let losses = report.losses.iter().filter(|loss| loss.kind == kind);
    losses
        .flat_map(|Loss { count, ids, .. }| {
            assert_eq!(*count, Some(ids.len() as u64));
            ids.iter().copied()
        })
        .collect()
}

/// Returns the share of each document that is found with its own text.
fn shares(index: &Index) -> Vec<Option<f64>> {
    let share = |number| {
        let found = index.find(&text(number), usize::MAX).unwrap();
        for origin in &found.documents {
            assert!(index.contains(origin.id).unwrap(), "{origin:?}");
        }
        let same = found.documents.iter().find(|origin| origin.id == DocId(number.into()));
        same.map(|origin| origin.share)
    };
    (0..TEXTS).map(share).collect()
}

#[test]
fn a_damaged_index_answers_after_repair_and_the_report_names_the_texts_that_lost_anything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let files = create(&path);
    assert_eq!(files.len(), 5, "{files:?}");
    let index = Index::open(&path, Db::options()).unwrap();
    let before = shares(&index);
    let segments = index.database().stats().segments;
    let segments: Vec<_> = segments.iter().map(|segment| Some(segment.entries)).collect();
    drop(index);
    assert_eq!(before.iter().filter(|share| **share == Some(1.0)).count(), TEXTS as usize - 2);
    let (mut lost_texts, mut lost_windows) = (0, 0);
    for file in &files {
        let len = std::fs::read(file).unwrap().len();
        let pages = len / PAGE + 1;
        for page in (0..pages).filter(|page| page % 3 == 0 || *page + 3 > pages) {
            if len <= page * PAGE + 70 {
                continue;
            }
            let (report, index) = repaired(&path, file, page);
            let (lost, incomplete) =
                (ids_lost(&report, LossKind::Texts), ids_lost(&report, LossKind::Windows));
            (lost_texts, lost_windows) = (lost_texts + lost.len(), lost_windows + incomplete.len());
            // Then no window of a text may be left.
            let has_lost_a_segment =
                report.losses.iter().any(|loss| segments.contains(&loss.count));
            let has = |kind| report.losses.iter().any(|loss| loss.kind == kind);
            let (is_removal, are_entries) = (has(LossKind::Removals), has(LossKind::Entries));
            // Texts of which all entries were in the page.
            let mut nameless = 0;
            for ((number, before), after) in (0..).zip(&before).zip(shares(&index)) {
                let id = DocId(number);
                let expected = match (before, after) {
                    (Some(_), None) => {
                        let is_named = lost.contains(&id) || has_lost_a_segment;
                        nameless += u32::from(!is_named);
                        !index.contains(id).unwrap() && (is_named || are_entries)
                    }
                    (Some(before), Some(after)) => {
                        (after < *before) == incomplete.contains(&id) && after <= *before
                    }
                    (None, None) => true,
                    // Removed, and there again.
                    (None, Some(_)) => is_removal,
                };
                assert!(expected, "{file:?} page {page}: {id} {before:?} {after:?} {report:?}");
            }
            assert!(nameless <= 5, "{file:?} page {page}: {nameless} {report:?}");
            let is_saved = report.losses.is_empty();
            assert_eq!(is_saved, before == shares(&index), "{file:?} page {page}: {report:?}");
        }
    }
    assert!(lost_texts > 0 && lost_windows > 0, "{lost_texts} {lost_windows}");
}

#[test]
fn a_text_with_the_id_of_one_that_damage_has_lost_does_not_get_its_windows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let files = create(&path);
    let table = files.iter().find(|file| file.extension().unwrap() == "t00").unwrap();
    let pages = std::fs::read(table).unwrap().len() / PAGE;
    // Records are the last entries.
    let mut repairs = (0..pages).rev().map(|page| repaired(&path, table, page));
    let lost = |report: &BuildReport| ids_lost(report, LossKind::Texts).first().copied();
    let (id, index, losses) =
        repairs.find_map(|(report, index)| Some((lost(&report)?, index, report.losses))).unwrap();
    let loss = losses.iter().find(|loss| loss.kind == LossKind::Texts).unwrap();
    let message = format!("are no longer in the index: insert them again: {id}");
    assert!(loss.to_string().contains(&message), "{loss}");
    let old = text(id.0.try_into().unwrap());
    index.insert(&[(id, &words(900_000..900_400))]).unwrap();
    assert!(!ids_of(&index.find(&old, usize::MAX).unwrap()).contains(&id.0));
    assert_eq!(ids_of(&index.find(&words(900_000..900_400), 9).unwrap()), [id.0]);
}
