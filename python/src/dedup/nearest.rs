//! The documents with which the rows of a deduplication are compared.

use fpdb::{DocId, Sketch};
use pyo3::prelude::*;

use crate::base::arrays::{array, with_numbers};
use crate::base::errors::OrRaise;
use crate::base::interrupt::{Cancellable, interruptible};
use crate::base::width::Bits;
use crate::db::reader::Reader;
use crate::db::source::AnySnapshot;

/// The documents of a database but for some that are left out.
#[pyclass(module = "fpdb_engine._native")]
#[derive(Debug)]
pub(crate) struct Nearest(fpdb_dedup::Nearest);

#[pymethods]
impl Nearest {
    #[new]
    fn new() -> Self {
        Self(fpdb_dedup::Nearest::default())
    }

    /// Leaves out documents from now on.
    fn leave_out(&mut self, ids: &Bound<'_, PyAny>) -> PyResult<()> {
        with_numbers(ids, "id", |ids| {
            self.0.leave_out(ids.iter().copied().map(DocId));
            Ok(())
        })
    }

    /// Takes documents back.
    fn put_back(&mut self, ids: &Bound<'_, PyAny>) -> PyResult<()> {
        with_numbers(ids, "id", |ids| {
            self.0.put_back(ids.iter().copied().map(DocId));
            Ok(())
        })
    }

    /// Returns the nearest documents that match by the rule: positions of sketches, ids and
    /// distances, sorted by position, distance and id.
    fn find<'py>(
        &self,
        db: &Bound<'py, Reader>,
        sketches: &Bound<'py, PyAny>,
    ) -> PyResult<[Bound<'py, PyAny>; 3]> {
        let py = db.py();
        let none = || array::<u64>(py, vec![]);
        let AnySnapshot::Sketches(snapshot) = db.get().handle.snapshot_now()? else {
            return Ok([none(), none(), none()]);
        };
        let sketches = Sketch::with_batch(sketches, |all| Ok(all.to_vec()))?;
        let found = interruptible(py, |cancel| self.0.find(&snapshot.until(cancel), &sketches))?
            .or_raise()?;
        let mut columns = [Vec::new(), Vec::new(), Vec::new()];
        let [places, ids, distances] = &mut columns;
        for (place, (distance, id)) in
            (0..).zip(found).flat_map(|(place, found)| found.into_iter().map(move |it| (place, it)))
        {
            places.push(place);
            ids.push(id.0);
            distances.push(distance.into());
        }
        Ok(columns.map(|column| array::<u64>(py, column)))
    }
}
