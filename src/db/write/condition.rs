//! The conditions of a write.

use std::io;

use crate::base::error::{Error, Result};
use crate::db::state::core::Core;
use crate::db::write::confirm::Confirm;
use crate::db::write::outcome::{OnDuplicate, Outcome};
use crate::fingerprint::Fingerprint;
use crate::query::Within;

/// When a document is written, and what becomes of its old version.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Condition {
    /// How near another document prevents this. `None`: nothing prevents it.
    pub(crate) unless_near: Option<Within>,
    /// What becomes of the key of a duplicate. Without it, a key that exists prevents the write,
    /// too, if [`unless_near`](Self::unless_near) is given.
    pub(crate) or_update: Option<OnDuplicate>,
}

/// What the caller is asked while a write is decided.
pub(crate) struct Callbacks<'a, F: Fingerprint> {
    /// Whether what is near a document makes it a duplicate. Without it, it does.
    pub(crate) confirm: Option<Confirm<'a, F>>,
    /// What the caller does once everything is decided and nothing is written yet.
    pub(crate) before_commit: Option<BeforeCommit<'a, F>>,
}

impl<F: Fingerprint> Callbacks<'_, F> {
    pub(crate) const NONE: Self = Self { confirm: None, before_commit: None };
}

/// See [`Callbacks::before_commit`].
pub(crate) type BeforeCommit<'a, F> = Box<dyn FnOnce(&[Outcome<F>]) -> io::Result<()> + 'a>;

/// Shows the outcomes to the caller, whose error ends the write.
pub(super) fn ask<F: Fingerprint>(
    core: &Core<F>,
    before_commit: Option<BeforeCommit<'_, F>>,
    outcomes: &[Outcome<F>],
) -> Result<()> {
    let Some(before_commit) = before_commit else { return Ok(()) };
    before_commit(outcomes).map_err(|source| Error::ended_by_caller(core.storage.root(), source))
}
