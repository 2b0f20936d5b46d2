use unicode_normalization::UnicodeNormalization;

use crate::hash::xxh3;
use crate::minhash::one_bit;
use crate::{Recipe, distance};

const ENGLISH: &str = "The library closes at six in the evening, and books that are due today can be \
    returned through the slot beside the main entrance until midnight.";
const CHINESE: &str = "图书馆晚上六点闭馆，今天到期的图书可以在午夜之前通过正门旁边的还书口归还。";
const MIXED: &str = "本次升级修复了 HTTP/2 连接泄漏的问题，请所有用户尽快更新到 Release 4.2.1，\
    详细说明见 changelog 页面。";

/// "The market is closed today because it rains, and the new road is open."
const THAI: &str = "วันนี้ตลาดปิดเพราะฝนตก และถนนใหม่ใกล้โรงเรียน (Route 7) เปิดแล้ว";

const OURS: &[&str] = &[
    "pairs/1",
    #[cfg(feature = "zh")]
    "pairs-zh/1",
    "pairs-short/1",
    "fives/1",
];

fn fingerprint(recipe: &str, text: &str) -> Option<u64> {
    Recipe::named(recipe).unwrap().fingerprint(text).fingerprint
}

#[test]
fn invisible_edits_change_nothing() {
    type Rewrite = (&'static str, fn(&str) -> String);
    let rewrite: [Rewrite; 9] = [
        ("line breaks", |t| t.replace(' ', "\r\n \u{a0}\t")),
        ("zero width", |t| t.chars().flat_map(|c| [c, '\u{200b}']).collect()),
        ("soft hyphens", |t| t.chars().flat_map(|c| [c, '\u{ad}']).collect()),
        ("upper case", str::to_uppercase),
        ("decomposed", |t| t.nfd().collect()),
        ("full width", |t| {
            let wide = |c: char| char::from_u32(u32::from(c) + 0xfee0);
            t.chars().map(|c| if ('!'..='~').contains(&c) { wide(c).unwrap() } else { c }).collect()
        }),
        ("punctuation", |t| t.replace([',', '.', '，', '。'], " -- ")),
        ("underscores", |t| format!("{0}\n{t}\n{0}\n***\n", "_".repeat(70))),
        ("quoted", |t| t.lines().map(|line| format!("> > {line}\n")).collect()),
    ];
    for recipe in OURS {
        for text in [ENGLISH, MIXED, CHINESE, THAI] {
            for (what, rewrite) in rewrite {
                let rewritten = rewrite(text);
                let same = fingerprint(recipe, &rewritten) == fingerprint(recipe, text);
                assert!(same, "{recipe}, {what}: {rewritten}");
            }
        }
    }
}

#[test]
fn spaces_between_han_characters_are_ignored() {
    let spaced: String = CHINESE.chars().flat_map(|c| [c, ' ', '\n', '\u{3000}']).collect();
    for recipe in OURS {
        assert_eq!(fingerprint(recipe, &spaced), fingerprint(recipe, CHINESE), "{recipe}");
    }
}

/// A second, slow implementation that follows the description of the recipes.
#[test]
fn pairs_and_fives_agree_with_their_description() {
    let described = |text: &str, n: usize, letters: usize| {
        let mut tokens: Vec<String> = vec![String::new()];
        for c in text.nfkc().flat_map(char::to_lowercase) {
            match c {
                '\u{200b}' | '\u{ad}' | '\u{301}' | '\u{e48}'..='\u{e4e}' => {}
                '\u{4e00}'..='\u{9fff}' | 'の' | 'ก'..='\u{e4d}' => {
                    tokens.extend([c.to_string(), String::new()]);
                }
                _ if c.is_alphanumeric() => tokens.last_mut().unwrap().push(c),
                _ => tokens.push(String::new()),
            }
        }
        tokens.retain(|token| !token.is_empty());
        let hashes: Vec<u64> = tokens.iter().map(|token| xxh3(token.as_bytes())).collect();
        let run = |end: usize| {
            let thai = ('ก'..='\u{e4d}').contains(&tokens[end].chars().next().unwrap());
            let start = (end + 1).checked_sub(if thai { letters } else { n })?;
            let more = |sum: u64, &hash: &u64| sum.rotate_left(1).wrapping_add(hash);
            Some(hashes[start + 1..=end].iter().fold(hashes[start], more))
        };
        one_bit::<u64>(&(0..tokens.len()).filter_map(run).collect::<Vec<_>>())
    };
    let odd = "Ｆｕｌｌ　ｗｉｄｔｈ ﬁne, cafe\u{301}, zero\u{200b}width, 中文abc中文 の 12。x";
    for text in [ENGLISH, CHINESE, MIXED, odd, THAI] {
        assert_eq!(fingerprint("pairs/1", text), described(text, 2, 6), "{text}");
        assert_eq!(fingerprint("fives/1", text), described(text, 5, 15), "{text}");
    }
}

#[test]
fn a_fingerprint_needs_four_distinct_pairs() {
    let recipe = Recipe::named("pairs/1").unwrap();
    for (text, features) in [("", 0), ("one", 0), ("one two", 1), ("no no no no no no no", 1)] {
        let found = recipe.fingerprint(text);
        assert_eq!((found.fingerprint, found.features), (None, features), "{text}");
    }
    assert_eq!(recipe.fingerprint("one two three four").fingerprint, None);
    let enough = recipe.fingerprint("one two three four five");
    assert!(enough.fingerprint.is_some());
    assert_eq!(enough.features, 4);
    assert_eq!(recipe.fingerprint("one two three four five four five").features, 6);
}

#[test]
fn every_short_text_with_a_token_has_a_fingerprint() {
    let recipe = Recipe::named("pairs-short/1").unwrap();
    let mut found = Vec::new();
    for text in ["ok", "OK!", "好", "不好", "好不", "好 好", "404", "ดี", "ก"] {
        found.push(recipe.fingerprint(text).fingerprint.unwrap());
    }
    assert_eq!(found[0], found[1]);
    for (i, a) in found[1..].iter().enumerate() {
        assert!(found[i + 2..].iter().all(|b| distance(*a, *b) > 8), "{i}");
    }
    for text in ["", "  ", "...!?", "___"] {
        assert_eq!(recipe.fingerprint(text).fingerprint, None, "{text}");
    }
}

#[test]
fn distance_grows_with_the_share_of_different_pairs() {
    let words: Vec<String> = (0..3000u32).map(|i| format!("w{}", i * 7919 % 3001)).collect();
    for (changed, at_most) in [(0, 0), (50, 7), (300, 20)] {
        let mut edited = words.clone();
        // Each changed word changes two pairs: J = (3000 - 2 c) / (3000 + 2 c).
        for i in 0..changed {
            edited[i * words.len() / changed.max(1)] = format!("new{i}");
        }
        let [a, b] = [&words, &edited].map(|w| fingerprint("pairs/1", &w.join(" ")).unwrap());
        let distance = distance(a, b);
        assert!(distance <= at_most, "{changed} changed: {distance}");
        assert!(changed < 300 || distance >= 4, "{distance}");
    }
}

#[test]
fn features_are_the_distinct_pairs() {
    let pairs = Recipe::named("pairs/1").unwrap();
    for (text, count) in [("", 0), ("one", 0), ("Tick tock, tick tock", 2), ("a a a a b a a", 3)] {
        assert_eq!(pairs.features(text).len(), count, "{text}");
    }
    let edited = pairs.features(&ENGLISH.replace("evening", "day"));
    assert_eq!(pairs.features(ENGLISH).len(), pairs.features(ENGLISH).shared(&edited) + 2);
    for recipe in OURS {
        let recipe = Recipe::named(recipe).unwrap();
        for text in [ENGLISH, MIXED, CHINESE, THAI, "", "one", "a a a a b a a"] {
            let (fingerprint, found) = recipe.fingerprint_with_features(text);
            assert_eq!(fingerprint, recipe.fingerprint(text));
            assert!(fingerprint.fingerprint.is_none() || found == recipe.features(text), "{text}");
        }
    }
}

#[test]
fn runs_of_any_length_are_cut_as_the_features_are() {
    for (recipe, n) in [("pairs/1", 2), ("fives/1", 5)] {
        let recipe = Recipe::for_sketches(recipe).unwrap();
        for text in [ENGLISH, MIXED, CHINESE, THAI, "", "one", "a a a a b a a"] {
            assert_eq!(recipe.runs(text, n).hashes(), recipe.features(text).hashes(), "{text}");
        }
    }
    let recipe = Recipe::named("pairs/1").unwrap();
    assert_eq!(recipe.runs("die größe der straße", 3), recipe.runs("DIE GRÖSSE DER STRASSE", 3));
    assert_eq!(recipe.runs("one two three", 0), recipe.runs("one two three", 1));
    assert!(recipe.runs("one two three", usize::MAX).is_empty());
}
