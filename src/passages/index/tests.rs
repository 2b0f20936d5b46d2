mod damage;

use std::collections::HashSet;
use std::thread;

use super::*;
use crate::Durability;
use crate::fingerprint::Entry;

/// Words that differ from those of other numbers.
fn words(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|n| format!("word{n} ")).collect()
}

/// Characters of a script without spaces.
fn characters(numbers: std::ops::Range<u32>) -> String {
    numbers.filter_map(|n| char::from_u32(0x4e00 + n)).collect()
}

fn id_of(number: usize) -> DocId {
    DocId(number as u64)
}

/// Returns an index that keeps the same windows each time.
fn in_memory(min_words: usize) -> Index {
    Index::new(min_words, 5, Db::options(), Options::in_memory).unwrap()
}

/// Inserts texts, each with its number as the id.
fn insert(index: &Index, texts: &[String]) {
    let documents: Vec<_> =
        texts.iter().enumerate().map(|(n, text)| (id_of(n), &text[..])).collect();
    index.insert(&documents).unwrap();
}

fn ids_of(origins: &Origins) -> Vec<u64> {
    origins.documents.iter().map(|origin| origin.id.0).collect()
}

#[test]
fn every_run_of_min_words_of_an_earlier_document_is_found_and_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Db::options().memtable_entries(64).durability(Durability::Buffered);
    for (script, text_of, length) in [(0, words as fn(_) -> _, 50), (1, characters, 80)] {
        let path = folder.path().join(script.to_string());
        // Document i has the words from 620 i on.
        let texts: Vec<String> = (0..30).map(|i| text_of(620 * i..620 * i + 600)).collect();
        for (n, texts) in texts.chunks(10).enumerate() {
            // Closed and opened again after each ten.
            let index = match n {
                0 => Index::create(&path, 50, options()).unwrap(),
                _ => Index::open(&path, options()).unwrap(),
            };
            let id = |i: usize| id_of(10 * n + i);
            let documents: Vec<_> =
                texts.iter().enumerate().map(|(i, t)| (id(i), &t[..])).collect();
            index.insert(&documents).unwrap();
            index.database().clone().close().unwrap();
        }
        let index = Index::open(&path, options()).unwrap();
        for i in 0..30 {
            for at in [0, 7, 299, 600 - length] {
                let first = 620 * i + at;
                let before = text_of(19_000..19_000 + 13 * i);
                let quote = text_of(first..first + length);
                let text = before.clone() + &quote + &text_of(19_400..19_440);
                let found = index.find(&text, 10).unwrap();
                assert_eq!(ids_of(&found), [u64::from(i)], "{at}");
                let place = &found.documents[0].places[0];
                assert!(place.begin >= before.len() && place.end <= before.len() + quote.len());
            }
        }
        // All of a document: the place is nearly the whole.
        let found = index.find(&texts[3], 10).unwrap();
        let origin = &found.documents[0];
        assert_eq!((origin.share, origin.share_of_origin, origin.places.len()), (1.0, 1.0, 1));
        assert!(origin.places[0].is_long && found.common == 0.0);
    }
}

#[test]
fn a_place_ends_where_the_document_does_not_go_on() {
    let index = in_memory(14);
    insert(&index, &[words(0..200), words(300..500)]);
    let text = words(20..80) + &words(900..990) + &words(100..160) + &words(310..330);
    let found = index.find(&text, 10).unwrap();
    assert_eq!(ids_of(&found), [0, 1]);
    let [first, second] = &found.documents[0].places[..] else { panic!("{found:?}") };
    assert!(
        text[first.begin..first.end].contains("word50 ")
            && !text[first.begin..first.end].contains("word9")
    );
    assert!(text[second.begin..second.end].contains("word130 ") && first.is_long && second.is_long);
    assert_eq!(index.find(&text, 1).unwrap().documents, found.documents[..1]);
}

#[test]
fn a_window_remembers_few_documents_and_a_text_with_it_is_known_all_the_same() {
    let index = in_memory(50);
    let licence = words(0..1000);
    let texts: Vec<_> =
        (0..40).map(|i| licence.clone() + &words(5000 + 10 * i..5010 + 10 * i)).collect();
    insert(&index, &texts);
    let windows = |text: &str| index.kept(text).unwrap().windows.len() as u64;
    let of_licence = windows(&licence);
    let entries = index.database().stats().entries;
    assert!(entries <= 8 * (of_licence + 1) + 40 * 3, "{entries}");
    // It has what is common and little more, and the 20th is not remembered for that.
    let found = index.find(&texts[20], 100).unwrap();
    assert!(found.common > 0.9 && found.documents.len() <= 9);
    let answer = index.insert_if_novel(&[(DocId(99), &texts[20])], 0.95).unwrap();
    assert!(matches!(answer[..], [Novelty::Known { share, .. }] if share == 1.0), "{answer:?}");
    let novel = licence + &words(9000..10_000);
    assert_eq!(index.insert_if_novel(&[(DocId(99), &novel)], 0.95).unwrap(), [Novelty::Novel]);
}

#[test]
fn documents_are_decided_in_turn_and_short_ones_are_not() {
    let index = in_memory(50);
    let texts = [
        words(0..400),
        words(0..300) + &words(1000..1100), // three quarters
        words(0..200) + &words(2000..2200), // a half
        words(2000..2200) + &words(0..200), // all of it, from the one before
        words(100..260),
        words(3000..3100),
        String::new(),
    ];
    let documents: Vec<_> =
        texts.iter().enumerate().map(|(n, text)| (id_of(n), &text[..])).collect();
    let answers = index.insert_if_novel(&documents, 0.65).unwrap();
    let kinds = answers.iter().map(|answer| match answer {
        Novelty::Novel => (0, 0),
        Novelty::Known { id, .. } => (1, id.0),
        Novelty::TooShort { id, .. } => (2, id.0),
    });
    assert_eq!(kinds.collect::<Vec<_>>(), [(0, 0), (1, 0), (0, 0), (1, 2), (2, 0), (0, 0), (0, 0)]);
    let is_in = (0..7).filter(|&n| index.contains(DocId(n)).unwrap());
    assert_eq!(is_in.collect::<Vec<_>>(), [0, 2, 5, 6]);
    for share in [0.0, -1.0, 1.1, f64::NAN] {
        assert!(index.insert_if_novel(&documents, share).is_err());
    }
}

#[test]
fn of_equal_texts_that_are_inserted_at_the_same_time_one_is_novel() {
    let index = in_memory(50);
    let text = words(0..500);
    let novel: usize = thread::scope(|scope| {
        let insert = |first: u64| {
            let (index, text) = (&index, &text[..]);
            scope.spawn(move || {
                let decide = |n| index.insert_if_novel(&[(DocId(first + n), text)], 0.8).unwrap();
                (0..20).filter(|&n| decide(n) == [Novelty::Novel]).count()
            })
        };
        [insert(0), insert(100)].into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(novel, 1);
}

#[test]
fn removed_documents_are_not_found_and_can_be_inserted_again() {
    let index = in_memory(50);
    let texts: Vec<_> = (0..6).map(|i| words(0..100) + &words(1000 * i..1000 * i + 300)).collect();
    insert(&index, &texts);
    let error = index.remove(&[(DocId(1), &texts[1]), (DocId(2), "Another text.")]).unwrap_err();
    assert!(error.to_string().contains("document 2 was inserted with another text"), "{error}");
    assert!(index.contains(DocId(1)).unwrap());
    assert_eq!(index.remove(&[(DocId(1), &texts[1]), (DocId(9), "")]).unwrap(), [true, false]);
    index.database().flush().unwrap();
    assert_eq!(index.remove_all(&[DocId(3), DocId(5), DocId(9)]).unwrap(), 2);
    let found = index.find(&texts[1], 10).unwrap();
    assert_eq!(ids_of(&found).into_iter().collect::<HashSet<_>>(), [0, 2, 4].into());
    insert(&index, &[]);
    index.insert(&[(DocId(3), &texts[1])]).unwrap();
    assert_eq!(ids_of(&index.find(&texts[1], 1).unwrap()), [3]);
    let ids: Vec<_> = (0..10).map(DocId).collect();
    assert_eq!(index.remove_all(&ids).unwrap(), 4);
    assert_eq!(index.database().stats().entries, 0);
}

#[test]
fn a_document_is_removed_with_its_own_text_only_and_counts_once() {
    let index = in_memory(50);
    let text = words(0..300);
    index.insert(&[(DocId(1), &text), (DocId(2), &words(100..200))]).unwrap();
    // Texts that have as many windows: other ones, and those of which one word of a window was
    // changed.
    let windows = |text: &str| index.kept(text).unwrap().windows;
    let edited = (0..300).map(|n| text.replace(&format!("word{n} "), "other "));
    let others = (0..200).map(|i| words(1000 * i + 1000..1000 * i + 1300));
    let same_count = edited.chain(others).filter(|other| {
        let (of_text, of_other) = (windows(&text), windows(other));
        of_text != of_other && of_text.len() == of_other.len()
    });
    let same_count: Vec<_> = same_count.collect();
    assert!(same_count.len() > 50, "{}", same_count.len());
    for other in &same_count {
        let error = index.remove(&[(DocId(2), &words(100..200)), (DocId(1), other)]).unwrap_err();
        assert!(error.to_string().contains("document 1 was inserted with another text"), "{error}");
        assert!(index.contains(DocId(1)).unwrap() && index.contains(DocId(2)).unwrap());
    }
    assert_eq!(index.remove(&[(DocId(1), &text), (DocId(1), &text)]).unwrap(), [true, false]);
    assert_eq!(ids_of(&index.find(&text, 9).unwrap()), [2]);
}

#[test]
fn a_document_without_a_record_is_not_in_the_index_and_what_is_left_of_it_can_be_removed() {
    let index = in_memory(50);
    let texts = [words(0..400), words(200..600)];
    insert(&index, &texts);
    // As after a repair that has lost the page with the record of document 0.
    let fingerprint = index.document(DocId(0)).unwrap();
    let id = index.database().snapshot().ids(fingerprint).unwrap()[0];
    index.db.remove_from_index(&[Entry { fingerprint, id }]).unwrap();
    let found = index.find(&texts[0], 9).unwrap();
    assert_eq!(ids_of(&found), [1]);
    assert!(found.documents[0].share < 0.7 && found.common == 0.0);
    // It does not keep its own text out.
    let novel = words(0..200) + &words(5000..5200);
    assert_eq!(index.insert_if_novel(&[(DocId(7), &novel)], 0.3).unwrap(), [Novelty::Novel]);
    let entries = || index.database().stats().entries;
    let before = entries();
    assert_eq!(index.remove(&[(DocId(0), &texts[0])]).unwrap(), [false]);
    assert_eq!(before - entries(), index.kept(&texts[0]).unwrap().windows.len() as u64);
    index.insert(&[(DocId(0), &words(9000..9400))]).unwrap();
    assert!(!ids_of(&index.find(&texts[0], 9).unwrap()).contains(&0));
    // Windows of ids that no document can have, which only another program writes.
    let window = index.kept(&texts[1]).unwrap().windows[0];
    index.db.write_to_index(&[(window, DocId(u64::MAX))]).unwrap();
    assert!(ids_of(&index.find(&texts[1], 9).unwrap()).contains(&1));
}

#[test]
fn a_document_that_lost_windows_is_found_by_the_others_and_can_be_removed() {
    let index = in_memory(50);
    let text = words(0..400);
    index.insert(&[(DocId(1), &text)]).unwrap();
    let windows = index.kept(&text).unwrap().windows;
    let lost = windows.iter().step_by(2).map(|&fingerprint| Entry { fingerprint, id: DocId(1) });
    index.db.remove_from_index(&lost.collect::<Vec<_>>()).unwrap();
    let found = index.find(&text, 9).unwrap();
    let half = (windows.len() / 2) as f64 / windows.len() as f64;
    assert_eq!((found.documents[0].share, found.documents[0].share_of_origin), (half, half));
    assert_eq!(index.remove(&[(DocId(1), &text)]).unwrap(), [true]);
    assert_eq!(index.database().stats().entries, 0);
}

#[test]
fn places_are_those_of_all_windows_of_the_text_in_order() {
    let index = in_memory(14);
    // The licence is common, and the texts repeat themselves.
    let licence = words(0..60);
    let texts: Vec<_> = (0..30)
        .map(|i| words(1000 + 20 * i..1060 + 20 * i).repeat(2) + &licence + &words(9000..9020))
        .collect();
    insert(&index, &texts);
    for i in 0..30 {
        let text =
            texts[i].clone() + &words(20_000..20_040) + &licence + &texts[29 - i] + &texts[i];
        let kept = index.kept(&text).unwrap();
        let holders = index.holders(&index.database().snapshot(), &kept.windows).unwrap();
        for origin in index.find(&text, usize::MAX).unwrap().documents {
            // Through all windows of the text.
            let (mut expected, mut goes_on) = (Vec::new(), false);
            index.windows.keep(&Words::of(&text, index.seed()).unwrap(), |hash, run| {
                let bits = u64::BITS - u32::from(index.settings.bits);
                let number = kept.windows.binary_search(&(hash >> bits << (bits - 1))).unwrap();
                let ids = &holders.of_windows[number];
                match ids.contains(&origin.id) {
                    true if goes_on => *expected.last_mut().unwrap() = run,
                    true => expected.push(run),
                    false => {}
                }
                goes_on = ids.contains(&origin.id) || goes_on && ids.len() >= Index::MOST_ORIGINS;
            });
            let all = Words::of(&text, 0).unwrap();
            let ends: Vec<_> = expected.into_iter().map(|run| all.place(run).end).collect();
            assert_eq!(origin.places.iter().map(|place| place.end).collect::<Vec<_>>(), ends);
        }
    }
}

#[test]
fn nothing_is_inserted_with_an_id_that_is_known_or_too_large() {
    let index = in_memory(50);
    index.insert(&[(DocId(1), "One text.")]).unwrap();
    for id in [1, 2, 1 << 46, u64::MAX] {
        let documents = [(DocId(2), "A text."), (DocId(id), "Another text.")];
        let error = index.insert(&documents).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(!index.contains(DocId(2)).unwrap());
    }
    index.insert(&[(DocId((1 << 46) - 1), "One text.")]).unwrap();
    assert_eq!(ids_of(&index.find("one text", 9).unwrap()), [1, (1 << 46) - 1]);
}

#[test]
fn an_index_is_opened_and_written_as_one_only_and_read_by_all() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other, merged] = ["index", "other", "merged"].map(|name| folder.path().join(name));
    Db::options().create(&other).unwrap().close().unwrap();
    let error = Index::open(&other, Db::options()).unwrap_err();
    assert!(error.to_string().contains("not an index of passages"), "{error}");
    let refused = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("passages::Index, or PassageIndex"), "{error}");
    };
    let index = Index::create(&path, 50, Db::options()).unwrap();
    index.insert(&[(DocId(1), &words(0..300))]).unwrap();
    let db = index.database();
    refused(db.insert(7, DocId(1)).unwrap_err());
    refused(db.insert_if_novel(7, DocId(1)).unwrap_err());
    refused(db.write(&[(7, DocId(1))]).run().unwrap_err());
    refused(db.remove(DocId(1)).unwrap_err());
    refused(db.remove_entry(7, DocId(1)).unwrap_err());
    refused(db.bulk_load(std::iter::empty()).unwrap_err());
    db.flush().unwrap();
    let entries = db.stats().entries;
    db.clone().close().unwrap();
    refused(Db::options().open(&path).unwrap_err());
    refused(Db::options().open_or_create(&path).unwrap_err());
    assert_eq!(Db::options().open_read_only(&path).unwrap().stats().entries, entries);
    // Two with the same seed can be merged, and others cannot.
    let seed = Index::open(&path, Db::options()).unwrap().seed();
    for (number, seed, is_same) in [(0, seed, true), (1, seed ^ 1, false)] {
        let second = folder.path().join(format!("second-{number}"));
        let index = Index::create_with_seed(&second, 50, seed, Db::options()).unwrap();
        index.insert(&[(DocId(2), &words(1000..1300))]).unwrap();
        index.database().clone().close().unwrap();
        let built = Db::options().build(&merged, crate::Source::databases([&path, &second]));
        assert_eq!(built.is_ok(), is_same, "{built:?}");
    }
    let index = Index::open(&merged, Db::options()).unwrap();
    // Which of the two comes first depends on the seed.
    let mut ids = ids_of(&index.find(&(words(0..300) + &words(1000..1300)), 9).unwrap());
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
}

#[test]
fn indexes_that_have_different_texts_with_the_same_id_are_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let merged = folder.path().join("merged");
    let texts: Vec<String> = (0..5).map(|at| words(at * 1000..at * 1000 + 300)).collect();
    // The documents of each index by the numbers of their texts, some of them in the log only.
    let create = |name: &str, documents: &[(u64, usize)]| {
        let path = folder.path().join(name);
        let index = Index::create_with_seed(&path, 50, 9, Db::options()).unwrap();
        for (at, &(id, text)) in documents.iter().enumerate() {
            index.insert(&[(DocId(id), &texts[text])]).unwrap();
            if at == 0 {
                index.database().flush().unwrap();
            }
        }
        path
    };
    let first = create("first", &[(1, 0), (4, 1), (7, 2)]);
    let same = create("same", &[(4, 1), (6, 3), (7, 2)]);
    let other = create("other", &[(2, 3), (7, 4)]);
    let build = |sources: &[&std::path::PathBuf]| {
        Db::options().build(&merged, crate::Source::databases(sources))
    };
    for sources in [&[&first, &other][..], &[&other, &first], &[&first, &same, &other]] {
        let error = build(sources).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let last = sources.last().unwrap().to_str().unwrap();
        for part in [last, "document 7 of this index of passages has another text"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(!merged.exists());
    }
    assert_eq!(build(&[&first, &same]).unwrap().losses.len(), 0);
    let index = Index::open(&merged, Db::options()).unwrap();
    for (id, text) in [(1, 0), (4, 1), (6, 3), (7, 2)] {
        assert_eq!(ids_of(&index.find(&texts[text], 9).unwrap()), [id]);
        assert_eq!(index.remove(&[(DocId(id), &texts[text])]).unwrap(), [true]);
    }
    assert_eq!(index.database().stats().entries, 0);
}

#[test]
fn unused_bits_of_windows_take_no_space_after_flush_compaction_and_load() {
    let fingerprint = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) << 39;
    let entries = |round: u64| (20_000 * round..20_000 * (round + 1)).map(fingerprint);
    let options = || Db::options().max_distance(0).filter_bits(0).background(false);
    let db = options().in_memory().unwrap();
    for round in 0..2 {
        let entries: Vec<_> = entries(round).map(|fingerprint| (fingerprint, DocId(1))).collect();
        db.write(&entries).run().unwrap();
        db.flush().unwrap();
    }
    let loaded = options().in_memory().unwrap();
    let all = entries(0).chain(entries(1));
    let report =
        loaded.bulk_load(all.map(|fingerprint| Ok(Entry { fingerprint, id: DocId(1) }))).unwrap();
    assert_eq!(report.inserted, 40_000);
    let bits = |db: &Db| 8.0 * db.stats().bytes_tables as f64 / 40_000.0;
    assert!(bits(&db) < 14.0, "{}", bits(&db));
    db.compact().unwrap();
    // Of the 24 bits, sorting saves about 15. Codewords and pages add some.
    assert!(bits(&db) < 14.0 && bits(&loaded) < 14.0, "{} {}", bits(&db), bits(&loaded));
    assert!(
        db.snapshot().iter().map(Result::unwrap).eq(loaded.snapshot().iter().map(Result::unwrap))
    );
}
