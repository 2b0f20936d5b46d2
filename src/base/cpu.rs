//! Processor features that safe Rust cannot express: instructions that only some processors have,
//! prefetching memory, and comparing many numbers at once.
//!
//! Binaries are built for the oldest processor of their architecture. Extracting bit fields is half
//! of a decoder's work, and newer processors extract and count bits in one instruction where older
//! ones need several (BMI1, BMI2, POPCNT, LZCNT). They also compute several values at a time, such
//! as the places of prefixes in a filter (AVX2). So hot loops are compiled twice, and which version
//! runs is chosen at run time. Both compute the same.

#![cfg_attr(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    expect(unsafe_code, reason = "all of them need processor intrinsics")
)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "fpdb needs a 64-bit target: files and counts may exceed what 32-bit addresses reach"
);

/// Whether the processor has every instruction set that `with_bit_instructions` is compiled for.
#[cfg(target_arch = "x86_64")]
static HAS_ALL: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("movbe")
        && std::arch::is_x86_feature_detected!("popcnt")
});

/// Bytes of a cache line.
pub(crate) const CACHE_LINE: usize = 64;

/// Runs `work`, compiled for the instructions that this processor has.
///
/// Only code that the compiler inlines into `work` is compiled twice: mark the closure and the
/// functions of its inner loop `#[inline(always)]`.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn with_native_instructions<R>(work: impl FnOnce() -> R) -> R {
    if *HAS_ALL {
        // SAFETY: the processor has every instruction set that `with_bit_instructions` is compiled
        // for: `HAS_ALL` says so. Tested by `both_versions_compute_the_same`; measured by the bench
        // `decode`.
        unsafe { with_bit_instructions(work) }
    } else {
        work()
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
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
        prefetch_address(std::ptr::from_ref(item).cast());
    }
}

/// Prefetches the cache line at this address without waiting for it. Does nothing if there is no
/// memory at the address.
#[inline(always)]
pub(crate) fn prefetch_address(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction never faults, whatever the address is, and changes nothing that a
    // program can observe. Tested by `prefetch_accepts_any_index`; measured by the bench `query`.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above. The standard library has no stable function for this instruction.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{}]", in(reg) address, options(readonly, nostack, preserves_flags)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

/// Returns a bit for each of 32 little-endian 16-bit words, the lowest for the first, that is set
/// if the word is less than `bound`.
///
/// Compilers turn the same in safe Rust into several instructions per word.
#[inline(always)]
pub(crate) fn words_below(words: &[u8; 64], bound: i16) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            _mm_cmplt_epi16, _mm_movemask_epi8, _mm_packs_epi16, _mm_set_epi64x, _mm_set1_epi16,
        };

        let (eights, _) = words.as_chunks::<8>();
        let &[a, b, c, d, e, f, g, h] = eights else { return 0 };
        // SAFETY: these instructions belong to SSE2, which every x86-64 processor has, and they
        // access no memory. Tested by `words_are_compared_as_if_one_by_one`; measured by the bench
        // `query`.
        let (low, high) = unsafe {
            let bound = _mm_set1_epi16(bound);
            let below = |low, high| {
                let words = _mm_set_epi64x(i64::from_le_bytes(high), i64::from_le_bytes(low));
                _mm_cmplt_epi16(words, bound)
            };
            (
                _mm_movemask_epi8(_mm_packs_epi16(below(a, b), below(c, d))),
                _mm_movemask_epi8(_mm_packs_epi16(below(e, f), below(g, h))),
            )
        };
        low.cast_unsigned() | high.cast_unsigned() << 16
    }
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    {
        use std::arch::aarch64::{
            vandq_u8, vcltq_s16, vdupq_n_s16, vgetq_lane_u32, vld1q_u8, vpaddq_u8,
            vreinterpretq_s16_u8, vreinterpretq_u8_u16, vreinterpretq_u32_u8, vuzp1q_u8,
        };

        const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        let (parts, _) = words.as_chunks::<16>();
        let [a, b, c, d] = parts else { return 0 };
        // SAFETY: these instructions belong to NEON, which every such target has, and each load
        // reads an array of 16 bytes. Tested by `words_are_compared_as_if_one_by_one`.
        unsafe {
            let (bound, bits) = (vdupq_n_s16(bound), vld1q_u8(BITS.as_ptr()));
            let below = |words: &[u8; 16]| {
                let words = vreinterpretq_s16_u8(vld1q_u8(words.as_ptr()));
                vreinterpretq_u8_u16(vcltq_s16(words, bound))
            };
            // A byte for each word, with the bit that stands for it, and then their sums by eight.
            let low = vandq_u8(vuzp1q_u8(below(a), below(b)), bits);
            let high = vandq_u8(vuzp1q_u8(below(c), below(d)), bits);
            let twos = vpaddq_u8(low, high);
            let fours = vpaddq_u8(twos, twos);
            vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vpaddq_u8(fours, fours)))
        }
    }
    #[cfg(not(any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_endian = "little")
    )))]
    {
        let is_below = |&word: &[u8; 2]| u32::from(i16::from_le_bytes(word) < bound);
        words.as_chunks().0.iter().rev().fold(0, |bits, word| bits << 1 | is_below(word))
    }
}

#[cfg(test)]
mod tests {
    use super::{prefetch, prefetch_address, with_native_instructions, words_below};

    #[test]
    fn words_are_compared_as_if_one_by_one() {
        let mut x = 1u64;
        for _ in 0..100 {
            let words: [u8; 64] = std::array::from_fn(|_| {
                x = x.wrapping_mul(0xda94_2042_e4dd_58b5).wrapping_add(1);
                x.to_le_bytes()[7]
            });
            let one_by_one = words.as_chunks().0.iter().map(|&word| i16::from_le_bytes(word));
            for bound in one_by_one.clone().chain([i16::MIN, -1, 0, 1, i16::MAX]) {
                let bits = words_below(&words, bound);
                assert!(
                    one_by_one
                        .clone()
                        .enumerate()
                        .all(|(i, word)| (bits >> i & 1 == 1) == (word < bound))
                );
            }
        }
    }

    #[test]
    fn prefetch_accepts_any_index() {
        for offset in [0, 63, 64, 99, 100, usize::MAX] {
            prefetch(&[0u8; 100], offset);
        }
        prefetch(&[0u64; 0], 0);
        prefetch_address(std::ptr::null());
        prefetch_address(std::ptr::without_provenance(usize::MAX));
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
