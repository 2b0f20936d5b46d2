//! Recipes: from text to fingerprint.

use fpdb::text::Recipe;

/// Computes the fingerprints of a text in recipes of each kind, twice.
pub(crate) fn fingerprint(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for name in ["pairs/1", "fives/1", "go-fnv1/1", "text-dedup-xxh3/1"] {
        let recipe = Recipe::<u64>::named(name).expect("a recipe");
        assert_eq!(recipe.fingerprint(&text).fingerprint, recipe.fingerprint(&text).fingerprint);
    }
}
