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

    /// Leaves out the items from position `from` on that `keep` does not want.
    pub(super) fn retain_from(&mut self, from: usize, keep: impl Fn(&T) -> bool) {
        let mut kept = from;
        for at in from..self.len {
            let item = self.as_slice()[at];
            if keep(&item) {
                self.as_mut_slice()[kept] = item;
                kept += 1;
            }
        }
        // The items are in `first` only while there are few.
        if self.len > N && kept <= N {
            self.first[..kept].copy_from_slice(&self.all[..kept]);
        }
        if self.len > N {
            self.all.truncate(if kept > N { kept } else { 0 });
        }
        self.len = kept;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_are_not_kept_are_left_out_wherever_the_others_are() {
        for count in 0..12 {
            for from in 0..=count {
                for modulus in 1..5 {
                    let mut list = ShortList::<usize, 3>::new(9);
                    (0..count).for_each(|item| list.push(item));
                    list.retain_from(from, |item| item % modulus == 0);
                    let mut expected: Vec<usize> =
                        (0..count).filter(|&i| i < from || i % modulus == 0).collect();
                    assert_eq!((list.as_slice(), list.len()), (&*expected, expected.len()));
                    list.push(77);
                    list.push(78);
                    expected.extend([77, 78]);
                    assert_eq!(list.as_slice(), expected);
                }
            }
        }
    }

    #[test]
    fn items_beyond_the_inline_ones_follow_in_order() {
        let mut list = ShortList::<usize, 3>::new(9);
        for count in 0..10 {
            assert_eq!(list.len(), count);
            assert!(list.as_slice().iter().copied().eq(0..count));
            assert_eq!(list.as_mut_slice().len(), count);
            list.push(count);
            list.as_mut_slice()[count] += 1;
            list.as_mut_slice()[count] -= 1;
            assert_eq!(ShortList::<usize, 3>::filled(7, count).as_slice(), vec![7; count]);
        }
    }
}
