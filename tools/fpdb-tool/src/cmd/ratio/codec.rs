//! The sizes of the same fingerprints under other codes, for comparison.

use fpdb::Word;

/// The names of codes, and the bytes that the fingerprints take under each.
pub(super) type Sizes = Vec<(&'static str, u64)>;

/// The name of the code that stores each fingerprint in full.
pub(super) const RAW: &str = "raw";

/// Encodes fingerprints, which come in ascending order, and counts the bytes.
pub(super) struct OtherCodes<F> {
    fingerprints: u64,
    last: F,
    #[cfg(feature = "zstd")]
    differences: differences::Differences,
}

impl<F: Word> OtherCodes<F> {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {
            fingerprints: 0,
            last: F::ZERO,
            #[cfg(feature = "zstd")]
            differences: differences::Differences::new()?,
        })
    }

    /// Adds a fingerprint. One that is equal to the last is ignored.
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
    //! Differences between neighbours, compressed with Zstandard at its default level.

    use std::io::{self, Write};

    use fpdb::Word;
    use zstd::Encoder;

    use super::Sizes;

    const LEVEL: i32 = 3;
    /// The bytes that are passed to the encoder at once.
    const CHUNK: usize = 1 << 16;

    /// The differences in two forms: at a fingerprint's full width, little-endian, and as varints
    /// (LEB128).
    pub(super) struct Differences {
        full: Counted,
        varints: Counted,
    }

    impl Differences {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self { full: Counted::new()?, varints: Counted::new()? })
        }

        pub(super) fn add<F: Word>(&mut self, difference: u128) -> io::Result<()> {
            F::from_u128(difference).write_le(&mut self.full.chunk);
            varint(difference, &mut self.varints.chunk);
            self.full.pass_on()?;
            self.varints.pass_on()
        }

        pub(super) fn finish(self) -> io::Result<Sizes> {
            Ok(vec![
                ("zstd of differences", self.full.finish()?),
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

    /// Compresses, and keeps only the size.
    struct Counted {
        encoder: Encoder<'static, Counter>,
        chunk: Vec<u8>,
    }

    impl Counted {
        fn new() -> io::Result<Self> {
            let encoder = Encoder::new(Counter(0), LEVEL)?;
            Ok(Self { encoder, chunk: Vec::with_capacity(2 * CHUNK) })
        }

        fn pass_on(&mut self) -> io::Result<()> {
            if self.chunk.len() >= CHUNK {
                self.encoder.write_all(&self.chunk)?;
                self.chunk.clear();
            }
            Ok(())
        }

        fn finish(mut self) -> io::Result<u64> {
            self.encoder.write_all(&self.chunk)?;
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
        let mut others = OtherCodes::new().unwrap();
        [0u64, 0, 1, 1, 1, 500].into_iter().for_each(|f| others.add(f).unwrap());
        assert_eq!(others.finish().unwrap()[0], (RAW, 24));
        assert_eq!(OtherCodes::<u128>::new().unwrap().finish().unwrap()[0], (RAW, 0));
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn varints_encode_every_value() {
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
        let mut others = OtherCodes::new().unwrap();
        (0..100_000u64).for_each(|i| others.add(i << 20).unwrap());
        let sizes = others.finish().unwrap();
        assert_eq!(sizes[0].1, 800_000);
        assert!(sizes[1..].iter().all(|&(_, bytes)| bytes < 1000), "{sizes:?}");
    }
}
