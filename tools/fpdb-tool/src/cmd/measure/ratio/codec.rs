//! Other codes of the same fingerprints, for comparison.

use fpdb::Fingerprint;

/// Sizes in bytes of sorted fingerprints under other codes.
pub(super) type Sizes = Vec<(&'static str, u64)>;

/// Raw fingerprints.
pub(super) const RAW: &str = "raw";

/// Takes in fingerprints in ascending order and counts what they take.
pub(super) struct Others<F> {
    fingerprints: u64,
    last: F,
    #[cfg(feature = "zstd")]
    differences: differences::Differences,
}

impl<F: Fingerprint> Others<F> {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {
            fingerprints: 0,
            last: F::ZERO,
            #[cfg(feature = "zstd")]
            differences: differences::Differences::new()?,
        })
    }

    /// Takes in a fingerprint. One that is equal to the last counts for nothing.
    pub(super) fn add(&mut self, fingerprint: F) -> std::io::Result<()> {
        if self.fingerprints > 0 && fingerprint == self.last {
            return Ok(());
        }
        #[cfg(feature = "zstd")]
        self.differences.add::<F>(fingerprint.to_u128() - self.last.to_u128())?;
        self.fingerprints += 1;
        self.last = fingerprint;
        Ok(())
    }

    pub(super) fn finish(self) -> std::io::Result<Sizes> {
        let raw = (RAW, self.fingerprints * F::BYTES as u64);
        #[cfg(feature = "zstd")]
        return Ok([vec![raw], self.differences.finish()?].concat());
        #[cfg(not(feature = "zstd"))]
        Ok(vec![raw])
    }
}

#[cfg(feature = "zstd")]
mod differences {
    //! Differences of neighbours, compressed with Zstandard at its default level.

    use std::io::{self, Write};

    use fpdb::Fingerprint;
    use zstd::Encoder;

    use super::Sizes;

    const LEVEL: i32 = 3;
    /// Bytes that are handed on at a time.
    const PIECE: usize = 1 << 16;

    /// Differences in all bytes of a fingerprint, little-endian, and as varints (LEB128).
    pub(super) struct Differences {
        whole: Counted,
        varints: Counted,
    }

    impl Differences {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self { whole: Counted::new()?, varints: Counted::new()? })
        }

        pub(super) fn add<F: Fingerprint>(&mut self, difference: u128) -> io::Result<()> {
            F::from_u128(difference).write_le(&mut self.whole.piece);
            varint(difference, &mut self.varints.piece);
            self.whole.hand_on()?;
            self.varints.hand_on()
        }

        pub(super) fn finish(self) -> io::Result<Sizes> {
            Ok(vec![
                ("zstd of differences", self.whole.finish()?),
                ("zstd of varints", self.varints.finish()?),
            ])
        }
    }

    pub(super) fn varint(mut value: u128, out: &mut Vec<u8>) {
        loop {
            let low = (value & 0x7f) as u8;
            value >>= 7;
            if value == 0 {
                return out.push(low);
            }
            out.push(low | 0x80);
        }
    }

    /// Compresses and keeps the size alone.
    struct Counted {
        encoder: Encoder<'static, Counter>,
        piece: Vec<u8>,
    }

    impl Counted {
        fn new() -> io::Result<Self> {
            let encoder = Encoder::new(Counter(0), LEVEL)?;
            Ok(Self { encoder, piece: Vec::with_capacity(2 * PIECE) })
        }

        fn hand_on(&mut self) -> io::Result<()> {
            if self.piece.len() >= PIECE {
                self.encoder.write_all(&self.piece)?;
                self.piece.clear();
            }
            Ok(())
        }

        fn finish(mut self) -> io::Result<u64> {
            self.encoder.write_all(&self.piece)?;
            Ok(self.encoder.finish()?.0)
        }
    }

    struct Counter(u64);

    impl Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_fingerprints_count_once() {
        let mut others = Others::new().unwrap();
        [0u64, 0, 1, 1, 1, 500].into_iter().for_each(|f| others.add(f).unwrap());
        assert_eq!(others.finish().unwrap()[0], (RAW, 24));
        assert_eq!(Others::<u128>::new().unwrap().finish().unwrap()[0], (RAW, 0));
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn varints_hold_every_value() {
        let bytes = |value| {
            let mut out = Vec::new();
            super::differences::varint(value, &mut out);
            out
        };
        assert_eq!(bytes(0), [0]);
        assert_eq!(bytes(127), [127]);
        assert_eq!(bytes(300), [0xac, 2]);
        assert_eq!(bytes(u128::MAX).len(), 19);
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn even_steps_compress_to_almost_nothing() {
        let mut others = Others::new().unwrap();
        (0..100_000u64).for_each(|i| others.add(i << 20).unwrap());
        let sizes = others.finish().unwrap();
        assert_eq!(sizes[0].1, 800_000);
        assert!(sizes[1..].iter().all(|&(_, bytes)| bytes < 1000), "{sizes:?}");
    }
}
