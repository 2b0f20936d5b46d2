use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::*;
use crate::features_of;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

fn recipe() -> Recipe<Sketch> {
    Recipe::for_sketches("pairs/1").unwrap()
}

fn options() -> Options {
    Dedup::options(recipe(), Jaccard::at_least(0.8))
}

/// Texts of 40 random words, and copies of them of which some words at the end are others, so that
/// they are from 1 to 0.3 similar.
fn texts(number: usize) -> Vec<String> {
    let mut state = 1u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut texts: Vec<String> = Vec::new();
    for row in 0..number {
        let words: Vec<String> = match row.checked_sub(random(8) + 1).filter(|_| row % 4 != 0) {
            Some(other) => {
                let mut words: Vec<String> = texts[other].split(' ').map(str::to_owned).collect();
                let len = words.len();
                let changed = random(12);
                words[len - changed..]
                    .iter_mut()
                    .for_each(|word| *word = random(1 << 20).to_string());
                words
            }
            None => (0..40).map(|_| random(1 << 20).to_string()).collect(),
        };
        texts.push(words.join(" "));
    }
    texts
}

/// Compares each text with all that are kept.
fn brute_force(texts: &[String], least: f64) -> Vec<Option<f64>> {
    let recipe = recipe();
    let features: Vec<_> = texts.iter().map(|text| features_of(&recipe, text, None)).collect();
    let mut kept: Vec<usize> = Vec::new();
    let mut verdicts = Vec::new();
    for row in 0..texts.len() {
        let similar = kept.iter().map(|&other| features[row].jaccard(&features[other]));
        let most = similar.fold(0.0, f64::max);
        verdicts.push((most >= least).then_some(most));
        if most < least {
            kept.push(row);
        }
    }
    verdicts
}

fn add_in_parts(dedup: &mut Dedup, texts: &[String], part: usize) -> Vec<Verdict> {
    let parts = texts.chunks(part);
    parts
        .flat_map(|part| dedup.add(&part.iter().map(|it| &**it).collect::<Vec<_>>()).unwrap())
        .collect()
}

/// The bands find nearly all pairs; what they find is decided as brute force does.
#[test]
fn drops_what_brute_force_drops_however_the_texts_are_divided() -> Outcome {
    let texts = texts(1200);
    let expected = brute_force(&texts, 0.8);
    let dropped = expected.iter().flatten().count();
    assert!(dropped > 300);
    let mut all = BTreeSet::new();
    for part in [1200, 500, 7] {
        let options = Dedup::options(recipe(), Jaccard::at_least(0.8).recall(0.999));
        let verdicts = add_in_parts(&mut options.start()?, &texts, part);
        let same = verdicts.iter().zip(&expected).filter(|(found, expected)| {
            found.is_kept() == expected.is_none()
                && expected.is_none_or(|most| found.similarity <= Some(most))
        });
        assert!(same.count() + 10 >= texts.len());
        for verdict in verdicts.iter().filter(|it| !it.is_kept()) {
            assert!(verdict.similarity >= Some(0.8) && !verdict.is_estimated);
        }
        all.insert(verdicts.iter().map(Verdict::duplicate_of).collect::<Vec<_>>());
    }
    assert_eq!(all.len(), 1);
    Ok(())
}

#[test]
fn no_text_is_like_one_that_was_dropped() -> Outcome {
    let texts = texts(600);
    let verdicts = add_in_parts(&mut options().start()?, &texts, 50);
    for verdict in &verdicts {
        let of = verdict.duplicate_of();
        assert!(of.is_none_or(|row| verdicts[row].is_kept()));
    }
    Ok(())
}

/// Pages of one template, each with words of its own.
#[test]
fn members_of_a_crowd_are_found_without_their_sketches() -> Outcome {
    let template: Vec<String> = (0..100).map(|word| format!("menu{word}")).collect();
    let template = template.join(" ");
    let own =
        |page: u64| (0..30).map(|word| format!("{page}w{word}")).collect::<Vec<_>>().join(" ");
    let page = |number: u64| format!("{template} {}", own(number));
    let texts: Vec<String> = (0..600).chain(0..600).map(page).collect();
    // 100 of 160 pairs are the same in any two pages.
    let mut dedup = Dedup::options(recipe(), Jaccard::at_least(0.7)).start()?;
    let verdicts = add_in_parts(&mut dedup, &texts, 100);
    assert!(verdicts.iter().take(600).all(Verdict::is_kept));
    assert!(verdicts.iter().filter(|it| it.is_in_crowd).count() > 300);
    for (row, verdict) in verdicts.iter().enumerate().skip(600) {
        assert_eq!(
            (verdict.duplicate_of(), verdict.similarity),
            (Some(row - 600), Some(1.0)),
            "{row}"
        );
    }
    Ok(())
}

#[test]
fn its_database_is_gone_when_it_is_dropped() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut dedup = options().scratch_folder(folder.path()).start()?;
    let is_empty = || std::fs::read_dir(folder.path()).unwrap().next().is_none();
    add_in_parts(&mut dedup, &texts(100), 20);
    assert!(!is_empty());
    drop(dedup);
    assert!(is_empty());
    Ok(())
}

#[test]
fn ends_between_two_rows_and_takes_no_more() -> Outcome {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let texts = texts(300);
    for calls in 1..=300 {
        CALLS.store(0, Relaxed);
        let until = move || CALLS.fetch_add(1, Relaxed) + 1 == calls;
        let mut dedup = options().threads(1).until(until).start()?;
        let all: Vec<&str> = texts.iter().map(|it| &**it).collect();
        assert!(matches!(dedup.add(&all), Err(Error::Cancelled)), "{calls}");
        assert!(CALLS.load(Relaxed) <= calls + 1);
        // Rows of which nobody knows the verdicts would be counted otherwise by others.
        assert!(matches!(dedup.add(&all), Err(Error::Invalid { .. })), "{calls}");
    }
    Ok(())
}

#[test]
fn a_missing_scratch_folder_is_named() {
    let error = options().scratch_folder("/nowhere/at/all").start().unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
}
