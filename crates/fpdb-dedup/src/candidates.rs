//! What the rows of a chunk are compared with.

use fpdb::Sketch;

/// What a row is like.
///
/// # Examples
///
/// ```
/// use fpdb::Jaccard;
/// use fpdb::text::Recipe;
/// use fpdb_dedup::{Dedup, Like};
///
/// let recipe = Recipe::for_sketches("pairs/1")?;
/// let mut dedup = Dedup::options(recipe, Jaccard::at_least(0.8)).start()?;
/// let verdicts = dedup.add(&["To be, or not to be?", "To be or not to be!"])?;
/// assert_eq!(verdicts[1].like, Some(Like::Row(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Like {
    /// A document of an earlier run: its position in the list of these.
    Earlier(usize),
    /// A row that is kept, of this chunk or an earlier one.
    Row(usize),
}

/// A document near a row. Of two, the one that is nearer comes first.
///
/// See the example of [`Comparer`](crate::Comparer).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The distance of the sketches.
    pub distance: u32,
    /// What it is.
    pub of: Like,
    /// Whether it gives way to the row, if they are alike: then, the row may be kept.
    pub gives_way: bool,
}

/// A document of an earlier run.
///
/// See the example of [`Comparer`](crate::Comparer).
#[derive(Debug, Clone, Copy)]
pub struct Earlier<'a> {
    /// Its name in the database.
    pub name: &'a str,
    /// Its sketch.
    pub sketch: Sketch,
    /// Its text, if that is known. Otherwise, its features are taken from the
    /// [`FeatureStore`](crate::FeatureStore).
    pub text: Option<&'a str>,
}
