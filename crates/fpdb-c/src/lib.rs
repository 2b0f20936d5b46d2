#![doc = include_str!("../README.md")]
#![deny(missing_docs)]
#![expect(unsafe_code, reason = "functions that C calls, with pointers")]
#![expect(
    clippy::missing_safety_doc,
    reason = "README.md says for all functions together what the caller must keep"
)]

// From the bottom up. The engine's test `layering` checks the layers.
//
// code       what calls return
// width      fingerprints of each width as bytes
// recipe     what makes them
// structs    the structs, choices and constants of the header
// layout     where their fields are, and which numbers they have: that never changes
// border     pointers of C as values of Rust, and back: no panic gets past it
// options    options, checked before anything is touched
// database   what is done with a database, without pointers
// handle     databases of all widths
// documents  the functions that write and find documents
//
// The other functions are here.

mod border;
mod code;
mod database;
mod documents;
mod handle;
mod layout;
mod options;
mod recipe;
mod structs;
mod width;

use std::ffi::{c_char, c_void};

use crate::border::{Places, Room, call, free_text, handle, take, taken, text, values};
use crate::code::Failure;
use crate::options::{Given, Mode};

pub use crate::code::FpdbCode;
pub use crate::documents::{
    fpdb_expire, fpdb_get, fpdb_insert_if_novel, fpdb_name, fpdb_query, fpdb_remove,
    fpdb_remove_entry, fpdb_touch, fpdb_upsert_if_novel, fpdb_write,
};
pub use crate::handle::FpdbDb;
pub use crate::recipe::FpdbRecipe;
pub use crate::structs::{
    FPDB_ABI, FPDB_BITS_ANY, FPDB_BITS_SKETCH, FPDB_EXACT, FPDB_SKETCH_SIZE, FpdbBits128,
    FpdbDocument, FpdbDurability, FpdbIds, FpdbMatch, FpdbOnDuplicate, FpdbOptions, FpdbOutcome,
    FpdbOutcomeKind, FpdbQuery, FpdbStats, FpdbVerifyLevel, FpdbWrite, FpdbWriteMode,
};

/// Creates a database in a folder that is missing or empty, and opens it. `options` may be null:
/// all are the default then. If anything is refused, nothing is created, and no parent of the
/// folder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_create(
    path: *const c_char,
    options: *const FpdbOptions,
    db: *mut *mut FpdbDb,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: README.md says what the caller keeps, and `border` asks for nothing else. So it is
    // below.
    unsafe { open(path, options, db, error, Mode::Create) }
}

/// Opens a database. `options` may be null: then it is one of 64 bits, opened for reading and
/// writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_open(
    path: *const c_char,
    options: *const FpdbOptions,
    db: *mut *mut FpdbDb,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe { open(path, options, db, error, Mode::Open) }
}

/// Opens a database for reading and writing, or creates it if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_open_or_create(
    path: *const c_char,
    options: *const FpdbOptions,
    db: *mut *mut FpdbDb,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe { open(path, options, db, error, Mode::OpenOrCreate) }
}

/// Creates or opens a database.
///
/// # Safety
///
/// As for `fpdb_create`.
unsafe fn open(
    path: *const c_char,
    options: *const FpdbOptions,
    db: *mut *mut FpdbDb,
    error: *mut *mut c_char,
    mode: Mode,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe {
        call(error, || {
            let (path, db) = (text(path, "path")?, Places::one(db, "db")?);
            let plain = taken(options)?;
            let custom = plain.custom_recipe;
            let custom_recipe =
                if custom.is_null() { None } else { Some(text(custom, "custom_recipe")?) };
            let given = Given { plain, recipe: plain.recipe.as_ref(), custom_recipe };
            db.give_handle(Some(FpdbDb::open(path, &given, mode)?));
            Ok(())
        })
    }
}

/// Closes a database and frees its handle, even if it fails. Null is allowed. What was written is
/// safe without it, unless writes are buffered; the next open takes less time with it. In a child
/// that was forked, it only frees the handle, and returns `FPDB_CODE_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_close(db: *mut FpdbDb, error: *mut *mut c_char) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe { call(error, || take(db).map_or(Ok(()), FpdbDb::close)) }
}

/// Shows what another handle or process has written until now; of a writer with
/// `FPDB_DURABILITY_BUFFERED`, what it has synced. Writes to `is_new` 1 if there is anything new,
/// and otherwise 0. For a handle that is open for writing, there never is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_refresh(
    db: *mut FpdbDb,
    is_new: *mut u32,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe {
        call(error, || {
            let is_new = Places::one(is_new, "is_new")?;
            is_new.give_flag(handle(db, "db")?.get()?.refresh()?);
            Ok(())
        })
    }
}

/// Returns the bytes of a fingerprint of this database: 8, 16 or `FPDB_SKETCH_SIZE`; 0 for null. It
/// also answers in a child that was forked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_fingerprint_size(db: *const FpdbDb) -> usize {
    // SAFETY: as in `fpdb_create`.
    unsafe { db.as_ref() }.map_or(0, FpdbDb::size)
}

/// Writes the number of entries to `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_count(
    db: *const FpdbDb,
    count: *mut u64,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe {
        call(error, || {
            Places::one(count, "count")?.give(handle(db, "db")?.get()?.len());
            Ok(())
        })
    }
}

/// Fills `stats`, whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_stats(
    db: *const FpdbDb,
    stats: *mut FpdbStats,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe {
        call(error, || {
            let (db, room) = (handle(db, "db")?.get()?, Room::of(stats)?);
            room.give(db.stats());
            Ok(())
        })
    }
}

/// Writes to `write` why the handle takes no more writes, and to `background` why the last attempt
/// in the background failed; null for what has not failed. Free the texts with `fpdb_free_text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_failures(
    db: *const FpdbDb,
    write: *mut *mut c_char,
    background: *mut *mut c_char,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe {
        call(error, || {
            let db = handle(db, "db")?.get()?;
            let (write, background) =
                (Places::one(write, "write")?, Places::one(background, "background")?);
            let failures = db.failures();
            write.give_text(failures.write.as_deref());
            background.give_text(failures.background.as_deref());
            Ok(())
        })
    }
}

/// Makes all writes durable that have returned. Without buffered writes, they are already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_sync(db: *mut FpdbDb, error: *mut *mut c_char) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe { call(error, || handle(db, "db")?.get()?.sync()) }
}

/// Writes recent documents to files, and starts a new log. A database does so by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_flush(db: *mut FpdbDb, error: *mut *mut c_char) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe { call(error, || handle(db, "db")?.get()?.flush()) }
}

/// Merges everything into one segment and frees the space of removed documents. A database merges
/// by itself, too, but keeps some of that space.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_compact(db: *mut FpdbDb, error: *mut *mut c_char) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe { call(error, || handle(db, "db")?.get()?.compact()) }
}

/// Copies the database, as it is now, into an empty or missing folder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_backup(
    db: *mut FpdbDb,
    path: *const c_char,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe { call(error, || handle(db, "db")?.get()?.backup(text(path, "path")?)) }
}

/// Checks the database. `level` is an `FpdbVerifyLevel`. Returns `FPDB_CODE_CORRUPTION`, with the
/// first damage as text, if there is any.
///
/// A handle that is open for writing first writes recent documents to files, as `fpdb_flush` does,
/// unless an earlier write failed. Then it reads all segments. A handle that only reads checks
/// those that it shows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_verify(
    db: *mut FpdbDb,
    level: u32,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe { call(error, || handle(db, "db")?.get()?.verify(FpdbVerifyLevel::of(level)?)) }
}

/// Reads into memory what queries need, as far as it fits, and returns when that is done. The
/// background does the same after opening, so it is only for those who want to wait, or have no
/// background.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_warm(db: *mut FpdbDb, error: *mut *mut c_char) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe { call(error, || handle(db, "db")?.get()?.warm()) }
}

/// Drops all pages of files from memory. For a process that asks nothing for some time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_release_memory(db: *mut FpdbDb, error: *mut *mut c_char) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe {
        call(error, || {
            handle(db, "db")?.get()?.release_memory();
            Ok(())
        })
    }
}

/// Finds the recipe of a name, such as `default` or `pairs/1`. Its fingerprints have 64 bits, 128
/// bits or `FPDB_BITS_SKETCH`; if `bits` is 0, 64.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_recipe(
    name: *const c_char,
    bits: u32,
    recipe: *mut *mut FpdbRecipe,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe {
        call(error, || {
            let recipe = Places::one(recipe, "recipe")?;
            recipe.give_handle(Some(FpdbRecipe::named(text(name, "name")?, bits)?));
            Ok(())
        })
    }
}

/// Writes the name of the database's recipe to `name`, or null if it has none. Free it with
/// `fpdb_free_text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_recipe_name(
    db: *const FpdbDb,
    name: *mut *mut c_char,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe {
        call(error, || {
            let name = Places::one(name, "name")?;
            name.give_text(handle(db, "db")?.get()?.recipe());
            Ok(())
        })
    }
}

/// Finds the database's recipe, at its width. Writes null to `recipe` if it has none. Returns
/// `FPDB_CODE_UNSUPPORTED` if this version of fpdb does not know it, because it is a custom or a
/// newer one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_recipe_of(
    db: *const FpdbDb,
    recipe: *mut *mut FpdbRecipe,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe {
        call(error, || {
            let recipe = Places::one(recipe, "recipe")?;
            recipe.give_handle(handle(db, "db")?.recipe()?);
            Ok(())
        })
    }
}

/// Frees a recipe. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_free_recipe(recipe: *mut FpdbRecipe) {
    // SAFETY: as in `fpdb_create`.
    drop(unsafe { take(recipe) });
}

/// Makes the fingerprint of a text of `bytes` bytes in UTF-8. `fingerprint` has room for one of the
/// recipe's bits. Returns `FPDB_CODE_TOO_SHORT`, and leaves `fingerprint` as it is, if the text has
/// too few words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_fingerprint(
    recipe: *const FpdbRecipe,
    text: *const c_char,
    bytes: usize,
    fingerprint: *mut c_void,
    error: *mut *mut c_char,
) -> FpdbCode {
    // SAFETY: as in `fpdb_create`.
    unsafe {
        call(error, || {
            let recipe = handle(recipe, "recipe")?;
            let text = std::str::from_utf8(values(text.cast::<u8>(), bytes, "text")?)
                .map_err(|error| Failure::invalid(format!("text is not UTF-8: {error}")))?;
            let room = Places::many(fingerprint.cast::<u8>(), recipe.size(), "fingerprint")?;
            Ok(match recipe.fingerprint(text) {
                None => FpdbCode::TooShort,
                Some(bytes) => {
                    room.give_many(&bytes);
                    FpdbCode::Ok
                }
            })
        })
    }
}

/// Frees the text of an error or a name. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fpdb_free_text(text: *mut c_char) {
    // SAFETY: as in `fpdb_create`.
    unsafe { free_text(text) };
}

/// Returns the version, such as `0.1.0`. It is not freed.
#[unsafe(no_mangle)]
pub extern "C" fn fpdb_version() -> *const c_char {
    const { concat!(env!("CARGO_PKG_VERSION"), "\0") }.as_ptr().cast()
}

/// Returns the number of the interface that the library has. A program works with it if that is the
/// `FPDB_ABI` of its header.
#[unsafe(no_mangle)]
pub extern "C" fn fpdb_abi() -> u32 {
    FPDB_ABI
}
