//! What was read and written, and what could not be saved of a damaged database.

use std::fmt;
use std::path::PathBuf;

use crate::base::error::Error;
use crate::fingerprint::DocId;

/// The most ids that the message of a loss lists.
const MOST_LISTED: usize = 10;

/// What [`Options::build`](crate::Options::build) read, wrote, and could not save.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Source};
/// # let folder = tempfile::tempdir()?;
/// let [a, b, out] = ["a", "b", "out"].map(|name| folder.path().join(name));
/// for (path, id) in [(&a, 1), (&b, 2)] {
///     let db = Db::options().create(path)?;
///     db.insert(7, id)?;
///     db.close()?;
/// }
/// let report = Db::options().build(&out, Source::databases([&a, &b]))?;
/// assert_eq!((report.read, report.written), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[must_use]
#[non_exhaustive]
pub struct BuildReport {
    /// Number of documents that the source has; of entries, if they have user ids. Of a damaged
    /// database: that it had, as far as its manifest and logs say.
    pub read: u64,
    /// Number of documents or entries in the new database.
    pub written: u64,
    /// The damage found in a [damaged](crate::Source::damaged) database, each with file and offset.
    pub damage: Vec<Error>,
    /// What no file of a damaged database proves any more. Empty if nothing was lost.
    pub losses: Vec<Loss>,
}

/// Something that a repair could not save.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Source};
/// # let folder = tempfile::tempdir()?;
/// # let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
/// # Db::options().create(&old)?.close()?;
/// for loss in Db::options().build(&new, Source::damaged(&old))?.losses {
///     eprintln!("{}: {}", loss.path.display(), loss);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Loss {
    /// What was lost.
    pub kind: LossKind,
    /// How much of it: documents, entries, bytes of a log, or files. `None` if that is not known.
    pub count: Option<u64>,
    /// The damaged file, or the folder if it is not known which file had it.
    pub path: PathBuf,
    /// The ids of the documents of an index of passages, ascending; empty for other kinds of
    /// losses.
    pub ids: Vec<DocId>,
}

impl Loss {
    /// A loss of something else than documents of an index of passages.
    pub(crate) fn new(kind: LossKind, count: Option<u64>, path: PathBuf) -> Self {
        Self { kind, count, path, ids: Vec::new() }
    }

    /// Adds the first ids.
    fn list_ids(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, id) in self.ids.iter().take(MOST_LISTED).enumerate() {
            write!(f, "{} {id}", if number == 0 { ":" } else { "," })?;
        }
        if self.ids.len() > MOST_LISTED { f.write_str(", ...") } else { Ok(()) }
    }
}

/// What kind of thing a repair could not save.
///
/// # Examples
///
/// ```
/// use fpdb::reports::LossKind;
///
/// fn is_doubtful(kind: LossKind) -> bool {
///     matches!(kind, LossKind::Removals | LossKind::Versions | LossKind::Names)
/// }
/// assert!(is_doubtful(LossKind::Names) && !is_doubtful(LossKind::Entries));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum LossKind {
    /// Fingerprints without ids, or ids without fingerprints. They are not in the new database. A
    /// text of an index of passages of which nothing is left is among them, and not in
    /// [`Texts`](Self::Texts).
    Entries,
    /// Removals of entries. Entries that were removed may be in the new database.
    Removals,
    /// Records of documents. What the tables prove of these documents is in the new database.
    Documents,
    /// Names of documents. The new database has these documents, each with the name
    /// `(lost name of id N)` and without a stamp.
    Names,
    /// The newest versions of documents. The new database has the newest fingerprint, but an older
    /// stamp.
    Versions,
    /// Documents of an index of passages of which only windows are left. They are not in the new
    /// index. Insert them again, unless removals are lost, too, and these documents were removed.
    Texts,
    /// Windows of documents of an index of passages. The new index has fewer windows of these
    /// documents than their texts have, so that some of their runs may not be found. It does not
    /// say why: lost entries may have been these windows, or they were common and never stored.
    Windows,
    /// Bytes of a log. Commits in them are not in the new database.
    Log,
    /// Files that no manifest names, although no crash leaves such files: a manifest that named
    /// them was lost, or an earlier one was put back. What they hold is not in the new database.
    Files,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.count.map_or_else(|| "an unknown number of".to_owned(), |n| n.to_string());
        match self.kind {
            LossKind::Entries => {
                write!(f, "{n} entries are lost: their fingerprints or ids cannot be read")
            }
            LossKind::Removals => {
                write!(f, "{n} removals are lost: entries that were removed may be there again")
            }
            LossKind::Documents => write!(f, "{n} records of documents are lost"),
            LossKind::Names => {
                write!(
                    f,
                    "{n} documents have lost their names: each is called \"(lost name of id N)\""
                )
            }
            LossKind::Versions => write!(f, "{n} documents have an older stamp than before"),
            LossKind::Texts => {
                write!(f, "{n} texts are no longer in the index: insert them again")?;
                self.list_ids(f)
            }
            LossKind::Windows => {
                write!(
                    f,
                    "{n} texts may have lost windows, so that some of their runs are not found"
                )?;
                self.list_ids(f)
            }
            LossKind::Log => write!(f, "{n} bytes of a log are lost, with the commits in them"),
            LossKind::Files => {
                write!(f, "{n} files are left out, with what they hold: no manifest names them")
            }
        }
    }
}
