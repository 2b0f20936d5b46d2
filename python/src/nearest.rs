//! The documents with which the rows of a deduplication are compared.

use std::collections::{BinaryHeap, HashSet};
use std::ops::ControlFlow;

use fpdb::{DocId, Entry, Pair, Sketch, Snapshot, Within};
use pyo3::prelude::*;

use crate::arrays::{array, with_numbers};
use crate::errors::OrRaise;
use crate::interrupt::{Cancellable, interruptible};
use crate::numbers::Number;
use crate::reader::Reader;
use crate::source::AnySnapshot;
use crate::width::Bits;

/// The documents of a database but for some that are left out.
#[pyclass(module = "fpdb_engine._native")]
#[derive(Debug)]
pub(crate) struct Nearest {
    left_out: HashSet<u64>,
    /// How many are found for a row.
    most: usize,
}

#[pymethods]
impl Nearest {
    #[new]
    fn new(most: usize) -> Self {
        Self { left_out: HashSet::new(), most }
    }

    /// Leaves out documents from now on.
    fn leave_out(&mut self, ids: &Bound<'_, PyAny>) -> PyResult<()> {
        with_numbers(ids, "id", |ids| {
            self.left_out.extend(ids);
            Ok(())
        })
    }

    /// Takes documents back.
    fn put_back(&mut self, ids: &Bound<'_, PyAny>) -> PyResult<()> {
        with_numbers(ids, "id", |ids| {
            for id in ids {
                self.left_out.remove(id);
            }
            Ok(())
        })
    }

    /// Returns the nearest documents that match by the rule: positions of sketches, ids and
    /// distances, sorted by position, distance and id. While pairs are searched for, they take so
    /// much memory, in bytes.
    fn find<'py>(
        &self,
        db: &Bound<'py, Reader>,
        sketches: &Bound<'py, PyAny>,
        memory: Number,
    ) -> PyResult<[Bound<'py, PyAny>; 3]> {
        let py = db.py();
        let AnySnapshot::Sketches(snapshot) = db.get().handle.snapshot_now()? else {
            return Ok([
                array::<u64>(py, vec![]),
                array::<u64>(py, vec![]),
                array::<u64>(py, vec![]),
            ]);
        };
        let sketches = Sketch::with_batch(sketches, |all| Ok(all.to_vec()))?;
        let found =
            interruptible(py, |cancel| self.search(&snapshot.until(cancel), &sketches, memory.0))?;
        let found = found.or_raise()?;
        let columns: [fn(&Found) -> u64; 3] = [|it| it.0, |it| it.2, |it| u64::from(it.1)];
        Ok(columns.map(|column| array::<u64>(py, found.iter().map(column).collect())))
    }
}

/// The position of a sketch, and a document's distance and id.
type Found = (u64, u32, u64);

impl Nearest {
    fn search(
        &self,
        snapshot: &Snapshot<Sketch>,
        sketches: &[Sketch],
        memory: u64,
    ) -> fpdb::Result<Vec<Found>> {
        let entry = |(id, &fingerprint)| Entry { fingerprint, id: DocId(id) };
        let list: Vec<_> = (0..).zip(sketches).map(entry).collect();
        let mut nearest = vec![BinaryHeap::new(); sketches.len()];
        let join = snapshot.join_list(list, Within::Rule).memory(memory);
        join.visit(|pairs: &[Pair<Sketch>]| {
            for Pair { a, b, distance } in pairs {
                if self.left_out.contains(&a.id.0) {
                    continue;
                }
                let of_row: &mut BinaryHeap<(u32, u64)> = &mut nearest[Number(b.id.0).count()];
                of_row.push((*distance, a.id.0));
                if of_row.len() > self.most {
                    of_row.pop();
                }
            }
            ControlFlow::Continue(())
        })?;
        let sorted = nearest.into_iter().map(BinaryHeap::into_sorted_vec);
        let numbered = (0..).zip(sorted);
        Ok(numbered
            .flat_map(|(at, of_row)| of_row.into_iter().map(move |it| (at, it.0, it.1)))
            .collect())
    }
}
