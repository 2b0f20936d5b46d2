use super::texts::marked;
use super::*;

const HOSTILE: &str = "</p></td><script>alert(1)</script><img src=x onerror=\"alert(2)\">&amp;\0'";

fn report() -> Report {
    let mut measured = Measured::new(Measure::Similarity, 0.8);
    [0.8, 0.85, 0.9, 1.0, 1.0].into_iter().for_each(|similarity| measured.add(similarity));
    let pair = Pair {
        row: HOSTILE.to_owned(),
        of: HOSTILE.to_owned(),
        measured: HOSTILE.to_owned(),
        text: Some(HOSTILE.to_owned()),
        other: Some("other".to_owned()),
    };
    let repeated = Repeated {
        row: HOSTILE.to_owned(),
        text: HOSTILE.repeat(9),
        parts: vec![
            (3..20, HOSTILE.to_owned()),
            (10..30, "elsewhere".to_owned()),
            (70..usize::MAX, HOSTILE.to_owned()),
        ],
    };
    Report {
        title: HOSTILE.to_owned(),
        figures: vec![(HOSTILE.to_owned(), HOSTILE.to_owned())],
        rows: 12_345,
        kept: 12_340,
        measured: Some(measured),
        clusters: vec![(HOSTILE.to_owned(), 4), ("largest".to_owned(), 1_000_000)],
        pairs: vec![pair],
        repeated: vec![repeated],
    }
}

#[test]
fn no_text_becomes_markup_and_nothing_is_loaded() {
    for shown in [report().document(), report().summary()] {
        for markup in ["<script", "<img", "onerror=\"", "http:", "https:", "url(", "@import", "\0"]
        {
            assert!(!shown.contains(markup), "{markup}");
        }
        // What is opened is closed, in order.
        let mut open = Vec::new();
        for tag in shown.split('<').skip(1) {
            let name = tag.split(['>', ' ']).next().unwrap();
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name)),
                None if ["!doctype", "meta", "br"].contains(&name) || tag.contains("/>") => {}
                None => open.push(name),
            }
        }
        assert!(open.is_empty());
    }
}

#[test]
fn the_rows_at_each_threshold_are_those_that_were_counted() {
    let document = report().document();
    let row = |cells: [&str; 4]| {
        cells.iter().map(|cell| format!("<td class=number>{cell}</td>")).collect::<String>()
    };
    assert!(document.contains(&row(["0.8", "12,340", "5", "100.0%"])));
    assert!(document.contains(&row(["0.9", "12,342", "3", "100.0%"])));
    assert!(document.contains(&row(["1", "12,343", "2", "100.0%"])));
    let counts: Vec<u64> = report().measured.unwrap().bars().iter().map(|bar| bar.count).collect();
    assert_eq!((counts.iter().sum::<u64>(), counts.last()), (5, Some(&2)));
}

#[test]
fn distances_have_a_bar_each() {
    let mut measured = Measured::new(Measure::Distance, 3.0);
    [0.0, 0.0, 2.0, 3.0].into_iter().for_each(|distance| measured.add(distance));
    let bars = measured.bars();
    assert!(bars.iter().map(|bar| bar.count).eq([2, 0, 1, 1]));
    assert_eq!(measured.returning(), [(3.0, 0), (2.0, 1), (1.0, 2), (0.0, 2)]);
    let report = Report { rows: 10, kept: 6, measured: Some(measured), ..Report::default() };
    assert!(report.document().contains("<title>2: 1</title>"));
}

#[test]
fn the_words_that_only_one_text_has_are_marked() {
    let marked = |a, b| marked(Some(a), Some(b));
    let (a, b) = marked("one <two> three", "one two four");
    assert_eq!((&*a, &*b), ("one &lt;two&gt; <b>three</b>", "one two <b>four</b>"));
    // Each ideograph is a word, and a word that stands elsewhere is another one.
    let (a, b) = marked("他在北京", "他在东京");
    assert_eq!((&*a, &*b), ("他在<b>北</b>京", "他在<b>东</b>京"));
    let (a, _) = marked("a b a", "b a");
    assert_eq!(a, "<b>a</b> b a");
    // The rest of what was cut off is not known.
    let (a, b) = marked("one two thr...", "one new two three...");
    assert_eq!((&*a, &*b), ("one two thr...", "one <b>new</b> two three..."));
    assert_eq!(texts::marked(None, Some("<")).1, "&lt;");
}

#[test]
fn a_report_does_not_grow_with_its_rows() {
    let mut report = report();
    report.clusters = (0..100_000).map(|row| (format!("row {row}"), row)).collect();
    report.repeated[0].text = "long ".repeat(1_000_000);
    report.repeated[0].parts =
        (0..400_000).map(|at| (at * 10..at * 10 + 8, String::new())).collect();
    let document = report.document();
    assert!(document.len() < 50_000 && document.contains("and 399,995 more"), "{}", document.len());
}

#[test]
fn a_collector_keeps_the_least_similar_pairs_and_the_largest_clusters() {
    let mut collector = Collector::new(Measure::Similarity, 0.8, &std::env::temp_dir()).unwrap();
    for row in 0..100 {
        collector.kept(&format!("kept{row}"), &format!("text of {row}")).unwrap();
        for copy in 0..row {
            let value = 1.0 - f64::from(row) / 1000.0;
            let (name, of) = (format!("{row}/{copy}"), format!("kept{row}"));
            collector.dropped(&name, "dropped", &of, Some((value, value.to_string()))).unwrap();
        }
    }
    collector.dropped("again", "dropped", "kept7", None).unwrap();
    collector.dropped("new", "text", "earlier", Some((0.8, "0.8".to_owned()))).unwrap();
    let report = collector.report("title", Vec::new());
    assert_eq!((report.rows, report.kept), (100 + 4950 + 2, 100));
    assert_eq!(report.clusters[0], ("kept99".to_owned(), 99));
    assert_eq!((report.clusters.len(), report.pairs.len()), (20, 20));
    assert_eq!((&*report.pairs[0].row, report.pairs[0].other.as_deref()), ("new", None));
    let second = &report.pairs[1];
    assert_eq!((&*second.row, second.other.as_deref()), ("99/0", Some("text of 99")));
    assert_eq!(report.measured.unwrap().count(), 4951);
}
