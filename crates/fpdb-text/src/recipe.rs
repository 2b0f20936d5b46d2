//! A recipe: a name, and the method that it stands for.

use std::fmt;
use std::sync::Arc;

use crate::jaccard::Shingles;
use crate::method::Method;
use crate::width::{Fingerprinted, Width};

/// A named, versioned way from text to fingerprint. Cheap to clone and to share among threads.
///
/// [`Recipe::named`] finds one of the built-in recipes, and a [`Builder`](crate::Builder) makes one
/// of your own.
///
/// # Examples
///
/// ```
/// use fpdb_text::Recipe;
///
/// let recipe = Recipe::named("pairs/1")?;
/// let fox = recipe.fingerprint("The quick brown fox jumps over the lazy dog.");
/// assert_eq!(fox.fingerprint, Some(0x73dc_8cc2_bd0c_5d6e));
/// assert_eq!(fox.features, 8); // the pairs of neighbouring words
///
/// let shouted = recipe.fingerprint("THE QUICK BROWN FOX -- JUMPS OVER THE LAZY DOG!");
/// assert_eq!(shouted, fox);
/// assert_eq!(recipe.min_features(), 4);
/// assert_eq!(recipe.fingerprint("Page not found").fingerprint, None);
///
/// let other = Recipe::named("python-simhash/1")?; // like PyPI simhash, it always gives a value
/// assert_eq!((other.name(), other.min_features()), ("python-simhash/1", 0));
/// assert!(other.purpose().contains("PyPI simhash"));
/// # Ok::<(), fpdb_text::Error>(())
/// ```
pub struct Recipe<F: Width = u64> {
    name: Arc<str>,
    purpose: &'static str,
    method: Arc<dyn Method<F>>,
}

impl<F: Width> Recipe<F> {
    /// A built-in recipe.
    pub(crate) fn new(name: &str, purpose: &'static str, method: Arc<dyn Method<F>>) -> Self {
        Self { name: name.into(), purpose, method }
    }

    /// A recipe that the user defined.
    pub(crate) fn custom(name: &str, method: Arc<dyn Method<F>>) -> Self {
        Self::new(name, "defined by its user", method)
    }

    /// Returns the name, including the version. It is never an alias. A database stores this name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what the recipe is for, in one line.
    #[must_use]
    pub fn purpose(&self) -> &str {
        self.purpose
    }

    /// Returns the number of distinct features below which a text has no fingerprint.
    ///
    /// It is 0 for recipes that are compatible with another program: like that program, they always
    /// give a value.
    #[must_use]
    pub fn min_features(&self) -> usize {
        self.method.min_features()
    }

    /// Returns the fingerprint of a text, if the text has enough features.
    ///
    /// The time grows with the length of the text, and the memory with the number of its features.
    /// The first call of the Chinese recipe in a process loads the dictionary, which takes a few
    /// tenths of a second and then stays in memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::{Recipe, distance};
    ///
    /// let recipe = Recipe::named("pairs/1")?;
    /// let fingerprint = |text: &str| recipe.fingerprint(text).fingerprint.expect("enough words");
    /// let a = fingerprint("Trains leave for the airport every ten minutes, until midnight.");
    /// let b = fingerprint("TRAINS leave for the airport -- every ten minutes until midnight");
    /// assert_eq!(distance(a, b), 0); // `pairs/1` ignores case and punctuation
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn fingerprint(&self, text: &str) -> Fingerprinted<F> {
        self.method.fingerprint(text)
    }

    /// Returns the set of a text's features, from which the fingerprint is made. Two such sets give
    /// the exact similarity, which two fingerprints only estimate.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::Recipe;
    ///
    /// let recipe = Recipe::named("pairs/1")?;
    /// let a = recipe.features("The cat sat on the mat."); // the cat, cat sat, sat on, on the, the mat
    /// let b = recipe.features("The cat sat on the sofa.");
    /// assert_eq!(a.jaccard(&b), 4.0 / 6.0);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn features(&self, text: &str) -> Shingles {
        self.method.features(text)
    }

    /// Returns the fingerprint of a text and its [features](Self::features), in about the time of
    /// one of them. A text without a fingerprint may come without its features.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::{Recipe, Sketch};
    ///
    /// let recipe = Recipe::<Sketch>::for_sketches("pairs/1")?;
    /// let text = "The cat sat on the mat.";
    /// let (sketch, features) = recipe.fingerprint_with_features(text);
    /// assert_eq!((sketch, features), (recipe.fingerprint(text), recipe.features(text)));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn fingerprint_with_features(&self, text: &str) -> (Fingerprinted<F>, Shingles) {
        self.method.fingerprint_with_features(text)
    }

    /// Returns the set of the runs of `n` words of a text, which is cut and normalized as for the
    /// fingerprint. So a Chinese character is a word, and in Thai and similar scripts three letters
    /// are. If `n` is 0, it counts as 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::Recipe;
    ///
    /// let recipe = Recipe::named("pairs/1")?;
    /// let [a, b] = ["图书馆晚上六点闭馆", "图书馆晚上七点闭馆"].map(|text| recipe.runs(text, 3));
    /// assert_eq!((a.len(), a.shared(&b)), (7, 4));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn runs(&self, text: &str, n: usize) -> Shingles {
        self.method.runs(text, n.max(1))
    }

    /// Returns a hash of all words of a text in their order, cut and normalized as for the
    /// fingerprint; of the text itself if it has no words; `None` if it is empty. Texts of equal
    /// hash say the same, also those that are too short for a fingerprint.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::Recipe;
    ///
    /// let recipe = Recipe::named("pairs/1")?;
    /// assert_eq!(recipe.text_hash("Thank you!"), recipe.text_hash("thank you"));
    /// assert_ne!(recipe.text_hash("thank you"), recipe.text_hash("thank you thank you"));
    /// assert_ne!(recipe.text_hash("+1"), recipe.text_hash("+2"));
    /// assert_eq!(recipe.text_hash(" \n"), None);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn text_hash(&self, text: &str) -> Option<u128> {
        self.method.text_hash(text)
    }

    /// Returns the estimated Jaccard similarity of the [features](Self::features) of two texts with
    /// these fingerprints, and the standard error of the estimate; `None` for a recipe that is not
    /// a one-bit MinHash. For fingerprints of bits, this is [`similarity`](Self::similarity) of
    /// their distance. [Sketches](crate::Sketch) tell [more](crate::Sketch::similarity) than their
    /// distance.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::Recipe;
    ///
    /// let recipe = Recipe::for_sketches("pairs/1")?;
    /// let [a, b] = ["one two three four five", "one two three four five six"]
    ///     .map(|text| recipe.fingerprint(text).fingerprint.expect("enough words"));
    /// assert_eq!(recipe.similarity_of(a, b), Some((4.0 / 5.0, 0.0)));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn similarity_of(&self, a: F, b: F) -> Option<(f64, f64)> {
        let of_distance = self.similarity(a.differences(b))?;
        Some(a.estimate(b).unwrap_or(of_distance))
    }

    /// Returns the estimated Jaccard similarity of the [features](Self::features) of two texts
    /// whose fingerprints are at this [distance](crate::distance), and the standard error of the
    /// estimate; `None` for a recipe that is not a one-bit MinHash, whose distances do not tell a
    /// similarity.
    ///
    /// Minima of different features are equal in b bits with probability 2^-b, so two texts differ
    /// in each minimum with probability p = (1 - J) (1 - 2^-b) (Li and König, *b-Bit Minwise
    /// Hashing*, WWW 2010). Of n minima, p is estimated as `distance` / n with a standard error of
    /// sqrt(p (1 - p) / n). Therefore
    ///
    /// - with n bits, the estimate of J is 1 - 2 p, with 2 times that error;
    /// - with a [`Sketch`](crate::Sketch), in which n = 128 and b = 6, it is 1 - 64/63 p, with
    ///   64/63 times that error.
    ///
    /// An estimate below 0 becomes 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::Recipe;
    ///
    /// let (similarity, error) = Recipe::bits128("pairs/1")?.similarity(13).expect("a MinHash");
    /// assert!((similarity - 0.797).abs() < 0.001 && (error - 0.053).abs() < 0.001);
    ///
    /// let (similarity, error) = Recipe::for_sketches("pairs/1")?.similarity(26).expect("a MinHash");
    /// assert!((similarity - 0.794).abs() < 0.001 && (error - 0.036).abs() < 0.001);
    ///
    /// assert!(Recipe::named("python-simhash/1")?.similarity(3).is_none());
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn similarity(&self, distance: u32) -> Option<(f64, f64)> {
        let minima = f64::from(F::MINIMA);
        let unequal_if_different = 1.0 - 1.0 / f64::from(1u32 << F::KEPT);
        let p = (f64::from(distance) / minima).min(unequal_if_different);
        let error = (p * (1.0 - p) / minima).sqrt();
        let estimate = (1.0 - p / unequal_if_different, error / unequal_if_different);
        self.method.is_min_hash().then_some(estimate)
    }
}

impl<F: Width> Clone for Recipe<F> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), purpose: self.purpose, method: self.method.clone() }
    }
}

impl<F: Width> fmt::Debug for Recipe<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recipe").field(&self.name()).finish()
    }
}
