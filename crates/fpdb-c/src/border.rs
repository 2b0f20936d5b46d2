//! What comes from C as what Rust works with, and back. All pointers are read and written here.
//!
//! The functions are `unsafe` because they trust their caller, which is C: a pointer that is not
//! null leads to what `fpdb.h` says, and stays valid until the call returns.
#![expect(unsafe_code, reason = "pointers of C")]

use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fpdb::Key;

use crate::code::{Failure, FpdbCode};

/// Does the work of a call. A failure's text goes to `error`, unless that is null, and a panic ends
/// here.
///
/// # Safety
///
/// `error` is null or may be written to. It is left alone if it is not aligned.
pub(crate) unsafe fn call(
    error: *mut *mut c_char,
    work: impl FnOnce() -> Result<FpdbCode, Failure>,
) -> FpdbCode {
    // Nothing that a panic left half done is used again: a database that panicked in a write is
    // poisoned.
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
    if !error.is_null() && error.is_aligned() {
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

/// Returns the name, or the id if the name is null.
///
/// # Safety
///
/// As for [`text`].
pub(crate) unsafe fn key<'a>(name: *const c_char, id: u64) -> Result<Key<'a>, Failure> {
    if name.is_null() {
        return Ok(Key::from(id));
    }
    // SAFETY: the caller says so.
    unsafe { text(name, "name") }.map(Key::from)
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
/// `pointer` is null, or was made by [`Places::give_handle`] and not taken back.
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

/// Where a call writes values. It was looked at before the call did anything, so that a call which
/// cannot give its answer changes nothing.
pub(crate) struct Places<T> {
    first: *mut T,
    count: usize,
}

impl<T: Copy> Places<T> {
    /// Checks the place of one value.
    ///
    /// # Safety
    ///
    /// `slot` is null, or may be written to until the call returns.
    pub(crate) unsafe fn one(slot: *mut T, what: &str) -> Result<Self, Failure> {
        // SAFETY: the caller says so.
        unsafe { Self::many(slot, 1, what) }
    }

    /// Checks the places of `count` values. The pointer may be null if there are none.
    ///
    /// # Safety
    ///
    /// `slots` is null, or may be written to, `count` times, until the call returns.
    pub(crate) unsafe fn many(slots: *mut T, count: usize, what: &str) -> Result<Self, Failure> {
        if count > 0 && (slots.is_null() || !slots.is_aligned()) {
            return Err(Failure::invalid(format!("{what} is null or not aligned")));
        }
        Ok(Self { first: slots, count })
    }

    /// Writes a value to the first place.
    pub(crate) fn give(self, value: T) {
        self.give_many(&[value]);
    }

    /// Writes as many of the values as there are places.
    pub(crate) fn give_many(self, values: &[T]) {
        let count = values.len().min(self.count);
        if count > 0 {
            // SAFETY: there is space for so many, and a slice of Rust does not overlap memory that
            // C may write to.
            unsafe { self.first.copy_from_nonoverlapping(values.as_ptr(), count) };
        }
    }
}

impl<T> Places<*mut T> {
    /// Makes a handle and writes it to the place.
    pub(crate) fn give_handle(self, value: T) {
        self.give(Box::into_raw(Box::new(value)));
    }
}

impl Places<*mut c_char> {
    /// Writes a text that the caller must free, or null, to the place.
    pub(crate) fn give_text(self, text: Option<&str>) {
        self.give(text.map_or(std::ptr::null_mut(), owned_text));
    }
}

/// Makes a text that [`free_text`] frees.
fn owned_text(text: &str) -> *mut c_char {
    CString::new(text.replace('\0', "\\0")).unwrap_or_default().into_raw()
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
