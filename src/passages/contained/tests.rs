use std::collections::HashSet;

use super::*;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % n
    }

    fn words(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| format!("w{}", self.below(5000))).collect()
    }

    /// Articles, excerpts of them, articles with comments around them, edits, and short texts.
    fn texts(&mut self, count: usize) -> Vec<String> {
        let mut texts = vec![String::new(), " ,".into(), "Hello".into(), "hello!".into()];
        while texts.len() < count {
            let len = 20 + self.below(150);
            let article = self.words(len);
            texts.push(article.join(" ").to_uppercase());
            for _ in 0..self.below(5) {
                let mut words = article.clone();
                match self.below(5) {
                    0 => {
                        let begin = self.below(words.len());
                        words.drain(..begin);
                    }
                    1 => words.truncate(1 + self.below(len)),
                    2 => words = [self.words(30), words, self.words(9)].concat(),
                    3 => {
                        let place = self.below(words.len());
                        words[place] = "edited".to_owned();
                    }
                    _ => words = [&words[..len / 3], &words[..len / 3]].concat(),
                }
                texts.push(words.join(["\n  ", ", ", " "][self.below(3)]));
            }
        }
        texts
    }
}

/// Returns the words of a text.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The share of a text that stands in another one, from its words.
fn share(text: &[String], other: &[String]) -> f64 {
    let is_whole = other.windows(text.len().max(1)).any(|part| part == text);
    let runs: HashSet<&[String]> = text.windows(3).collect();
    let others: HashSet<&[String]> = other.windows(3).collect();
    if runs.is_empty() {
        f64::from(u8::from(text == other))
    } else if (runs.len() as f64) < 0.9 * (text.len() - 2) as f64 {
        f64::from(u8::from(is_whole))
    } else {
        runs.intersection(&others).count() as f64 / runs.len() as f64
    }
}

/// Each text that stands in a kept one, in the order of priority, and the first of these.
fn by_brute_force(texts: &[String], priorities: &[u64], least: f64) -> Vec<ContainedText> {
    let all: Vec<_> = texts.iter().map(|text| words(text)).collect();
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&row| std::cmp::Reverse(priorities[row]));
    let (mut kept, mut found): (Vec<usize>, Vec<ContainedText>) = (Vec::new(), Vec::new());
    for row in order {
        let source = kept
            .iter()
            .find(|&&other| !all[row].is_empty() && share(&all[row], &all[other]) >= least);
        match source {
            None => kept.push(row),
            Some(&source) => found.push(ContainedText {
                row: row as u64,
                source: source as u64,
                share: share(&all[row], &all[source]),
            }),
        }
    }
    found.sort_by_key(|text| text.row);
    found
}

fn find(search: &Contained, texts: &[String], slice: usize) -> ContainedTexts {
    let found = search.find(|each| {
        let some: Vec<&str> = texts.iter().map(|text| &**text).collect();
        some.chunks(slice).try_for_each(&mut *each)
    });
    found.unwrap()
}

#[test]
fn every_text_that_stands_in_another_one_is_found_and_no_other() {
    let mut found_some = 0;
    for seed in 0..12 {
        let texts = Random(seed).texts(120);
        let lengths: Vec<u64> = texts.iter().map(|text| words(text).len() as u64).collect();
        let scores: Vec<u64> = (0..texts.len() as u64).map(|row| row * 7 % 11).collect();
        for (priorities, is_given) in [(lengths, false), (scores, true)] {
            let expected = by_brute_force(&texts, &priorities, 1.0);
            for (memory, slice) in [(1 << 20, 200), (0, 7)] {
                let mut search = Contained::new(1.0).unwrap().memory(memory);
                if is_given {
                    search = search.priorities(priorities.clone());
                }
                let found = find(&search, &texts, slice);
                assert_eq!((found.rows, found.crowded), (texts.len() as u64, 0));
                // Short ones may be missed, and then others stand in them.
                let long = |it: &&ContainedText| words(&texts[index(it.row)]).len() >= 20;
                assert_eq!(
                    found.texts.iter().filter(long).collect::<Vec<_>>(),
                    expected.iter().filter(long).collect::<Vec<_>>(),
                    "seed {seed}, {is_given}"
                );
                found_some += found.texts.len();
                assert_eq!(
                    found.texts.iter().map(|it| (it.row, it.source)).collect::<HashSet<_>>().len(),
                    found.texts.len()
                );
            }
        }
    }
    assert!(found_some > 1000, "{found_some}");
}

#[test]
fn nothing_is_lost_with_a_smaller_share() {
    for seed in 0..6 {
        let texts = Random(100 + seed).texts(120);
        let found = find(&Contained::new(0.8).unwrap(), &texts, 50);
        let dropped: HashSet<u64> = found.texts.iter().map(|it| it.row).collect();
        for it in &found.texts {
            assert!(!dropped.contains(&it.source));
            let [own, other] = [it.row, it.source].map(|row| words(&texts[index(row)]));
            assert_eq!(it.share, share(&own, &other));
            assert!(it.share >= 0.8 && own.len() <= other.len());
        }
        assert!(found.texts.iter().any(|it| it.share < 1.0));
    }
}

#[test]
fn a_text_in_a_crowd_is_compared_with_the_first_or_counted() {
    let mut random = Random(5);
    let article = random.words(300);
    for others in [100, 300] {
        let mut texts = Vec::new();
        for number in 0..others {
            let mut changed = article.clone();
            changed[number * 7 % 300] = "other".to_owned();
            texts.push([random.words(200), changed, random.words(100)].concat().join(" "));
        }
        texts.push(format!("intro {} end", article.join(" ")));
        texts.push(article.join(" "));
        let found = find(&Contained::new(1.0).unwrap(), &texts, 1000);
        // The one that has it is not among the longest.
        assert_eq!(
            (found.texts.len(), found.crowded > 0),
            if others == 100 { (1, false) } else { (0, true) }
        );
    }
}

#[test]
fn wrong_numbers_are_refused() {
    let two = ["a b", "c"].map(str::to_owned);
    let search = Contained::new(1.0).unwrap().priorities(vec![1]);
    let error = search.find(|each| each(&[&two[0], &two[1]])).unwrap_err();
    assert!(error.to_string().contains("1 priorities for 2 texts"), "{error}");
    let mut times = 0;
    let error = Contained::new(1.0).unwrap().find(|each| {
        times += 1;
        each(&["a", "b", "c"][..4 - times])
    });
    assert!(error.unwrap_err().to_string().contains("row 2: the texts differ"));
}

#[test]
fn a_text_that_repeats_itself_is_searched_for_in_linear_time() {
    let mut random = Random(3);
    let is_run = |own: &[&str], other: &[&str]| {
        let [own, other] =
            [own, other].map(|words| compare::Runs::of(&words.join(" "), 7).unwrap());
        own.is_run_in(&other)
    };
    let mut found = 0;
    for _ in 0..3000 {
        let (own, other) = (1 + random.below(7), random.below(20));
        let mut some = |count| (0..count).map(|_| ["a", "b"][random.below(2)]).collect::<Vec<_>>();
        let (own, other) = (some(own), some(other));
        let expected = other.windows(own.len()).any(|part| part == own);
        assert_eq!(is_run(&own, &other), expected, "{own:?} in {other:?}");
        found += usize::from(expected);
    }
    assert!(found > 500, "{found}");
    // This would take minutes if each place were compared from its beginning.
    let (mut own, other) = (vec!["a"; 300_000], vec!["a"; 600_000]);
    own.push("b");
    assert!(!is_run(&own, &other));
}
