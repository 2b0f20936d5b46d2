//! The names of a database's files, built and parsed in one place.
//!
//! The number of a log or segment tells which manifest was in force when it was created, so no two
//! files that manifests name have the same name, and a file that is newer than the manifest is
//! recognised. storage-format.md, "Files".

/// The manifest, which says which files are live. It is replaced as a whole.
pub(crate) const MANIFEST: &str = "MANIFEST";
/// The next manifest, before it is renamed to [`MANIFEST`].
pub(crate) const MANIFEST_TMP: &str = "MANIFEST.tmp";
/// A copy of [`MANIFEST`], from which only a repair reads.
pub(crate) const MANIFEST_COPY: &str = "MANIFEST.copy";

/// Bits of a file's number that count the files of one generation.
const NUMBER_BITS: u32 = 24;

/// Greatest generation, so that file numbers do not overflow.
pub(crate) const MAX_GENERATION: u64 = u64::MAX >> NUMBER_BITS;

/// Returns the first number of a file that is created while the manifest of this generation is in
/// force.
pub(crate) fn first_number(generation: u64) -> u64 {
    generation << NUMBER_BITS
}

/// Returns the generation of the manifest that was in force when the file was created.
pub(crate) fn generation_of(number: u64) -> u64 {
    number >> NUMBER_BITS
}

/// Identifies a segment or a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    /// The number in the names of its files, which is unique in a database.
    pub number: u64,
    /// The random number of the writer that created it, which tells copies of a database apart.
    pub nonce: u64,
}

impl FileId {
    /// The identity of the manifest, of which a folder has one.
    pub(crate) const MANIFEST: Self = Self { number: 0, nonce: 0 };
}

/// A numbered file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileName {
    /// A log.
    Log(u64),
    /// One table of a segment: the segment's number and the table's number in the layout.
    Table(u64, u16),
    /// The table of a band of a segment.
    Band(u64, u16),
    /// The ids of a segment.
    Postings(u64),
    /// The entries that a segment removes from older ones.
    Tombstones(u64),
    /// The documents of a segment.
    Documents(u64),
    /// What a repair needs of a segment if the manifest or the end of a file is lost.
    Spare(u64),
    /// Records that a bulk load sorts or keeps for later; useless after a crash.
    Run(u64),
}

impl FileName {
    /// Returns the number of the log, segment or run.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Log(n)
            | Self::Table(n, _)
            | Self::Band(n, _)
            | Self::Postings(n)
            | Self::Tombstones(n)
            | Self::Documents(n)
            | Self::Spare(n)
            | Self::Run(n) => n,
        }
    }

    /// Returns whether the file is of use after a crash.
    pub(crate) fn is_kept(self) -> bool {
        !matches!(self, Self::Run(_))
    }

    /// Parses what `to_string` returns; `None` for any other name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (number, kind) = name.split_once('.')?;
        let number = u64::from_str_radix(number, 16).ok()?;
        let parsed = match kind {
            "log" => Self::Log(number),
            "ids" => Self::Postings(number),
            "del" => Self::Tombstones(number),
            "docs" => Self::Documents(number),
            "spare" => Self::Spare(number),
            "run" => Self::Run(number),
            _ => match kind.split_at_checked(1)? {
                ("t", table) => Self::Table(number, table.parse().ok()?),
                ("b", table) => Self::Band(number, table.parse().ok()?),
                _ => return None,
            },
        };
        (parsed.to_string() == name).then_some(parsed)
    }
}

impl std::fmt::Display for FileName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}.", self.number())?;
        match self {
            Self::Log(_) => f.write_str("log"),
            Self::Table(_, table) => write!(f, "t{table:02}"),
            Self::Band(_, table) => write!(f, "b{table:02}"),
            Self::Postings(_) => f.write_str("ids"),
            Self::Tombstones(_) => f.write_str("del"),
            Self::Documents(_) => f.write_str("docs"),
            Self::Spare(_) => f.write_str("spare"),
            Self::Run(_) => f.write_str("run"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_tell_their_generation_up_to_the_greatest() {
        assert_eq!(MAX_GENERATION, (1 << 40) - 1);
        for generation in [0, 1, 77, MAX_GENERATION] {
            let first = first_number(generation);
            assert_eq!(generation_of(first), generation);
            assert_eq!(generation_of(first + ((1 << 24) - 1)), generation);
        }
    }

    #[test]
    fn all_files_but_runs_are_of_use_after_a_crash() {
        let kept = [FileName::Log(1), FileName::Table(1, 0), FileName::Postings(1)];
        assert!(kept.iter().all(|name| name.is_kept()));
        assert!(!FileName::Run(1).is_kept());
    }

    #[test]
    fn file_names_parse_back_and_other_names_do_not() {
        let all = [
            FileName::Log(0),
            FileName::Table(0x1f, 3),
            FileName::Table(u64::MAX, 63),
            FileName::Band(7, 12),
            FileName::Postings(7),
            FileName::Tombstones(8),
            FileName::Documents(9),
            FileName::Spare(9),
            FileName::Run(10),
        ];
        for name in all {
            assert_eq!(FileName::parse(&name.to_string()), Some(name));
        }
        assert_eq!(FileName::Table(0x1f, 3).to_string(), "000000000000001f.t03");
        for other in [
            "MANIFEST",
            "LOCK",
            "1.log",
            "0000000G.log",
            "0000000000000001.t3",
            "0000000000000001.txt",
            "20261122.log",
            "x",
            ".log",
        ] {
            assert_eq!(FileName::parse(other), None, "{other}");
        }
    }
}
