//! A write of several documents, with its conditions.

use std::{fmt, io};

use crate::base::error::Result;
use crate::db::api::engine::WriteEngine;
use crate::db::state::key::Stamped;
use crate::db::write::condition::{Callbacks, Condition};
use crate::db::write::confirm::{Candidate, Confirm};
use crate::db::write::outcome::{OnDuplicate, Outcome};
use crate::fingerprint::Fingerprint;
use crate::query::Within;

/// A write of several documents in one commit: [`Db::write`](crate::Db::write) prepares it, its
/// methods add conditions, and [`run`](Self::run) does it.
///
/// The documents are decided in turn, as if each were written by itself: a document may be a
/// duplicate of one before it, and a key may occur again. After a crash, either all of them are
/// there or none.
///
/// # Examples
///
/// A batch of a crawl, whose novel pages are stored elsewhere before they count as seen:
///
/// ```
/// use fpdb::{Db, Ids, OnDuplicate};
///
/// let db = Db::options().ids(Ids::Names).in_memory()?;
/// let pages = [(0b0000, "https://a.example/"), (0b0001, "https://b.example/")];
/// let mut novel = 0;
/// let outcomes = db
///     .write(&pages)
///     .unless_near(3)
///     .or_update(OnDuplicate::Keep)
///     .before_commit(|outcomes| {
///         novel = outcomes.iter().filter(|outcome| !outcome.is_duplicate()).count();
///         Ok(()) // a real program prints or stores them here
///     })
///     .run()?;
/// assert_eq!((outcomes.len(), novel), (2, 1));
/// # Ok::<(), fpdb::Error>(())
/// ```
#[must_use = "nothing is written until `run` is called"]
pub struct Write<'a, F: Fingerprint = u64> {
    engine: &'a dyn WriteEngine<F>,
    documents: Vec<(F, Stamped<'a>)>,
    condition: Condition,
    callbacks: Callbacks<'a, F>,
}

impl<F: Fingerprint> fmt::Debug for Write<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Write")
            .field("documents", &self.documents.len())
            .field("condition", &self.condition)
            .finish_non_exhaustive()
    }
}

impl<'a, F: Fingerprint> Write<'a, F> {
    pub(super) fn new(engine: &'a dyn WriteEngine<F>, documents: Vec<(F, Stamped<'a>)>) -> Self {
        Self { engine, documents, condition: Condition::default(), callbacks: Callbacks::NONE }
    }

    /// Writes a document only if no document is near it, within this distance or by the database's
    /// rule. Otherwise it is a [`Duplicate`](Outcome::Duplicate). Without this, every document is
    /// written.
    ///
    /// Nor is a document written whose key [exists](Outcome::Exists), whatever its fingerprint is.
    /// [`or_update`](Self::or_update) changes that. A [remembered](OnDuplicate::Remember) duplicate
    /// does not count as existing: it becomes an original if nothing is near it any more.
    ///
    /// ```
    /// let db = fpdb::Db::options().in_memory()?;
    /// let outcomes = db.write(&[(0b0000, 1), (0b0001, 2), (0b1111, 3)]).unless_near(3).run()?;
    /// assert_eq!(outcomes.iter().filter(|outcome| outcome.is_duplicate()).count(), 1);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn unless_near(self, within: impl Into<Within>) -> Self {
        Self { condition: Condition { unless_near: Some(within.into()), ..self.condition }, ..self }
    }

    /// Updates documents whose key exists. Their old version does not make them duplicates. If
    /// another document does, `on_duplicate` says what becomes of the key. Has no effect without
    /// [`unless_near`](Self::unless_near), because then every document is written anyway.
    ///
    /// ```
    /// use fpdb::{Db, Ids, OnDuplicate, Outcome};
    ///
    /// let db = Db::options().ids(Ids::Unique).in_memory()?;
    /// db.write(&[(0b0000_0000, 1), (0b1111_0000, 2)]).run()?;
    /// // Document 2 is now like document 1, so its old version goes.
    /// let outcomes =
    ///     db.write(&[(0b0001, 2)]).unless_near(3).or_update(OnDuplicate::Remove).run()?;
    /// assert!(matches!(outcomes[0], Outcome::Duplicate(found) if found.id.0 == 1));
    /// assert_eq!(db.get(2)?, None);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn or_update(self, on_duplicate: OnDuplicate) -> Self {
        Self { condition: Condition { or_update: Some(on_duplicate), ..self.condition }, ..self }
    }

    /// Asks `ask` about each document that is near, the nearest first: only one that it confirms
    /// makes the written document a [`Duplicate`](Outcome::Duplicate). So a program that has the
    /// texts, or what it keeps of them, decides exactly, and fingerprints only find what to
    /// compare. Has no effect without [`unless_near`](Self::unless_near).
    ///
    /// `ask` gets the position of the written document in this batch, and the [`Candidate`]. It is
    /// asked about at most `most` stored candidates of a document, and about at most as many of
    /// this batch or stored in the meantime, before the document counts as novel. So a crowd of
    /// near documents does not take the time of all of them. It must give the same answer if it is
    /// asked again, as happens if the database has changed in the meantime. A key that
    /// [exists](Outcome::Exists) needs no confirmation.
    ///
    /// What another writer has stored in the meantime may not be in a snapshot yet, so that its
    /// name is not known. For documents that were stored before, no lock is held. Other writers
    /// wait while it is asked about those of this batch, or stored in the meantime, so it must not
    /// write to this database.
    ///
    /// ```
    /// use fpdb::{Db, Outcome};
    ///
    /// let db = Db::options().in_memory()?;
    /// let prices = ["7 euros", "8 euros", "7 euros"];
    /// let outcomes = db
    ///     .write(&[(0b0000, 1), (0b0001, 2), (0b0011, 3)])
    ///     .unless_near(3)
    ///     .confirm(256, |own, other| {
    ///         let other = other.given.expect("nothing was stored before");
    ///         Ok(prices[own] == prices[other])
    ///     })
    ///     .run()?;
    /// assert!(matches!(outcomes[1], Outcome::Inserted(_)));
    /// // The second one is nearer.
    /// assert!(matches!(outcomes[2], Outcome::Duplicate(found) if found.id.0 == 1));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn confirm(
        self,
        most: usize,
        ask: impl FnMut(usize, Candidate<F>) -> io::Result<bool> + 'a,
    ) -> Self {
        let confirm = Some(Confirm { most, ask: Box::new(ask) });
        Self { callbacks: Callbacks { confirm, ..self.callbacks }, ..self }
    }

    /// Shows the outcomes to `look` before anything is written. Whatever it does with the novel
    /// documents is done before they count as seen.
    ///
    /// Other writers wait in the meantime. So `look` must not write to this database: it would wait
    /// for itself.
    ///
    /// ```
    /// use fpdb::ErrorKind;
    /// let db = fpdb::Db::options().in_memory()?;
    /// let full = |_: &[_]| Err(std::io::ErrorKind::StorageFull.into());
    /// let error = db.write(&[(7, 1)]).before_commit(full).run().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Io);
    /// assert!(db.snapshot().is_empty());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn before_commit(self, look: impl FnOnce(&[Outcome<F>]) -> io::Result<()> + 'a) -> Self {
        let callbacks = Callbacks { before_commit: Some(Box::new(look)), ..self.callbacks };
        Self { callbacks, ..self }
    }

    /// Writes the documents, and returns what became of each.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a key of the wrong kind or length, a stamp or
    /// [`or_update`](Self::or_update) in a database with [user ids](crate::Ids::User), and for more
    /// than 2 GiB of documents; the error of [`confirm`](Self::confirm) and
    /// [`before_commit`](Self::before_commit); `Poisoned`
    /// after a failed write; `Closed`; `Replaced`; `Corruption`; `NoSpace`; `Io`. Then nothing is
    /// written.
    ///
    /// ```
    /// use fpdb::{DocId, Outcome};
    /// let db = fpdb::Db::options().in_memory()?;
    /// let outcomes = db.write(&[(0b0001, 1), (0b0011, 2)]).run()?;
    /// assert_eq!(outcomes, [Outcome::Inserted(DocId(1)), Outcome::Inserted(DocId(2))]);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn run(self) -> Result<Vec<Outcome<F>>> {
        let Self { engine, documents, condition, callbacks } = self;
        engine.write(&documents, condition, callbacks)
    }
}
