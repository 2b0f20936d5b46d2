//! From a text to a decision or to matches in one call, with the recipe checked.

use fpdb_text::Recipe;

use crate::base::error::{Error, ErrorKind, Result};
use crate::db::api::db::Db;
use crate::db::api::snapshot::Snapshot;
use crate::db::state::key::Stamped;
use crate::db::write::outcome::Outcome;
use crate::fingerprint::{Fingerprint, Match};
use crate::query::QueryOptions;

impl<F: Fingerprint> Db<F> {
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
        let fingerprint = self.fingerprint_of(recipe, text)?;
        fingerprint.map(|fingerprint| self.insert_if_novel(fingerprint, key)).transpose()
    }

    /// Makes the fingerprint of a text and inserts or updates the document, unless another one is a
    /// near-duplicate; see [`upsert_if_novel`](Self::upsert_if_novel). Returns `None` for a text
    /// that is too short to be compared; then nothing was changed.
    ///
    /// Only with the feature `text`.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the database has another recipe or none; otherwise the same as
    /// [`upsert_if_novel`](Self::upsert_if_novel).
    ///
    /// ```
    /// use fpdb::text::Recipe;
    /// use fpdb::{Db, DocId, Ids, Outcome, Stamped};
    /// let recipe = Recipe::named("default")?;
    /// let db = Db::options().ids(Ids::Names).recipe(&recipe).in_memory()?;
    /// let text = "Trains leave for the airport every ten minutes, until midnight.";
    /// let page = |time| Stamped::new("https://a.example/", time);
    /// let visit = |time| db.upsert_text_if_novel(&recipe, text, page(time));
    /// assert_eq!(visit(1)?, Some(Outcome::Inserted(DocId(0))));
    /// assert_eq!(visit(2)?, Some(Outcome::Unchanged(DocId(0))));
    /// assert_eq!(db.get("https://a.example/")?.unwrap().stamp, Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn upsert_text_if_novel<'k>(
        &self,
        recipe: &Recipe<F>,
        text: &str,
        key: impl Into<Stamped<'k>>,
    ) -> Result<Option<Outcome<F>>> {
        let fingerprint = self.fingerprint_of(recipe, text)?;
        fingerprint.map(|fingerprint| self.upsert_if_novel(fingerprint, key)).transpose()
    }

    pub(super) fn fingerprint_of(&self, recipe: &Recipe<F>, text: &str) -> Result<Option<F>> {
        let stored = self.description().recipe.as_deref();
        expect_recipe(stored, recipe).map_err(|e| e.at_path(self.path()))?;
        Ok(recipe.fingerprint(text).fingerprint)
    }
}

impl<F: Fingerprint> Snapshot<F> {
    /// Makes the fingerprint of a text and returns the entries near it; see [`query`](Self::query).
    /// Returns `None` for a text that is too short to be compared.
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
    /// let matches = db.snapshot().query_text(&recipe, "trains leave every ten minutes", 3)?;
    /// assert_eq!(matches.map(|matches| matches.len()), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query_text(
        &self,
        recipe: &Recipe<F>,
        text: &str,
        options: impl Into<QueryOptions>,
    ) -> Result<Option<Vec<Match<F>>>> {
        expect_recipe(self.reader().settings.recipe.as_deref(), recipe)?;
        let fingerprint = recipe.fingerprint(text).fingerprint;
        fingerprint.map(|fingerprint| self.query(fingerprint, options)).transpose()
    }
}

/// Refuses a recipe that is not the database's.
fn expect_recipe<F: Fingerprint>(stored: Option<&str>, recipe: &Recipe<F>) -> Result<()> {
    let message = match stored {
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
    Err(Error::new(ErrorKind::Unsupported, message))
}
