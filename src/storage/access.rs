//! How files are read.

/// How the files of segments are read while a database is open.
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
    /// Maps the files, and leaves it to the system which pages it keeps in memory. Best if most of
    /// the database fits in memory. Where the system can (Linux with ext4 or XFS), large files are
    /// mapped in pages of 2 MiB.
    #[default]
    Mapped,
    /// For a database much larger than memory. Opening reads only headers and footers. The indexes,
    /// which should stay in memory, are read in the background after that
    /// ([`Options::index_memory`](crate::Options::index_memory)): directories and filters, a tenth of
    /// a byte per fingerprint, per table, plus the bits of the filters; the checksums of pages, a
    /// thousandth of the files; and the heads of id sections, half a bit per id. Everything else is
    /// read in single pages, all pages of a query together. Queries whose
    /// pages happen to be in memory take some 20 us longer than with
    /// [`Mapped`](Self::Mapped).
    Cold,
    /// Copies the files to memory when the database is opened, in pages of 2 MiB where the system
    /// has them. This immediately takes as much memory as the files are long. For the steadiest
    /// response times, and for systems that cannot map files in large pages.
    Resident,
}
