//! What a call returns, and failures before they reach it.

use fpdb::ErrorKind;

/// What became of a call. Everything but `FPDB_CODE_OK` and `FPDB_CODE_TOO_SHORT` is an error,
/// about which there is a text.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FpdbCode {
    /// Success.
    Ok = 0,
    /// The text has too few words for a fingerprint that tells texts apart.
    TooShort = 1,
    /// There is no database at this path.
    NotFound = 2,
    /// There is already something at this path.
    AlreadyExists = 3,
    /// Another handle or process is writing to this database.
    Locked = 4,
    /// An argument is out of range, null or not UTF-8, or does not fit this database.
    InvalidArgument = 5,
    /// The database is for another width or recipe, or it or your program needs a newer version.
    Unsupported = 6,
    /// Bytes on disk are not what was written.
    Corruption = 7,
    /// The operating system reported a failure. Remove its cause. If `write_failed` of `FpdbStats`
    /// is 0 then, you may repeat the call. Otherwise open the database again.
    Io = 8,
    /// The disk is full, or has too little free space for the call. Free some space. Then the same
    /// holds as for `FPDB_CODE_IO`.
    NoSpace = 9,
    /// An earlier write failed, so this handle takes no more writes. Open the database again.
    Poisoned = 10,
    /// The process was forked from the one that opened the database, or its folder was replaced.
    /// Open it again.
    Closed = 11,
    /// A backup, merge or rebuild was to create this database and did not finish. Repeat it, or
    /// remove the folder.
    Unfinished = 12,
    /// The sketch leads to more documents than one query may read: see `candidate_pages` of
    /// `FpdbOptions`. Nothing was read or written. Allow more, or write the document with
    /// `FPDB_WRITE_MODE_ALWAYS`.
    TooManyCandidates = 13,
    /// A failure that has no code of its own.
    Other = 14,
    /// A fault of fpdb, which is worth a report. Close the handle.
    Panic = 15,
}

impl From<()> for FpdbCode {
    fn from((): ()) -> Self {
        Self::Ok
    }
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: FpdbCode,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { code: FpdbCode::InvalidArgument, message: message.into() }
    }
}

impl From<fpdb::Error> for Failure {
    fn from(error: fpdb::Error) -> Self {
        let code = match error.kind() {
            ErrorKind::NotFound => FpdbCode::NotFound,
            ErrorKind::AlreadyExists => FpdbCode::AlreadyExists,
            ErrorKind::Locked => FpdbCode::Locked,
            ErrorKind::InvalidArgument => FpdbCode::InvalidArgument,
            ErrorKind::Unsupported => FpdbCode::Unsupported,
            ErrorKind::Corruption => FpdbCode::Corruption,
            ErrorKind::Io => FpdbCode::Io,
            ErrorKind::NoSpace => FpdbCode::NoSpace,
            ErrorKind::Poisoned => FpdbCode::Poisoned,
            ErrorKind::Closed | ErrorKind::Replaced => FpdbCode::Closed,
            ErrorKind::Unfinished => FpdbCode::Unfinished,
            ErrorKind::TooManyCandidates => FpdbCode::TooManyCandidates,
            _ => FpdbCode::Other,
        };
        Self { code, message: error.to_string() }
    }
}

impl From<fpdb::text::Error> for Failure {
    fn from(error: fpdb::text::Error) -> Self {
        Self::invalid(error.to_string())
    }
}
