//! Windows that several texts have.

use super::work::Working;
use crate::base::error::{Error, Result};
use crate::file::sorter::Sorted;
use crate::fingerprint::Entry;

/// Calls `each` with the number of each window that several texts have, and their rows.
pub(super) fn for_each_shared(
    work: &Working<'_>,
    windows: &Sorted<'_, Entry<u64>>,
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
    work.for_each(windows, &mut |entries| {
        for &Entry { fingerprint, id } in entries {
            if last.replace(fingerprint) != Some(fingerprint) {
                end(&mut rows)?;
            }
            rows.push(id.0);
        }
        Ok(())
    })?;
    end(&mut rows)
}
