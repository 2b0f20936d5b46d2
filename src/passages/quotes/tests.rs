use crate::passages::{Passages, Span};

/// Words that differ from those of other numbers.
fn words(from: usize, count: usize) -> Vec<String> {
    (from..from + count).map(|number| format!("word{number}")).collect()
}

fn find(texts: &[String], gaps: u16, memory: u64, slice: usize) -> super::Found {
    let search = Passages::new(30).unwrap().gaps(gaps).unwrap().seed(7).memory(memory);
    let found = search.find(|each| {
        let some: Vec<&str> = texts.iter().map(|text| &**text).collect();
        some.chunks(slice).try_for_each(&mut *each)
    });
    found.unwrap()
}

/// Which words of the quote in a text are new. In every second one, a run is long enough for a
/// passage, which leads to the source.
fn places(number: usize) -> &'static [usize] {
    if number.is_multiple_of(2) { &[10, 50] } else { &[10, 30, 50] }
}

/// Texts, of which every second one has a quote of 60 words of the text before, with new words.
fn texts() -> Vec<String> {
    let mut texts = Vec::new();
    for number in 0..40 {
        let source = words(1000 * number, 200);
        let mut quote = source[50..110].to_vec();
        for place in places(number) {
            quote[*place] = format!("new{number}x{place}");
        }
        texts.push(source.join(" "));
        let [before, after] = [500_000, 700_000].map(|from| words(from + 100 * number, 30));
        texts.push([before, quote, after].concat().join(" "));
    }
    texts
}

#[test]
fn quotes_with_changed_words_are_one_span_from_one_source() {
    let texts = texts();
    let expected = find(&texts, 5, 1 << 20, 100);
    let rows: Vec<usize> =
        expected.spans.iter().map(|it| usize::try_from(it.row).unwrap()).collect();
    // A window that is kept leads to most others.
    let always = rows.iter().filter(|row| *row / 2 % 2 == 0).count();
    assert!(always == 20 && rows.len() > 26, "{rows:?}");
    for span in &expected.spans {
        let row = usize::try_from(span.row).unwrap();
        assert_eq!(span.source + 1, span.row);
        let quote = &texts[row][span.bytes()];
        assert_eq!(quote.split(' ').count(), 60, "{quote}");
        assert_eq!(texts[row - 1][span.source_bytes()].split(' ').count(), 60);
        let own = expected.changes.iter().filter(|change| change.row == span.row);
        let changed: Vec<_> = own.map(|change| texts[row][change.bytes()].trim()).collect();
        let number = row / 2;
        let new: Vec<_> =
            places(number).iter().map(|place| format!("new{number}x{place}")).collect();
        assert_eq!(changed, new);
    }
    assert_eq!(find(&texts, 5, 0, 7), expected);
    // Without gaps, only the long runs are found.
    let exact = find(&texts, 0, 1 << 20, 100);
    assert!(exact.spans.len() == 20 && exact.changes.is_empty());
}

#[test]
fn exact_passages_stay_unless_they_are_in_a_quote() {
    let mut texts = texts();
    // A copy of a source, and 35 words of one.
    texts.push(texts[0].clone());
    texts.push(format!("{} {}", words(900_000, 50).join(" "), words(0, 35).join(" ")));
    let (exact, found) = (find(&texts, 0, 1 << 20, 100), find(&texts, 5, 1 << 20, 100));
    let is_in = |span: &Span, quote: &Span| {
        quote.row == span.row && quote.begin <= span.begin && span.end <= quote.end
    };
    for span in &exact.spans {
        assert_eq!(found.spans.iter().filter(|quote| is_in(span, quote)).count(), 1, "{span:?}");
    }
    let whole = |spans: &[Span]| {
        let own = spans.iter().filter(|span| span.row >= 80);
        own.map(|span| (span.row, span.source, span.bytes())).collect::<Vec<_>>()
    };
    assert_eq!(whole(&found.spans), whole(&exact.spans));
    assert_eq!(whole(&exact.spans).len(), 2);
    assert!(found.spans.is_sorted_by_key(|span| (span.row, span.begin)));
}

#[test]
fn texts_that_differ_are_refused_in_each_pass() {
    let all = ["a", "b", "c"];
    for wrong in 1..=4 {
        let mut times = 0;
        let found = Passages::new(30).unwrap().gaps(5).unwrap().find(|each| {
            times += 1;
            each(if times == wrong { &all[..2] } else { &all })
        });
        assert!(found.unwrap_err().to_string().contains("the texts differ"), "pass {wrong}");
        assert_eq!(times, wrong.max(2));
    }
}
