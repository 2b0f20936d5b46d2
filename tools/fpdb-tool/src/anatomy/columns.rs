//! The buckets of columns.

use anyhow::{Result, bail};

use super::file::{File, HEADER};
use super::{Field, Fields};

/// Reads the bucket with this number, from 0 on: its place in the directory, and its rows. `meta` is
/// the meta of the file.
pub(super) fn bucket(file: &File, meta: &[u8], number: u64, found: &mut Vec<Field>) -> Result<()> {
    let mut meta = Fields::new(meta, 0, "Columns");
    let rows = meta.number(4, "rows")?;
    let (bits, block_bytes) = (meta.number(1, "bucket bits")?, meta.number(1, "block bytes")?);
    if bits > 27 || !(1..=4).contains(&block_bytes) {
        bail!("the meta has {bits} bucket bits and {block_bytes} block bytes, which cannot be");
    }
    if number >> bits > 0 {
        bail!("there is no bucket {number}: the columns have {}, from 0 on", 1 << bits);
    }
    let blocks = (HEADER + 4 * rows).next_multiple_of(64);
    let directory = (blocks + block_bytes * rows).next_multiple_of(64) as u64;
    let [start, end] =
        read(file, directory + 4 * number, 4, ["first row", "first row of the next"], found)?;
    if start > end || end > rows {
        bail!("bucket {number} would have the rows from {start} to {end}, of {rows}");
    }
    for row in start..end {
        let name = format!("key of row {row}");
        let at = (HEADER + 4 * row) as u64;
        read(file, at, 4, [&name], found)?;
        let name = format!("block of row {row}");
        let at = (blocks + block_bytes * row) as u64;
        read(file, at, block_bytes, [&name], found)?;
    }
    Ok(())
}

/// Reads neighbouring numbers of the same size.
fn read<const N: usize>(
    file: &File,
    at: u64,
    len: usize,
    names: [&str; N],
    found: &mut Vec<Field>,
) -> Result<[usize; N]> {
    let bytes = file.window(at, len * N)?;
    let mut fields = Fields::new(&bytes, at, "Columns");
    let mut numbers = [0; N];
    for (number, name) in numbers.iter_mut().zip(names) {
        *number = match name.starts_with("key") {
            true => usize::try_from(fields.shown(len, name, |key| format!("0x{key:08x}"))?)?,
            false => fields.number(len, name)?,
        };
    }
    found.append(&mut fields.found);
    Ok(numbers)
}
