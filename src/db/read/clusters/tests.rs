use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::*;
use crate::base::error::ErrorKind;
use crate::base::progress::Progress;
use crate::db::random::Random;
use crate::db::{Clusters, Db};
use crate::fingerprint::DocId;

/// Returns families of near fingerprints, chains among them.
fn fingerprints(n: usize) -> Vec<u64> {
    let (mut random, mut all) = (Random(9), Vec::new());
    while all.len() < n {
        let mut last = random.fingerprint();
        for _ in 0..1 + random.below(12) {
            all.push(last);
            let errors = random.below(4);
            last = random.flip(last, errors);
        }
    }
    // So that families are not in the order of their ids.
    for at in (0..all.len()).rev() {
        all.swap(at, usize::try_from(random.below(at as u64 + 1)).unwrap());
    }
    all
}

fn database(folder: &tempfile::TempDir, fingerprints: &[u64]) -> Db {
    let db = Db::options().create(folder.path().join("db")).unwrap();
    let documents: Vec<(u64, u64)> = fingerprints.iter().copied().zip(0..).collect();
    let (first, rest) = documents.split_at(documents.len() / 2);
    db.write(first).run().unwrap();
    db.flush().unwrap();
    db.write(rest).run().unwrap();
    db
}

/// Returns the members of each cluster by the id of its first.
fn clusters(db: &Db, distance: u32, method: ClusterMethod) -> BTreeMap<u64, Vec<u64>> {
    let snapshot = db.snapshot();
    // Nothing is written as long as there is enough memory.
    let search = snapshot.clusters(distance).method(method).scratch_folder("missing");
    found(&search)
}

fn found(search: &Clusters<'_>) -> BTreeMap<u64, Vec<u64>> {
    let (mut all, mut last) = (BTreeMap::new(), None);
    let report = search.visit(|cluster| {
        let ids: Vec<u64> = cluster.members.iter().map(|entry| entry.id.0).collect();
        assert!(ids.is_sorted() && ids[0] == cluster.first.id.0 && last < Some(ids[0]));
        last = Some(ids[0]);
        let distance = |entry: &Entry<u64>| entry.fingerprint.distance(cluster.first.fingerprint);
        assert_eq!(cluster.radius, cluster.members.iter().map(distance).max().unwrap());
        assert_eq!(all.insert(ids[0], ids), None);
        ControlFlow::Continue(())
    });
    let report = report.unwrap();
    assert_eq!(report.clusters, all.len() as u64);
    assert_eq!(report.sizes.iter().sum::<u64>(), report.clusters);
    assert_eq!(report.duplicates, all.values().map(|ids| ids.len() as u64 - 1).sum::<u64>());
    all
}

#[test]
fn first_entries_are_those_that_insert_if_novel_keeps() {
    let fingerprints = fingerprints(1500);
    let folder = tempfile::tempdir().unwrap();
    let db = database(&folder, &fingerprints);
    for distance in [0, 1, 3, 6] {
        let found = clusters(&db, distance, ClusterMethod::KeepFirst);
        let dropped: Vec<u64> = found.values().flat_map(|ids| ids[1..].to_vec()).collect();
        let other = Db::options().create(folder.path().join(format!("{distance}"))).unwrap();
        for (id, &fingerprint) in (0..).zip(&fingerprints) {
            let document = [(fingerprint, id)];
            let is_kept =
                !other.write(&document).unless_near(distance).run().unwrap()[0].is_duplicate();
            assert_eq!(is_kept, !dropped.contains(&id), "distance {distance}, id {id}");
        }
        for (&first, ids) in &found {
            for &id in ids {
                // No earlier entry that is kept is near.
                let of = |id: u64| fingerprints[usize::try_from(id).unwrap()];
                let near = |&&other: &&u64| (of(other) ^ of(id)).count_ones() <= distance;
                let all: Vec<u64> = (0..=id).filter(|id| !dropped.contains(id)).collect();
                assert_eq!(all.iter().find(near), Some(&first));
            }
        }
    }
}

#[test]
fn components_are_those_of_all_pairs_compared_one_by_one() {
    let fingerprints = fingerprints(800);
    let folder = tempfile::tempdir().unwrap();
    let db = database(&folder, &fingerprints);
    for distance in [0, 2, 3, 8] {
        let mut labels: Vec<usize> = (0..fingerprints.len()).collect();
        for a in 0..fingerprints.len() {
            for b in 0..a {
                if (fingerprints[a] ^ fingerprints[b]).count_ones() <= distance {
                    let (from, to) = (labels[a].max(labels[b]), labels[a].min(labels[b]));
                    labels.iter_mut().filter(|label| **label == from).for_each(|l| *l = to);
                }
            }
        }
        let mut expected: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (id, label) in labels.into_iter().enumerate() {
            expected.entry(label as u64).or_default().push(id as u64);
        }
        expected.retain(|_, ids| ids.len() > 1);
        assert_eq!(clusters(&db, distance, ClusterMethod::Components), expected);
    }
}

#[test]
fn chains_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let chain: Vec<u64> = (0..20).map(|bits| (1 << bits) - 1).collect();
    let db = database(&folder, &chain);
    let snapshot = db.snapshot();
    let go_on = |_: Cluster<'_>| ControlFlow::Continue(());
    let report = snapshot.clusters(3).method(ClusterMethod::Components).visit(go_on).unwrap();
    assert_eq!((report.clusters, report.duplicates, report.chains), (1, 19, 1));
    let report = snapshot.clusters(3).visit(go_on).unwrap();
    assert_eq!((report.clusters, report.duplicates, report.chains), (5, 15, 0));
}

#[test]
fn a_crowd_of_equal_fingerprints_is_one_cluster() {
    let folder = tempfile::tempdir().unwrap();
    // Several parts of a group, and two fingerprints near them.
    let mut all = vec![7u64; 50];
    all.extend([6, 5]);
    let db = database(&folder, &all);
    for method in [ClusterMethod::KeepFirst, ClusterMethod::Components] {
        let expected = BTreeMap::from([(0, (0..52).collect::<Vec<u64>>())]);
        assert_eq!(clusters(&db, 3, method), expected);
    }
    db.remove_entry(7, DocId(0)).unwrap();
    let found = clusters(&db, 3, ClusterMethod::KeepFirst);
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [1]);
}

#[test]
fn pairs_that_do_not_fit_in_memory_are_in_scratch_files_and_clusters_are_the_same() {
    let fingerprints = fingerprints(1500);
    let folder = tempfile::tempdir().unwrap();
    let db = database(&folder, &fingerprints);
    let snapshot = db.snapshot();
    let scratch = tempfile::tempdir().unwrap();
    for method in [ClusterMethod::KeepFirst, ClusterMethod::Components] {
        for threads in [1, 2] {
            // Little more than the near fingerprints take.
            let search = snapshot.clusters(6).method(method).threads(threads).memory(100_000);
            let search = search.scratch_folder(scratch.path().join("missing"));
            let error = search.visit(|_| ControlFlow::Continue(())).unwrap_err();
            assert!(error.to_string().contains("missing"), "{error}");
            let search = search.scratch_folder(scratch.path());
            assert_eq!(found(&search), clusters(&db, 6, method));
            assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
        }
    }
}

#[test]
fn near_fingerprints_that_do_not_fit_in_memory_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(&folder, &fingerprints(1500));
    for memory in [0, 10, 1000, 50_000] {
        let snapshot = db.snapshot();
        let search = snapshot.clusters(3).memory(memory);
        let error = search.visit(|_| ControlFlow::Continue(())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("allow more"), "{error}");
    }
}

#[test]
fn search_can_be_cancelled_after_the_pairs_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(&folder, &fingerprints(1500));
    let snapshot = db.snapshot();
    let mut visits = 0;
    let cancel = |progress: Progress| match progress.phase {
        Phase::Sort => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let visit = |_: Cluster<'_>| {
        visits += 1;
        ControlFlow::Continue(())
    };
    let error = snapshot.on_progress(cancel).clusters(3).visit(visit).unwrap_err();
    assert_eq!((error.kind(), visits), (ErrorKind::Cancelled, 0));
}

#[test]
fn each_step_reports_its_beginning_and_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(&folder, &fingerprints(1500));
    let snapshot = db.snapshot();
    for method in [ClusterMethod::KeepFirst, ClusterMethod::Components] {
        for distance in [0, 3] {
            let sorted = Arc::new(Mutex::new(Vec::new()));
            let reported = sorted.clone();
            let snapshot = snapshot.clone().on_progress(move |progress| {
                if progress.phase == Phase::Sort {
                    reported.lock().unwrap().push(progress.done);
                    assert!(Some(progress.done) <= progress.total);
                }
                ControlFlow::Continue(())
            });
            let search = snapshot.clusters(distance).method(method);
            let report = search.visit(|_| ControlFlow::Continue(()));
            let pairs: u64 = report.unwrap().pairs.iter().sum();
            let sorted = sorted.lock().unwrap();
            assert_eq!((sorted.first(), sorted.last()), (Some(&0), Some(&pairs)));
        }
    }
}
