//! Recipes that the user defines.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::hash::{FeatureHash, xxh3};
use crate::method::Method;
use crate::names::is_built_in;
use crate::normalization::{NFKC_LOWER_CASE, Normalization};
use crate::pipeline::{Counting, Features, Grams, MinHash, Pipeline};
use crate::recipe::Recipe;
use crate::segment::{Segment, Short};
use crate::simhash::Tie;
use crate::width::{Operations, PerWidth, Width};

/// Builds a recipe of your own from parts: a SimHash or a one-bit MinHash.
///
/// The default settings are those of `words/1`: a SimHash of the words of a text in NFKC and lower
/// case, at least 4, of which repeated ones weigh less and less.
///
/// The recipe's [name](Recipe::name) is the name that you give, a `#`, and a digest of all
/// settings. A database stores this full name, so a changed definition under the same name is not
/// mistaken for the old one.
///
/// # Examples
///
/// Chinese without a dictionary: pairs of neighbouring characters, in which repeats count less.
///
/// ```
/// use fpdb_text::{Normalization, Recipe, Segment};
///
/// let recipe = Recipe::<u64>::builder("bigrams/1")
///     .normalization(&[
///         Normalization::StripInvisible,
///         Normalization::Nfkc,
///         Normalization::LowerCase,
///     ])
///     .segment(Segment::WordRuns)
///     .characters(2)
///     .min_features(8)
///     .build()?;
/// assert!(recipe.name().starts_with("bigrams/1#"));
///
/// let a = recipe.fingerprint("图书馆晚上六点闭馆。").fingerprint;
/// assert!(a.is_some());
/// assert_eq!(a, recipe.fingerprint("图书馆，晚上六点闭馆").fingerprint);
/// # Ok::<(), fpdb_text::Error>(())
/// ```
///
/// Pairs of words at 128 bits, each counted once, with another hash function:
///
/// ```
/// use fpdb_text::simhash::Tie;
/// use fpdb_text::{Counting, FeatureHash, Recipe};
///
/// let builder = Recipe::<u128>::builder("mine/1").words(2).counting(Counting::Set);
/// let recipe = builder.hash(FeatureHash::Md5Low).tie(Tie::Set).min_features(0).build()?;
/// assert_eq!(recipe.fingerprint("one two one two"), recipe.fingerprint("one two one two one"));
/// assert_eq!(recipe.fingerprint("").fingerprint, Some(u128::MAX));
///
/// assert!(Recipe::<u64>::builder("words/1").build().is_err()); // the name of a built-in recipe
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder<F = u64> {
    name: String,
    normalization: Vec<Normalization>,
    segment: Segment,
    kind: Kind,
    /// The n of n-grams, or the number of keywords or sentences.
    number: usize,
    counting: Counting,
    hash: FeatureHash,
    tie: Tie,
    one_bit: bool,
    min_features: usize,
    width: std::marker::PhantomData<F>,
}

/// The kind of features.
#[derive(Debug, Clone, Copy)]
enum Kind {
    // The numbers are part of recipe names: see `Builder::definition`.
    Words = 1,
    Characters = 2,
    Keywords = 3,
    LongestSentences = 4,
}

/// The longest name of a recipe that the user defines, in bytes.
const MAX_NAME: usize = 64;

impl<F: Width> Recipe<F> {
    /// Starts to define a recipe of your own, such as `mine/1`. See [`Builder`].
    pub fn builder(name: &str) -> Builder<F> {
        Builder {
            name: name.to_owned(),
            normalization: NFKC_LOWER_CASE.to_vec(),
            segment: Segment::UnicodeWords,
            kind: Kind::Words,
            number: 1,
            counting: Counting::Damped,
            hash: FeatureHash::Xxh3,
            tie: Tie::Unset,
            one_bit: false,
            min_features: 4,
            width: std::marker::PhantomData,
        }
    }
}

impl<F: Width> Builder<F> {
    /// Sets the steps of normalization, in order. Default: NFKC, then lower case.
    pub fn normalization(mut self, steps: &[Normalization]) -> Self {
        self.normalization = steps.to_vec();
        self
    }

    /// Sets how the text is cut. Default: [`Segment::UnicodeWords`].
    pub fn segment(mut self, segment: Segment) -> Self {
        self.segment = segment;
        self
    }

    /// Makes each run of `n` neighbouring segments a feature, joined by spaces. A text with fewer
    /// segments has one feature: all of them. Default: 1.
    pub fn words(mut self, n: usize) -> Self {
        (self.kind, self.number) = (Kind::Words, n);
        self
    }

    /// Makes each run of `n` neighbouring characters a feature, after joining the segments without
    /// a separator. A text with fewer characters has one feature: all of them.
    pub fn characters(mut self, n: usize) -> Self {
        (self.kind, self.number) = (Kind::Characters, n);
        self
    }

    /// Makes the `top` keywords of a text its features, each with its TF-IDF as its weight, as
    /// Python's jieba finds them: see [`recipes.md`](crate::guide#keywords).
    ///
    /// A MinHash does not use the weights, nor does a SimHash with [`Counting::Set`].
    /// [`segment`](Self::segment) has no effect except on the name. To build the recipe, this crate
    /// needs its cargo feature `zh`.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "zh")] {
    /// use fpdb_text::{Recipe, Sketch};
    ///
    /// let text = "图书馆晚上六点闭馆，今天到期的图书可以在午夜之前通过正门旁边的还书口归还。";
    /// let recipe = Recipe::<u64>::builder("mine/1").keywords(5).build()?;
    /// assert_eq!(recipe.fingerprint(text).features, 5);
    ///
    /// let recipe = Recipe::<Sketch>::builder("mine/1").keywords(20).one_bit().build()?;
    /// let edited = text.replace("六点", "七点");
    /// assert!(recipe.features(text).jaccard(&recipe.features(&edited)) > 0.7);
    /// # }
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn keywords(mut self, top: usize) -> Self {
        (self.kind, self.number) = (Kind::Keywords, top);
        self
    }

    /// Makes the `n` longest sentences of a text its only feature, as `sentences/1` does for n = 3:
    /// texts with the same longest sentences have the same fingerprint, and all others have
    /// unrelated ones. A text with fewer sentences has one feature, too: all of them.
    ///
    /// [`segment`](Self::segment) has no effect except on the name, and
    /// [`min_features`](Self::min_features) must be 0 or 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::Recipe;
    ///
    /// let builder = Recipe::<u64>::builder("mine/1").longest_sentences(2);
    /// let recipe = builder.min_features(1).build()?;
    /// let text = "The library closes at six. Return books through the slot at the door.";
    /// let page = format!("Home | News\n{text}\nRead 1,024 times");
    /// assert_eq!(recipe.fingerprint(&page), recipe.fingerprint(text));
    /// assert_ne!(recipe.fingerprint(&page.replace("six", "five")), recipe.fingerprint(text));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn longest_sentences(mut self, n: usize) -> Self {
        (self.kind, self.number) = (Kind::LongestSentences, n);
        self
    }

    /// Sets how repeated features weigh. Default: [`Counting::Damped`].
    pub fn counting(mut self, counting: Counting) -> Self {
        self.counting = counting;
        self
    }

    /// Sets the hash function of the features. Default: [`FeatureHash::Xxh3`].
    pub fn hash(mut self, hash: FeatureHash) -> Self {
        self.hash = hash;
        self
    }

    /// Sets the value of a bit whose sum is 0. Default: [`Tie::Unset`].
    pub fn tie(mut self, tie: Tie) -> Self {
        self.tie = tie;
        self
    }

    /// Makes a one-bit MinHash of the set of features instead of a SimHash, like the `pairs`
    /// recipes: [`OneBit`](crate::minhash::OneBit) of the low 64 bits of their hashes.
    ///
    /// Then [`counting`](Self::counting) and [`tie`](Self::tie) have no effect except on the name.
    ///
    /// # Examples
    ///
    /// Texts that share 19 of 21 words are about 3 bits apart instead of 9:
    ///
    /// ```
    /// use fpdb_text::{Recipe, distance};
    ///
    /// let recipe = Recipe::<u64>::builder("mine/1").one_bit().build()?;
    /// let words: Vec<_> = (100..120).map(|n| n.to_string()).collect();
    /// let a = recipe.fingerprint(&words.join(" ")).fingerprint.unwrap();
    /// let b = recipe.fingerprint(&words.join(" ").replace("107", "seven")).fingerprint.unwrap();
    /// assert!(distance(a, b) <= 8);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn one_bit(mut self) -> Self {
        self.one_bit = true;
        self
    }

    /// Sets the number of distinct features below which a text has no fingerprint. Default: 4.
    pub fn min_features(mut self, number: usize) -> Self {
        self.min_features = number;
        self
    }

    /// Returns the recipe.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the name is empty, is longer than
    /// 64 bytes, is the name or alias of a built-in recipe, or contains a control character or a
    /// `#`; if the `n` of an n-gram, or the number of keywords or sentences, is 0; if longest
    /// sentences, which are one feature, must be more; if the hash function does not have the width
    /// of the fingerprint, or 128 bits for a [`Sketch`](crate::Sketch); or if the fingerprint is a
    /// sketch and the recipe is not a [one-bit MinHash](Self::one_bit).
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if features are [keywords](Self::keywords)
    /// and this build lacks the cargo feature `zh`.
    pub fn build(self) -> Result<Recipe<F>> {
        check_name(&self.name)?;
        self.check_features()?;
        let name = format!("{}#{:08x}", self.name, xxh3(&self.definition()) >> 32);
        let one_bit = self.one_bit;
        let pipeline = self.pipeline()?;
        let method = if one_bit { Arc::new(MinHash(pipeline)) } else { sim_hash(pipeline)? };
        Ok(Recipe::custom(&name, method))
    }

    fn check_features(&self) -> Result<()> {
        match self.kind {
            Kind::Words | Kind::Characters if self.number == 0 => {
                Err(Error::invalid("an n-gram must have at least 1 part, not 0"))
            }
            Kind::Keywords | Kind::LongestSentences if self.number == 0 => {
                Err(Error::invalid("a recipe must use at least 1 keyword or sentence, not 0"))
            }
            Kind::LongestSentences if self.min_features > 1 => Err(Error::invalid(format!(
                "the longest sentences of a text are 1 feature, so none would have {}: call \
                 `min_features(1)`",
                self.min_features
            ))),
            _ => Ok(()),
        }
    }

    fn features(&self) -> Result<Features> {
        let (n, segment) = (self.number, self.segment);
        let grams = match self.kind {
            Kind::Words => Grams::Words { n, short: Short::Itself },
            Kind::Characters => Grams::Characters { n, from: n, short: Short::Itself },
            Kind::Keywords => return keywords(n),
            Kind::LongestSentences => return Ok(Features::LongestSentences(n)),
        };
        Ok(Features::Grams { segment, grams, lower_case: false })
    }

    fn pipeline(self) -> Result<Pipeline<F::Hash>> {
        let features = self.features()?;
        let Some(hash) = self.hash.hasher::<F::Hash>() else {
            return Err(Error::invalid(format!(
                "the hash function {:?} has no {}-bit form",
                self.hash,
                F::Hash::WIDTH
            )));
        };
        Ok(Pipeline {
            normalization: self.normalization.into(),
            features,
            counting: self.counting,
            hash,
            tie: self.tie,
            min_features: self.min_features,
        })
    }

    /// Encodes all settings for the digest, in numbers that never change their meaning.
    fn definition(&self) -> Vec<u8> {
        let mut bytes = (self.normalization.len() as u64).to_le_bytes().to_vec();
        bytes.extend(self.normalization.iter().map(|&step| step as u8));
        bytes.extend([
            self.segment as u8,
            self.kind as u8,
            self.counting as u8,
            self.hash as u8,
            self.tie as u8,
            self.one_bit as u8,
        ]);
        for number in [self.number, self.min_features, (F::MINIMA * F::KEPT) as usize] {
            bytes.extend((number as u64).to_le_bytes());
        }
        bytes
    }
}

#[cfg(feature = "zh")]
fn keywords(top: usize) -> Result<Features> {
    use crate::keywords::{JIEBA_ROUNDED, Keywords, Top};
    Ok(Features::Keywords(Keywords::load(&JIEBA_ROUNDED, Top::Number(top))?))
}

#[cfg(not(feature = "zh"))]
fn keywords(_: usize) -> Result<Features> {
    Err(Error::unsupported("keywords need the cargo feature \"zh\", which this build lacks"))
}

/// Returns a SimHash, which no sketch can be.
fn sim_hash<F: Width>(pipeline: Pipeline<F::Hash>) -> Result<Arc<dyn Method<F>>> {
    struct Make;
    impl PerWidth for Make {
        type At<F: Width> = Option<fn(Pipeline<F::Hash>) -> Arc<dyn Method<F>>>;
    }
    let make = F::pick::<Make>(Some(|it| Arc::new(it)), Some(|it| Arc::new(it)), None);
    make.map(|make| make(pipeline)).ok_or_else(|| {
        Error::invalid("only a one-bit MinHash makes sketches: call `one_bit`, or take 128 bits")
    })
}

fn check_name(name: &str) -> Result<()> {
    let problem = if name.is_empty() {
        "it is empty"
    } else if name.len() > MAX_NAME {
        "it is longer than 64 bytes"
    } else if name.contains('#') {
        "the digest of the definition follows a #"
    } else if name.chars().any(char::is_control) {
        "it contains a control character"
    } else if is_built_in(name) {
        "a built-in recipe has this name"
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!("cannot name a recipe {name:?}: {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::width::Sketch;

    fn begin() -> Builder {
        Recipe::builder("mine/1")
    }

    fn name(builder: Builder) -> String {
        builder.build().unwrap().name().to_owned()
    }

    /// Databases store the name, so the digest of a definition must not change with a release.
    #[test]
    fn names_are_frozen() {
        assert_eq!(name(begin()), "mine/1#052e9bf4");
        let other =
            begin().normalization(&[Normalization::StripInvisible]).characters(3).tie(Tie::Set);
        assert_eq!(name(other), "mine/1#4a864399");
    }

    #[test]
    fn equal_settings_have_equal_names_and_different_ones_differ() {
        let defaults = begin()
            .normalization(&[Normalization::Nfkc, Normalization::LowerCase])
            .segment(Segment::UnicodeWords)
            .words(1)
            .counting(Counting::Damped)
            .hash(FeatureHash::Xxh3)
            .tie(Tie::Unset)
            .min_features(4);
        assert_eq!(name(defaults), name(begin()));
        let mut names = vec![
            name(begin()),
            name(Recipe::builder("mine/2")),
            Recipe::<u128>::builder("mine/1").build().unwrap().name().to_owned(),
            name(begin().normalization(&[])),
            name(begin().normalization(&[Normalization::LowerCase])),
            name(begin().normalization(&[Normalization::LowerCaseSimple])),
            name(begin().normalization(&[Normalization::StripInvisible])),
            name(begin().normalization(&[Normalization::LowerCase, Normalization::Nfkc])),
            name(begin().one_bit()),
            name(begin().words(2)),
            name(begin().characters(1)),
            name(begin().characters(2)),
            name(begin().longest_sentences(1).min_features(1)),
            name(begin().longest_sentences(2).min_features(1)),
            #[cfg(feature = "zh")]
            name(begin().keywords(1)),
            name(begin().counting(Counting::Each)),
            name(begin().counting(Counting::Set)),
            name(begin().tie(Tie::Set)),
            name(begin().min_features(0)),
            name(begin().min_features(5)),
        ];
        names.extend(
            [
                Segment::Whole,
                Segment::Whitespace,
                Segment::PythonWhitespace,
                Segment::WordRuns,
                Segment::GoWords,
            ]
            .map(|segment| name(begin().segment(segment))),
        );
        names.extend(
            [
                FeatureHash::Fnv1,
                FeatureHash::Fnv1a,
                FeatureHash::Fnv1aOfRustStr,
                FeatureHash::Jenkins64,
                FeatureHash::StringHash,
                FeatureHash::Md5Low,
                FeatureHash::Md5High,
            ]
            .map(|hash| name(begin().hash(hash))),
        );
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn defaults_give_the_fingerprints_of_words_1() {
        let text = "The quick brown fox jumps over the lazy dog, the dog";
        let mine = begin().build().unwrap();
        assert_eq!(mine.fingerprint(text), Recipe::named("words/1").unwrap().fingerprint(text));
    }

    #[test]
    fn longest_sentences_are_those_of_sentences_1() {
        let text = "The end. 图书馆晚上六点闭馆。 Return books in time! Or else.";
        let theirs = Recipe::named("sentences/1").unwrap();
        let mine = begin().longest_sentences(3).min_features(1).build().unwrap();
        assert_eq!(mine.fingerprint(text), theirs.fingerprint(text));
        assert_eq!(mine.fingerprint(text).features, 1);
        let sketches = Recipe::<Sketch>::builder("mine/1").longest_sentences(3).one_bit();
        let sketches = sketches.min_features(1).build().unwrap();
        assert_eq!(sketches.fingerprint(text), sketches.fingerprint(&text.replace("end", "and")));
        let error = begin().longest_sentences(3).build().unwrap_err();
        assert!(error.to_string().contains("min_features(1)"), "{error}");
    }

    #[cfg(feature = "zh")]
    #[test]
    fn keywords_weigh_their_tf_idf_unless_they_are_a_set() {
        let text = "图书馆晚上六点闭馆，今天到期的图书可以在午夜之前通过正门旁边的还书口归还。";
        let recipe = |builder: Builder| builder.min_features(0).build().unwrap();
        let value = |recipe: &Recipe| recipe.fingerprint(text);
        let (one, four) = (recipe(begin().keywords(1)), recipe(begin().keywords(4)));
        assert_eq!((value(&one).features, value(&four).features), (1, 4));
        assert_eq!(one.features(text).shared(&four.features(text)), 1);
        let set = recipe(begin().keywords(4).counting(Counting::Set));
        assert_eq!(set.features(text), four.features(text));
        assert_ne!(value(&set).fingerprint, value(&four).fingerprint);
        // Without symbols and Latin words, all keywords are those of jieba/1.
        let all = begin().keywords(usize::MAX).build().unwrap();
        assert_eq!(value(&all), Recipe::named("jieba/1").unwrap().fingerprint(text));
    }

    #[cfg(not(feature = "zh"))]
    #[test]
    fn keywords_need_a_feature() {
        let error = begin().keywords(20).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("\"zh\""), "{error}");
    }

    #[test]
    fn invalid_and_built_in_names_are_refused() {
        let long = "x".repeat(65);
        for name in
            ["", "words/1", "jieba/1", "default", "default-zh", "a#b", "a\nb", "a\u{7f}", &long]
        {
            let error = Recipe::<u64>::builder(name).build().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name:?}");
            assert!(error.to_string().contains("cannot name"), "{error}");
        }
        assert!(Recipe::<u64>::builder(&long[1..]).build().is_ok());
        assert!(Recipe::<u64>::builder("我的/1").build().is_ok());
    }

    #[test]
    fn impossible_settings_are_refused() {
        assert!(begin().words(0).build().is_err());
        assert!(begin().characters(0).build().is_err());
        assert!(begin().keywords(0).build().is_err());
        assert!(begin().longest_sentences(0).min_features(1).build().is_err());
        let wide = Recipe::<u128>::builder("mine/1").hash(FeatureHash::Fnv1);
        assert!(wide.build().unwrap_err().to_string().contains("128"));
        let sketches = Recipe::<Sketch>::builder("mine/1").one_bit().hash(FeatureHash::Fnv1);
        assert!(sketches.build().unwrap_err().to_string().contains("128"));
    }

    #[test]
    fn only_one_bit_recipes_make_sketches() {
        let begin = || Recipe::<Sketch>::builder("mine/1");
        let error = begin().build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("only a one-bit MinHash"), "{error}");

        let wide = Recipe::<u128>::builder("mine/1").one_bit().build().unwrap();
        let recipe = begin().one_bit().build().unwrap();
        assert_ne!(recipe.name(), wide.name());
        for text in ["to be or not to be, that is the question", "to be"] {
            let (found, first) = (recipe.fingerprint(text), wide.fingerprint(text));
            assert_eq!(found.fingerprint.map(|sketch| sketch.planes()[0]), first.fingerprint);
            assert_eq!(found.features, first.features);
        }
    }

    #[test]
    fn one_bit_recipe_sketches_the_set_of_hashes() {
        use crate::minhash::one_bit;
        let text = "to be or not to be, that is the question";
        let words = ["to", "be", "or", "not", "that", "is", "the", "question"];
        let hashes = words.map(|word| xxh3(word.as_bytes()));
        let recipe = begin().one_bit().build().unwrap();
        let found = recipe.fingerprint(text);
        assert_eq!((found.fingerprint, found.features), (one_bit(&hashes), 8));
        assert_eq!(recipe.fingerprint("to be to be or not").fingerprint, one_bit(&hashes[..4]));
        assert_eq!(recipe.fingerprint("to be or to be").fingerprint, None);
    }
}
