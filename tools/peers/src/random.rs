//! A seeded random number generator (splitmix64), the same as in the library's benches.

pub struct Random(pub u64);

impl Random {
    #[expect(clippy::should_implement_trait, reason = "the numbers never end")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Returns `value` with `count` of the `width` bits from bit `start` flipped.
    pub fn flip(&mut self, value: u64, count: u32, start: u32, width: u32) -> u64 {
        let mut flips = 0u64;
        while flips.count_ones() < count.min(width) {
            flips |= 1 << (start as usize + self.below(width as usize));
        }
        value ^ flips
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}
