//! The first N elements of a list in some order, as C++ programs built with libstdc++ select them.
//!
//! The C++ standard does not define which of several equal elements are selected, nor their order.
//! Keywords of equal weight are common. So to give the same result as such a program, this module
//! follows its `std::partial_sort` step by step: it builds a heap of the first N elements, replaces
//! the worst of the heap by each better element of the rest, and sorts the heap.

/// Keeps the first `n` elements of `list` in the order `before`, sorted, and removes the others.
pub(super) fn keep_first<T: Copy>(list: &mut Vec<T>, n: usize, before: impl Fn(&T, &T) -> bool) {
    let n = n.min(list.len());
    let (heap, rest) = list.split_at_mut(n);
    for hole in (0..n / 2).rev() {
        sift(heap, hole, heap[hole], &before);
    }
    for element in rest {
        if let Some(&worst) = heap.first()
            && before(element, &worst)
        {
            let better = std::mem::replace(element, worst);
            sift(heap, 0, better, &before);
        }
    }
    for last in (1..n).rev() {
        let first = heap[0];
        let element = std::mem::replace(&mut heap[last], first);
        sift(&mut heap[..last], 0, element, &before);
    }
    list.truncate(n);
}

/// Inserts `element` into a heap that has its greatest element on top and a free position at
/// `hole`. The hole sinks to the bottom along the greater children, then the element rises from
/// there.
fn sift<T: Copy>(heap: &mut [T], hole: usize, element: T, less: &impl Fn(&T, &T) -> bool) {
    let (top, mut hole) = (hole, hole);
    while 2 * hole + 2 < heap.len() {
        let right = 2 * hole + 2;
        let child = if less(&heap[right], &heap[right - 1]) { right - 1 } else { right };
        heap[hole] = heap[child];
        hole = child;
    }
    if 2 * hole + 2 == heap.len() {
        heap[hole] = heap[2 * hole + 1];
        hole = 2 * hole + 1;
    }
    while hole > top && less(&heap[(hole - 1) / 2], &element) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = element;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(mut list: Vec<u32>, n: usize) -> Vec<u32> {
        keep_first(&mut list, n, |a, b| a / 10 > b / 10);
        list
    }

    #[test]
    fn first_elements_are_kept_in_order() {
        for n in 0..12 {
            let list: Vec<u32> = (0..10).map(|i| i * 70 % 100).collect();
            let expected: Vec<u32> = (0..10).rev().map(|i| i * 10).take(n).collect();
            assert_eq!(first(list, n), expected);
        }
        assert!(first(vec![], 3).is_empty());
    }

    /// Computed by the `std::partial_sort` of g++ with the same order.
    #[test]
    fn equal_elements_are_selected_as_in_libstdcxx() {
        let list = vec![51, 52, 53, 54, 55, 91, 56, 57, 92, 58, 11, 59];
        for (n, expected) in PARTIAL_SORTS {
            assert_eq!(first(list.clone(), *n), *expected, "{n}");
        }
    }

    const PARTIAL_SORTS: &[(usize, &[u32])] = &[
        (1, &[91]),
        (2, &[92, 91]),
        (3, &[91, 92, 52]),
        (5, &[91, 92, 54, 52, 55]),
        (8, &[91, 92, 57, 52, 55, 54, 51, 53]),
        (12, &[92, 91, 57, 52, 55, 54, 58, 51, 59, 53, 56, 11]),
    ];
}
