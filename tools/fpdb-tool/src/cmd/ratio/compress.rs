//! What general compressors make of sorted fingerprints.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use fpdb::Word;

/// The default level of zstd.
#[cfg(feature = "zstd")]
const ZSTD_LEVEL: i32 = 3;

/// Counts the bytes that are written.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the bytes that each program makes of ascending fingerprints, and of the differences
/// between neighbours. Both are written with the most significant byte first.
pub(super) fn all<F: Word>(fingerprints: &[F]) -> io::Result<Vec<(&'static str, u64)>> {
    let before = [F::ZERO].into_iter().chain(fingerprints.iter().copied());
    let differences = before.zip(fingerprints).map(|(before, after)| after.wrapping_sub(before));
    let differences: Vec<F> = differences.collect();
    Ok(Vec::from([
        ("gzip", gzip(fingerprints)?),
        ("gzip of differences", gzip(&differences)?),
        #[cfg(feature = "zstd")]
        ("zstd", zstd(fingerprints)?),
        #[cfg(feature = "zstd")]
        ("zstd of differences", zstd(&differences)?),
    ]))
}

fn gzip<F: Word>(values: &[F]) -> io::Result<u64> {
    let mut encoder = GzEncoder::new(Counted(0), Compression::default());
    write(values, &mut encoder)?;
    Ok(encoder.finish()?.0)
}

#[cfg(feature = "zstd")]
fn zstd<F: Word>(values: &[F]) -> io::Result<u64> {
    let mut encoder = zstd::stream::write::Encoder::new(Counted(0), ZSTD_LEVEL)?;
    write(values, &mut encoder)?;
    Ok(encoder.finish()?.0)
}

fn write<F: Word>(values: &[F], to: &mut impl Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    for values in values.chunks(1 << 16) {
        bytes.clear();
        bytes.resize(values.len() * F::BYTES, 0);
        values.iter().zip(bytes.chunks_mut(F::BYTES)).for_each(|(value, to)| value.put_be(to));
        to.write_all(&bytes)?;
    }
    Ok(())
}
