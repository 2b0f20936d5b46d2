//! The functions that write and find documents.
//!
//! A fingerprint comes as a pointer to as many bytes as the database's fingerprints have. That fits
//! all widths; a program that uses 64 bits passes the address of a `uint64_t`.
#![expect(unsafe_code, reason = "functions that C calls, with pointers")]

use std::ffi::{c_char, c_void};

use fpdb::{Key, OnDuplicate, QueryOptions, Stamped, Within};

use crate::border::{Places, Room, call, fingerprints, handle, key, taken, text, values};
use crate::code::{Failure, FpdbCode};
use crate::database::{Database, How};
use crate::handle::FpdbDb;
use crate::structs::{
    FpdbDocument, FpdbMatch, FpdbOnDuplicate, FpdbOutcome, FpdbQuery, FpdbWrite, FpdbWriteMode,
    distance, expect_unused,
};

/// Inserts a document, unless another one is near it or its name or id is there already.
/// `fingerprint` leads to one of the database's bits: a `uint64_t`, an `FpdbBits128`, or the bytes
/// of a sketch.
///
/// Here and in all functions below that have both, `name` is for a database with names, and `id`
/// for all others. With names, `name` is not null, and `id` is not looked at. Otherwise, `name` is
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_insert_if_novel(
    db: *mut FpdbDb,
    fingerprint: *const c_void,
    name: *const c_char,
    id: u64,
    outcome: *mut FpdbOutcome,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: README.md says what the caller keeps, and `border` asks for nothing else. So it is
    // below.
    unsafe {
        call(error, || {
            let db = handle(db, "db")?.get()?;
            let document = Stamped { key: key(name, id, db.has_names())?, stamp: None };
            one(db, fingerprint, document, FpdbWriteMode::InsertIfNovel, outcome)
        })
    }
}

/// Inserts a document, or gives the one with its name or id the new fingerprint, unless another
/// document is near that: then it stays as it was. For pages that are visited again and again.
/// `stamp` may be null. A document keeps the greatest stamp that it was given. Not with user ids.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_upsert_if_novel(
    db: *mut FpdbDb,
    fingerprint: *const c_void,
    name: *const c_char,
    id: u64,
    stamp: *const u64,
    outcome: *mut FpdbOutcome,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_insert_if_novel`.
    unsafe {
        call(error, || {
            let stamp = if stamp.is_null() { None } else { Some(values(stamp, 1, "stamp")?[0]) };
            let db = handle(db, "db")?.get()?;
            let document = Stamped { key: key(name, id, db.has_names())?, stamp };
            one(db, fingerprint, document, FpdbWriteMode::UpsertIfNovel, outcome)
        })
    }
}

/// Writes one document.
///
/// # Safety
///
/// As for `fpdb_insert_if_novel`.
unsafe fn one(
    db: &dyn Database,
    fingerprint: *const c_void,
    document: Stamped<'_>,
    mode: FpdbWriteMode,
    outcome: *mut FpdbOutcome,
) -> Result<(), Failure> {
    // SAFETY: as in `fpdb_insert_if_novel`.
    unsafe {
        let fingerprint = fingerprints(fingerprint, db.size(), 1, "fingerprint")?;
        let outcome = Places::one(outcome, "outcome")?;
        let how = How { mode, on_duplicate: OnDuplicate::Keep, within: Within::Rule };
        outcome.give_many(&db.write(fingerprint, &[document], how)?);
        Ok(())
    }
}

/// Writes documents in one commit, which is much faster than one by one. They are decided in turn:
/// a document may be a duplicate of one before it. `outcomes` has room for as many. After a crash,
/// either all of them are there or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_write(
    db: *mut FpdbDb,
    write: *const FpdbWrite,
    outcomes: *mut FpdbOutcome,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_insert_if_novel`.
    unsafe {
        call(error, || {
            let db = handle(db, "db")?.get()?;
            if write.is_null() {
                return Err(Failure::invalid("write is null"));
            }
            let write = taken(write)?;
            let (count, how) = (write.count, how(&write)?);
            let bytes = fingerprints(write.fingerprints, db.size(), count, "fingerprints")?;
            let documents = documents(&write)?;
            let outcomes = Places::many(outcomes, count, "outcomes")?;
            outcomes.give_many(&db.write(bytes, &documents, how)?);
            Ok(())
        })
    }
}

/// Returns how documents are written.
fn how(write: &FpdbWrite) -> Result<How, Failure> {
    expect_unused(write.reserved)?;
    let mode = FpdbWriteMode::of(write.mode)?;
    let distance = distance(write.distance);
    if mode == FpdbWriteMode::Always && distance.is_some() {
        return Err(Failure::invalid(
            "distance was given, but FPDB_WRITE_MODE_ALWAYS compares none",
        ));
    }
    if mode != FpdbWriteMode::UpsertIfNovel && write.on_duplicate != 0 {
        return Err(Failure::invalid("on_duplicate is for FPDB_WRITE_MODE_UPSERT_IF_NOVEL"));
    }
    let on_duplicate = FpdbOnDuplicate::of(write.on_duplicate)?;
    Ok(How { mode, on_duplicate, within: within(distance) })
}

fn within(distance: Option<u32>) -> Within {
    distance.map_or(Within::Rule, Within::Distance)
}

/// Returns the names or ids of what is written, with the stamps.
///
/// # Safety
///
/// As for `fpdb_write`.
unsafe fn documents<'a>(write: &FpdbWrite) -> Result<Vec<Stamped<'a>>, Failure> {
    let &FpdbWrite { count, names, ids, stamps, .. } = write;
    if count > 0 && names.is_null() == ids.is_null() {
        return Err(Failure::invalid("give either names or ids"));
    }
    // SAFETY: as in `fpdb_insert_if_novel`.
    let keys: Vec<Key<'a>> = unsafe {
        if names.is_null() {
            values(ids, count, "ids")?.iter().map(Key::from).collect()
        } else {
            let names = values(names, count, "names")?.iter();
            names.map(|&name| text(name, "a name").map(Key::from)).collect::<Result<_, _>>()?
        }
    };
    if stamps.is_null() {
        return Ok(keys.into_iter().map(Stamped::from).collect());
    }
    // SAFETY: as in `fpdb_insert_if_novel`.
    let stamps = unsafe { values(stamps, count, "stamps")? };
    Ok(keys.into_iter().zip(stamps).map(|(key, &stamp)| Stamped::new(key, stamp)).collect())
}

/// Removes a document. Writes to `removed` 1 if there was one, and otherwise 0. With user ids, it
/// reads all entries to find those with the id. In a database with names, no document is removed by
/// the id that the database chose: `fpdb_name` says its name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_remove(
    db: *mut FpdbDb,
    name: *const c_char,
    id: u64,
    removed: *mut u32,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_insert_if_novel`.
    unsafe {
        call(error, || {
            let db = handle(db, "db")?.get()?;
            let key = key(name, id, db.has_names())?;
            Places::one(removed, "removed")?.give_flag(db.remove(key)?);
            Ok(())
        })
    }
}

/// Removes the entry with this fingerprint and id, as a match has them. Writes to `removed` 1 if
/// there was one, and otherwise 0. With user ids, this is much faster than `fpdb_remove`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_remove_entry(
    db: *mut FpdbDb,
    fingerprint: *const c_void,
    id: u64,
    removed: *mut u32,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_insert_if_novel`.
    unsafe {
        call(error, || {
            let db = handle(db, "db")?.get()?;
            let fingerprint = fingerprints(fingerprint, db.size(), 1, "fingerprint")?;
            let removed = Places::one(removed, "removed")?;
            removed.give_flag(db.remove_entry(fingerprint, id)?);
            Ok(())
        })
    }
}

/// Gives a document a stamp, unless it has a greater one. Writes to `exists` 1 if there is such a
/// document, and otherwise 0. Not with user ids.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_touch(
    db: *mut FpdbDb,
    name: *const c_char,
    id: u64,
    stamp: u64,
    exists: *mut u32,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_insert_if_novel`.
    unsafe {
        call(error, || {
            let db = handle(db, "db")?.get()?;
            let key = key(name, id, db.has_names())?;
            Places::one(exists, "exists")?.give_flag(db.touch(key, stamp)?);
            Ok(())
        })
    }
}

/// Removes all documents with a stamp less than `before`, and keeps those without a stamp. Writes
/// the number of removed ones to `removed`. It commits about a thousand at a time, so that after a
/// failure some are removed. Not with user ids.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_expire(
    db: *mut FpdbDb,
    before: u64,
    removed: *mut u64,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_insert_if_novel`.
    unsafe {
        call(error, || {
            let removed = Places::one(removed, "removed")?;
            removed.give(handle(db, "db")?.get()?.expire(before)?);
            Ok(())
        })
    }
}

/// Finds the documents that are near a fingerprint, the nearest first. `query` may be null: then it
/// finds all that are near enough to be duplicates. Writes their number to `found`, the first
/// `capacity` of them to `matches`, and their fingerprints, one after the other, to `fingerprints`,
/// which may be null. `found` can be more than `capacity`; nothing is written beyond that. To know
/// the number only, let `capacity` be 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_query(
    db: *const FpdbDb,
    fingerprint: *const c_void,
    query: *const FpdbQuery,
    matches: *mut FpdbMatch,
    fingerprints: *mut c_void,
    capacity: usize,
    found: *mut usize,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_insert_if_novel`.
    unsafe {
        call(error, || {
            let db = handle(db, "db")?.get()?;
            let fingerprint =
                crate::border::fingerprints(fingerprint, db.size(), 1, "fingerprint")?;
            let query = taken(query)?;
            let matches = Places::many(matches, capacity, "matches")?;
            let fingerprints = Places::fingerprints(fingerprints, db.size(), capacity);
            let found = Places::one(found, "found")?;
            let near = db.query(fingerprint, options(&query)?, capacity)?;
            matches.give_many(&near.matches);
            fingerprints.give_many(&near.fingerprints);
            found.give(near.number);
            Ok(())
        })
    }
}

/// Returns what is asked for.
fn options(query: &FpdbQuery) -> Result<QueryOptions, Failure> {
    expect_unused(query.reserved)?;
    let mut options = QueryOptions::within(within(distance(query.distance)));
    if query.limit > 0 {
        options = options.limit(query.limit);
    }
    if query.since > 0 {
        options = options.since(query.since);
    }
    Ok(options)
}

/// Writes to `exists` 1 if there is such a document, and otherwise 0. If there is, fills
/// `document`, whose size is set, and writes the fingerprint to `fingerprint`, which may be null.
/// Not with user ids.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_get(
    db: *const FpdbDb,
    name: *const c_char,
    id: u64,
    document: *mut FpdbDocument,
    fingerprint: *mut c_void,
    exists: *mut u32,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_insert_if_novel`.
    unsafe {
        call(error, || {
            let db = handle(db, "db")?.get()?;
            let key = key(name, id, db.has_names())?;
            let (room, exists) = (Room::of(document)?, Places::one(exists, "exists")?);
            let fingerprint = Places::fingerprints(fingerprint, db.size(), 1);
            let known = db.get(key)?;
            exists.give_flag(known.is_some());
            if let Some((document, bytes)) = known {
                room.give(document);
                fingerprint.give_many(&bytes);
            }
            Ok(())
        })
    }
}

/// Writes the name of the document with this id to `name`, or null if there is none. Free it with
/// `fpdb_free_text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_name(
    db: *const FpdbDb,
    id: u64,
    name: *mut *mut c_char,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_insert_if_novel`.
    unsafe {
        call(error, || {
            let name = Places::one(name, "name")?;
            name.give_text(handle(db, "db")?.get()?.name(id)?.as_deref());
            Ok(())
        })
    }
}
