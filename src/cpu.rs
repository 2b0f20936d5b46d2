//! Processor features that safe Rust cannot express: instructions that only some processors have,
//! and prefetching memory.
//!
//! Binaries are built for the oldest processor of their architecture. Extracting bit fields is half
//! of a decoder's work, and newer processors extract and count bits in one instruction where older
//! ones need several (BMI1, BMI2, POPCNT, LZCNT). So hot loops are compiled twice, and which
//! version runs is chosen at run time. Both compute the same.

#![expect(unsafe_code, reason = "both features need processor intrinsics")]

/// Runs `work`, compiled for the instructions that this processor has.
///
/// Only code that the compiler inlines into `work` is compiled twice: mark the closure and the
/// functions of its inner loop `#[inline(always)]`.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn with_native_instructions<R>(work: impl FnOnce() -> R) -> R {
    let has_all = std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("movbe")
        && std::arch::is_x86_feature_detected!("popcnt");
    if has_all {
        // SAFETY: the processor has every instruction set that `with_bit_instructions` is compiled
        // for: `has_all` says so. Tested by `both_versions_compute_the_same`; measured by the bench
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

/// Runs `work`. On this architecture only one version is compiled.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn with_native_instructions<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Prefetches the memory around `items[index]` without waiting for it. Does nothing if the index is
/// out of bounds.
///
/// Prefetches do not hold up a loop: all of them are in flight at the same time, whereas plain
/// reads would fill the processor's reorder window after a few.
#[inline(always)]
pub(crate) fn prefetch<T: Copy>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the address is that of a readable item, and the instruction changes nothing that
        // a program can observe. Tested by `prefetch_accepts_any_index`; measured by the bench
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
    use super::{prefetch, with_native_instructions};

    #[test]
    fn prefetch_accepts_any_index() {
        for offset in [0, 63, 64, 99, 100, usize::MAX] {
            prefetch(&[0u8; 100], offset);
        }
        prefetch(&[0u64; 0], 0);
    }

    #[test]
    fn both_versions_compute_the_same() {
        let bits = |x: u64| (x.count_ones(), x.leading_zeros(), x.swap_bytes(), x >> (x & 63));
        for x in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef, 1 << 63] {
            assert_eq!(
                with_native_instructions(
                    #[inline(always)]
                    || bits(x)
                ),
                bits(x)
            );
        }
    }
}
