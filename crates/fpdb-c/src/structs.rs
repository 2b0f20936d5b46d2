//! The structs, choices and constants of the header.
//!
//! They can grow without breaking a program that was compiled with an earlier header:
//!
//! - A struct of which a call takes or fills one begins with its size. `border` reads and writes as
//!   many bytes as the program's header has.
//! - A struct of which a call fills an array has room in reserve, which is 0 for now. With a size,
//!   each call would need one more argument, and each language that is not C another way to find
//!   the next element.
//! - A choice is a number, since a program in C can put any number where an enum is expected.
//!
//! A struct that a call takes has no padding, since a program need not set padding to 0, and so it
//! could not become a field.

use std::ffi::{c_char, c_void};

use fpdb::{Durability, Ids, OnDuplicate, Sketch, VerifyLevel};

use crate::code::Failure;
use crate::recipe::FpdbRecipe;
use crate::width::SKETCH_BITS;

/// The number of this interface. It changes if a program must be compiled or written anew.
/// `fpdb_abi` returns the number of the library.
pub const FPDB_ABI: u32 = 1;

/// For a distance of 0 bits, which only equal fingerprints have. In the structs, 0 is the default.
pub const FPDB_EXACT: u32 = u32::MAX;

/// The `bits` of a sketch.
pub const FPDB_BITS_SKETCH: u32 = 1824;

/// For opening a database with whatever fingerprints it has. `fpdb_fingerprint_size` says how large
/// they are.
pub const FPDB_BITS_ANY: u32 = u32::MAX;

/// The bytes of a sketch.
pub const FPDB_SKETCH_SIZE: usize = 228;

const _: () = assert!(FPDB_BITS_SKETCH == SKETCH_BITS);
const _: () = assert!(FPDB_SKETCH_SIZE == Sketch::BYTES);

/// A fingerprint of 128 bits.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FpdbBits128 {
    /// The bits 0 to 63.
    pub low: u64,
    /// The bits 64 to 127.
    pub high: u64,
}

/// How documents get their ids. Stored in the database.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FpdbIds {
    /// `FPDB_IDS_USER` for fingerprints, and `FPDB_IDS_UNIQUE` for sketches.
    Default = 0,
    /// You give each fingerprint an id. An id may have several fingerprints, and no document is
    /// found by its id. Takes the least space. Not for sketches.
    User = 1,
    /// You give each document an id, and the database finds it by that.
    Unique = 2,
    /// You give each document a name, such as a URL, of 1 to 65,535 bytes, and the database finds
    /// it by that. The database chooses the ids.
    Names = 3,
}

/// Which failures a write survives, once the call has returned.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FpdbDurability {
    /// A crash of the process or of the system, and a loss of power.
    Sync = 0,
    /// A crash of the process. A loss of power can destroy what was written after the last sync,
    /// which is made every second, by `fpdb_sync` and by `fpdb_close`. Handles that only read see
    /// what has been synced.
    Buffered = 1,
}

/// Whether a document is written if another one is near it or if its name or id is there already.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FpdbWriteMode {
    /// Inserts it, unless another one is near it or its name or id is there already.
    InsertIfNovel = 0,
    /// Inserts it, or gives the document with its name or id the new fingerprint, unless another
    /// one is near. Not with user ids.
    UpsertIfNovel = 1,
    /// Inserts it, or gives the document with its name or id the new fingerprint, whatever is near.
    Always = 2,
}

/// What becomes of the document with a name or id if an upsert finds that it is now a duplicate of
/// another document.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FpdbOnDuplicate {
    /// It stays as it was, if there is one, but gets the new stamp if that is greater.
    Keep = 0,
    /// It is removed.
    Remove = 1,
    /// It is kept with the new fingerprint as a duplicate of the other: `fpdb_get` finds it, and no
    /// query does.
    Remember = 2,
}

/// What `fpdb_verify` does.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FpdbVerifyLevel {
    /// As `FPDB_VERIFY_LEVEL_QUICK`, and decodes everything, and compares tables, documents and ids
    /// with each other.
    Full = 0,
    /// Reads all files and compares them with their checksums.
    Quick = 1,
    /// As `FPDB_VERIFY_LEVEL_FULL`, and compares the answers to some queries with a scan of all
    /// entries.
    Deep = 2,
}

/// How a database is created or opened. Set `size` to `sizeof(FpdbOptions)` and the rest to 0, and
/// then what you choose: `FpdbOptions options = {.size = sizeof options, .max_distance = 6};`. 0 is
/// the default of every field.
///
/// *Stored* options are fixed when the database is created. If you give them when you open it, they
/// must agree.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FpdbOptions {
    /// `sizeof(FpdbOptions)`.
    pub size: usize,
    /// The recipe that makes the fingerprints, or null. The database keeps its name, and refuses
    /// another recipe from then on. Stored.
    pub recipe: *const FpdbRecipe,
    /// If you make the fingerprints yourself: the name of your method, up to 255 bytes, or null.
    /// Not the name of a recipe of fpdb. Stored.
    pub custom_recipe: *const c_char,
    /// How many pages of documents, of 4 KiB, one query of a sketch may read. Default: one for each
    /// 64 bytes of `page_memory`, but at least 4,096 and at most 1,048,576.
    pub candidate_pages: usize,
    /// The Jaccard similarity, 0.5 to 1, from which two documents are near-duplicates. Makes a
    /// database of sketches. Default for new sketches: 0.8; to open a database: as stored.
    pub similarity: f64,
    /// The share of the pairs of exactly this similarity to find, 0.5 to 0.999. Makes a database of
    /// sketches. Default for new sketches: 0.95; to open a database: as stored.
    pub recall: f64,
    /// The number of entries for which the tables of a new database are chosen. Others work, too.
    /// Default: a million.
    pub expected_entries: u64,
    /// How many bytes of memory the pages of files may take. Default: up to seven tenths of the
    /// machine's memory or of its limit, but so that three twentieths stay free. Pages are given
    /// back while queries run, if other programs need the memory.
    pub page_memory: u64,
    /// How many recent entries are in memory before they are written to files. Default: 131,072.
    pub recent_entries: u64,
    /// 64, 128 or `FPDB_BITS_SKETCH`; to open a database, also `FPDB_BITS_ANY`. Default: sketches if
    /// there is a similarity or a recall; otherwise what the recipe makes, and without a recipe 64.
    /// Stored.
    pub bits: u32,
    /// The number of bits up to which two fingerprints are near-duplicates: at most 12 of 64, and
    /// 10 of 128; `FPDB_EXACT` for 0. Not for sketches. Default: 3; stored.
    pub max_distance: u32,
    /// An `FpdbIds`. Stored.
    pub ids: u32,
    /// An `FpdbDurability`.
    pub durability: u32,
    /// With `FPDB_DURABILITY_BUFFERED`, the time between two syncs, up to 86,400,000, which is a
    /// day. Not with `no_background`. Default: 1,000.
    pub sync_milliseconds: u32,
    /// How many threads a compaction uses. Default: the number of processors.
    pub threads: u32,
    /// 1 to open a database for reading only, while another process may write to it. The handle
    /// shows what was written when it was opened, and later writes after `fpdb_refresh`. Of a
    /// writer with `FPDB_DURABILITY_BUFFERED`, it shows what has been synced.
    pub read_only: u32,
    /// 1 to write on a file system whose locks and syncs may not work, such as NFS or FUSE. Two
    /// writers at the same time destroy a database.
    pub trust_file_system: u32,
    /// 1 to start no threads: then a call that has to write files and compact does so by itself,
    /// and buffered writes are synced by that, by `fpdb_sync` and by `fpdb_close`.
    pub no_background: u32,
    /// 0.
    pub reserved: u32,
}

/// What documents are written, and how. Set `size` to `sizeof(FpdbWrite)` and what you do not use
/// to 0. The arrays have `count` elements.
///
/// Some hundreds to some thousands of documents are a good number. All documents of a write are in
/// memory at the same time, several times, and other writers wait for it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FpdbWrite {
    /// `sizeof(FpdbWrite)`.
    pub size: usize,
    /// The number of documents.
    pub count: usize,
    /// Their fingerprints, one after the other.
    pub fingerprints: *const c_void,
    /// Their names, of 1 to 65,535 bytes, for a database with names. Null for all others.
    pub names: *const *const c_char,
    /// Their ids, for a database without names. Null for a database with names.
    pub ids: *const u64,
    /// Their stamps, such as the time of the visit, or null. A document keeps the greatest stamp
    /// that it was given. Not with user ids.
    pub stamps: *const u64,
    /// An `FpdbWriteMode`.
    pub mode: u32,
    /// For upserts, an `FpdbOnDuplicate`.
    pub on_duplicate: u32,
    /// The number of bits, or of minima of sketches, up to which two documents are near;
    /// `FPDB_EXACT` for 0. Default: as the database was created. Beyond the database's
    /// `max_distance`, each document may have to be compared with all others.
    pub distance: u32,
    /// 0.
    pub reserved: u32,
}

/// What a query finds. Set `size` to `sizeof(FpdbQuery)` and what you do not use to 0.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FpdbQuery {
    /// `sizeof(FpdbQuery)`.
    pub size: usize,
    /// How many of the matches to find, the nearest ones. Default: all.
    pub limit: usize,
    /// Finds only documents with at least this stamp. Default: all, also those without a stamp. So
    /// 0 does not leave out documents without a stamp, and 1 does. Not with user ids.
    pub since: u64,
    /// How many bits, or minima of sketches, a match may differ in; `FPDB_EXACT` for 0. Default: as
    /// the database was created, for a distance or for a similarity. Beyond the database's
    /// `max_distance`, the query may have to read all entries.
    pub distance: u32,
    /// 0.
    pub reserved: u32,
}

/// A document that is near a fingerprint.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FpdbMatch {
    /// The id of the document.
    pub id: u64,
    /// For sketches, the estimated Jaccard similarity of the two texts, 0 to 1; otherwise -1.
    pub similarity: f64,
    /// The number of bits, or of minima of sketches, in which its fingerprint differs from yours.
    pub distance: u32,
    /// 0, until a later version has more to say.
    pub reserved: [u32; 3],
}

/// What became of a document.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FpdbOutcomeKind {
    /// It was new, and is in the database now.
    Inserted = 0,
    /// Another document is near it, so it was not inserted.
    Duplicate = 1,
    /// Its name or id is in the database already, so it was not inserted.
    Exists = 2,
    /// Its name or id was in the database already. It has the new fingerprint now, and queries find
    /// it. One that was remembered as a duplicate, and that nothing is near any more, is also
    /// updated by `FPDB_WRITE_MODE_INSERT_IF_NOVEL`, and even if the fingerprint is the same.
    Updated = 3,
    /// Its name or id is in the database already, with this fingerprint. Not for
    /// `FPDB_WRITE_MODE_INSERT_IF_NOVEL`.
    Unchanged = 4,
    /// It was remembered as a duplicate, with this fingerprint, and it still is one. Only for
    /// `FPDB_WRITE_MODE_UPSERT_IF_NOVEL`.
    UnchangedDuplicate = 5,
}

/// What became of a document, and which document decided about it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FpdbOutcome {
    /// What became of it.
    pub kind: FpdbOutcomeKind,
    /// 0, until a later version has more to say.
    pub reserved: u32,
    /// For a duplicate, also an unchanged one, the nearest other document, its original; for one
    /// that exists, that one; otherwise the document itself. After an update, the distance and the
    /// similarity are those to its earlier fingerprint.
    pub document: FpdbMatch,
}

/// What is stored of a document. Set `size` to `sizeof(FpdbDocument)` before the call.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FpdbDocument {
    /// `sizeof(FpdbDocument)`.
    pub size: usize,
    /// Its id.
    pub id: u64,
    /// Its stamp, if it has one.
    pub stamp: u64,
    /// The document of which it is a duplicate, if it is one.
    pub duplicate_of: u64,
    /// 1 if it has a stamp.
    pub has_stamp: u32,
    /// 1 if it is a duplicate.
    pub is_duplicate: u32,
}

/// What a database is and has. Set `size` to `sizeof(FpdbStats)` before the call.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FpdbStats {
    /// `sizeof(FpdbStats)`.
    pub size: usize,
    /// The number of entries, which queries find.
    pub entries: u64,
    /// The number of documents, with remembered duplicates; 0 with user ids.
    pub documents: u64,
    /// How many of these are remembered duplicates.
    pub duplicates: u64,
    /// How many removals take space until a compaction.
    pub removed: u64,
    /// The number of segments.
    pub segments: u64,
    /// The bytes of all files.
    pub disk_bytes: u64,
    /// How many of these are the log's.
    pub log_bytes: u64,
    /// How many recent changes are in memory, not yet in segments.
    pub recent_entries: u64,
    /// About how many bytes of memory they take.
    pub recent_bytes: u64,
    /// How many bytes of memory the pages of files take.
    pub page_memory: u64,
    /// How many they may take.
    pub page_memory_limit: u64,
    /// How many bytes of memory copies of directories and filters take.
    pub index_memory: u64,
    /// The bytes of segments that were written for recent entries, since the database was created.
    pub flushed_bytes: u64,
    /// The bytes of segments that compactions wrote, since the database was created.
    pub compacted_bytes: u64,
    /// How long writers have waited for files to be written, since the database was opened.
    pub stalled_microseconds: u64,
    /// How many writes found the disk full, since the database was opened.
    pub refused_writes: u64,
    /// For sketches, the similarity that the database was created for; otherwise -1.
    pub similarity: f64,
    /// 64, 128 or `FPDB_BITS_SKETCH`.
    pub bits: u32,
    /// The distance beyond which two documents are no near-duplicates, in bits, or in minima of
    /// sketches. 0 means 0 bits, not the default.
    pub max_distance: u32,
    /// An `FpdbIds`.
    pub ids: u32,
    /// 1 if the handle takes no more writes, because one has failed. `fpdb_failures` says why.
    pub write_failed: u32,
    /// 1 if the last attempt in the background to write files, to compact or to load failed.
    /// `fpdb_failures` says why.
    pub background_failed: u32,
    /// 0, until a later version has more to say.
    pub reserved: u32,
}

/// Returns which of two things a number says.
pub(crate) fn yes_or_no(number: u32, what: &str) -> Result<bool, Failure> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Failure::invalid(format!("{what} is {number}: expected 0 or 1"))),
    }
}

/// Refuses what a later version may give a meaning.
pub(crate) fn expect_unused(reserved: u32) -> Result<(), Failure> {
    match reserved {
        0 => Ok(()),
        _ => Err(Failure::invalid(format!("reserved is {reserved}: expected 0"))),
    }
}

/// Returns a distance that was given; `None` for the default.
pub(crate) fn distance(number: u32) -> Option<u32> {
    match number {
        0 => None,
        FPDB_EXACT => Some(0),
        bits => Some(bits),
    }
}

/// Returns the choice of a number.
fn choose<T: Copy>(name: &str, number: u32, choices: &[(u32, T)]) -> Result<T, Failure> {
    let found = choices.iter().find(|(choice, _)| *choice == number);
    found
        .map(|&(_, value)| value)
        .ok_or_else(|| Failure::invalid(format!("{number} is not an {name}")))
}

impl FpdbIds {
    const CHOICES: [(u32, Option<Ids>); 4] = [
        (Self::Default as u32, None),
        (Self::User as u32, Some(Ids::User)),
        (Self::Unique as u32, Some(Ids::Unique)),
        (Self::Names as u32, Some(Ids::Names)),
    ];

    /// Returns the choice of a number; `None` for the default.
    pub(crate) fn of(number: u32) -> Result<Option<Ids>, Failure> {
        choose("FpdbIds", number, &Self::CHOICES)
    }

    /// Returns the number of what a database has.
    pub(crate) fn number(ids: Ids) -> u32 {
        let found = Self::CHOICES.iter().find(|(_, choice)| *choice == Some(ids));
        found.map_or(Self::Default as u32, |&(number, _)| number)
    }
}

impl FpdbDurability {
    pub(crate) fn of(number: u32) -> Result<Durability, Failure> {
        let choices =
            [(Self::Sync as u32, Durability::Sync), (Self::Buffered as u32, Durability::Buffered)];
        choose("FpdbDurability", number, &choices)
    }
}

impl FpdbWriteMode {
    pub(crate) fn of(number: u32) -> Result<Self, Failure> {
        let all = [Self::InsertIfNovel, Self::UpsertIfNovel, Self::Always];
        choose("FpdbWriteMode", number, &all.map(|mode| (mode as u32, mode)))
    }
}

impl FpdbOnDuplicate {
    pub(crate) fn of(number: u32) -> Result<OnDuplicate, Failure> {
        let choices = [
            (Self::Keep as u32, OnDuplicate::Keep),
            (Self::Remove as u32, OnDuplicate::Remove),
            (Self::Remember as u32, OnDuplicate::Remember),
        ];
        choose("FpdbOnDuplicate", number, &choices)
    }
}

impl FpdbVerifyLevel {
    pub(crate) fn of(number: u32) -> Result<VerifyLevel, Failure> {
        let choices = [
            (Self::Full as u32, VerifyLevel::Full),
            (Self::Quick as u32, VerifyLevel::Quick),
            (Self::Deep as u32, VerifyLevel::Deep),
        ];
        choose("FpdbVerifyLevel", number, &choices)
    }
}
