use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::*;
use crate::base::error::ErrorKind;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % n
    }

    /// Words with spaces, ideographs, or both, of a vocabulary of this size.
    fn words(&mut self, count: usize, vocabulary: usize, script: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            let number = self.below(vocabulary);
            if script == 1 || script == 2 && self.below(2) == 0 {
                text.extend(char::from_u32(0x4e00 + u32::try_from(number % 20_000).unwrap()));
            } else {
                text += &format!(" w{number}{}", ["", ",", "\n"][self.below(3)]);
            }
        }
        text
    }

    /// Texts with passages of each other, some of them several times, some edited.
    fn texts(&mut self, count: usize, script: usize) -> Vec<String> {
        let mut texts: Vec<String> = vec![String::new(), " , ".into(), self.words(5, 9, script)];
        while texts.len() < count {
            let vocabulary = [3, 50, 100_000][self.below(3)];
            let mut text = String::new();
            for _ in 0..self.below(5) {
                let before = self.below(60);
                text += &self.words(before, vocabulary, script);
                let other = texts[self.below(texts.len())].clone();
                let at = |n: usize| other.char_indices().nth(n).map_or(other.len(), |(at, _)| at);
                let from = self.below(300);
                let passage = &other[at(from)..at(from + self.below(400))];
                let times = 1 + self.below(12) / 10 * self.below(4);
                text += &passage.repeat(times);
            }
            let after = self.below(60);
            texts.push(text + &self.words(after, vocabulary, script));
        }
        texts
    }
}

/// The bytes of each text that stand in a run of an earlier one, in order and without overlaps.
fn by_brute_force(texts: &[String], min_words: usize) -> Vec<Vec<Range<usize>>> {
    let windows = Windows::new(min_words, 7).unwrap();
    let mut seen: HashMap<Vec<String>, usize> = HashMap::new();
    let of_row = |(row, text): (usize, &String)| {
        let words = Words::of(text, 7).unwrap();
        let mut found = Vec::new();
        windows.runs(&words, |run| {
            let word = |word| text[words.place(word..word + 1)].to_lowercase();
            let run_of_words: Vec<String> = (run.begin..run.end).map(word).collect();
            if run.is_full && *seen.entry(run_of_words).or_insert(row) < row {
                found.push(words.place(run.begin..run.end));
            }
        });
        union(found)
    };
    texts.iter().enumerate().map(of_row).collect()
}

/// Joins places that overlap.
fn union(places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for place in places {
        match all.last_mut().filter(|last| place.start <= last.end) {
            Some(last) => last.end = last.end.max(place.end),
            None => all.push(place),
        }
    }
    all
}

/// Checks that spans are one run each, in order, and together what brute force finds.
fn check(texts: &[String], min_words: usize, found: &Found) {
    let expected = by_brute_force(texts, min_words);
    let mut spans = found.spans.iter().peekable();
    for (row, expected) in expected.into_iter().enumerate() {
        let mut places = Vec::new();
        while let Some(span) = spans.next_if(|span| span.row == row as u64) {
            assert!(span.source < span.row);
            let source = usize::try_from(span.source).unwrap();
            let cut = |text: &str| {
                let words = Words::of(text, 7).unwrap();
                let word = |word| text[words.place(word..word + 1)].to_lowercase();
                (0..words.len()).map(word).collect::<Vec<_>>()
            };
            let run = cut(&texts[row][span.bytes()]);
            assert!(run.len() >= min_words, "{run:?}");
            assert_eq!(run, cut(&texts[source][span.source_bytes()]));
            places.push(span.bytes());
        }
        assert!(places.is_sorted_by_key(|place| place.start));
        assert_eq!(union(places), expected, "row {row}");
    }
    assert_eq!(spans.next(), None);
}

fn find(search: &Passages, texts: &[String], slice: usize) -> Found {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    search.find(|each| texts.chunks(slice).try_for_each(&mut *each)).unwrap()
}

#[test]
fn spans_are_exactly_the_runs_that_stand_in_an_earlier_text() {
    let mut random = Random(1);
    for round in 0..18 {
        let texts = random.texts(40, round % 3);
        for min_words in [14, 50] {
            // Everything in memory, and nearly nothing.
            let searches = [(512 << 20, 1), (0, 2)].map(|(memory, threads)| {
                Passages::new(min_words).unwrap().seed(round as u64).memory(memory).threads(threads)
            });
            let found = find(&searches[0], &texts, 1);
            check(&texts, min_words, &found);
            assert_eq!(find(&searches[1], &texts, 7), found);
        }
    }
}

#[test]
fn spans_are_the_same_with_every_seed() {
    let mut random = Random(3);
    let all = random.words(2000, 100_000, 0);
    let words: Vec<&str> = all.split_inclusive(|c: char| c.is_whitespace()).collect();
    // Passages of little more than 14 words that overlap, or nearly do, and a text with all of them.
    let mut texts: Vec<String> = (0..300)
        .map(|_| {
            let start = random.below(words.len() - 20);
            words[start..start + 14 + random.below(7)].concat()
        })
        .collect();
    texts.push(all.clone());
    let with = |seed| find(&Passages::new(14).unwrap().seed(seed), &texts, 7);
    let first = with(0);
    check(&texts, 14, &first);
    for seed in 1..8 {
        assert_eq!(with(seed).spans, first.spans, "seed {seed}");
    }
}

#[test]
fn the_source_is_the_first_text_that_has_the_run() {
    let mut random = Random(2);
    let quote = random.words(50, 100_000, 0);
    let mut texts: Vec<String> = (0..20).map(|_| random.words(100, 100_000, 0)).collect();
    for row in [3, 5, 19] {
        texts[row].push_str(&quote);
    }
    let found = find(&Passages::new(50).unwrap(), &texts, 20);
    let sources: Vec<_> = found.spans.iter().map(|span| (span.row, span.source)).collect();
    assert_eq!(sources, [(5, 3), (19, 3)]);
    // A run of one word less is no passage.
    let text = quote.rsplit_once(' ').unwrap().0.to_owned();
    texts[19] = text;
    assert_eq!(find(&Passages::new(50).unwrap(), &texts, 20).spans.len(), 1);
}

#[test]
fn a_text_that_repeats_itself_has_few_spans_and_no_passage_by_itself() {
    let texts = ["buy now ".repeat(2000), "BUY NOW ".repeat(3000)];
    let found = find(&Passages::new(50).unwrap(), &texts, 2);
    check(&texts, 50, &found);
    assert!(found.spans.len() < 200, "{}", found.spans.len());
    assert_eq!(find(&Passages::new(50).unwrap(), &texts[..1], 2).spans, []);
}

#[test]
fn each_search_has_a_seed_of_its_own_unless_it_is_set() {
    let texts = [Random(3).words(2000, 100_000, 0)];
    let windows = |search: &Passages| {
        let times = (0..10).map(|_| find(search, &texts, 1).windows);
        times.collect::<std::collections::HashSet<_>>().len()
    };
    let search = Passages::new(50).unwrap();
    assert!(windows(&search) > 1);
    assert_eq!(windows(&search.seed(7)), 1);
}

/// The Thue-Morse sequence of two words.
fn thue_morse(count: u32, pair: [&str; 2]) -> String {
    (0..count).map(|i| format!("{} ", pair[i.count_ones() as usize % 2])).collect()
}

#[test]
fn texts_that_were_made_to_collide_have_no_passage_in_common() {
    // Modulo 2^64, with seed 0, the two sequences of each length have equal hashes. Those of 1,024
    // words have them for any two words.
    let pairs = [(1024, ["0", "1"]), (32, ["kalogadej", "retidex"]), (32, ["4a130e", "594a7c"])];
    let mut random = Random(4);
    for seed in 0..100 {
        for (least, [a, b]) in pairs {
            for count in [32, 64, 128, 256, 512, 1024].into_iter().filter(|&count| count >= least) {
                // The equal words have a window that is kept.
                let common = random.words(18, 100_000, 0);
                let texts = [[a, b], [b, a]].map(|pair| thue_morse(count, pair) + &common);
                let search = Passages::new((count as usize + 18).min(1000)).unwrap();
                assert_eq!(find(&search.seed(seed), &texts, 2).spans, [], "{seed} {count}");
            }
        }
    }
}

#[test]
fn texts_that_differ_the_second_time_are_refused() {
    let texts = ["once and again ".repeat(60), "once and again ".repeat(70), "and ".repeat(99)];
    let longer = [&texts[..], &texts[..1]].concat();
    let swapped = [&texts[2..], &texts[..2]].concat();
    for other in [&texts[..2], &longer, &swapped] {
        let mut times = 0;
        let found: Result<_> = Passages::new(50).unwrap().find(|each| {
            times += 1;
            let texts = if times == 1 { &texts } else { other };
            texts.iter().try_for_each(|text| each(&[text]))
        });
        let message = found.unwrap_err().to_string();
        assert!(message.contains("read the same texts each time"), "{message}");
    }
}

/// Ends a search at each of its reports.
fn ends_at_each_report<T>(
    search: impl Fn(Box<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>) -> Result<T>,
) -> BTreeSet<String> {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let seen = reports.clone();
    let all = search(Box::new(move |progress| {
        seen.lock().unwrap().push(progress);
        ControlFlow::Continue(())
    }));
    assert!(all.is_ok());
    let reports = reports.lock().unwrap().clone();
    for end in 0..reports.len() {
        let count = Arc::new(AtomicUsize::new(0));
        let calls = count.clone();
        let ended = search(Box::new(move |_| match calls.fetch_add(1, Relaxed) {
            now if now == end => ControlFlow::Break(()),
            now => {
                assert!(now < end, "it was ended");
                ControlFlow::Continue(())
            }
        }));
        // With less time between them, there are fewer reports; and the last one is too late.
        if count.load(Relaxed) > end && end + 1 < reports.len() {
            assert_eq!(ended.err().map(|error| error.kind()), Some(ErrorKind::Cancelled), "{end}");
        }
    }
    reports.iter().map(|it| format!("{} {:?}", it.phase, it.total)).collect()
}

#[test]
fn every_search_ends_where_the_caller_wants_no_more() {
    let quote: Vec<String> = (0..40).map(|word| format!("word{word}")).collect();
    let quote = quote.join(" ");
    let texts: Vec<String> = (0..30).map(|row| format!("{row} x\n{quote}\n{row} {row}")).collect();
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    let read = |each: &mut Texts<'_>| texts.iter().try_for_each(|text| each(&[text]));

    let passages = ends_at_each_report(|report| {
        Passages::new(14)?.gaps(5)?.threads(1).on_progress(report).find::<Error>(read)
    });
    assert!(
        ["reading None", "reading Some(30)", "searching Some(30)"]
            .map(String::from)
            .iter()
            .all(|it| passages.contains(it)),
        "{passages:?}"
    );
    let contained = ends_at_each_report(|report| {
        Contained::new(0.5)?.threads(1).on_progress(report).find::<Error>(read)
    });
    assert!(contained.contains("searching Some(30)"), "{contained:?}");
    let lines = ends_at_each_report(|report| {
        Lines::default().threads(1).on_progress(report).find::<Error>(read)
    });
    assert!(lines.contains("reading Some(30)"), "{lines:?}");
}
