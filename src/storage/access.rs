//! How files are read.

/// How the files of segments are read while a database is open.
///
/// Whatever is chosen, a page is used only after it has passed its checksum.
///
/// # Examples
///
/// ```
/// use fpdb::{Access, Db};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("crawl.fpdb");
/// # Db::options().create(&path)?.close()?;
/// let db = Db::options().access(Access::Cold).open(path)?; // much larger than memory
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Access {
    /// Reads a page into memory of its own when it is first used, checks it there, and keeps it.
    /// What happens to a file after that does not matter to the pages that were read: if another
    /// program truncates or changes the file, or the device fails, then queries either get the
    /// right answer or an error. [`Options::page_memory`](crate::Options::page_memory) limits how
    /// much memory the pages take.
    #[default]
    Cached,
    /// Does what [`Cached`](Self::Cached) does, for a database much larger than memory. Opening
    /// reads only headers and footers. The indexes, which should stay in memory, are read in the
    /// background after that ([`Options::index_memory`](crate::Options::index_memory)): directories
    /// and filters, a tenth of a byte per fingerprint, per table, plus the bits of the filters; the
    /// checksums of pages, a thousandth of the files; and the heads of id sections, half a bit per
    /// id. Everything else is read in single pages, and a query asks the system for all of its
    /// pages before it waits for the first.
    Cold,
    /// Reads the files to memory when the database is opened, in pages of 2 MiB where the system
    /// has them. This immediately takes as much memory as the files are long. For the steadiest
    /// response times. Otherwise as safe as [`Cached`](Self::Cached).
    Resident,
    /// Maps the files, and leaves it to the system which pages it keeps in memory. Takes no memory
    /// besides the system's cache of files.
    ///
    /// Choose this only if nothing else writes to the files, and if the process may end when the
    /// device fails. If another program truncates a file, or a page cannot be read, the next access
    /// raises a signal (`SIGBUS`), which ends the process. If another program changes a page that
    /// was checked before, answers may be wrong, and in Rust's terms the behaviour is undefined.
    Mapped,
}
