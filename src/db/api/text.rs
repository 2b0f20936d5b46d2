//! From a text to a decision in one call, with the recipe checked.

use fpdb_text::{Recipe, Width};

use crate::db::api::db::Db;
use crate::db::state::key::Stamped;
use crate::db::write::outcome::Outcome;
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::{Fingerprint, Match};

impl<F: Fingerprint + Width> Db<F> {
    /// Makes the fingerprint of a text and inserts the document unless a near-duplicate exists; see
    /// [`insert_if_novel`](Self::insert_if_novel). Returns `None` for a text that is too short to
    /// be compared; then nothing was inserted.
    ///
    /// Compares the recipe with the database's first, so that fingerprints of different recipes
    /// cannot be mixed.
    ///
    /// Only with the feature `text`.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the database has another recipe or none; otherwise the same as
    /// [`insert`](Self::insert).
    ///
    /// ```
    /// use fpdb::text::Recipe;
    /// use fpdb::{Db, Ids};
    /// let recipe = Recipe::named("default")?;
    /// let db = Db::options().ids(Ids::Names).recipe(&recipe).in_memory()?;
    /// let text = "Trains leave for the airport every ten minutes, until midnight.";
    /// let first = db.insert_text_if_novel(&recipe, text, "https://a.example/")?;
    /// assert!(first.is_some_and(|outcome| !outcome.is_duplicate()));
    /// let second = db.insert_text_if_novel(&recipe, &text.to_uppercase(), "https://b.example/")?;
    /// assert!(second.is_some_and(|outcome| outcome.is_duplicate()));
    /// assert_eq!(db.insert_text_if_novel(&recipe, "", "https://c.example/")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_text_if_novel<'k>(
        &self,
        recipe: &Recipe<F>,
        text: &str,
        key: impl Into<Stamped<'k>>,
    ) -> Result<Option<Outcome<F>>> {
        self.check_recipe(recipe)?;
        let fingerprint = recipe.fingerprint(text).fingerprint;
        fingerprint.map(|fingerprint| self.insert_if_novel(fingerprint, key)).transpose()
    }

    /// Makes the fingerprint of a text and returns every entry within `distance` bits of it; see
    /// [`query`](Self::query). Returns `None` for a text that is too short to be compared.
    ///
    /// Only with the feature `text`.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the database has another recipe or none; `Corruption`; `Io`.
    ///
    /// ```
    /// use fpdb::Db;
    /// use fpdb::text::Recipe;
    /// let recipe = Recipe::named("default")?;
    /// let db = Db::options().recipe(&recipe).in_memory()?;
    /// let _ = db.insert_text_if_novel(&recipe, "Trains leave every ten minutes.", 1)?;
    /// let matches = db.query_text(&recipe, "trains leave every ten minutes", 3)?;
    /// assert_eq!(matches.map(|matches| matches.len()), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query_text(
        &self,
        recipe: &Recipe<F>,
        text: &str,
        distance: u32,
    ) -> Result<Option<Vec<Match<F>>>> {
        self.check_recipe(recipe)?;
        let fingerprint = recipe.fingerprint(text).fingerprint;
        fingerprint.map(|fingerprint| self.query(fingerprint, distance)).transpose()
    }

    /// Refuses a recipe that is not the database's.
    fn check_recipe(&self, recipe: &Recipe<F>) -> Result<()> {
        let message = match self.description().recipe.as_deref() {
            Some(stored) if stored == recipe.name() => return Ok(()),
            Some(stored) => format!(
                "the fingerprints in the database come from recipe {stored}, not {}: they cannot be \
                 compared",
                recipe.name()
            ),
            None => format!(
                "the database has no recipe: create it, or open it while it is empty, with \
                 Options::recipe, here {}",
                recipe.name()
            ),
        };
        Err(Error::new(ErrorKind::Unsupported, message).at_path(self.path()))
    }
}
