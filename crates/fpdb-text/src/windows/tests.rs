use std::collections::{HashMap, HashSet};

use super::*;
use crate::cut::{AnyLanguage, Cut};

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % n
    }

    /// Words with spaces, ideographs, or both, of a vocabulary of this size.
    fn words(&mut self, count: usize, vocabulary: usize, script: usize) -> Vec<String> {
        let mut word = || {
            let number = self.below(vocabulary);
            let is_ideograph = script == 1 || script == 2 && self.below(2) == 0;
            let ideograph =
                u32::try_from(0x4e00 + number).ok().and_then(char::from_u32).map(String::from);
            ideograph.filter(|_| is_ideograph).unwrap_or_else(|| format!(" w{number}"))
        };
        (0..count).map(|_| word()).collect()
    }
}

fn keys(windows: &Windows, text: &str) -> HashSet<u64> {
    let mut keys = HashSet::new();
    windows.keep(&Words::of(text).unwrap(), |key, _| {
        keys.insert(key);
    });
    keys
}

#[test]
fn texts_that_share_a_run_of_min_words_share_a_key() {
    let mut random = Random(1);
    for min_words in [14, 20, 50] {
        let windows = Windows::new(min_words).unwrap();
        for round in 0..600 {
            let (script, vocabulary) = (round % 3, [2, 20, 10_000][round / 3 % 3]);
            let length = |words: &[String]| -> usize {
                words.iter().map(|word| if word.starts_with(' ') { 8 } else { 5 }).sum()
            };
            let mut shared = Vec::new();
            while length(&shared) < min_words * 8 {
                shared.extend(random.words(1, vocabulary, script));
            }
            let [a, b] = [0, 1].map(|_| {
                let (before, after) = (random.below(90), random.below(90));
                let mut words = random.words(before, 10_000, script);
                words.extend(shared.iter().cloned());
                words.extend(random.words(after, 10_000, script));
                words.concat()
            });
            let (a, b) = (keys(&windows, &a), keys(&windows, &b));
            assert!(!a.is_disjoint(&b), "{min_words} {script} {vocabulary}");
        }
    }
}

#[test]
fn shorter_runs_are_often_but_not_always_found() {
    let (windows, mut random) = (Windows::new(50).unwrap(), Random(2));
    let found = (0..300).filter(|_| {
        let shared = random.words(40, 10_000, 0).concat();
        let [a, b] = [0, 1].map(|_| {
            let around = [0, 1].map(|_| random.words(80, 10_000, 0).concat());
            keys(&windows, &format!("{}{shared}{}", around[0], around[1]))
        });
        !a.is_disjoint(&b)
    });
    // About .83 of the runs of 40 words are found.
    assert!((200..290).contains(&found.count()));
}

#[test]
fn few_windows_are_kept() {
    let mut random = Random(3);
    for (min_words, script, share) in [(50, 0, 0.051), (50, 1, 0.032), (100, 0, 0.0225)] {
        let text = random.words(100_000, 10_000, script).concat();
        let mut kept = 0;
        Windows::new(min_words).unwrap().keep(&Words::of(&text).unwrap(), |_, _| kept += 1);
        let found = f64::from(kept) / 1e5;
        assert!((found - share).abs() < share / 10.0, "{min_words} {script}: {found}");
    }
    // A text that repeats itself has few windows, which would be kept in any of hundreds of places.
    let mut kept = 0;
    let text = "buy now ".repeat(1000);
    Windows::new(50).unwrap().keep(&Words::of(&text).unwrap(), |_, _| kept += 1);
    assert!(kept < 60, "{kept}");
}

#[test]
fn runs_have_equal_hashes_if_their_words_are_equal() {
    let (windows, mut random) = (Windows::new(14).unwrap(), Random(4));
    let mut seen: HashMap<u64, Vec<String>> = HashMap::new();
    let mut repeated = 0;
    for script in [0, 1, 2].repeat(10) {
        let once = random.words(40, 3, script);
        let text = [once.clone(), once.clone(), once].concat();
        windows.runs(&Words::of(&text.concat()).unwrap(), |run| {
            let words = text[run.begin..run.end].to_vec();
            let hash = windows.hash(&Words::of(&text.concat()).unwrap(), &run);
            let length: usize =
                words.iter().map(|word| if word.starts_with(' ') { 8 } else { 5 }).sum();
            assert!((112..120).contains(&length) && run.is_full);
            let earlier = seen.insert(hash, words.clone());
            repeated += usize::from(earlier.is_some());
            assert!(earlier.is_none_or(|earlier| earlier == words));
        });
    }
    assert!(repeated > 1000 && seen.len() > 1000, "{repeated} {}", seen.len());
}

#[test]
fn words_are_those_of_pairs_and_their_places_are_in_the_original_text() {
    for text in [
        "One two, THREE_four; 5x",
        "x",
        "Straße ＡＢ１ ﬁne ÉTÉ e\u{301}te\u{301} naïve-ly, da\u{200b}ta",
        "我爱Rust和 Python。か\u{3099}っこう カタカナ\u{3000}ไทย한국어 текст",
        "हिन्दी كِتَابٌ a\u{308}\u{323}b… ①②中ﶃ",
        "",
        " . ",
    ] {
        let words = Words::of(text).unwrap();
        let mut tokens = Vec::new();
        AnyLanguage.cut(text, |token| tokens.push(token.to_owned()));
        assert_eq!(words.len(), tokens.len(), "{text}");
        let mut hash = 0u64;
        for (word, token) in tokens.iter().enumerate() {
            hash = hash.wrapping_mul(BASE).wrapping_add(xxh3(token.as_bytes()));
            assert_eq!(words.hashes[word + 1], hash, "{text}: {token}");
            let mut again = Vec::new();
            AnyLanguage.cut(&text[words.place(word..word + 1)], |it| again.push(it.to_owned()));
            assert!(again.contains(token), "{text}: {token} {again:?}");
        }
        let ends = words.place(0..words.len());
        assert_eq!(text.is_empty() || tokens.is_empty(), ends.is_empty());
    }
    let places = |text: &str| {
        let words = Words::of(text).unwrap();
        (0..words.len()).map(|word| words.place(word..word + 1)).collect::<Vec<_>>()
    };
    assert_eq!(places("an e\u{301}te\u{301}, 日本x"), [0..2, 3..10, 12..15, 15..18, 18..19]);
    assert_eq!(places("an…et①中ﶃ"), [0..2, 5..10, 10..13, 13..16]);
}

#[test]
fn kept_windows_are_those_of_the_runs() {
    let mut random = Random(5);
    for (round, script) in [0, 1, 2].repeat(100).into_iter().enumerate() {
        let text = random.words(1 + 3 * round, [2, 9, 100_000][round % 7 % 3], script).concat();
        let (windows, words) =
            (Windows::new([14, 50][round % 2]).unwrap(), Words::of(&text).unwrap());
        let (mut kept, mut of_runs) = (Vec::new(), Vec::new());
        windows.keep(&words, |key, window| kept.push((key, window.start)));
        windows.runs(&words, |run| of_runs.push((run.key, run.window)));
        of_runs.dedup_by_key(|window| window.1);
        assert_eq!(kept, of_runs);
    }
}

#[test]
fn short_texts_have_one_key() {
    let windows = Windows::new(50).unwrap();
    for text in ["one", "一", "one two three four", "一二三四五六七八九十"] {
        assert_eq!(keys(&windows, text).len(), 1);
        assert_eq!(keys(&windows, text), keys(&windows, &format!("({})", text.to_uppercase())));
    }
    assert!(keys(&windows, "...").is_empty());
    assert_ne!(keys(&windows, "one"), keys(&windows, "two"));
}

#[test]
fn keys_never_change() {
    let kept = |text: &str| {
        let mut kept = Vec::new();
        let words = Words::of(text).unwrap();
        Windows::new(50).unwrap().keep(&words, |key, words| kept.push((key, words.start)));
        kept
    };
    let numbers: String = (0..120).map(|number| format!("{number} ")).collect();
    let frozen = [
        (405_598_222_231_898_231, 16),
        (269_138_437_620_247_780, 53),
        (104_972_751_224_202_247, 77),
    ];
    assert_eq!(kept(&numbers), frozen);
    for (key, word) in frozen {
        let hashes = (word..word + 13).map(|word| xxh3(word.to_string().as_bytes()));
        let mut x = hashes.fold(0, |x: u64, hash| x.wrapping_mul(BASE).wrapping_add(hash));
        for _ in 0..2 {
            x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        assert_eq!(x ^ x >> 32, key);
    }
    let han: String = (0..120).filter_map(|c| char::from_u32(0x4e00 + c)).collect();
    assert_eq!(kept(&han), [(252_970_337_011_881_158, 22), (576_602_105_200_976_102, 49)]);
    assert_eq!(kept("A short text."), [(2_643_033_325_295_866_976, 0)]);
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let text = " ".repeat(Words::MAX_TEXT + 1);
    let message = Words::of(&text).unwrap_err().to_string();
    assert!(message.contains("at most 512 MiB"), "{message}");
}
