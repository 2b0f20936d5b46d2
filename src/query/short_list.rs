//! Lists that are usually short.

/// A list whose first `N` items need no allocation. Most queries search few tables and look up few
/// prefixes, and an allocation takes as long as a lookup.
#[derive(Debug)]
pub(super) struct ShortList<T, const N: usize> {
    first: [Option<T>; N],
    more: Vec<T>,
    len: usize,
}

impl<T, const N: usize> ShortList<T, N> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { first: [const { None }; N], more: Vec::new(), len: 0 }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Makes room for this many more items.
    #[inline(always)]
    pub(super) fn reserve(&mut self, count: usize) {
        if self.len + count > N {
            self.more.reserve(count);
        }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, item: T) {
        match self.first.get_mut(self.len) {
            Some(place) => *place = Some(item),
            None => self.more.push(item),
        }
        self.len += 1;
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        match self.first.get_mut(index) {
            Some(item) => item.as_mut(),
            None => self.more.get_mut(index - N),
        }
    }

    #[inline(always)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().take(self.len).flatten().chain(&self.more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_beyond_the_inline_ones_follow_in_order() {
        let mut list = ShortList::<usize, 3>::new();
        for count in 0..10 {
            assert_eq!(list.len(), count);
            assert!(list.iter().copied().eq(0..count));
            assert_eq!(list.get_mut(count), None);
            list.push(count);
            *list.get_mut(count).unwrap() += 1;
            *list.get_mut(count).unwrap() -= 1;
        }
    }
}
