//! What comes from C as what Rust works with, and back. All pointers are read and written here.
//!
//! The functions are `unsafe` because they trust their caller, which is C: a pointer that is not null leads to what
//! `fpdb.h` says, and stays valid until the call returns.
#![expect(unsafe_code, reason = "pointers of C")]

use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::code::{Failure, FpdbCode};

/// Does the work of a call. A failure's text goes to `error`, unless that is null, and a panic ends here.
///
/// # Safety
///
/// `error` is null or may be written to.
pub(crate) unsafe fn call(
    error: *mut *mut c_char,
    work: impl FnOnce() -> Result<FpdbCode, Failure>,
) -> FpdbCode {
    // Nothing that a panic left half done is used again: a database that panicked in a write is poisoned.
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(code)) => return code,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            let message = format!("a fault of fpdb: {}", text.unwrap_or("a panic"));
            Failure { code: FpdbCode::Panic, message }
        }
    };
    if !error.is_null() {
        // SAFETY: the caller says that it may be written to.
        unsafe { error.write(owned_text(&failure.message)) };
    }
    failure.code
}

/// Returns the UTF-8 text that ends with a zero.
///
/// # Safety
///
/// `pointer` is null, or leads to bytes that end with a zero and do not change.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::invalid(format!("{what} is null")));
    }
    // SAFETY: the caller says so.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|error| Failure::invalid(format!("{what} is not UTF-8: {error}")))
}

/// Returns `count` values. The pointer may be null if there are none.
///
/// # Safety
///
/// `pointer` leads to `count` values that do not change.
pub(crate) unsafe fn values<'a, T>(
    pointer: *const T,
    count: usize,
    what: &str,
) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() || !pointer.is_aligned() || count > isize::MAX as usize / size_of::<T>() {
        return Err(Failure::invalid(format!("{what} is null, or not aligned, or too many")));
    }
    // SAFETY: the caller says so, and it is neither null nor too long.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Returns what a handle holds.
///
/// # Safety
///
/// `pointer` is null, or was made by [`give_handle`] and not taken back.
pub(crate) unsafe fn handle<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller says so.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::invalid(format!("{what} is null")))
}

/// Takes a handle back, if there is one.
///
/// # Safety
///
/// As for [`handle`], and nothing uses it any more.
pub(crate) unsafe fn take<T>(pointer: *mut T) -> Option<T> {
    // SAFETY: it comes from `Box::into_raw`, and is taken once.
    (!pointer.is_null()).then(|| *unsafe { Box::from_raw(pointer) })
}

/// Writes a value to where the caller wants it.
///
/// # Safety
///
/// `slot` is null or may be written to.
pub(crate) unsafe fn give<T>(slot: *mut T, value: T, what: &str) -> Result<(), Failure> {
    if slot.is_null() {
        return Err(Failure::invalid(format!("{what} is null")));
    }
    // SAFETY: the caller says so.
    unsafe { slot.write(value) };
    Ok(())
}

/// Makes a handle and writes it to where the caller wants it.
///
/// # Safety
///
/// As for [`give`].
pub(crate) unsafe fn give_handle<T>(
    slot: *mut *mut T,
    value: T,
    what: &str,
) -> Result<(), Failure> {
    if slot.is_null() {
        return Err(Failure::invalid(format!("{what} is null")));
    }
    // SAFETY: the caller says so.
    unsafe { give(slot, Box::into_raw(Box::new(value)), what) }
}

/// Writes a text that the caller must free, or null, to where the caller wants it.
///
/// # Safety
///
/// As for [`give`].
pub(crate) unsafe fn give_text(
    slot: *mut *mut c_char,
    text: Option<String>,
    what: &str,
) -> Result<(), Failure> {
    if slot.is_null() {
        return Err(Failure::invalid(format!("{what} is null")));
    }
    let text = text.map_or(std::ptr::null_mut(), |text| owned_text(&text));
    // SAFETY: the caller says so.
    unsafe { give(slot, text, what) }
}

/// Makes a text that [`free_text`] frees.
fn owned_text(text: &str) -> *mut c_char {
    CString::new(text.replace('\0', "\\0")).unwrap_or_default().into_raw()
}

/// Writes as many of the values as there is space for.
///
/// # Safety
///
/// `slots` may be written to, `capacity` times.
pub(crate) unsafe fn give_many<T: Copy>(
    slots: *mut T,
    capacity: usize,
    values: &[T],
    what: &str,
) -> Result<(), Failure> {
    let count = values.len().min(capacity);
    if count > 0 && slots.is_null() {
        return Err(Failure::invalid(format!("{what} is null")));
    }
    if count > 0 {
        // SAFETY: there is space for so many, and a slice of Rust does not overlap memory that C may write to.
        unsafe { slots.copy_from_nonoverlapping(values.as_ptr(), count) };
    }
    Ok(())
}

/// Frees a text that [`owned_text`] made.
///
/// # Safety
///
/// `text` is null, or comes from there and was not freed.
pub(crate) unsafe fn free_text(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the caller says so.
        drop(unsafe { CString::from_raw(text) });
    }
}

#[cfg(test)]
mod tests {
    use super::{call, free_text, text};
    use crate::code::FpdbCode;

    #[test]
    fn panic_becomes_a_code_and_a_text() {
        let mut error = std::ptr::null_mut();
        // SAFETY: the pointer may be written to, and its text is freed once.
        unsafe {
            assert_eq!(call(&raw mut error, || panic!("for a {}", "test")), FpdbCode::Panic);
            assert_eq!(text(error, "error").ok(), Some("a fault of fpdb: for a test"));
            free_text(error);
            assert_eq!(call(std::ptr::null_mut(), || panic!("without a text")), FpdbCode::Panic);
        }
    }
}
