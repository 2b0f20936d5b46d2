//! The name of a recipe, checked before it is stored.

use crate::error::Result;

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

#[cfg(feature = "text")]
mod built_in {
    use fpdb_text::{Recipe, Width, is_built_in, resolve};

    use super::RecipeName;
    use crate::error::Error;

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
