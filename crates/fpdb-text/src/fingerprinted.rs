//! The result of applying a recipe to a text.

/// The result of applying a [`Recipe`](crate::Recipe) to a text.
///
/// # Examples
///
/// ```
/// use fpdb_text::Recipe;
///
/// let found = Recipe::named("words/1")?.fingerprint("one two three");
/// assert_eq!((found.fingerprint, found.features), (None, 3));
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
#[non_exhaustive]
pub struct Fingerprinted<F = u64> {
    /// The fingerprint. `None` if the text has fewer than
    /// [`min_features`](crate::Recipe::min_features) distinct features, which are too few to tell
    /// texts apart.
    pub fingerprint: Option<F>,
    /// The number of distinct features in the text. The `pairs` recipes stop looking for repeated
    /// features once the text has enough of them, and then count repeats too.
    pub features: usize,
}
