//! Fingerprints of real documents, and of their paragraphs, from NDJSON.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use fpdb::text::Recipe;
use serde::Deserialize;

#[derive(Deserialize)]
struct Document {
    text: String,
}

/// Returns the fingerprints of all documents and paragraphs that have one.
pub fn fingerprints(file: &Path, recipe: &str) -> Result<Vec<u64>> {
    let recipe: Recipe = Recipe::named(recipe)?;
    let input = File::open(file).with_context(|| file.display().to_string())?;
    let mut all = Vec::new();
    for line in BufReader::new(MultiGzDecoder::new(input)).lines() {
        let document: Document = serde_json::from_str(&line?)?;
        let paragraphs = document.text.split('\n').filter(|p| p.len() < document.text.len());
        let pieces = std::iter::once(document.text.as_str()).chain(paragraphs);
        all.extend(pieces.filter_map(|piece| recipe.fingerprint(piece).fingerprint));
    }
    Ok(all)
}
