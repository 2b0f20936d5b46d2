//! Recipes: from text to fingerprint.

use fpdb::text::Recipe;

/// Computes the fingerprints of a text in all recipes, twice.
pub(crate) fn fingerprint(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for name in Recipe::names() {
        let recipe = Recipe::<u64>::named(name).expect("a recipe");
        assert_eq!(recipe.fingerprint(&text).fingerprint, recipe.fingerprint(&text).fingerprint);
    }
}
