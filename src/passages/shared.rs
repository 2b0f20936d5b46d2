//! Windows that several texts have.

use super::pair::numbers;
use super::work::Working;
use crate::base::error::{Error, Result};
use crate::file::sorter::Sorted;

/// Calls `each` with the number of each window that several texts have, and their rows. Takes the
/// windows with their rows.
pub(super) fn for_each_shared(
    work: &Working<'_>,
    windows: &Sorted<'_, u128>,
    mut each: impl FnMut(u64, &[u64]) -> Result<()>,
) -> Result<()> {
    let (mut number, mut last, mut rows) = (0, None, Vec::new());
    let mut end = |rows: &mut Vec<u64>| {
        if rows.len() > 1 {
            each(number, rows)?;
            number += 1;
        }
        rows.clear();
        Ok::<_, Error>(())
    };
    work.for_each(windows, &mut |pairs| {
        for (window, row) in pairs.iter().copied().map(numbers) {
            if last.replace(window) != Some(window) {
                end(&mut rows)?;
            }
            rows.push(row);
        }
        Ok(())
    })?;
    end(&mut rows)
}
