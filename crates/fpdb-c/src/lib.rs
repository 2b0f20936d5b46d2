#![doc = include_str!("../README.md")]
#![deny(missing_docs)]
#![expect(unsafe_code, reason = "functions that C calls, with pointers")]
#![expect(
    clippy::missing_safety_doc,
    reason = "README.md says for all functions together what the caller must keep"
)]

// From the bottom up. The engine's test `layering` checks the layers.
//
// code      what calls return
// border    pointers of C as values of Rust, and back: no panic gets past it
// handle    what is done, without pointers

mod border;
mod code;
mod handle;

use std::ffi::c_char;

use fpdb::Key;

use crate::border::{Places, call, free_text, handle, key, take, text, values};
use crate::code::Failure;

pub use crate::code::FpdbCode;
pub use crate::handle::{
    FpdbDb, FpdbDocument, FpdbMatch, FpdbOutcome, FpdbOutcomeKind, FpdbRecipe,
};

/// Creates a database of 64-bit fingerprints in a new folder, and opens it. Documents have names,
/// or ids that the caller chooses. Documents are near-duplicates if their fingerprints differ in at
/// most `max_distance` bits. With a recipe, which may be null, the database stores its name. If
/// `buffered`, a write that has returned survives a crash of the process, otherwise also a loss of
/// power.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_create(
    path: *const c_char,
    recipe: *const FpdbRecipe,
    names: bool,
    max_distance: u32,
    buffered: bool,
    db: *mut *mut FpdbDb,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: README.md says what the caller keeps, and `border` asks for nothing else. So it is
    // below.
    let work = || unsafe {
        let (path, db) = (text(path, "path")?, Places::one(db, "db")?);
        let created = FpdbDb::create(path, recipe.as_ref(), names, max_distance, buffered)?;
        db.give_handle(created);
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Opens a database for reading and writing. `buffered` is as in `fpdb_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_open(
    path: *const c_char,
    buffered: bool,
    db: *mut *mut FpdbDb,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let (path, db) = (text(path, "path")?, Places::one(db, "db")?);
        db.give_handle(FpdbDb::open(path, buffered)?);
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Opens a database for reading, while another process may write to it. It shows what was written
/// when it was opened, and later writes after `fpdb_refresh`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_open_read_only(
    path: *const c_char,
    db: *mut *mut FpdbDb,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let (path, db) = (text(path, "path")?, Places::one(db, "db")?);
        db.give_handle(FpdbDb::open_read_only(path)?);
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Shows what another process has written until now. Writes to `is_new` whether there is anything
/// new. For a handle that is open for writing, there never is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_refresh(
    db: *const FpdbDb,
    is_new: *mut bool,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let is_new = Places::one(is_new, "is_new")?;
        is_new.give(handle(db, "db")?.refresh()?);
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Sets how many bytes of memory the pages of files may take of each database that is created or
/// opened from now on, in this process. With 0, as from the beginning, up to seven tenths of what
/// is available; that is given back if other programs need it, as far as this one reads.
#[unsafe(no_mangle)]
pub extern "C" fn fpdb_page_memory(bytes: u64) {
    crate::handle::set_page_memory(bytes);
}

/// Closes a database and frees its handle, even if it fails. Null is allowed. What was written is
/// safe without it; the next open takes less time with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_close(db: *mut FpdbDb, error: *mut *mut c_char) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        take(db).map_or(Ok(()), FpdbDb::close)?;
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Writes the number of entries to `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_count(
    db: *const FpdbDb,
    count: *mut u64,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        Places::one(count, "count")?.give(handle(db, "db")?.len());
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Inserts a document, unless another one is near it or its name or id is there already. `name` is
/// for a database with names. Otherwise it is null, and the document has this id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_insert_if_novel(
    db: *const FpdbDb,
    fingerprint: u64,
    name: *const c_char,
    id: u64,
    outcome: *mut FpdbOutcome,
    error: *mut *mut c_char,
) -> FpdbCode {
    let (names, ids) = if name.is_null() {
        (std::ptr::null(), &raw const id)
    } else {
        (&raw const name, std::ptr::null())
    };
    // SAFETY: the pointers lead to one value each, which lives until the call returns.
    unsafe { fpdb_insert_batch_if_novel(db, &raw const fingerprint, names, ids, 1, outcome, error) }
}

/// Inserts documents in one commit, which is much faster than one by one. They are decided in turn:
/// a document may be a duplicate of one before it. One of `names` and `ids` is null. All arrays
/// have `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_insert_batch_if_novel(
    db: *const FpdbDb,
    fingerprints: *const u64,
    names: *const *const c_char,
    ids: *const u64,
    count: usize,
    outcomes: *mut FpdbOutcome,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let db = handle(db, "db")?;
        if count > 0 && names.is_null() == ids.is_null() {
            return Err(Failure::invalid("give either names or ids".to_owned()));
        }
        let keys: Vec<Key<'_>> = if names.is_null() {
            values(ids, count, "ids")?.iter().map(Key::from).collect()
        } else {
            let names = values(names, count, "names")?.iter();
            names
                .map(|&name| text(name, "a name").map(Key::from))
                .collect::<Result<_, Failure>>()?
        };
        let fingerprints = values(fingerprints, count, "fingerprints")?.iter().copied();
        let outcomes = Places::many(outcomes, count, "outcomes")?;
        let documents: Vec<_> = fingerprints.zip(keys).collect();
        outcomes.give_many(&db.insert_if_novel(&documents)?);
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Inserts a document, or gives the one with its name the new fingerprint, unless another document
/// is near that: then it stays as it was. For pages that are visited again and again, in a database
/// with names. If `name` is null, `id` is that of the document. `stamp` may be null. A document
/// keeps the greatest stamp that it was given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_upsert_if_novel(
    db: *const FpdbDb,
    fingerprint: u64,
    name: *const c_char,
    id: u64,
    stamp: *const u64,
    outcome: *mut FpdbOutcome,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let (db, key) = (handle(db, "db")?, key(name, id)?);
        let stamp = if stamp.is_null() { None } else { Some(values(stamp, 1, "stamp")?[0]) };
        let outcome = Places::one(outcome, "outcome")?;
        outcome.give(db.upsert_if_novel(fingerprint, key, stamp)?);
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Removes the document with this name, or with this id if `name` is null. Writes to `removed`
/// whether there was one. In a database without names, it reads all entries to find those with the
/// id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_remove(
    db: *const FpdbDb,
    name: *const c_char,
    id: u64,
    removed: *mut bool,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let (db, key) = (handle(db, "db")?, key(name, id)?);
        Places::one(removed, "removed")?.give(db.remove(key)?);
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Gives a document a stamp, unless it has a greater one. Writes to `exists` whether there is such
/// a document. For a database with names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_touch(
    db: *const FpdbDb,
    name: *const c_char,
    id: u64,
    stamp: u64,
    exists: *mut bool,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let (db, key) = (handle(db, "db")?, key(name, id)?);
        Places::one(exists, "exists")?.give(db.touch(key, stamp)?);
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Removes all documents with a stamp less than `before`. Writes their number to `removed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_expire(
    db: *const FpdbDb,
    before: u64,
    removed: *mut u64,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let removed = Places::one(removed, "removed")?;
        removed.give(handle(db, "db")?.expire(before)?);
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Finds all documents whose fingerprints differ in at most `distance` bits, the nearest first.
/// Writes their number to `found`, and the first `capacity` of them to `matches`. To know the
/// number only, let `capacity` be 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_query(
    db: *const FpdbDb,
    fingerprint: u64,
    distance: u32,
    matches: *mut FpdbMatch,
    capacity: usize,
    found: *mut usize,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let matches = Places::many(matches, capacity, "matches")?;
        let found = Places::one(found, "found")?;
        let answers = handle(db, "db")?.query(fingerprint, distance)?;
        matches.give_many(&answers);
        found.give(answers.len());
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Writes to `found` whether there is a document with this name, or with this id if `name` is null,
/// and if so, to `document` what is stored of it. For a database with names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_get(
    db: *const FpdbDb,
    name: *const c_char,
    id: u64,
    document: *mut FpdbDocument,
    found: *mut bool,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let (db, key) = (handle(db, "db")?, key(name, id)?);
        let (document, found) = (Places::one(document, "document")?, Places::one(found, "found")?);
        let known = db.get(key)?;
        found.give(known.is_some());
        if let Some(known) = known {
            document.give(known);
        }
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Writes the name of a document to `name`, or null if there is none. Free it with
/// `fpdb_free_text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_name(
    db: *const FpdbDb,
    id: u64,
    name: *mut *mut c_char,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let name = Places::one(name, "name")?;
        name.give_text(handle(db, "db")?.name(id)?.as_deref());
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Writes recent documents to files, and starts a new log. A database does so by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_flush(db: *const FpdbDb, error: *mut *mut c_char) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        handle(db, "db")?.flush()?;
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Merges everything into one segment and frees the space of removed documents. A database merges
/// by itself, too, but keeps some of that space.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_compact(db: *const FpdbDb, error: *mut *mut c_char) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        handle(db, "db")?.compact()?;
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Copies the database, as it is now, into an empty or missing folder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_backup(
    db: *const FpdbDb,
    path: *const c_char,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        handle(db, "db")?.backup(text(path, "path")?)?;
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Reads all files and compares them with their checksums; unless `quick`, also decodes everything
/// and compares tables, documents and ids with each other. Returns `FPDB_CODE_CORRUPTION`, with the
/// first damage as text, if there is any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_verify(
    db: *const FpdbDb,
    quick: bool,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        handle(db, "db")?.verify(quick)?;
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Drops all pages of files from memory. For a process that asks nothing for some time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_release_memory(
    db: *const FpdbDb,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        handle(db, "db")?.release_memory();
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Returns the version, such as `0.1.0`. It is not freed.
#[unsafe(no_mangle)]
pub extern "C" fn fpdb_version() -> *const c_char {
    const { concat!(env!("CARGO_PKG_VERSION"), "\0") }.as_ptr().cast()
}

/// Finds the recipe of a name, such as `default` or `pairs/1`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_recipe(
    name: *const c_char,
    recipe: *mut *mut FpdbRecipe,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let recipe = Places::one(recipe, "recipe")?;
        recipe.give_handle(FpdbRecipe::named(text(name, "name")?)?);
        Ok(FpdbCode::Ok)
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Frees a recipe. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_free_recipe(recipe: *mut FpdbRecipe) {
    // SAFETY: as in `fpdb_create`.
    drop(unsafe { take(recipe) });
}

/// Makes the fingerprint of a text of `bytes` bytes in UTF-8. Returns `FPDB_CODE_TOO_SHORT`, and
/// leaves `fingerprint` as it is, if the text has too few words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_fingerprint(
    recipe: *const FpdbRecipe,
    text: *const c_char,
    bytes: usize,
    fingerprint: *mut u64,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    let work = || unsafe {
        let recipe = handle(recipe, "recipe")?;
        let text = std::str::from_utf8(values(text.cast::<u8>(), bytes, "text")?)
            .map_err(|error| Failure::invalid(format!("text is not UTF-8: {error}")))?;
        let fingerprint = Places::one(fingerprint, "fingerprint")?;
        match recipe.fingerprint(text) {
            None => Ok(FpdbCode::TooShort),
            Some(value) => {
                fingerprint.give(value);
                Ok(FpdbCode::Ok)
            }
        }
    };
    // SAFETY: as above.
    unsafe { call(error, work) }
}

/// Frees the text of an error or a name. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_free_text(text: *mut c_char) {
    // SAFETY: as in `fpdb_create`.
    unsafe { free_text(text) };
}
