//! Repair of damaged databases.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpdb::reports::{BuildReport, LossKind};
use fpdb::{Options, Sketch, Source};
use pyo3::prelude::*;

use crate::base::errors::OrRaise;
use crate::base::interrupt::{Cancel, interruptible};
use crate::base::width::Bits;
use crate::db::results::named_tuple;

/// Writes everything that a damaged database still proves to a new database at out, which must not
/// exist or be empty. The damaged one is not changed.
///
/// Most damage loses nothing, because each file of a database is proven by others. The report lists
/// all damage and what was lost. Documents whose names are lost keep their fingerprints, and each
/// is called "(lost name of id N)".
///
/// >>> Db.create(folder / "crawl.fpdb").close()
/// >>> report = repair(folder / "crawl.fpdb", folder / "repaired.fpdb")
/// >>> report.losses
/// []
#[pyfunction]
pub(crate) fn repair(py: Python<'_>, path: PathBuf, out: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    let bits = fpdb::Description::read_damaged(&path).or_raise()?.bits;
    let report = interruptible(py, |cancel| match bits {
        64 => rebuilt::<u64>(&path, &out, cancel),
        128 => rebuilt::<u128>(&path, &out, cancel),
        _ => rebuilt::<Sketch>(&path, &out, cancel),
    })?;
    let BuildReport { damage, losses, written, .. } = report.or_raise()?;
    let damage: Vec<String> = damage.iter().map(ToString::to_string).collect();
    let [lost, incomplete] = [LossKind::Texts, LossKind::Windows].map(|kind| {
        let of_kind = losses.iter().filter(|loss| loss.kind == kind);
        of_kind.flat_map(|loss| &loss.ids).map(|id| id.0).collect::<Vec<_>>()
    });
    let losses = losses.iter().map(|loss| format!("{loss} ({})", loss.path.display()));
    let fields = (damage, losses.collect::<Vec<_>>(), written, lost, incomplete);
    named_tuple(py, "RepairReport", fields)
}

fn rebuilt<F: Bits>(path: &Path, out: &Path, cancel: &Arc<Cancel>) -> fpdb::Result<BuildReport> {
    Options::<F>::default().on_progress(cancel.progress()).build(out, Source::damaged(path))
}
