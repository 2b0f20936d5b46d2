//! The first line of a complete export.

use anyhow::{Result, bail};
use fpdb::{
    Description, DocId, ExtractionName, Fingerprint, Ids, Jaccard, Layout, MatchRule, Options,
    PassageSettings, RecipeName,
};
use serde::{Deserialize, Serialize};

use crate::args::database::SKETCH_BITS;

/// The name of this form and, after the slash, its version.
const SCHEMA: &str = "fpdb.export/1";

/// The settings of a database, and how much it holds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    schema: String,
    pub(crate) bits: u32,
    ids: String,
    /// Of a database with names: the id that the next new name gets.
    next_id: Option<u64>,
    /// The number of lines between the first and the last.
    pub(crate) count: u64,
    recipe: Option<String>,
    extraction: Option<String>,
    /// Of an index of passages.
    passages: Option<PassagesLine>,
    /// `None` for sketches, which have bands instead.
    layout: Option<LayoutLine>,
    rule: RuleLine,
    /// `None` for sketches, which are in no blocks.
    block_size: Option<usize>,
    filter_bits: Option<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PassagesLine {
    min_words: u16,
    /// Of a window's hash.
    bits: u8,
    seed: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LayoutLine {
    name: String,
    cells: Vec<u8>,
    /// Of the cells, for each table.
    orders: Vec<Vec<usize>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleLine {
    max_distance: u32,
    /// `None` for a rule by distance; of sketches otherwise.
    similar: Option<SimilarLine>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SimilarLine {
    jaccard: f64,
    recall: f64,
    bands: u32,
    /// Of each band.
    minima: u32,
    margin: u16,
}

impl Header {
    pub(crate) fn new(description: &Description, next_id: Option<DocId>, count: u64) -> Self {
        let Description { layout, rule, .. } = description;
        let similar =
            rule.jaccard().zip(rule.bands()).map(|(jaccard, (bands, minima))| SimilarLine {
                jaccard: jaccard.similarity(),
                recall: jaccard.expected_recall(),
                bands,
                minima,
                margin: rule.margin().unwrap_or_default(),
            });
        let orders = |layout: &Layout| {
            (0..layout.tables()).map(|table| layout.order(table).to_vec()).collect()
        };
        Self {
            schema: SCHEMA.to_owned(),
            bits: description.bits,
            ids: description.ids.to_string(),
            next_id: next_id.map(|id| id.0),
            count,
            recipe: description.recipe.clone(),
            extraction: description.extraction.clone(),
            passages: description.passages.map(|PassageSettings { min_words, bits, seed }| {
                PassagesLine { min_words, bits, seed }
            }),
            layout: layout.as_ref().map(|layout| LayoutLine {
                name: layout.name().to_owned(),
                cells: layout.cells().to_vec(),
                orders: orders(layout),
            }),
            rule: RuleLine { max_distance: rule.distance(), similar },
            block_size: description.block_size,
            filter_bits: description.filter_bits,
        }
    }

    /// Reads the first line.
    pub(super) fn parse(line: &[u8]) -> Result<Self> {
        /// What all versions have.
        #[derive(Deserialize)]
        struct Schema {
            schema: String,
        }
        let schema = serde_json::from_slice::<Schema>(line).map(|line| line.schema);
        match schema.as_deref() {
            Ok(SCHEMA) => {}
            Ok(other) if other.starts_with("fpdb.export/") => bail!(
                "the export has the form {other}, and this fpdb-tool reads {SCHEMA}: use the \
                 fpdb-tool that wrote it, or a newer one"
            ),
            _ => bail!(
                "this is not what export --all writes: expected a line of JSON with the schema \
                 {SCHEMA}"
            ),
        }
        let header: Self = serde_json::from_slice(line)?;
        if ![64, 128, SKETCH_BITS].contains(&header.bits) {
            bail!("bits {}: expected 64, 128 or {SKETCH_BITS}", header.bits);
        }
        header.ids()?;
        Ok(header)
    }

    pub(crate) fn ids(&self) -> Result<Ids> {
        let all = [Ids::User, Ids::Unique, Ids::Names];
        match all.into_iter().find(|ids| ids.to_string() == self.ids) {
            Some(ids) => Ok(ids),
            None => bail!("ids {:?}: expected user, unique or names", self.ids),
        }
    }

    pub(crate) fn next_id(&self) -> Option<DocId> {
        self.next_id.map(DocId)
    }

    /// Adds the settings to options.
    pub(crate) fn apply<F: Fingerprint>(&self, options: Options<F>) -> Result<Options<F>> {
        let is_sketch = self.bits == SKETCH_BITS;
        let distance = self.rule.max_distance;
        let tables = self.layout.as_ref().zip(self.block_size).zip(self.filter_bits);
        let mut options = match (&self.rule.similar, tables) {
            (None, Some(((LayoutLine { name, cells, orders }, block_size), filter_bits)))
                if !is_sketch =>
            {
                let layout = Layout::with_orders(name, self.bits, cells, orders)?;
                let options = options.max_distance(distance).layout(layout);
                options.block_size(block_size).filter_bits(filter_bits)
            }
            (Some(SimilarLine { jaccard, recall, bands, minima, margin }), None) if is_sketch => {
                let jaccard = Jaccard::at_least(*jaccard).recall(*recall);
                options.rule(&MatchRule::of_bands(jaccard, (*bands, *minima), distance, *margin)?)
            }
            _ => bail!(
                "expected a layout, block size and filter bits for fingerprints, or a rule by \
                 similarity for sketches"
            ),
        };
        if let Some(recipe) = &self.recipe {
            options = options.recipe(RecipeName::custom(recipe));
        }
        if let Some(extraction) = &self.extraction {
            options = options.extraction(ExtractionName::custom(extraction));
        }
        options = options.ids(self.ids()?);
        let Some(PassagesLine { min_words, bits, seed }) = self.passages else {
            return Ok(options);
        };
        if distance != 0 || self.ids()? != Ids::User {
            bail!("expected a max distance of 0 and ids user for an index of passages");
        }
        Ok(options.passages(PassageSettings { min_words, bits, seed }))
    }
}
