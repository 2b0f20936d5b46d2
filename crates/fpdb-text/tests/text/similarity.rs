//! Checks the exact similarity of real texts against figures of another program.

use std::collections::HashMap;
use std::path::Path;

use fpdb_text::jaccard::Shingles;
use fpdb_text::minhash::{
    Bands, jaccard_of_minima, jaccard_of_smallest, minima, one_bit, smallest,
};
use fpdb_text::{Recipe, Sketch, Width, distance};

use crate::{DOCUMENTS, in_repository, larger_collection, lines, read, text};

pub(crate) struct Pair {
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) jaccard: f64,
}

/// Shingles by document id. Some documents share an id.
type Documents = HashMap<String, Vec<Shingles>>;

/// Returns the shingles of all documents of a file: words for English, otherwise characters.
fn shingles(file: &Path, language: &str) -> Documents {
    let of = match language {
        "en" => |text: &str| Shingles::of_words(text, 3),
        _ => |text: &str| Shingles::of_characters(text, 5),
    };
    let mut all = Documents::new();
    for document in lines(&read(file)) {
        let id = text(&document, "id").to_owned();
        all.entry(id).or_default().push(of(text(&document, "text")));
    }
    all
}

pub(crate) fn pairs(file: &Path) -> Vec<Pair> {
    let table = read(file);
    let pairs = table.lines().skip(1).map(|line| {
        let columns: Vec<_> = line.split('\t').collect();
        let jaccard = columns[columns.len() - 1].parse().unwrap();
        Pair { a: columns[0].to_owned(), b: columns[1].to_owned(), jaccard }
    });
    pairs.collect()
}

/// Whether any two documents with the ids have this similarity, compared to four digits.
fn similar(a: &[Shingles], b: &[Shingles], expected: f64) -> bool {
    let close = |a: &Shingles, b: &Shingles| (a.jaccard(b) - expected).abs() < 0.000_05 + 1e-9;
    a.iter().any(|a| b.iter().any(|b| close(a, b)))
}

/// Checks the similarity of every pair that is listed in the file of labels.
fn assert_pairs(bases: &Documents, others: &Documents, labels: &Path, count: usize) {
    let pairs = pairs(labels);
    let labels = labels.display();
    assert!(pairs.len() >= count, "{labels} has {} pairs", pairs.len());
    for Pair { a, b, jaccard } in pairs {
        assert!(similar(&bases[&a], &others[&b], jaccard), "{labels}: {a} and {b}: {jaccard}");
    }
}

#[test]
fn similarities_in_the_sample_are_those_of_another_program() {
    let data = in_repository("tests/data");
    for (language, natural, edited) in [("zh", 74, 84), ("en", 2, 144)] {
        let file = |name: &str| data.join(name.replace('*', language));
        let bases = shingles(&in_repository(DOCUMENTS), language);
        let variants = shingles(&file("variants_*.ndjson.gz"), language);
        assert_pairs(&bases, &variants, &file("variants_*_labels.tsv"), edited);
        assert_pairs(&bases, &bases, &file("pairs_*.tsv"), natural);
    }
}

#[test]
fn similarities_of_paragraphs_in_the_sample_are_those_of_another_program() {
    let documents = lines(&read(&in_repository(DOCUMENTS)));
    let chinese = documents.iter().filter(|document| !text(document, "id").starts_with("gnome/C/"));
    let lines = chinese.flat_map(|document| text(document, "text").lines());
    let paragraphs = lines.filter(|line| (30..=300).contains(&line.chars().count()));
    let paragraphs: Documents = paragraphs
        .enumerate()
        .map(|(n, text)| (n.to_string(), vec![Shingles::of_characters(text, 5)]))
        .collect();
    let labels = in_repository("tests/data/pairs_short_zh.tsv");
    assert_pairs(&paragraphs, &paragraphs, &labels, 1410);
}

#[test]
fn similarities_in_the_larger_collection_are_those_of_another_program() {
    let Some(data) = larger_collection() else { return };
    for language in ["zh", "en"] {
        let file = |name: &str| data.join(name.replace('*', language));
        let bases = shingles(&file("corpus_*.ndjson.gz"), language);
        let variants = shingles(&file("variants_*.ndjson.gz"), language);
        assert_pairs(&bases, &variants, &file("variants_*_labels.tsv"), 301);
        assert_pairs(&bases, &bases, &file("pairs_natural_*.tsv"), 301);
    }
    let reviews = shingles(&data.join("reviews_zh.ndjson.gz"), "zh");
    assert_pairs(&reviews, &reviews, &data.join("pairs_natural_reviews_zh.tsv"), 301);
}

/// What sketches promise for sets of random elements must hold for real texts too.
#[test]
fn sketches_estimate_the_similarity_of_real_texts() {
    let data = in_repository("tests/data");
    for language in ["zh", "en"] {
        let bases = shingles(&in_repository(DOCUMENTS), language);
        let variants = shingles(&data.join(format!("variants_{language}.ndjson.gz")), language);
        let labels = pairs(&data.join(format!("variants_{language}_labels.tsv")));
        // The fewer pairs, the less the errors average out.
        check_sketches(&bases, &variants, &labels, 0.02);
    }
    let Some(data) = larger_collection() else { return };
    let bases = shingles(&data.join("corpus_zh.ndjson.gz"), "zh");
    let variants = shingles(&data.join("variants_zh.ndjson.gz"), "zh");
    check_sketches(&bases, &variants, &pairs(&data.join("variants_zh_labels.tsv")), 0.01);
}

fn check_sketches(bases: &Documents, variants: &Documents, pairs: &[Pair], max_bias: f64) {
    type Estimate = fn(&Shingles, &Shingles) -> f64;
    let estimates: [(&str, Estimate, f64); 4] = [
        ("64 bits", one_bit_estimate::<u64>, 0.08),
        ("sketch", one_bit_estimate::<Sketch>, 0.05),
        ("minima", |a, b| of_minima(a, b).0, 0.05),
        ("smallest", |a, b| of_smallest(a, b).0, 0.05),
    ];
    for (name, estimate, max_spread) in estimates {
        let (mut errors, mut squares) = (0.0, 0.0);
        for Pair { a, b, .. } in pairs {
            let (a, b) = (&bases[a][0], &variants[b][0]);
            let error = estimate(a, b) - a.jaccard(b);
            errors += error;
            squares += error * error;
        }
        let n = pairs.len() as f64;
        let (bias, spread) = (errors / n, (squares / n).sqrt());
        assert!(bias.abs() < max_bias, "{name}: bias {bias:.4}");
        assert!(spread < max_spread, "{name}: spread {spread:.4}");
    }
}

fn one_bit_estimate<F: Width>(a: &Shingles, b: &Shingles) -> f64 {
    let [x, y] = [a, b].map(|set| one_bit::<F>(set.hashes()).unwrap());
    Recipe::<F>::find("pairs/1").unwrap().similarity(distance(x, y)).unwrap().0
}

/// The estimate and its standard error, from 128 minima.
fn of_minima(a: &Shingles, b: &Shingles) -> (f64, f64) {
    let [a, b] = [a, b].map(|set| minima(set.hashes(), 128).unwrap());
    jaccard_of_minima(&a, &b).unwrap()
}

fn of_smallest(a: &Shingles, b: &Shingles) -> (f64, f64) {
    let [a, b] = [a, b].map(|set| smallest(set.hashes(), 128));
    jaccard_of_smallest(&a, &b, 128).unwrap()
}

/// The edited documents and their originals.
fn real_pairs() -> Vec<(Shingles, Shingles)> {
    let data = in_repository("tests/data");
    let of_language = |language: &str| {
        let bases = shingles(&in_repository(DOCUMENTS), language);
        let variants = shingles(&data.join(format!("variants_{language}.ndjson.gz")), language);
        let labels = pairs(&data.join(format!("variants_{language}_labels.tsv")));
        let sets = |pair: Pair| (bases[&pair.a][0].clone(), variants[&pair.b][0].clone());
        labels.into_iter().map(sets).collect::<Vec<_>>()
    };
    ["zh", "en"].into_iter().flat_map(of_language).collect()
}

/// Of normal errors, 99.7 % would be within three standard errors. These are of few minima, and the
/// error is estimated, too.
#[test]
fn estimates_from_minima_are_within_their_error_of_the_exact_similarity_of_real_texts() {
    let pairs = real_pairs();
    for estimate in [of_minima, of_smallest] {
        let within = |errors: f64| {
            let near = |(a, b): &&(Shingles, Shingles)| {
                let (found, error) = estimate(a, b);
                (found - a.jaccard(b)).abs() <= errors * error.max(0.01)
            };
            pairs.iter().filter(near).count() as f64 / pairs.len() as f64
        };
        assert!(pairs.len() > 200 && within(1.0) > 0.6 && within(3.0) > 0.97);
    }
}

#[test]
fn bands_find_the_share_of_real_pairs_that_their_probability_tells() {
    let pairs = real_pairs();
    for (b, r) in [(32, 4), (8, 16), (4, 32)] {
        let bands = Bands::new(b, r).unwrap();
        let hashes = |set: &Shingles| -> Vec<u64> {
            bands.hashes(&minima(set.hashes(), bands.minima()).unwrap()).collect()
        };
        let (mut found, mut expected, mut variance) = (0.0, 0.0, 0.0);
        for (x, y) in &pairs {
            found += f64::from(hashes(x).iter().zip(hashes(y)).any(|(x, y)| *x == y));
            let probability = bands.probability(x.jaccard(y));
            expected += probability;
            variance += probability * (1.0 - probability);
        }
        // Pairs of the same original have minima in common.
        let most = 6.0 * variance.sqrt() + 0.5;
        assert!(f64::abs(found - expected) <= most, "{bands:?}: {found} for {expected}");
    }
}
