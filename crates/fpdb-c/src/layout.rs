//! Where the fields of the structs are, and which numbers the choices have. Compiled programs have
//! them, so that nothing here changes as long as `FPDB_ABI` stays. What is new comes at the end: a
//! field after the last one of a struct that begins with its size, and a number that is not taken.

use crate::code::FpdbCode;
use crate::structs::{
    FPDB_ABI, FPDB_BITS_ANY, FPDB_BITS_SKETCH, FPDB_EXACT, FPDB_SKETCH_SIZE, FpdbDurability,
    FpdbIds, FpdbOnDuplicate, FpdbOutcomeKind, FpdbVerifyLevel, FpdbWriteMode,
};

/// Checks the size of a struct and the offsets of all its fields, in bytes.
#[cfg(target_pointer_width = "64")]
macro_rules! structs {
    ($($name:ident ($size:literal) { $($field:ident: $offset:literal,)* })*) => { $(
        const _: () = {
            use crate::structs::$name;
            assert!(size_of::<$name>() == $size);
            $(assert!(std::mem::offset_of!($name, $field) == $offset);)*
            // Fails to compile if a field is missing above.
            const fn has_these_fields($name { $($field: _,)* }: &$name) {}
            let _ = has_these_fields;
        };
    )* };
}

#[cfg(target_pointer_width = "64")]
structs! {
    FpdbBits128 (16) { low: 0, high: 8, }
    FpdbOptions (112) {
        size: 0,
        recipe: 8,
        custom_recipe: 16,
        candidate_pages: 24,
        similarity: 32,
        recall: 40,
        expected_entries: 48,
        page_memory: 56,
        recent_entries: 64,
        bits: 72,
        max_distance: 76,
        ids: 80,
        durability: 84,
        sync_milliseconds: 88,
        threads: 92,
        read_only: 96,
        trust_file_system: 100,
        no_background: 104,
        reserved: 108,
    }
    FpdbWrite (64) {
        size: 0,
        count: 8,
        fingerprints: 16,
        names: 24,
        ids: 32,
        stamps: 40,
        mode: 48,
        on_duplicate: 52,
        distance: 56,
        reserved: 60,
    }
    FpdbQuery (32) { size: 0, limit: 8, since: 16, distance: 24, reserved: 28, }
    FpdbMatch (32) { id: 0, similarity: 8, distance: 16, reserved: 20, }
    FpdbOutcome (40) { kind: 0, reserved: 4, document: 8, }
    FpdbDocument (40) {
        size: 0,
        id: 8,
        stamp: 16,
        duplicate_of: 24,
        has_stamp: 32,
        is_duplicate: 36,
    }
    FpdbStats (168) {
        size: 0,
        entries: 8,
        documents: 16,
        duplicates: 24,
        removed: 32,
        segments: 40,
        disk_bytes: 48,
        log_bytes: 56,
        recent_entries: 64,
        recent_bytes: 72,
        page_memory: 80,
        page_memory_limit: 88,
        index_memory: 96,
        flushed_bytes: 104,
        compacted_bytes: 112,
        stalled_microseconds: 120,
        refused_writes: 128,
        similarity: 136,
        bits: 144,
        max_distance: 148,
        ids: 152,
        write_failed: 156,
        background_failed: 160,
        reserved: 164,
    }
}

/// Checks the numbers of all variants.
macro_rules! choices {
    ($($name:ident { $($variant:ident = $number:literal,)* })*) => { $(
        const _: () = {
            assert!(size_of::<$name>() == 4);
            $(assert!($name::$variant as u32 == $number);)*
            // Fails to compile if a variant is missing above.
            const fn has_these_variants(choice: $name) {
                match choice { $($name::$variant => (),)* }
            }
            let _ = has_these_variants;
        };
    )* };
}

choices! {
    FpdbCode {
        Ok = 0,
        TooShort = 1,
        NotFound = 2,
        AlreadyExists = 3,
        Locked = 4,
        InvalidArgument = 5,
        Unsupported = 6,
        Corruption = 7,
        Io = 8,
        NoSpace = 9,
        Poisoned = 10,
        Closed = 11,
        Unfinished = 12,
        TooManyCandidates = 13,
        Other = 14,
        Panic = 15,
    }
    FpdbOutcomeKind {
        Inserted = 0,
        Duplicate = 1,
        Exists = 2,
        Updated = 3,
        Unchanged = 4,
        UnchangedDuplicate = 5,
    }
    FpdbIds { Default = 0, User = 1, Unique = 2, Names = 3, }
    FpdbDurability { Sync = 0, Buffered = 1, }
    FpdbWriteMode { InsertIfNovel = 0, UpsertIfNovel = 1, Always = 2, }
    FpdbOnDuplicate { Keep = 0, Remove = 1, Remember = 2, }
    FpdbVerifyLevel { Full = 0, Quick = 1, Deep = 2, }
}

const _: () = assert!(FPDB_ABI == 1);
const _: () = assert!(FPDB_EXACT == 0xffff_ffff && FPDB_BITS_ANY == 0xffff_ffff);
const _: () = assert!(FPDB_BITS_SKETCH == 1824 && FPDB_SKETCH_SIZE == 228);
