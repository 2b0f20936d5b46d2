//! Recipes, which make fingerprints of one width.

use fpdb::Sketch;
use fpdb::text::Recipe;

use crate::code::Failure;
use crate::width::{SKETCH_BITS, Width, with_width};

/// A method that makes fingerprints of texts, all of one width. Many threads may use it at the same
/// time.
#[derive(Debug)]
pub struct FpdbRecipe(OfWidth);

#[derive(Debug)]
enum OfWidth {
    Bits64(Recipe<u64>),
    Bits128(Recipe<u128>),
    Sketches(Recipe<Sketch>),
}

impl From<Recipe<u64>> for OfWidth {
    fn from(recipe: Recipe<u64>) -> Self {
        Self::Bits64(recipe)
    }
}

impl From<Recipe<u128>> for OfWidth {
    fn from(recipe: Recipe<u128>) -> Self {
        Self::Bits128(recipe)
    }
}

impl From<Recipe<Sketch>> for OfWidth {
    fn from(recipe: Recipe<Sketch>) -> Self {
        Self::Sketches(recipe)
    }
}

impl FpdbRecipe {
    /// Returns the recipe with this name for fingerprints of this many bits. 0 stands for 64.
    pub(crate) fn named(name: &str, bits: u32) -> Result<Self, Failure> {
        let bits = if bits == 0 { u64::BITS } else { bits };
        with_width!(bits, |F| Ok(Self(F::recipe(name)?.into())))
    }

    pub(crate) fn name(&self) -> &str {
        match &self.0 {
            OfWidth::Bits64(recipe) => recipe.name(),
            OfWidth::Bits128(recipe) => recipe.name(),
            OfWidth::Sketches(recipe) => recipe.name(),
        }
    }

    /// Returns the number of bits of the fingerprints.
    pub(crate) fn bits(&self) -> u32 {
        match self.0 {
            OfWidth::Bits64(_) => u64::BITS,
            OfWidth::Bits128(_) => u128::BITS,
            OfWidth::Sketches(_) => SKETCH_BITS,
        }
    }

    /// Returns the number of bytes of the fingerprints.
    pub(crate) fn size(&self) -> usize {
        self.bits() as usize / 8
    }

    /// Returns the bytes of the fingerprint of a text, or `None` if that is too short.
    pub(crate) fn fingerprint(&self, text: &str) -> Option<Vec<u8>> {
        match &self.0 {
            OfWidth::Bits64(recipe) => bytes(recipe, text),
            OfWidth::Bits128(recipe) => bytes(recipe, text),
            OfWidth::Sketches(recipe) => bytes(recipe, text),
        }
    }
}

fn bytes<F: Width>(recipe: &Recipe<F>, text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(F::BYTES);
    recipe.fingerprint(text).fingerprint?.put_c(&mut bytes);
    Some(bytes)
}
