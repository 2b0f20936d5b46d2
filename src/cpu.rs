//! What the language has no word for: instructions that only some processors have, and fetching
//! memory ahead.
//!
//! Binaries are built for the oldest processor of their kind. Bit fields are half of what a decoder
//! does, and newer processors cut and count bits in one instruction each where old ones take
//! several (BMI1, BMI2, POPCNT, LZCNT). So hot loops are compiled twice and the choice is made when
//! they run. What they compute is the same.

#![expect(unsafe_code, reason = "both are calls of the processor by name")]

/// Runs `work`, compiled for the instructions that this processor has.
///
/// Only what the compiler inlines into `work` is compiled anew: mark the closure and the functions
/// of its inner loop `#[inline(always)]`.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn fastest<R>(work: impl FnOnce() -> R) -> R {
    let has_all = std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("movbe")
        && std::arch::is_x86_feature_detected!("popcnt");
    if has_all {
        // SAFETY: the processor has every instruction set that `with_bit_instructions` is compiled
        // for, as was asked just above. Tested by `both_ways_give_the_same`; measured by the bench
        // `decode`.
        unsafe { with_bit_instructions(work) }
    } else {
        work()
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,movbe,popcnt")]
fn with_bit_instructions<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Runs `work`: on this kind of processor there is but one way.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn fastest<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Asks for the memory around `items[index]` without waiting for it; nothing if that is outside.
///
/// A loop that fetches ahead is not held up: all its fetches are under way at a time, where plain
/// reads would fill the processor's window of open instructions after a few.
#[inline(always)]
pub(crate) fn prefetch<T: Copy>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the address is that of an item that may be read; the instruction changes nothing
        // that a program can see. Tested by `prefetch_takes_any_offset`; measured by the bench
        // `query`.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        std::hint::black_box(*item);
    }
}

#[cfg(test)]
mod tests {
    use super::{fastest, prefetch};

    #[test]
    fn prefetch_takes_any_offset() {
        for offset in [0, 63, 64, 99, 100, usize::MAX] {
            prefetch(&[0u8; 100], offset);
        }
        prefetch(&[0u64; 0], 0);
    }

    #[test]
    fn both_ways_give_the_same() {
        let bits = |x: u64| (x.count_ones(), x.leading_zeros(), x.swap_bytes(), x >> (x & 63));
        for x in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef, 1 << 63] {
            assert_eq!(
                fastest(
                    #[inline(always)]
                    || bits(x)
                ),
                bits(x)
            );
        }
    }
}
