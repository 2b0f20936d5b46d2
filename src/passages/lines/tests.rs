use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// The words of a line, as people see them; an ideograph is a word.
fn words(line: &str) -> Vec<String> {
    let apart = line.replace('今', " 今 ").replace('天', " 天 ");
    let words = apart.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The spans, from the words of all lines.
fn by_brute_force(texts: &[String], unit: Unit, most: usize, min_words: usize) -> Vec<Span> {
    let mut rows: BTreeMap<Vec<String>, BTreeSet<usize>> = BTreeMap::new();
    let mut lines = Vec::new();
    for (row, text) in texts.iter().enumerate() {
        let places = match unit {
            Unit::Paragraph => paragraphs(text),
            _ => text
                .split_inclusive('\n')
                .map(|line| (line.as_ptr() as usize - text.as_ptr() as usize, line.len()))
                .collect(),
        };
        for (begin, len) in places {
            let words = words(&text[begin..begin + len]);
            if words.len() >= min_words {
                rows.entry(words.clone()).or_default().insert(row);
                lines.push((row, begin, begin + len, words));
            }
        }
    }
    let (mut firsts, mut spans) = (BTreeMap::new(), Vec::new());
    for (row, begin, end, words) in lines.into_iter().filter(|line| rows[&line.3].len() > most) {
        let byte = |at: usize| u32::try_from(at).unwrap();
        match firsts.get(&words) {
            None => drop(firsts.insert(words, (row, begin, end))),
            Some(&(source, from, to)) => spans.push(Span {
                row: row as u64,
                source: source as u64,
                begin: byte(begin),
                end: byte(end),
                source_begin: byte(from),
                source_end: byte(to),
            }),
        }
    }
    spans
}

/// Where paragraphs begin, and their lengths: after text and empty lines, the next text.
fn paragraphs(text: &str) -> Vec<(usize, usize)> {
    let (mut begins, mut at, mut was_blank) = (vec![0], 0, false);
    for line in text.split_inclusive('\n') {
        if was_blank && !line.trim().is_empty() {
            begins.push(at);
        }
        was_blank = line.trim().is_empty();
        at += line.len();
    }
    begins.push(at);
    begins.windows(2).map(|it| (it[0], it[1] - it[0])).collect()
}

/// Texts whose lines are of few words, with other cases, signs and ends.
fn texts(seed: u64) -> Vec<String> {
    let mut state = seed;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % n
    };
    let mut text = |_| {
        let mut text = String::new();
        for _ in 0..below(12) {
            for _ in 0..below(4) {
                let word = ["home", "About", "ABOUT", "7", "今天", "é"]
                    [usize::try_from(below(6)).unwrap()];
                text += word;
                text += [" ", ", ", " | ", "  "][usize::try_from(below(4)).unwrap()];
            }
            text += ["\n", "\r\n", "\n\n", "\n \n"][usize::try_from(below(4)).unwrap()];
        }
        text + ["", "last", "Home"][usize::try_from(below(3)).unwrap()]
    };
    (0..60).map(&mut text).collect()
}

#[test]
fn spans_are_all_lines_that_enough_texts_have_but_the_first_of_each() {
    let mut found_some = 0;
    for seed in 0..20 {
        let texts = texts(seed);
        for unit in [Unit::Line, Unit::Paragraph] {
            for (most, min_words) in [(1, 1), (2, 1), (5, 2), (40, 1), (1, 3)] {
                let search = Lines::default().unit(unit).most(most as u64).min_words(min_words);
                let expected = by_brute_force(&texts, unit, most, min_words);
                // In memory, and from files, which read in slices.
                for (memory, slice) in [(1 << 20, 60), (0, 7)] {
                    let search = search.clone().memory(memory);
                    let found = search.find(|each| {
                        let some: Vec<&str> = texts.iter().map(|text| &**text).collect();
                        some.chunks(slice).try_for_each(each)
                    });
                    assert_eq!(
                        found.unwrap().spans,
                        expected,
                        "{seed} {unit:?} {most} {min_words}"
                    );
                }
                found_some += expected.len();
            }
        }
    }
    assert!(found_some > 1000, "{found_some}");
}

#[test]
fn texts_that_differ_the_second_time_are_refused() {
    let mut times = 0;
    let found = Lines::default().find(|each| {
        times += 1;
        each(&["a", "b", "c"][..4 - times])
    });
    assert!(found.unwrap_err().to_string().contains("row 2: the texts differ"));
}
