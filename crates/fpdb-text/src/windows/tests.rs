use std::collections::{HashMap, HashSet};

use super::*;
use crate::cut::{AnyLanguage, Cut};
use crate::hash::xxh3_with_seed;

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

fn kept(windows: &Windows, text: &str) -> HashSet<u64> {
    let mut kept = HashSet::new();
    windows.keep(&Words::of(text, 7).unwrap(), |hash, _| {
        kept.insert(hash);
    });
    kept
}

#[test]
fn texts_that_share_a_run_of_min_words_share_a_window() {
    let mut random = Random(1);
    for min_words in [14, 20, 50] {
        let windows = Windows::new(min_words, 7).unwrap();
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
            let (a, b) = (kept(&windows, &a), kept(&windows, &b));
            assert!(!a.is_disjoint(&b), "{min_words} {script} {vocabulary}");
        }
    }
}

#[test]
fn shorter_runs_are_often_but_not_always_found() {
    let (windows, mut random) = (Windows::new(50, 7).unwrap(), Random(2));
    let found = (0..300).filter(|_| {
        let shared = random.words(40, 10_000, 0).concat();
        let [a, b] = [0, 1].map(|_| {
            let around = [0, 1].map(|_| random.words(80, 10_000, 0).concat());
            kept(&windows, &format!("{}{shared}{}", around[0], around[1]))
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
        Windows::new(min_words, 7).unwrap().keep(&Words::of(&text, 7).unwrap(), |_, _| kept += 1);
        let found = f64::from(kept) / 1e5;
        assert!((found - share).abs() < share / 10.0, "{min_words} {script}: {found}");
    }
    // A text that repeats itself has few windows, which would be kept in any of hundreds of places.
    let mut kept = 0;
    let text = "buy now ".repeat(1000);
    Windows::new(50, 7).unwrap().keep(&Words::of(&text, 7).unwrap(), |_, _| kept += 1);
    assert!(kept < 60, "{kept}");
}

#[test]
fn runs_have_equal_hashes_if_their_words_are_equal() {
    let (windows, mut random) = (Windows::new(14, 7).unwrap(), Random(4));
    let mut seen: HashMap<u64, Vec<String>> = HashMap::new();
    let mut repeated = 0;
    for script in [0, 1, 2].repeat(10) {
        let once = random.words(40, 3, script);
        let text = [once.clone(), once.clone(), once].concat();
        windows.runs(&Words::of(&text.concat(), 7).unwrap(), |run| {
            let words = text[run.begin..run.end].to_vec();
            let length: usize =
                words.iter().map(|word| if word.starts_with(' ') { 8 } else { 5 }).sum();
            assert!((112..120).contains(&length) && run.is_full);
            let earlier = seen.insert(run.hash, words.clone());
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
        let words = Words::of(text, 7).unwrap();
        let mut tokens = Vec::new();
        AnyLanguage.cut(text, |token| tokens.push(token.to_owned()));
        assert_eq!(words.len(), tokens.len(), "{text}");
        let hashes = tokens.iter().map(|token| xxh3_with_seed(token.as_bytes(), 7));
        assert!(words.hashes().eq(hashes), "{text}");
        for (word, token) in tokens.iter().enumerate() {
            let mut again = Vec::new();
            AnyLanguage.cut(&text[words.place(word..word + 1)], |it| again.push(it.to_owned()));
            assert!(again.contains(token), "{text}: {token} {again:?}");
        }
        let ends = words.place(0..words.len());
        assert_eq!(text.is_empty() || tokens.is_empty(), ends.is_empty());
    }
    let places = |text: &str| {
        let words = Words::of(text, 7).unwrap();
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
            (Windows::new([14, 50][round % 2], 7).unwrap(), Words::of(&text, 7).unwrap());
        let (mut kept, mut of_runs) = (Vec::new(), Vec::new());
        windows.keep(&words, |hash, window| kept.push((hash, window.start)));
        windows.runs(&words, |run| of_runs.push((run.window_hash, run.window)));
        of_runs.dedup_by_key(|window| window.1);
        assert_eq!(kept, of_runs);
    }
}

#[test]
fn short_texts_have_one_window() {
    let windows = Windows::new(50, 7).unwrap();
    for text in ["one", "一", "one two three four", "一二三四五六七八九十"] {
        assert_eq!(kept(&windows, text).len(), 1);
        assert_eq!(kept(&windows, text), kept(&windows, &format!("({})", text.to_uppercase())));
    }
    assert!(kept(&windows, "...").is_empty());
    assert_ne!(kept(&windows, "one"), kept(&windows, "two"));
}

#[test]
fn hashes_of_a_seed_never_change() {
    let kept = |text: &str, seed| {
        let mut kept = Vec::new();
        let words = Words::of(text, seed).unwrap();
        Windows::new(50, seed).unwrap().keep(&words, |hash, words| kept.push((hash, words.start)));
        kept
    };
    let numbers: String = (0..80).map(|number| format!("{number} ")).collect();
    for (seed, frozen) in [
        (
            0,
            vec![
                (247_830_358_488_213_456, 6),
                (263_303_959_820_236_641, 15),
                (1_300_724_850_058_785_051, 40),
                (1_263_285_279_448_212_871, 67),
            ],
        ),
        (
            0x0123_4567_89ab_cdef,
            vec![
                (285_622_478_382_666_644, 0),
                (777_195_167_481_646_585, 37),
                (659_510_117_603_688_879, 39),
            ],
        ),
    ] {
        let found = kept(&numbers, seed);
        // From the definition, in wide numbers.
        let prime = (1 << 64) - 59;
        let base = u128::from(xxh3_with_seed(b"", seed)) % prime;
        for &(hash, word) in &found {
            let words = (word..word + 13).map(|word| word.to_string());
            let hashes = words.map(|word| xxh3_with_seed(word.as_bytes(), seed));
            let x = hashes.fold(0, |x, hash| (x * base + u128::from(hash)) % prime);
            let mut x = u64::try_from(x).unwrap();
            for _ in 0..2 {
                x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
            }
            assert_eq!(x ^ x >> 32, hash);
        }
        assert_eq!(found, frozen);
    }
    let han: String = (0..80).filter_map(|c| char::from_u32(0x4e00 + c)).collect();
    assert_eq!(kept(&han, 7), [(303_061_814_236_947_455, 52)]);
    assert_eq!(kept("A short text.", 7), [(3_571_545_778_763_316_264, 0)]);
}

/// The Thue-Morse sequence of two words, of which one is the first.
fn thue_morse(count: u32, [first, second]: [&str; 2]) -> String {
    (0..count).map(|i| [first, second][i.count_ones() as usize % 2]).collect::<Vec<_>>().join(" ")
}

#[test]
fn sequences_that_collide_modulo_powers_of_two_have_different_hashes() {
    // The hashes with seed 0 of the words of each pair but the first have many low bits in common.
    for [a, b] in [["0", "1"], ["kalogadej", "retidex"], ["4a130e", "594a7c"]] {
        for seed in 0..100 {
            for count in [32, 64, 128, 256, 512, 1024] {
                let [a, b] =
                    [[a, b], [b, a]].map(|pair| Words::of(&thue_morse(count, pair), seed).unwrap());
                let polynomial = Polynomial::new(seed, 1024);
                let hash = |words: &Words| *polynomial.before(words).last().unwrap();
                assert_ne!(hash(&a), hash(&b), "{seed} {count}");
                let all = 0..a.len();
                assert_ne!(a.hash(all.clone()), b.hash(all.clone()));
                assert!(!a.are_same(all.clone(), &b, all));
            }
        }
    }
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let text = " ".repeat(Words::MAX_TEXT + 1);
    let message = Words::of(&text, 7).unwrap_err().to_string();
    assert!(message.contains("at most 512 MiB"), "{message}");
}
