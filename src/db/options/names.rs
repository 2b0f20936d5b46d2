//! The names of a recipe and of an extraction, checked before they are stored.

use crate::base::error::{Error, Result};

/// The name of the recipe that makes a database's fingerprints, for
/// [`Options::recipe`](crate::Options::recipe).
///
/// With the feature `text`, a built-in recipe's name, an alias such as `default`, and a
/// `&Recipe` convert into it. An alias is replaced by the full name of the recipe, because the
/// alias may mean another recipe in a later version. An unknown name is refused when the database
/// is opened.
///
/// If another program makes the fingerprints, give its scheme a name of your own with
/// [`custom`](Self::custom).
///
/// # Examples
///
/// ```
/// use fpdb::{Db, RecipeName};
/// let ours = RecipeName::custom("acme-simhash/3");
/// let db = Db::options().recipe(ours).in_memory()?;
/// assert_eq!(db.description().recipe.as_deref(), Some("acme-simhash/3"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RecipeName(Result<String>);

impl RecipeName {
    /// Uses a name as it is: 1 to 255 bytes. fpdb only compares it, and does not interpret it.
    pub fn custom(name: impl Into<String>) -> Self {
        Self(Ok(name.into()))
    }

    /// Returns the name to store.
    pub(crate) fn get(self) -> Result<String> {
        self.0
    }
}

/// The extractions of the crate `fpdb-web`, which this one does not use.
const EXTRACTIONS: [&str; 2] = ["main/1", "strip/1"];

/// The name of the extraction that makes the texts of a database from web pages, for
/// [`Options::extraction`](crate::Options::extraction).
///
/// The name of an extraction of `fpdb-web` converts into it: `main/1` or `strip/1`. Another name is
/// refused when the database is opened. If another program makes the texts, give its way a name of
/// your own with [`custom`](Self::custom).
///
/// # Examples
///
/// ```
/// use fpdb::{Db, ExtractionName};
/// let ours = ExtractionName::custom("acme-text/2");
/// let db = Db::options().extraction(ours).in_memory()?;
/// assert_eq!(db.description().extraction.as_deref(), Some("acme-text/2"));
/// assert!(Db::options().extraction("main-text/1").in_memory().is_err());
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ExtractionName(Result<String>);

impl ExtractionName {
    /// Uses a name as it is: 1 to 255 bytes. fpdb only compares it, and does not interpret it.
    pub fn custom(name: impl Into<String>) -> Self {
        Self(Ok(name.into()))
    }

    /// Returns the name to store.
    pub(crate) fn get(self) -> Result<String> {
        self.0
    }
}

impl From<&str> for ExtractionName {
    fn from(name: &str) -> Self {
        if EXTRACTIONS.contains(&name) {
            return Self::custom(name);
        }
        Self(Err(Error::invalid(format!(
            "there is no extraction {name:?}: expected {}, or use ExtractionName::custom for texts \
             that another program makes",
            EXTRACTIONS.join(" or ")
        ))))
    }
}

impl From<&String> for ExtractionName {
    fn from(name: &String) -> Self {
        Self::from(name.as_str())
    }
}

#[cfg(feature = "text")]
mod built_in {
    use fpdb_text::{Recipe, Width, is_built_in, resolve};

    use super::RecipeName;
    use crate::base::error::Error;

    impl From<&str> for RecipeName {
        fn from(name: &str) -> Self {
            if is_built_in(name) {
                return Self::custom(resolve(name));
            }
            Self(Err(Error::invalid(format!(
                "there is no recipe {name:?}: correct the name, pass the &Recipe itself, or use \
                 RecipeName::custom for fingerprints that another program makes"
            ))))
        }
    }

    impl From<&String> for RecipeName {
        fn from(name: &String) -> Self {
            Self::from(name.as_str())
        }
    }

    impl<F: Width> From<&Recipe<F>> for RecipeName {
        fn from(recipe: &Recipe<F>) -> Self {
            Self::custom(recipe.name())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extractions_are_those_of_fpdb_web() {
        let message = fpdb_web::Extraction::named("unknown").unwrap_err().to_string();
        for name in EXTRACTIONS {
            assert_eq!(fpdb_web::Extraction::named(name).unwrap().name(), name);
            assert!(message.contains(name), "{message}");
        }
        assert_eq!(message.matches('/').count(), EXTRACTIONS.len(), "{message}");
    }
}
