//! Compares the exact similarity of real texts with the figures of another program.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use fpdb_text::distance;
use fpdb_text::jaccard::Shingles;
use fpdb_text::minhash::{BottomK, one_bit};

use crate::{lines, read_shared, read_shared_bytes, text};

struct Pair {
    a: String,
    b: String,
    jaccard: f64,
}

/// Documents by id. Some share an id.
type Documents = HashMap<String, Vec<Shingles>>;

/// Returns the shingles of all documents in a file.
fn shingles(name: &str) -> Option<Documents> {
    let bytes = read_shared_bytes(name)?;
    let of = if name.contains("_en") {
        |text: &str| Shingles::of_words(text, 3)
    } else {
        |text: &str| Shingles::of_characters(text, 5)
    };
    let mut ndjson = String::new();
    MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut ndjson).unwrap();
    let mut all = Documents::new();
    for document in lines(&ndjson) {
        let id = text(&document, "id").to_owned();
        all.entry(id).or_default().push(of(text(&document, "text")));
    }
    Some(all)
}

fn pairs(name: &str) -> Vec<Pair> {
    let table = read_shared(name).unwrap();
    let pairs = table.lines().skip(1).map(|line| {
        let columns: Vec<_> = line.split('\t').collect();
        let jaccard = columns[columns.len() - 1].parse().unwrap();
        Pair { a: columns[0].to_owned(), b: columns[1].to_owned(), jaccard }
    });
    pairs.collect()
}

/// Returns whether any two documents with these ids have the expected similarity, to four digits.
fn similar(a: &[Shingles], b: &[Shingles], expected: f64) -> bool {
    let close = |a: &Shingles, b: &Shingles| (a.jaccard(b) - expected).abs() < 0.000_05 + 1e-9;
    a.iter().any(|a| b.iter().any(|b| close(a, b)))
}

fn assert_pairs(bases: &Documents, others: &Documents, labels: &str) {
    let pairs = pairs(labels);
    assert!(pairs.len() > 300);
    for Pair { a, b, jaccard } in pairs {
        assert!(similar(&bases[&a], &others[&b], jaccard), "{labels}: {a} and {b}: {jaccard}");
    }
}

#[test]
fn variants_and_natural_pairs_have_the_measured_similarity() {
    for language in ["zh", "en"] {
        let Some(bases) = shingles(&format!("corpus_{language}.ndjson.gz")) else { return };
        let Some(variants) = shingles(&format!("variants_{language}.ndjson.gz")) else { return };
        assert_pairs(&bases, &variants, &format!("variants_{language}_labels.tsv"));
        assert_pairs(&bases, &bases, &format!("pairs_natural_{language}.tsv"));
    }
}

#[test]
fn repeated_reviews_have_the_measured_similarity() {
    let Some(reviews) = shingles("reviews_zh.ndjson.gz") else { return };
    assert_pairs(&reviews, &reviews, "pairs_natural_reviews_zh.tsv");
}

/// The error bounds of the sketches, which unit tests check for generated sets, also hold for real texts.
#[test]
fn sketches_estimate_the_similarity_of_real_texts() {
    let files = ("corpus_zh.ndjson.gz", "variants_zh.ndjson.gz");
    let (Some(bases), Some(variants)) = (shingles(files.0), shingles(files.1)) else { return };
    let (mut errors, mut squares, mut bottom) = (0.0, 0.0, 0.0);
    let pairs = pairs("variants_zh_labels.tsv");
    for Pair { a, b, .. } in &pairs {
        let (a, b) = (&bases[a][0], &variants[b][0]);
        let [x, y] = [a, b].map(|s| one_bit::<u64>(&s.hashes().collect::<Vec<_>>()).unwrap());
        let error = 1.0 - f64::from(distance(x, y)) / 32.0 - a.jaccard(b);
        errors += error;
        squares += error * error;
        let [x, y] = [a, b].map(|s| {
            let mut sketch = BottomK::new(128);
            sketch.extend(s.hashes());
            sketch
        });
        bottom += (x.jaccard(&y) - a.jaccard(b)).abs();
    }
    let n = pairs.len() as f64;
    println!(
        "one bit: {:.4} +- {:.4}; bottom: {:.4}",
        errors / n,
        (squares / n).sqrt(),
        bottom / n
    );
    assert!((errors / n).abs() < 0.01, "bias");
    assert!((squares / n).sqrt() < 0.08, "spread");
    assert!(bottom / n < 0.03, "bottom-k");
}
