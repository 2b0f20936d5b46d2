//! The documents of a database with which rows are compared.

use std::collections::{BinaryHeap, HashSet};
use std::ops::ControlFlow;

use fpdb::{DocId, Entry, Pair, Sketch, Snapshot, Within};

use crate::comparer::MOST_CANDIDATES;

/// Bytes of the matches that are in memory at the same time.
const MEMORY: u64 = 64 << 20;

/// Finds the documents of a database that are the nearest to rows, but for some that are left out.
///
/// # Examples
///
/// ```
/// use fpdb::text::Recipe;
/// use fpdb::{DocId, Ids, Jaccard, Options};
/// use fpdb_dedup::Nearest;
///
/// let options = Options::sketches().similar(Jaccard::at_least(0.8)).ids(Ids::Unique);
/// let db = options.in_memory()?;
/// let recipe = Recipe::for_sketches("pairs/1")?;
/// let sketch = recipe.fingerprint("To be, or not to be?").fingerprint.expect("enough words");
/// db.insert(sketch, 7)?;
///
/// let mut nearest = Nearest::default();
/// assert_eq!(nearest.find(&db.snapshot(), &[sketch])?, [[(0, DocId(7))]]);
/// nearest.leave_out([DocId(7)]);
/// assert!(nearest.find(&db.snapshot(), &[sketch])?[0].is_empty());
/// nearest.put_back([DocId(7)]);
/// assert_eq!(nearest.find(&db.snapshot(), &[sketch])?[0].len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Nearest {
    left_out: HashSet<u64>,
}

impl Nearest {
    /// Leaves out documents from now on.
    ///
    /// See the example of [`Nearest`].
    pub fn leave_out(&mut self, ids: impl IntoIterator<Item = DocId>) {
        self.left_out.extend(ids.into_iter().map(|id| id.0));
    }

    /// Takes documents back.
    ///
    /// See the example of [`Nearest`].
    pub fn put_back(&mut self, ids: impl IntoIterator<Item = DocId>) {
        for DocId(id) in ids {
            self.left_out.remove(&id);
        }
    }

    /// Returns, for each sketch, the documents that match by the rule of the database: at most 257,
    /// the nearest ones, which come first. One more than a row is compared with shows that there
    /// are more.
    ///
    /// # Errors
    ///
    /// Those of [`Join::visit`](fpdb::Join::visit).
    pub fn find(
        &self,
        snapshot: &Snapshot<Sketch>,
        sketches: &[Sketch],
    ) -> fpdb::Result<Vec<Vec<(u32, DocId)>>> {
        let entry = |(id, &fingerprint)| Entry { fingerprint, id: DocId(id) };
        let list: Vec<_> = (0..).zip(sketches).map(entry).collect();
        let mut nearest = vec![BinaryHeap::new(); sketches.len()];
        snapshot.join_list(list, Within::Rule).memory(MEMORY).visit(
            |pairs: &[Pair<Sketch>]| {
                for Pair { a, b, distance } in pairs {
                    if self.left_out.contains(&a.id.0) {
                        continue;
                    }
                    let place = usize::try_from(b.id.0).unwrap_or(usize::MAX);
                    let Some(of_row) = nearest.get_mut(place) else { continue };
                    of_row.push((*distance, a.id));
                    if of_row.len() > MOST_CANDIDATES + 1 {
                        of_row.pop();
                    }
                }
                ControlFlow::Continue(())
            },
        )?;
        Ok(nearest.into_iter().map(BinaryHeap::into_sorted_vec).collect())
    }
}
