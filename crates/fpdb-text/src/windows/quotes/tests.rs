use super::*;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % n
    }

    /// Words that occur once: with spaces, ideographs, or both.
    fn words(&mut self, count: usize, script: usize) -> Vec<String> {
        let word = |_| {
            let number = u32::try_from(self.below(1 << 30)).unwrap();
            let ideograph = |part: u32| char::from_u32(0x4e00 + (number >> part) % 20_000);
            match script == 1 || script == 2 && number.is_multiple_of(2) {
                true => [0, 10].into_iter().filter_map(ideograph).collect(),
                false => format!(" w{number} "),
            }
        };
        (0..count).map(word).collect()
    }
}

/// Returns the runs of the quotes, by brute force from what was changed: the words of the quote
/// that are left, as (place, place in the source), in order.
fn expected(same: &[(usize, usize)], text: &Words, source: &Words, gaps: u32) -> Vec<Vec<Same>> {
    let mut runs: Vec<Same> = Vec::new();
    for &(word, source) in same {
        let next = |it: &&mut Same| (it.word + it.len, it.source + it.len) == (word, source);
        match runs.last_mut().filter(next) {
            Some(last) => last.len += 1,
            None => runs.push(Same { word, source, len: 1 }),
        }
    }
    let length = |words: &Words, from: usize, to: usize| words.lengths[to] - words.lengths[from];
    runs.retain(|run| run.len >= RUN);
    let is_near = |a: &Same, b: &Same| {
        length(text, a.word + a.len, b.word) <= gaps * WORD
            && length(source, a.source + a.len, b.source) <= gaps * WORD
    };
    let quotes = runs.chunk_by(is_near).map(<[Same]>::to_vec);
    let of = |quote: &[Same]| {
        let (first, last) = (quote[0], quote[quote.len() - 1]);
        length(text, first.word, last.word + last.len)
    };
    quotes.filter(|quote| of(quote) >= 50 * WORD).collect()
}

#[test]
fn quotes_are_the_runs_between_the_changes() {
    let (mut random, windows) = (Random(1), Windows::new(50, 7).unwrap());
    let (mut count, mut longest) = (0, 0);
    for round in 0..180 {
        let (script, gaps) = (round % 3, [0, 3, 5][round / 3 % 3]);
        let source = random.words(300, script);
        let source_text = windows.text(&source.concat()).unwrap();
        let (from, to) = (random.below(60), 300 - random.below(60));
        let mut text = random.words(40, script);
        let mut same = Vec::new();
        for (at, word) in source.iter().enumerate().take(to).skip(from) {
            if random.below(15) == 0 {
                let added = random.below(5);
                text.extend(random.words(added, script));
            } else {
                let place = |words: &[String]| Words::of(&words.concat(), 7).unwrap().len();
                let (word_at, source_at) = (place(&text), place(&source[..at]));
                text.push(word.clone());
                let len = Words::of(word, 7).unwrap().len();
                same.extend((0..len).map(|part| (word_at + part, source_at + part)));
            }
        }
        text.extend(random.words(40, script));
        let text = windows.text(&text.concat()).unwrap();
        let found = windows.quotes(&text, gaps).from(&source_text);
        let expected = expected(&same, &text.words, &source_text.words, u32::from(gaps));
        // Those with a run of 20 words are found for certain, and others if they have a window that
        // is kept.
        let is_sure = |quote: &&Vec<Same>| quote.iter().any(|run| run.len >= SEED as usize * 8 / 5);
        assert!(expected.iter().filter(is_sure).all(|quote| found.contains(quote)));
        assert!(found.iter().all(|quote| expected.contains(quote)), "{found:?} {expected:?}");
        count += found.len();
        longest = found.iter().map(Vec::len).chain([longest]).max().unwrap_or(0);
    }
    assert!(count >= 180 && longest > 5, "{count} {longest}");
}

#[test]
fn texts_that_repeat_themselves_are_compared_in_linear_time() {
    let windows = Windows::new(50, 7).unwrap();
    let of = |text: &str, times: usize| windows.text(&text.repeat(times)).unwrap();
    // With each window on its own, it would take minutes.
    let (a, b) = (of("buy now ", 200_000), of("buy now ", 199_999));
    let found = windows.quotes(&a, 5).from(&b);
    assert!((1..20).contains(&found.len()), "{}", found.len());
    let (a, b) =
        (of("buy now or never and again ", 80_000), of("now or never and again buy one ", 80_000));
    windows.quotes(&a, 5).from(&b);
    windows.quotes(&b, 5).from(&a);
}

#[test]
fn a_quote_is_attributed_to_one_source() {
    let windows = Windows::new(14, 7).unwrap();
    let mut random = Random(3);
    let (first, second) = (random.words(40, 0), random.words(40, 0));
    let text = windows.text(&[&first[..], &second[..]].concat().concat()).unwrap();
    let sources = [&first, &second, &first].map(|words| windows.text(&words.concat()).unwrap());
    let mut quotes = windows.quotes(&text, 5);
    let found = sources.each_ref().map(|source| quotes.from(source));
    let run = |word| vec![vec![Same { word, source: 0, len: 40 }]];
    assert_eq!(found, [run(0), run(40), vec![]]);
    // The second quote might begin with the same words of the text as the first one ends with.
    let (third, between) = (random.words(40, 0), random.words(9, 0));
    let text = windows.text(&[&first[..], &second, &third].concat().concat()).unwrap();
    let source = [&first[..], &second, &between, &second, &third].concat();
    let found = windows.quotes(&text, 5).from(&windows.text(&source.concat()).unwrap());
    let places: Vec<_> = found.iter().flatten().map(|it| (it.word, it.source, it.len)).collect();
    assert_eq!(places, [(0, 0, 80), (80, 129, 40)]);
}
