//! The option that makes a database an index of passages.

use crate::db::options::Options;
use crate::fingerprint::Ids;
use crate::settings::PassageSettings;

impl<F> Options<F> {
    /// Makes a new database an index of passages, with a distance of 0 and user ids: to
    /// [build](Self::build) one from the entries of another that has these settings. A new index
    /// without documents is made by `passages::Index::create`.
    ///
    /// ```
    /// # #[cfg(feature = "text")] {
    /// use fpdb::passages::Index;
    /// use fpdb::{Db, DocId, Source};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("passages.fpdb");
    /// let index = Index::in_memory(50)?;
    /// index.insert(&[(DocId(1), "A text.")])?;
    /// let (db, snapshot) = (index.database(), index.database().snapshot());
    /// let options = Db::options().passages(db.description().passages.unwrap());
    /// let _ = options.build(&path, Source::entries(snapshot.len(), snapshot.iter()))?;
    /// assert!(Index::open(&path, Db::options())?.contains(DocId(1))?);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn passages(self, settings: PassageSettings) -> Self {
        let (max_distance, ids) = (Some(0), Some(Ids::User));
        Self { max_distance, similar: None, ids, passages: Some(settings), ..self }
    }
}
