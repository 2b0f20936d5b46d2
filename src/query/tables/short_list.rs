//! Lists that are usually short.

/// A list whose first `N` items need no allocation. Most queries search few tables, look up few
/// prefixes and find few matches, and an allocation takes as long as a lookup.
#[derive(Debug)]
pub(super) struct ShortList<T, const N: usize> {
    first: [T; N],
    /// All items, if there are more than `N`.
    all: Vec<T>,
    len: usize,
}

impl<T: Copy, const N: usize> ShortList<T, N> {
    /// Makes an empty list. `filler` takes the unused places.
    #[inline(always)]
    pub(super) fn new(filler: T) -> Self {
        Self { first: [filler; N], all: Vec::new(), len: 0 }
    }

    /// Makes a list of `len` items.
    #[inline(always)]
    pub(super) fn filled(item: T, len: usize) -> Self {
        let all = if len > N { vec![item; len] } else { Vec::new() };
        Self { first: [item; N], all, len }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(super) fn push(&mut self, item: T) {
        match self.first.get_mut(self.len) {
            Some(place) => *place = item,
            None => self.push_to_all(item),
        }
        self.len += 1;
    }

    #[inline(never)]
    fn push_to_all(&mut self, item: T) {
        if self.all.is_empty() {
            // A list that outgrows the first places is often many times as long.
            self.all.reserve(16 * N);
            self.all.extend_from_slice(&self.first);
        }
        self.all.push(item);
    }

    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[T] {
        self.first.get(..self.len).unwrap_or(&self.all)
    }

    #[inline(always)]
    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        match self.first.get_mut(..self.len) {
            Some(items) => items,
            None => &mut self.all,
        }
    }
}
