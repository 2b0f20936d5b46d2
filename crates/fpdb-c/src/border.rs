//! What comes from C as what Rust works with, and back. All pointers are read and written here.
//!
//! The functions are `unsafe` because they trust their caller, which is C: a pointer that is not
//! null leads to what `fpdb.h` says, and stays valid until the call returns.
#![expect(unsafe_code, reason = "pointers of C")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fpdb::Key;

use crate::code::{Failure, FpdbCode};
use crate::structs::{FpdbDocument, FpdbOptions, FpdbQuery, FpdbStats, FpdbWrite};

/// Does the work of a call. A failure's text goes to `error`, unless that is null, and a panic ends
/// here.
///
/// # Safety
///
/// `error` is null or may be written to. It is left alone if it is not aligned.
pub(crate) unsafe fn call<C: Into<FpdbCode>>(
    error: *mut *mut c_char,
    work: impl FnOnce() -> Result<C, Failure>,
) -> FpdbCode {
    // Nothing that a panic left half done is used again: a database that panicked in a write is
    // poisoned.
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(code)) => return code.into(),
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

/// Returns the name, or the id if the name is null. In a database with names, that is more likely a
/// mistake than the id 0.
///
/// # Safety
///
/// As for [`text`].
pub(crate) unsafe fn key<'a>(
    name: *const c_char,
    id: u64,
    has_names: bool,
) -> Result<Key<'a>, Failure> {
    if !name.is_null() {
        // SAFETY: the caller says so.
        return unsafe { text(name, "name") }.map(Key::from);
    }
    if has_names {
        return Err(Failure::invalid("name is null, but this is a database with names"));
    }
    Ok(Key::from(id))
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

/// Returns the bytes of `count` fingerprints of `size` bytes each. They need not be aligned.
///
/// # Safety
///
/// `pointer` leads to `count * size` bytes, which do not change.
pub(crate) unsafe fn fingerprints<'a>(
    pointer: *const c_void,
    size: usize,
    count: usize,
    what: &str,
) -> Result<&'a [u8], Failure> {
    // Too many for memory is too many for `values`.
    let bytes = size.saturating_mul(count);
    // SAFETY: the caller says so.
    unsafe { values(pointer.cast::<u8>(), bytes, what) }
}

/// A struct that begins with its size, so that it can grow: a program that was compiled with
/// another header has fewer or more fields.
///
/// # Safety
///
/// It is `repr(C)`, its first field is a `usize`, and all bits are allowed in its fields.
pub(crate) unsafe trait Growing: Copy {
    /// Its name in C.
    const NAME: &'static str;
    /// The size that it had in the first version. None is smaller.
    const FIRST_SIZE: usize;
}

/// Makes structs from the number of their fields in the first version: words, of which one is the
/// size, and then numbers of 64 and of 32 bits. These counts stay as they are when a struct gets
/// more fields.
macro_rules! growing {
    ($($name:ident: $words:literal, $numbers64:literal, $numbers32:literal;)*) => { $(
        // SAFETY: `structs` has it as `repr(C)`, with the size first, and its fields are numbers
        // and pointers.
        unsafe impl Growing for $name {
            const NAME: &'static str = stringify!($name);
            const FIRST_SIZE: usize = first_size($words, $numbers64, $numbers32);
        }
        const _: () = assert!(size_of::<$name>() >= <$name as Growing>::FIRST_SIZE);
    )* };
}

const fn first_size(words: usize, numbers64: usize, numbers32: usize) -> usize {
    (words * size_of::<usize>()).next_multiple_of(align_of::<u64>()) + 8 * numbers64 + 4 * numbers32
}

growing! {
    FpdbDocument: 1, 3, 2;
    FpdbOptions: 4, 5, 10;
    FpdbQuery: 2, 1, 2;
    FpdbStats: 1, 17, 6;
    FpdbWrite: 6, 0, 4;
}

/// More than any struct will have. A program that left the size unset is found out before its
/// memory is read.
const MOST_SIZE: usize = 4096;

/// Returns the size that a struct of C says that it has.
///
/// # Safety
///
/// `pointer` is null, or the size can be read there.
unsafe fn size_in_c<T: Growing>(pointer: *const T) -> Result<usize, Failure> {
    let name = T::NAME;
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Failure::invalid(format!("{name} is null or not aligned")));
    }
    // SAFETY: it is the first field, which the caller says can be read, and it is aligned.
    let size = unsafe { pointer.cast::<usize>().read() };
    if !(T::FIRST_SIZE..=MOST_SIZE).contains(&size) {
        return Err(Failure::invalid(format!("{name} has size {size}: set it to sizeof({name})")));
    }
    Ok(size)
}

/// Returns a struct that a call takes. What its program does not know is 0; so is everything if the
/// pointer is null.
///
/// # Safety
///
/// `pointer` is null, or leads to as many bytes as its size says, which do not change.
pub(crate) unsafe fn taken<T: Growing>(pointer: *const T) -> Result<T, Failure> {
    let mut value = MaybeUninit::<T>::zeroed();
    if !pointer.is_null() {
        // SAFETY: the caller says so.
        let size = unsafe { size_in_c(pointer)? };
        let known = size.min(size_of::<T>());
        // SAFETY: the caller says so for the size, and `value` has room for what is known.
        unsafe { value.as_mut_ptr().cast::<u8>().copy_from(pointer.cast(), known) };
        // SAFETY: the caller says so for the size.
        let unknown =
            unsafe { values(pointer.cast::<u8>().wrapping_add(known), size - known, T::NAME)? };
        if unknown.iter().any(|&byte| byte != 0) {
            let message = format!("{} has fields that need a newer version of fpdb", T::NAME);
            return Err(Failure { code: FpdbCode::Unsupported, message });
        }
    }
    // SAFETY: all bytes are set, and `Growing` says that all values are allowed.
    Ok(unsafe { value.assume_init() })
}

/// Where a call fills a struct. As with [`Places`], it was looked at before.
pub(crate) struct Room<T> {
    place: *mut T,
    size: usize,
}

impl<T: Growing> Room<T> {
    /// Checks the place.
    ///
    /// # Safety
    ///
    /// `place` is null, or as many bytes as its size says can be read and written to until the call
    /// returns.
    pub(crate) unsafe fn of(place: *mut T) -> Result<Self, Failure> {
        // SAFETY: the caller says so.
        unsafe { size_in_c(place) }.map(|size| Self { place, size })
    }

    /// Fills the struct, but for its size. What this version does not know becomes 0.
    pub(crate) fn give(self, value: T) {
        let known = self.size.min(size_of::<T>());
        // SAFETY: the place has this many bytes, and `value` has those that are known.
        unsafe {
            let bytes = self.place.cast::<u8>();
            bytes.copy_from((&raw const value).cast(), known);
            bytes.add(known).write_bytes(0, self.size - known);
            self.place.cast::<usize>().write(self.size);
        }
    }
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
    /// Makes a handle, or null, and writes it to the place.
    pub(crate) fn give_handle(self, value: Option<T>) {
        self.give(value.map_or(std::ptr::null_mut(), |value| Box::into_raw(Box::new(value))));
    }
}

impl Places<u32> {
    /// Writes 1 for yes and 0 for no to the place.
    pub(crate) fn give_flag(self, is_so: bool) {
        self.give(is_so.into());
    }
}

impl Places<u8> {
    /// Checks the place of `count` fingerprints of `size` bytes each, which need not be aligned. If
    /// it is null, nothing is written.
    ///
    /// # Safety
    ///
    /// As for [`many`](Self::many), in bytes.
    pub(crate) unsafe fn fingerprints(place: *mut c_void, size: usize, count: usize) -> Self {
        let count = if place.is_null() { 0 } else { size.saturating_mul(count) };
        Self { first: place.cast(), count }
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
    use super::{Growing, Room, call, free_text, taken, text};
    use crate::code::{Failure, FpdbCode};
    use crate::structs::{FpdbDocument, FpdbOptions, FpdbQuery, FpdbStats, FpdbWrite};

    /// A struct as three versions have it.
    #[repr(C)]
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Grown<const FIELDS: usize> {
        size: usize,
        fields: [u64; FIELDS],
    }

    // SAFETY: it is `repr(C)`, with the size first, and has only numbers.
    unsafe impl<const FIELDS: usize> Growing for Grown<FIELDS> {
        const NAME: &'static str = "Grown";
        const FIRST_SIZE: usize = size_of::<Grown<1>>();
    }

    /// What this version takes of the struct of another.
    fn taken_of<const FIELDS: usize>(fields: [u64; FIELDS]) -> Result<[u64; 2], Failure> {
        let given = Grown { size: size_of::<Grown<FIELDS>>(), fields };
        // SAFETY: it leads to as many bytes as the size says.
        unsafe { taken((&raw const given).cast::<Grown<2>>()) }.map(|taken| taken.fields)
    }

    /// How this version fills the struct of another.
    fn filled<const FIELDS: usize>(size: usize) -> Result<[u64; FIELDS], Failure> {
        let mut place = Grown { size, fields: [7; FIELDS] };
        // SAFETY: it leads to as many bytes as a size that is not refused.
        let room = unsafe { Room::of((&raw mut place).cast::<Grown<2>>())? };
        room.give(Grown { size: 0, fields: [1, 2] });
        assert_eq!(place.size, size);
        Ok(place.fields)
    }

    #[test]
    fn structs_of_other_versions_are_taken_as_far_as_they_are_known() {
        assert_eq!(taken_of([5]).unwrap(), [5, 0]);
        assert_eq!(taken_of([5, 6]).unwrap(), [5, 6]);
        assert_eq!(taken_of([5, 6, 0, 0]).unwrap(), [5, 6]);
        let refused = taken_of([5, 6, 0, 1 << 63]).unwrap_err();
        assert_eq!(refused.code, FpdbCode::Unsupported);
        assert_eq!(taken_of([]).unwrap_err().code, FpdbCode::InvalidArgument);
        // SAFETY: null is allowed.
        let nothing = unsafe { taken(std::ptr::null::<Grown<2>>()) };
        assert_eq!(nothing.unwrap().fields, [0, 0]);
    }

    #[test]
    fn structs_of_other_versions_are_filled_and_not_written_beyond() {
        assert_eq!(filled(size_of::<Grown<1>>()).unwrap(), [1, 7, 7]);
        assert_eq!(filled(size_of::<Grown<2>>()).unwrap(), [1, 2, 7]);
        assert_eq!(filled(size_of::<Grown<3>>()).unwrap(), [1, 2, 0]);
        for size in [0, size_of::<Grown<1>>() - 1, 4097, usize::MAX] {
            assert_eq!(filled::<3>(size).unwrap_err().code, FpdbCode::InvalidArgument);
        }
    }

    /// Takes or fills a struct in memory that is as long as it was in the first version.
    fn of_first_size<T: Growing>(use_it: impl FnOnce(*mut T) -> Result<(), Failure>) -> usize {
        let mut memory = vec![0_u64; T::FIRST_SIZE / 8];
        assert_eq!(size_of_val(&memory[..]), T::FIRST_SIZE);
        let place = memory.as_mut_ptr().cast::<T>();
        // SAFETY: it has room for the size, which is the first field.
        unsafe { place.cast::<usize>().write(T::FIRST_SIZE) };
        use_it(place).unwrap();
        T::FIRST_SIZE
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn structs_of_the_first_version_are_taken_and_filled() {
        // SAFETY: the places have as many bytes as their sizes say.
        unsafe {
            assert_eq!(of_first_size::<FpdbOptions>(|p| taken(p).map(drop)), 112);
            assert_eq!(of_first_size::<FpdbQuery>(|p| taken(p).map(drop)), 32);
            assert_eq!(of_first_size::<FpdbWrite>(|p| taken(p).map(drop)), 64);
            let fill = |p| Room::of(p).map(|room| room.give(taken(p).unwrap()));
            assert_eq!(of_first_size::<FpdbStats>(fill), 168);
            let fill = |p| Room::of(p).map(|room| room.give(taken(p).unwrap()));
            assert_eq!(of_first_size::<FpdbDocument>(fill), 40);
        }
    }

    #[test]
    fn panic_becomes_a_code_and_a_text() {
        let mut error = std::ptr::null_mut();
        // SAFETY: the pointer may be written to, and its text is freed once.
        unsafe {
            let work = || -> Result<(), Failure> { panic!("for a {}", "test") };
            assert_eq!(call(&raw mut error, work), FpdbCode::Panic);
            assert_eq!(text(error, "error").ok(), Some("a fault of fpdb: for a test"));
            free_text(error);
            assert_eq!(call(std::ptr::null_mut(), work), FpdbCode::Panic);
        }
    }
}
